#!/usr/bin/env bats
# alone: it measures how long work takes
# What noise costs on a job's nodes, predicted and measured: a real step, of two nodes that have a CPU each.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load eventually
load minicluster

setup_file() {
	cluster_up --nodes 4
	eval "$("$MC" env)"
	export STORE=$BASE/store.db
	local cpu node
	# What n1 and n2 are sampled on, and work on; no rank waits for a CPU that another one has.
	for cpu in 0 1; do
		node=n$((cpu + 1))
		taskset -acp $((cpu % $(nproc))) "$(<"$MINICLUSTER_DIR/run/slurmd.$node.pid")"
		"$MINICLUSTER_DIR/prefix/libexec/syscheck/noise" --cpus $((cpu % $(nproc))) --seconds 1 >"$BASE/$node.json"
	done
	# Without one core more: of n4 another number of cores was sampled.
	cp "$BASE/n1.json" "$BASE/n4.json"
	python3 - "$BASE" >"$BASE/records.jsonl" <<-'PY'
		import json, sys, time
		for i, node in enumerate(["n1", "n2", "n4"]):
		    result = json.load(open("%s/%s.json" % (sys.argv[1], node)))
		    if node == "n4":
		        result["threads"] += 5
		    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 60))
		    print(json.dumps({"v": 1, "kind": "check", "id": "%032x" % (i + 1), "cluster": "c", "node": node, "boot_id": "b",
		        "time": stamp, "class": "virtual", "level": "quick", "status": "pass", "action": "none",
		        "runs": [{"kernel": "noise", "state": "ok", "result": result}]}))
	PY
	syscheck ingest --store "$STORE" "$BASE/records.jsonl"
}

setup() {
	cluster_enter
	needs_pmix
	noise=(syscheck noise --verify --store "$STORE")
	salloc=(salloc -Q -N2 '--nodelist=n1,n2')
}

teardown() {
	scancel -u root
	eventually 60 idle
}

# idle: all nodes are free again
idle() {
	[ "$(sinfo -h -N -p main -o %T | grep -cx idle)" -eq 4 ]
}

# running NODES: a job there; its number in $id
running() {
	id=$(sbatch --parsable -N"$(scontrol show hostnames "$1" | wc -l)" --nodelist="$1" -o /dev/null --wrap 'sleep 300')
	eventually 60 sh -c '[ "$(squeue -h -j "$1" -o %T)" = RUNNING ]' sh "$id"
}

# worked: both ranks have had a CPU for a second, so that they are past their start
worked() {
	local pid n=0
	for pid in $(ranks); do
		if [ "$(awk '{ sub(/.*\) /, ""); print $12 }' "/proc/$pid/stat")" -ge "$(getconf CLK_TCK)" ]; then
			n=$((n + 1))
		fi
	done
	[ "$n" -ge 2 ]
}

# begin: measures job $id meanwhile, as $pid
begin() {
	"${noise[@]}" --job "$id" >"$BASE/printed" 2>"$BASE/said" &
	pid=$!
}

# fails: that ends with one line, and prints nothing
fails() {
	local status=0
	wait "$pid" || status=$?
	[ "$status" -eq 3 ]
	[ ! -s "$BASE/printed" ]
	[ "$(wc -l <"$BASE/said")" -eq 1 ]
}

# of EXPRESSION: of the JSON object `a`, `v` its columns
of() {
	python3 -c 'import json, sys; a = json.load(sys.stdin); v = a["answers"][0]["verify"]; print(eval(sys.argv[1]))' "$1" <<<"$output"
}

# verify COMMAND...: its words, then what it printed
verify() {
	run --separate-stderr "$@"
	echo "$output$stderr"
}

# refuses CODE WORDS COMMAND...: one line
refuses() {
	run --separate-stderr "${@:3}"
	echo "$output$stderr"
	[ "$status" -eq "$1" ]
	[ -z "$output" ]
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
	[[ $stderr == *"$2"* ]]
}

@test "verify: inside an allocation, each column is predicted and measured" {
	verify "${salloc[@]}" "${noise[@]}" --json
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	# The longest takes a sample that others leave long enough.
	[[ $(of '[c["work_us"] for c in v]') =~ ^"[100, 1000, 10000"(, 100000)?"]"$ ]]
	# The work was done, and took at least what it takes undisturbed, the allreduce too.
	[ "$(of 'all(0.5 * c["work_us"] < c["undisturbed_us"] - c["allreduce_us"] < 2 * c["work_us"] for c in v)')" = True ]
	[ "$(of 'all(c["steps"] > 5 and c["allreduce_us"] > 0 and c["measured_pct"] >= 0 for c in v)')" = True ]
	[ "$(of 'all(c.get("agrees", True) == ("differs" not in c) for c in v)')" = True ]
	# What is predicted knows the allreduce that was measured, and is what the table says of these nodes.
	[ "$(of 'a["answers"][0]["allreduce_us"] == v[0]["allreduce_us"], a["answers"][0]["allreduce_steps"], a["answers"][0]["nodes"]')" = "(True, 1, 2)" ]
	[ "$(of '[w["rows"][0]["slowdown_pct"] for w in a["answers"][0]["works"]] == [c["predicted_pct"] for c in v]')" = True ]
	[ "$(of 'any("as measured here" in n for n in a["answers"][0]["notes"])')" = True ]
}

