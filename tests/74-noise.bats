#!/usr/bin/env bats
# alone: it samples noise
# What noise costs, asked by the command line: from what the kernel of this machine says to the answer.
# shellcheck disable=SC2154

bats_require_minimum_version 1.5.0
load helpers

setup_file() {
	export DIR=$BATS_FILE_TMPDIR STORE=$BATS_FILE_TMPDIR/store.db P=$BATS_FILE_TMPDIR/p
	local node
	make -s -C "$ROOT" install PREFIX="$P" SYSCONFDIR="$P/etc" LOCALSTATEDIR="$P/var" RUNDIR="$P/run" DESTDIR= >/dev/null
	# What a check records, of kernels that run here.
	for node in n1 n2 n3 n4; do
		"$P/libexec/syscheck/noise" --seconds 0.5 >"$DIR/$node.json"
	done
	python3 - "$DIR" >"$DIR/records.jsonl" <<-'PY'
		import json, sys, time
		for i, node in enumerate(["n1", "n2", "n3", "n4"]):
		    result = json.load(open("%s/%s.json" % (sys.argv[1], node)))
		    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 60))
		    print(json.dumps({"v": 1, "kind": "check", "id": "%032x" % (i + 1), "cluster": "c", "node": node, "boot_id": "b",
		        "time": stamp, "class": "small" if node == "n4" else "big", "level": "quick", "status": "pass",
		        "action": "none", "job": {"id": 4711, "user": "alice", "name": "x", "nodes": 2} if i < 2 else None,
		        "runs": [{"kernel": "noise", "state": "ok", "result": result}]}))
		print(json.dumps({"v": 1, "kind": "check", "id": "%032x" % 99, "cluster": "c", "node": "n5", "boot_id": "b",
		    "time": stamp, "class": "none<b>", "level": "passive", "status": "pass", "action": "none"}))
	PY
	"$P/bin/syscheck" ingest --store "$STORE" "$DIR/records.jsonl"
}

teardown_file() {
	rm -rf "${P:?}"
}

setup() {
	PATH=$P/bin:$PATH
	export LC_ALL=C
}

teardown() {
	:
}

noise() {
	run --separate-stderr syscheck noise --store "$STORE" "$@"
	echo "$output$stderr"
}

# of EXPRESSION: of the JSON object `a`
of() {
	python3 -c 'import json, sys; a = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1" <<<"$output"
}

@test "noise: each class, from what the kernel of this machine sampled" {
	noise --json
	[ "$status" -eq 0 ]
	[ "$(of '[(c["class"], c["nodes"], c["checks"]) for c in a["answers"]]')" = "[('big', 3, 3), ('small', 1, 1)]" ]
	# The longest takes a sample that others leave long enough.
	[[ $(of '[w["work_us"] for w in a["answers"][0]["works"]]') =~ ^"[100, 1000, 10000"(, 100000)?"]"$ ]]
	# More nodes lose more, nobody less than nothing, and what is said lies within its interval.
	[ "$(of 'all(r.get("low_pct", 0) <= r["slowdown_pct"] <= r.get("high_pct", 1e9) for w in a["answers"][0]["works"] for r in w["rows"])')" = True ]
	[ "$(of 'all(p["slowdown_pct"] <= q["slowdown_pct"] for w in a["answers"][0]["works"] for p, q in zip(w["rows"], w["rows"][1:]))')" = True ]
	[ "$(of 'all(0 <= w["absorbed_pct"] <= 1.5 * w["rows"][0]["slowdown_pct"] + 1e-6 for w in a["answers"][0]["works"])')" = True ]
	# Three nodes and half a second each are no ground for jobs of 65,536.
	[ "$(of 'a["answers"][0]["works"][2]["rows"][-1]["at_least"]')" = True ]
	[ "$(of 'any("no allreduce was measured" in n for n in a["answers"][0]["notes"])')" = True ]
	[ "$(of 'all(0 <= r["low_pct"] and r["high_pct"] < 1e9 for r in a["answers"][0]["works"][0]["rows"])')" = True ]
	noise
	[[ $output == *"At "*" between barriers jobs of class big "* ]]
	[[ $output == *$'\nNODES '*"0.1_ms"*$'\nabsorbed'* ]]
	noise --csv --class big --at 4,64
	[ "$(cut -d, -f3,4 <<<"$output" | head -n 7 | tr -d '\r' | tr '\n' ' ')" = "nodes,work_us 4,100 64,100 4,1000 64,1000 4,10000 64,10000 " ]
}

