#!/usr/bin/env bats
# One counter, one kernel, one driver of the store and one question more, in a copy of
# the tree, by the files that docs/developer.md lists and no others.
# shellcheck disable=SC2016,SC2031,SC2154

bats_require_minimum_version 1.5.0
load helpers

NEW=$ROOT/tests/fixtures/extend
TREE=(Makefile kernels lua prolog epilog spank etc docs tests README.md CHANGELOG.md LICENSE)

# edit FILE SCRIPT: sed in the copy; that it changed something is part of the test
edit() {
	sed -i "$2" "$T/$1"
	run cmp -s "$ROOT/$1" "$T/$1"
	[ "$status" -eq 1 ] || { echo "$1 is as it was"; return 1; }
}

setup_file() {
	export T=$BATS_FILE_TMPDIR/tree
	mkdir "$T"
	# What is built keeps its time, so that only what is new is built.
	(cd "$ROOT" && cp -a "${TREE[@]}" "$T")
	[ ! -d "$ROOT/build/obj" ] || { mkdir "$T/build" && cp -a "$ROOT"/build/{obj,kernels,spank} "$T/build/"; }
	cp -r "$NEW/." "$T/"

	edit lua/syscheck/counters/sources.lua 's/"sched" }/"sched", "swap" }/'
	python3 - "$T/docs/records.schema.json" <<-'EOF'
	import json, sys
	schema = json.load(open(sys.argv[1]))
	kinds = schema["$defs"]
	kinds["sources"]["properties"]["swap"] = {"type": "object", "properties": {"pages_in": {"type": "number"}}}
	for at in "begin", "end":
	    kinds[at]["properties"]["swap"] = {"$ref": "#/$defs/sources/properties/swap"}
	json.dump(schema, open(sys.argv[1], "w"))
	EOF

	edit lua/syscheck/catalogue/metrics.lua '/name = "io", seconds/i\   { name = "spin", seconds = { quick = 0.1 } },
		/name = "throttle_events"/i\   { name = "spin_madds", label = "spin", unit = "M/s", kernel = "spin", better = "higher" },'
	edit etc/syscheck/policy.lua '/^      io = /i\      spin = { quick = 0.1 },'

	edit lua/syscheck/store/drivers.lua 's/"mariadb" }/"mariadb", "twin" }/'

	edit lua/main.lua 's/"store" }/"store", "longest" }/'
	edit tests/rooms.lua 's|"questions/fleet/logic",|"questions/longest/logic", &|'

	ROOT=$T agent_install
}

setup() {
	agent_reset
	PATH=$P/bin:$PATH
	R=$BATS_TEST_TMPDIR/root
	STORE=$BATS_TEST_TMPDIR/s.db
	mkdir -p "$R/proc/sys/kernel/random"
	echo a0 >"$R/proc/sys/kernel/random/boot_id"
}