@test "verify: --job, a node without samples is left out and said, a node of other cores too" {
	local id
	running 'n[1-4]'
	verify "${noise[@]}" --job "$id"
	[ "$status" -eq 0 ]
	[[ $output == *"a job on 3 of the nodes of job $id (1 without samples)"* ]]
	[[ $output == *$'\nBETWEEN '*"PREDICTED_%  MEASURED_%"*$'\n0.1 ms '*$'\n10 ms '* ]]
	[[ $output == *"1 node without noise samples: n3"* ]]
	[[ $output == *"of n4, where checks sampled "*": more cores have more noise"* ]]
}

@test "verify: CSV and a page have what was measured" {
	verify "${salloc[@]}" "${noise[@]}" --html "$BASE/page.html"
	[ "$status" -eq 0 ]
	xmllint --noout "$BASE/page.html"
	grep -q 'measured %' "$BASE/page.html"
	verify "${salloc[@]}" "${noise[@]}" --csv
	[ "$(head -n 1 <<<"$output" | tr -d '\r' | cut -d, -f13-)" = measured_pct,se_pct,agrees ]
	[ "$(tail -n +2 <<<"$output" | tr -d '\r' | cut -d, -f13,15 | grep -cE '^[0-9.e-]+,[01]?$')" -ge 3 ]
}

@test "verify: what cannot be measured is one line, and no step or process is left" {
	local id
	refuses 2 "no job to measure in: run it inside salloc or sbatch, or name --job ID" "${noise[@]}"
	refuses 2 "not with --class or --nodes" "${noise[@]}" --nodes n1
	refuses 2 "not with --job, --nodes or --verify" "${noise[@]}" --at 4
	refuses 2 "named by its own number" "${noise[@]}" --job 7_1
	refuses 3 "job 99999: Slurm knows no such job" "${noise[@]}" --job 99999
	running n1
	refuses 2 "n1 alone: there is nobody that it waits for; two nodes are the least" "${noise[@]}" --job "$id"
	scancel "$id"
	eventually 60 idle
	refuses 3 "job $id is CANCELLED: its nodes can be measured only while it runs" "${noise[@]}" --job "$id"
	running 'n[2-3]'
	refuses 1 "only n2 has samples of noise: two nodes are the least" "${noise[@]}" --job "$id"
	refuses 1 "no check since" "${noise[@]}" --job "$id" --cluster other
	scancel "$id"
	eventually 60 idle
	running 'n[1-2]'
	# Fabric's own rule, which is Slurm's: a step in somebody else's job is none.
	mkdir "$BASE/own"
	cp "$STORE" "$BASE/own/store.db"
	chown -R 65534 "$BASE/own"
	refuses 3 "noise: " setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$(command -v syscheck)" noise --verify --store "$BASE/own/store.db" --job "$id"
	mv "$MINICLUSTER_DIR/prefix/libexec/syscheck/fabric" "$BASE/fabric"
	run --separate-stderr "${noise[@]}" --job "$id"
	mv "$BASE/fabric" "$MINICLUSTER_DIR/prefix/libexec/syscheck/fabric"
	[ "$status" -eq 3 ]
	[[ $stderr == *"it is in the package syscheck-fabric"* ]]
}

@test "verify: a job that ends, or an interruption, is one line, and nothing is left" {
	local id pid
	running 'n[1-2]'
	begin
	eventually 60 worked
	scancel "$id"
	fails
	eventually 60 idle
	running 'n[1-2]'
	begin
	eventually 60 ranks
	kill -TERM "$pid"
	fails
	[ "$(cat "$BASE/said")" = "syscheck: noise: interrupted" ]
	eventually 30 no_ranks
}

@test "verify: a rank that is killed is named" {
	local id pid
	running 'n[1-2]'
	begin
	eventually 60 worked
	for rank in $(ranks); do
		! grep -qzx SLURMD_NODENAME=n2 "/proc/$rank/environ" || kill -KILL "$rank"
	done
	fails
	grep -q '^syscheck: noise: n2: ' "$BASE/said"
}
