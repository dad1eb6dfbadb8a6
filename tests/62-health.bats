#!/usr/bin/env bats
# alone: its kernels measure
# The health program on a real Slurm: idle nodes are measured, give way to jobs, and come
# back when they are well again.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load eventually
load minicluster

setup_file() {
	cluster_up --nodes 2
	eval "$("$MC" env)"
	printf '%s\n' "HealthCheckProgram=$MINICLUSTER_DIR/prefix/libexec/syscheck/health" HealthCheckInterval=2 \
		HealthCheckNodeState=IDLE >>"$MINICLUSTER_DIR/etc/slurm.conf"
	mkdir "$BASE/kernels"
	cp "$MINICLUSTER_DIR"/prefix/libexec/syscheck/{stream,dgemm,noise} "$BASE/kernels/"
	policy 'p.health = { level = "none" }'
	scontrol reconfigure
	# Slurm's configuration is not where scontrol looks for it; a prolog tells the node.
	srun -N2 true
}

setup() {
	cluster_enter .
	LIBEXEC=$MINICLUSTER_DIR/prefix/libexec/syscheck
	: >"$LOG"
}

teardown() {
	# No health program may measure with the next test's kernels.
	policy 'p.health = { level = "none" } p.resume_after = 0'
	scancel -u root
	local node
	for node in n1 n2; do
		"$MC" slow "$node" 100
		scontrol update nodename="$node" state=resume 2>/dev/null || true
	done
	eventually 40 all_idle
	eventually 40 no_agent_measures
	cp "$BASE"/kernels/* "$LIBEXEC/"
	rm -rf "$BASE"/bad.* "$MINICLUSTER_DIR"/var/lib/syscheck/*/{last_pass,last_health,drained,bad,busy}.json
	rm -rf "$MINICLUSTER_DIR"/var/spool/syscheck/*/records.jsonl
}

all_idle() {
	[ "$(sinfo -h -N -p main -t idle | wc -l)" = 2 ]
}

no_agent_measures() {
	[ -z "$(find "$MINICLUSTER_DIR/run/syscheck" -name health.json)" ]
}

# policy TEXT: short kernels, and TEXT laid over it; the file changes at once
policy() {
	local d=$MINICLUSTER_DIR
	use_policy <<-LUA
	local p = {
		mode = "enforce",
		partitions = { ["*"] = { default = "passive" } },
		lock = "$d/lock", deadline = { quick = 60, full = 60 },
		kernels = { stream = { quick = 0.3 }, dgemm = { quick = 0.3 }, noise = { quick = 0.1 } },
		spool = "$d/var/spool/syscheck/%n", state = "$d/var/lib/syscheck/%n", run = "$d/run/syscheck/%n",
		baseline = "$d/etc/syscheck/baseline.json",
		health = { level = "quick", recheck = 1 },
	}
	$1
	return p
	LUA
}

# kernel NAME SCRIPT
kernel() {
	printf '#!/bin/bash\n%s\n' "$2" >"$BASE/new"
	chmod 755 "$BASE/new"
	mv -f "$BASE/new" "$LIBEXEC/$1"
}

# A stream that is slow where $BASE/bad.NODE is.
stream_by_file() {
	kernel stream 'v=100; [ -e '"$BASE"'/bad.$(hostname) ] && v=10
		sleep 0.2; echo "{\"kernel\":\"stream\",\"verified\":true,\"triad_gbs\":$v}"'
}

# records NODE EXPRESSION [COUNT]: this many health records r of which it is true (default: at least 1)
records() {
	lua5.4 - "$MINICLUSTER_DIR/var/spool/syscheck/$1/records.jsonl" "$2" "${3:-}" <<-'LUA'
	local f, n = io.open(arg[1]), 0
	for line in f and f:lines() or function() end do
		local r = require("cjson").decode(line)
		if r.trigger == "health" and load("local r = ... return " .. arg[2])(r) then n = n + 1 end
	end
	os.exit(arg[3] == "" and n > 0 or n == tonumber(arg[3]))
	LUA
}

@test "idle nodes are measured, once, by the real kernels; and slurmctld is asked nothing" {
	sdiag -r >/dev/null
	# Time for set-up also beside others: a kernel without is an error, and not measured again at once.
	policy 'p.kernels.stream.quick = 2 p.kernels.dgemm.quick = 1'
	eventually 60 records n1 'r.level == "quick" and r.runs[1].state == "ok"'
	eventually 60 records n2 'r.level == "quick" and r.runs[1].state == "ok"'
	sleep 6
	records n1 'r.level == "quick"' 1
	[ "$(sdiag | grep -cE 'REQUEST_(NODE_INFO_SINGLE|UPDATE_NODE) ')" = 0 ]
	[ "$(grep -c error "$LOG")" = 0 ]
}

@test "a job that starts while its node is measured: nothing waits, the kernels are gone" {
	kernel stream 'echo $$ >>'"$BASE"'/pid.$(hostname); sleep 20'
	# Both nodes at once: this one measures nothing.
	policy 'p.kernels.stream.quick = 20 p.lock = "'"$MINICLUSTER_DIR"'/lock.%n"'
	eventually 30 test -s "$BASE/pid.n1"
	local pid
	pid=$(tail -n 1 "$BASE/pid.n1")
	[ -d "/proc/$pid" ]
	srun -w n1 true
	[[ "$(ps -o stat= -p "$pid")" != [!Z]* ]]
	grep -q 'n1 prolog: job [0-9]*: info: ended the health check' "$LOG"
	eventually 20 node_is n1 idle
	records n1 'r.status == "fail" or r.status == "unknown"' 0
	[ -z "$(reason n1)" ]
}

@test "a node that a job's check drained comes back by itself when it is well; the job then runs on it" {
	stream_by_file
	touch "$BASE/bad.n2"
	policy 'p.limits = { triad_gbs = { min = 80 } } p.health.level = "passive"'
	local job
	job=$(sbatch --parsable -w n2 --syscheck=quick -o /dev/null --wrap true)
	eventually 30 node_is n2 'drain*'
	[[ "$(reason n2)" == "syscheck: triad 10.0 < 80.0"* ]]
	# It stays there as long as it is slow.
	eventually 60 records n2 'r.status == "fail" and r.action == "none"'
	node_is n2 'drained'
	rm "$BASE/bad.n2"
	eventually 90 records n2 'r.action == "resume"'
	eventually 60 job_is "$job" COMPLETED
	[ -z "$(reason n2)" ]
	[ "$(grep -c 'resumed after 2 passing checks' "$LOG")" = 1 ]
}

@test "an idle node that is slow is drained before a job gets it: real kernels, a real quota" {
	# A quarter of what it measures well, and a tenth is left to it: the machine itself may
	# become 2.5 times as fast or 4 times as slow on the way and the verdicts stay right.
	local floor since settings='p.kernels.stream.quick = 0 p.kernels.dgemm.quick = 2 p.budget = 1 p.health.every = 60'
	since=$(cpu_times)
	# Without stream: where caches are large its box has no time for its arrays, and what is unknown brings no node back.
	# Beside others the first try may have had no time for set-up.
	policy "$settings"
	eventually 150 records n2 'r.metrics[1] and r.metrics[1].name == "gflops" and r.metrics[1].value'
	policy 'p.health.level = "none"'
	eventually 40 no_agent_measures
	floor=$(lua5.4 -e 'for l in io.lines() do local r = require("cjson").decode(l)
		for _, m in ipairs(r.metrics or {}) do if m.name == "gflops" then v = m.value or v end end end print(v // 4 | 0)' \
		<"$MINICLUSTER_DIR/var/spool/syscheck/n2/records.jsonl")
	"$MC" slow n2 10
	rm -f "$MINICLUSTER_DIR"/var/lib/syscheck/n2/last_pass.json "$MINICLUSTER_DIR"/var/spool/syscheck/n2/records.jsonl
	policy "p.limits = { gflops = { min = $floor } } $settings"
	eventually 60 records n2 'r.level == "quick"'
	# shellcheck disable=SC2086 # three numbers
	if records n2 'r.action == "drain"' 0 && others_worked $since; then
		skip "others use this machine: what it measured well was less, or the node is busy, not rated"
	fi
	eventually 10 node_is n2 drained
	is_for_dgemm "$(reason n2)"
	"$MC" slow n2 100
	eventually 120 node_is n2 idle
}

@test "a node drained by an admin, or whose reason an admin changed, is not touched" {
	stream_by_file
	touch "$BASE/bad.n2"
	policy 'p.limits = { triad_gbs = { min = 80 } } p.resume_after = 1'
	scontrol update nodename=n1 state=drain reason="fan broken, ask Bob"
	eventually 60 test -e "$MINICLUSTER_DIR/var/lib/syscheck/n2/drained.json"
	node_is n2 drained
	scontrol update nodename=n2 reason="syscheck was right, Bob changes the DIMM"
	rm "$BASE/bad.n2"
	eventually 60 grep -q 'n2 health: .*no longer ours to resume' "$LOG"
	sleep 6
	[ "$(reason n1)" = "fan broken, ask Bob" ]
	[ "$(reason n2)" = "syscheck was right, Bob changes the DIMM" ]
	node_is n1 drained
	node_is n2 drained
}

@test "wrong results: drained at once, and never resumed by itself" {
	stream_by_file
	kernel dgemm '[ "$(hostname)" = n1 ] && [ ! -e '"$BASE"'/bad.no ] && { echo "{\"kernel\":\"dgemm\",\"verified\":false,\"error\":\"cpu 0: C[1][2] is 5, expected 4\",\"gflops\":9}"; exit 1; }
		echo "{\"kernel\":\"dgemm\",\"verified\":true,\"gflops\":9}"'
	policy 'p.limits = { triad_gbs = { min = 80 } } p.resume_after = 1'
	eventually 60 node_is n1 'drained'
	[[ "$(reason n1)" == "syscheck: dgemm: WRONG RESULT"* ]]
	touch "$BASE/bad.no"
	eventually 30 grep -q 'n1 health: .*stays drained until an admin resumes it' "$LOG"
	sleep 6
	node_is n1 drained
	# An admin does; after a job has started the health program asks.
	scontrol update nodename=n1 state=resume
	srun -w n1 true
	eventually 60 test ! -e "$MINICLUSTER_DIR/var/lib/syscheck/n1/drained.json"
}
