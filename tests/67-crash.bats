#!/usr/bin/env bats
# kill -9 at random points of prolog, epilog, rotation, shipping and ingest: every record that was
# acknowledged is found exactly once. Again with CRASH_SEED=N (the points are as random as
# the machine is), CRASH_KILLS=N.
# shellcheck disable=SC2154

bats_require_minimum_version 1.5.0
load helpers

@test "500 kills: nothing acknowledged is lost, nothing is there twice" {
	local work=$BATS_TEST_TMPDIR seed=${CRASH_SEED:-$RANDOM} lua=$P/share/syscheck/lua
	mkdir "$work/acks" "$work/dest"
	cat >"$work/policy.lua" <<-LUA
	return { spool = "$work/spool", state = "$work/state", run = "$work/run", spool_segment_mb = 0.02 }
	LUA
	echo "seed $seed"
	# The store, once there is one.
	local ingest=()
	[ ! -e "$lua/syscheck/cmd/ingest.lua" ] || ingest=("$P/bin/syscheck")
	lua5.4 "$ROOT/tests/crash.lua" run "$lua" "$work" "${CRASH_KILLS:-500}" "$seed" "${ingest[@]}"
	# Whoever was not killed with its parent ends by itself.
	local n=0
	until "$P/bin/syscheck" ship --spool "$work/spool" --node n1 --to "$work/dest" || [ $((n += 1)) -gt 20 ]; do
		sleep 0.2
	done
	run find "$work/spool" "$work/dest" -name 'records*.jsonl' ! -name '*.shipped.jsonl' ! -path "$work/dest/*" -size +0
	[ "$output" = "" ]
	[ "$(find "$work/dest/n1" -name '.*' -type f)" = "" ]
	"$ROOT/tests/schema.py" --torn "$work"/dest/n1/*.jsonl
	if [ "${#ingest[@]}" -gt 0 ]; then
		"$P/bin/syscheck" ingest --store "$work/store.db" "$work/dest"
		sqlite3 "$work/store.db" 'SELECT lower(hex(id)) FROM job_node UNION ALL SELECT lower(hex(id)) FROM check_node' >"$work/ids"
		lua5.4 "$ROOT/tests/crash.lua" check "$lua" "$work" "$work/ids"
	else
		echo "no ingest in this version: files only"
		lua5.4 "$ROOT/tests/crash.lua" check "$lua" "$work"
	fi
}