@test "noise: a job's own nodes, and those that are named" {
	noise --job 4711 --json
	[ "$status" -eq 0 ]
	[ "$(of '[(c["job"], c["nodes"], c["own"], [r["nodes"] for r in c["works"][0]["rows"]]) for c in a["answers"]]')" = "[('4711', 2, True, [2])]" ]
	noise --nodes 'n[1-3,5,77]' --json --simulate halo
	[ "$(of 'sorted(a["answers"][0]["silent"])')" = "['n5', 'n77']" ]
	[ "$(of 'a["answers"][0]["works"][0]["rows"][0]["simulated_pct"] > 0')" = True ]
	[ "$(of 'a["answers"][0]["head"]["nodes"]')" = 3 ]
}

@test "noise: a page, well-formed, with a picture" {
	noise --html "$BATS_TEST_TMPDIR/page.html" --class big
	[ "$status" -eq 0 ]
	[ "$(grep -c '<svg' "$BATS_TEST_TMPDIR/page.html")" -ge 1 ]
	xmllint --noout "$BATS_TEST_TMPDIR/page.html"
}

@test "noise: what cannot be answered is one line" {
	while read -r code args; do
		# shellcheck disable=SC2086 # words
		noise $args
		[ "$status" -eq "$code" ]
		[ "$(wc -l <<<"$stderr")" -eq 1 ]
		[ -z "$output" ]
	done <<-'EOF'
		1 --class huge
		1 --class none<b>
		1 --nodes n5
		1 --nodes n[100-200]
		1 --job 4712
		2 --since 1s
		2 --at 0
		2 --at 1,x
		2 --at 9999999
		2 --at 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17
		2 --at 4 --job 4711
		2 --at 4 --nodes n1
		2 --job 4711 --nodes n1
		2 --nodes n[1-
		2 --simulate storm
		2 --job none
	EOF
	noise --class bi
	[[ $stderr == *'did you mean "big"'* ]]
}

@test "noise: a store without samples says which checks make them" {
	: >"$BATS_TEST_TMPDIR/none.jsonl"
	syscheck ingest --store "$BATS_TEST_TMPDIR/other.db" "$BATS_TEST_TMPDIR/none.jsonl"
	run --separate-stderr syscheck noise --store "$BATS_TEST_TMPDIR/other.db"
	[ "$status" -eq 1 ]
	[[ $stderr == "syscheck: no check since "*"sampled noise; checks of level quick and full do, unless others use the node meanwhile" ]]
}

@test "noise: rows that somebody damaged are left out, and the rest is answered" {
	cp "$STORE" "$BATS_TEST_TMPDIR/bad.db"
	sqlite3 "$BATS_TEST_TMPDIR/bad.db" "UPDATE noise_node SET detail = 'x' WHERE node = 1"
	sqlite3 "$BATS_TEST_TMPDIR/bad.db" "UPDATE noise_node SET detail = NULL WHERE node = 2"
	sqlite3 "$BATS_TEST_TMPDIR/bad.db" "UPDATE noise_node SET without = '{\"spared\": [7], \"components\": 3}'"
	run --separate-stderr syscheck noise --store "$BATS_TEST_TMPDIR/bad.db" --json
	[ "$status" -eq 0 ]
	[ "$(of '[(c["class"], c["nodes"]) for c in a["answers"]]')" = "[('big', 1), ('small', 1)]" ]
}

@test "noise: nodes of one name in two clusters are told apart, or not answered" {
	sed 's/"cluster": "c"/"cluster": "d"/; s/"id": "0000/"id": "1000/' "$DIR/records.jsonl" >"$BATS_TEST_TMPDIR/other.jsonl"
	cp "$STORE" "$BATS_TEST_TMPDIR/two.db"
	syscheck ingest --store "$BATS_TEST_TMPDIR/two.db" "$BATS_TEST_TMPDIR/other.jsonl"
	run --separate-stderr syscheck noise --store "$BATS_TEST_TMPDIR/two.db" --nodes n1
	[ "$status" -eq 2 ]
	[[ $stderr == *"n1 is in several clusters"* ]]
	run --separate-stderr syscheck noise --store "$BATS_TEST_TMPDIR/two.db" --nodes n1,n1 --cluster d --json
	[ "$status" -eq 0 ]
	[ "$(of 'a["answers"][0]["nodes"]')" = 1 ]
}