teardown_file() {
	"$T/tests/schema.py" "$BATS_FILE_TMPDIR"/spools/*.jsonl
}

# swapped COUNT STAGE: the prolog or epilog, on a machine that has read so many pages
swapped() {
	echo "pswpin $1" >"$R/proc/vmstat"
	env -i SLURM_JOB_ID=4711 SLURM_JOB_USER=alice SLURM_JOB_UID=1000 SLURM_JOB_PARTITION=main SLURM_NODELIST=t1 \
		SLURMD_NODENAME=t1 SLURM_CLUSTER_NAME=test SPANK_SYSCHECK=passive \
		lua5.4 -e "package.path = '$P/share/syscheck/lua/?.lua'" -e "require('syscheck.$2').main(os.getenv, { root = '$R' })"
}

@test "a counter: in the job's record, in a store that is older than it, in the answer" {
	# An older syscheck made the store.
	swapped 100 prolog
	swapped 100 epilog
	"$ROOT/build/prefix/bin/syscheck" ingest --store "$STORE" "${SPOOL%/*}"
	run sqlite3 "$STORE" 'SELECT swap_pages_in FROM job_node'
	[ "$status" -ne 0 ]
	agent_keep
	agent_reset
	swapped 100 prolog
	swapped 142 epilog
	[ "$(record job 'r.delta.swap.pages_in')" = 42 ]
	run syscheck ingest --store "$STORE" "${SPOOL%/*}"
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(sqlite3 "$STORE" 'SELECT COUNT(*) FROM job_node WHERE swap_pages_in = 42')" = 1 ]
	run --separate-stderr syscheck job 4711 --json --store "$STORE"
	echo "$output$stderr"
	[[ $output == *'"swap_pages_in":42'[,\}]* ]]
}

@test "a kernel: built, run at its level, rated by the policy's limit, stored" {
	policy 'mode = "enforce", kernels = { stream = { quick = 0 }, dgemm = { quick = 0 }, noise = { quick = 0 } },
		limits = { spin_madds = { min = 1e12, action = "warn" } }'
	prolog
	[ "$(record check '#r.runs == 1 and r.runs[1].kernel')" = spin ]
	[ "$(record check 'r.metrics[1].name')" = spin_madds ]
	[ "$(record check 'r.metrics[1].value > 0')" = true ]
	[ "$(record check 'r.metrics[1].status')" = warn ]
	[ "$(record check 'r.metrics[1].source')" = policy ]
	syscheck ingest --store "$STORE" "${SPOOL%/*}"
	[ "$(sqlite3 "$STORE" 'SELECT COUNT(*) FROM check_node WHERE spin_madds > 0')" = 1 ]
	policy 'limits = { spin_madds = { minimum = 1 } }'
	run --separate-stderr syscheck config check
	echo "$output$stderr"
	[ "$status" -ne 0 ]
	[[ $output$stderr == *'unknown key limits.spin_madds.minimum (action, max, min, mode, tolerance)'* ]]
}

@test "a driver of the store: by its URLs" {
	unasked_prolog
	epilog
	syscheck ingest --store "twin://$STORE" "${SPOOL%/*}"
	run --separate-stderr syscheck store info --json --store "twin://$STORE"
	echo "$output$stderr"
	[[ $output == *'"kind":"twin"'* ]]
	[[ $output == *'"jobs":1'* ]]
	run --separate-stderr syscheck store info --store "triplet://$STORE"
	[[ $stderr == *"twin:///path"* ]]
}

@test "a question: a command of its own" {
	unasked_prolog
	epilog
	syscheck ingest --store "$STORE" "${SPOOL%/*}"
	run --separate-stderr syscheck longest --store "$STORE"
	echo "$output$stderr"
	[ "$status" -eq 0 ]
	[[ ${lines[0]} == *JOB*SECONDS ]]
	[[ ${lines[1]} == *4711* ]]
	run syscheck longest --csv --store "$STORE"
	[[ ${lines[0]} == "job,seconds"* ]]
	[[ ${lines[1]} == 4711,* ]]
	run syscheck longest --json --store "$STORE"
	[[ $output == *'"id":4711'* ]]
	[[ $(syscheck --help) == *"longest"* ]]
}

@test "the copy keeps the rules of the rooms, and its unit tests pass" {
	cd "$T"
	run lua5.4 tests/rooms.lua
	echo "$output"
	[ "$status" -eq 0 ]
	for f in policy/test_policy questions/test_why counters/test_sources store/test_record; do
		echo "$f"
		lua5.4 "tests/lua/$f.lua"
	done
}

@test "docs/developer.md lists the files that this took" {
	local f files
	# In new files' paths NAME stands for the name.
	files=$(cd "$NEW" && find . -type f -printf '%P\n' | sed -E 's/\b(swap|spin|twin|longest)\b/NAME/g')
	files+=$'\n'$(cd "$ROOT" && find "${TREE[@]}" -type f | while read -r f; do cmp -s "$f" "$T/$f" || echo "$f"; done)
	[ "$(wc -l <<<"$files")" -eq 14 ] || { echo "$files"; return 1; }
	for f in $files; do
		grep -qF "$f" "$ROOT/docs/developer.md" || { echo "not listed: $f"; return 1; }
	done
}
