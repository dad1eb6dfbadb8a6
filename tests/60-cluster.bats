#!/usr/bin/env bats
# alone: its kernels measure
# All stages together on a real Slurm, with the real kernels unless a test says what
# they do instead.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load eventually
load minicluster

setup_file() {
	cluster_up --nodes 3
	mkdir "$BASE/kernels"
	cp "$MINICLUSTER_DIR"/prefix/libexec/syscheck/{stream,dgemm,noise} "$BASE/kernels/"
}

teardown_file() {
	[ -n "${BASE:-}" ] || return 0
	local code=0
	"$ROOT/tests/schema.py" "$MINICLUSTER_DIR"/var/spool/syscheck/*/records*.jsonl || code=1
	cluster_down
	return "$code"
}

setup() {
	cluster_enter
	# One of them may still run.
	cp --remove-destination "$BASE"/kernels/* "$MINICLUSTER_DIR/prefix/libexec/syscheck/"
	policy ''
	: >"$MINICLUSTER_DIR/var/log/syscheck.log"
	rm -rf "$MINICLUSTER_DIR"/var/lib/syscheck/*/{last_pass,bad,busy}.json
}

teardown() {
	scancel -u root
	scancel -u nobody
	local node n=0
	for node in n1 n2 n3; do
		"$MC" slow "$node" 100
		"$MC" throttle "$node" 0
		scontrol update nodename="$node" state=resume 2>/dev/null || true
	done
	until { [ "$(sinfo -h -N -p main -t idle | wc -l)" = 3 ] && no_agents; } || [ $((n += 1)) -gt 200 ]; do
		sleep 0.2
	done
}

# policy TEXT: the cluster's own, with short kernels, and TEXT laid over it
policy() {
	local d=$MINICLUSTER_DIR
	use_policy <<-LUA || return
	local p = {
		mode = "enforce",
		partitions = { ["*"] = { default = "passive" }, main = { floor = "passive", default = "passive" } },
		lock = "$d/lock", deadline = { quick = 60, full = 60 },
		kernels = { stream = { quick = 1.5, full = 1.5 }, dgemm = { quick = 0.3, full = 0.4 }, noise = { quick = 0.2, full = 0.2 } },
		spool = "$d/var/spool/syscheck/%n", state = "$d/var/lib/syscheck/%n", run = "$d/run/syscheck/%n",
		baseline = "$d/etc/syscheck/baseline.json",
	}
	$1
	return p
	LUA
	rm -f "$d/etc/syscheck/baseline.json"
}

# kernel NAME SCRIPT
kernel() {
	rm "$MINICLUSTER_DIR/prefix/libexec/syscheck/$1"
	printf '#!/bin/bash\n%s\n' "$2" >"$MINICLUSTER_DIR/prefix/libexec/syscheck/$1"
	chmod 755 "$MINICLUSTER_DIR/prefix/libexec/syscheck/$1"
}

last_job() {
	echo $(($(scontrol show config | awk '/^NEXT_JOB_ID/ { print $3 }') - 1))
}

# record JOB KIND [NODE]: EXPRESSION of its last such record r
record() {
	"$MINICLUSTER_DIR/prefix/bin/syscheck" job "$1" --json 2>/dev/null | lua5.4 /dev/fd/3 "$2" "$3" "${4:-}" 3<<-'LUA'
	local last
	local text = io.read("a")
	for _, r in ipairs(text ~= "" and require("cjson").decode(text) or {}) do
		if r.kind == arg[1] and (arg[3] == "" or r.node == arg[3]) then last = r end
	end
	if not last then print("no record") return end
	local v = load("local r = ... return " .. arg[2])(last)
	print(math.type(v) == "float" and v % 1 == 0 and math.tointeger(v) or v)
	LUA
}

has_job_record() {
	[ "$(record "$1" job 'r.kind')" = job ]
}

# has_check JOB NODE
has_check() {
	[ "$(record "$1" check 'r.kind' "$2")" = check ]
}

no_node_is_drained() {
	[ -z "$(sinfo -h -R -o %E)" ] || { sinfo -R; return 1; }
}

@test "slow node: drained with its number, the job requeued and finished elsewhere, the others untouched" {
	# The floor is what these nodes have just measured: a quarter of the best, and a tenth is
	# left to the slow one, so that the machine's own ups and downs decide nothing. (A
	# learned baseline is the demo's; six checks on a shared machine may spread too far to
	# teach one here.)
	local floor try node since
	since=$(cpu_times)
	# What something else takes of this machine meanwhile is not the nodes' own: wait for
	# a quiet moment.
	for try in {1..5}; do
		srun -N3 --syscheck=quick true
		[ "$(record "$(last_job)" check 'r.metrics[3].value < 25')" = true ] && break
		echo "try $try: busy"
	done
	floor=$(for node in n1 n2 n3; do
		record "$(last_job)" check 'math.floor(r.metrics[2].value / 4)' "$node"
	done | sort -n | tail -n 1)
	policy "p.limits = { gflops = { min = $floor } }"
	"$MC" slow n2 10
	local job
	job=$(sbatch --parsable -w n2 -N1 --syscheck=quick,verbose -o "$BASE/out/%j" --wrap 'echo ran on $SLURM_JOB_NODELIST')
	eventually 60 has_check "$job" n2
	# shellcheck disable=SC2086 # three numbers
	if [ "$(record "$job" check 'r.action' n2)" != drain ] && others_worked $since; then
		eventually 60 job_is "$job" COMPLETED
		no_node_is_drained
		skip "others use this machine: the node is busy, not rated, and nothing is drained"
	fi
	eventually 30 node_is n2 'drain*'
	is_for_dgemm "$(reason n2)"
	# It asked for n2 alone, so it waits there; not held.
	eventually 20 job_is "$job" PENDING
	[[ "$(scontrol show job "$job")" != *JobHeldAdmin* ]]
	scontrol update jobid="$job" reqnodelist=''
	eventually 60 job_is "$job" COMPLETED
	[[ "$(scontrol show job "$job")" == *"Restarts=1 "* ]]
	local good='pass|warn'
	# shellcheck disable=SC2086 # three numbers
	! others_worked $since || good+='|unknown .*(\(busy, not rated\)|\(stream: time for [^)]* arrays only, [^)]*\))'
	[[ "$(head -n 1 "$BASE/out/$job")" == "syscheck: n"*"this job was restarted: if a bad node was why, AdminComment in \"scontrol show job $job\" says so" ]]
	[[ "$(sed 1d "$BASE/out/$job")" =~ ^syscheck:\ n[13]\ quick\ ($good)[[:space:]].*ran\ on\ n[13]$ ]] || { cat "$BASE/out/$job"; return 1; }
	[ "$(record "$job" check 'r.action' n2)" = drain ]
	[ "$(sinfo -h -R -o %n)" = n2 ]
}

@test "a job that cannot be requeued: cancelled, or run on the drained node where the policy says so" {
	kernel stream 'echo "{\"kernel\":\"stream\",\"verified\":true,\"triad_gbs\":10}"'
	policy 'p.limits = { triad_gbs = { min = 100 } }'
	local job
	job=$(sbatch --parsable --no-requeue -w n2 --syscheck=quick -o "$BASE/out/%j" --wrap 'echo ran')
	eventually 30 job_is "$job" CANCELLED
	eventually 30 node_is n2 drained
	run ! grep -q ran "$BASE/out/$job"
	scontrol update nodename=n2 state=resume
	policy 'p.limits = { triad_gbs = { min = 100 } } p.no_requeue = "start"'
	job=$(sbatch --parsable --no-requeue -w n2 --syscheck=quick -o "$BASE/out/%j" --wrap 'echo ran on $(sinfo -h -n n2 -p main -o %T)')
	eventually 30 job_is "$job" COMPLETED
	[[ "$(<"$BASE/out/$job")" == *"Slurm cannot requeue this job, so it starts here"*"ran on draining" ]]
	[[ "$(reason n2)" == "syscheck: triad 10.0 < 100.0 GB/s"* ]]
	eventually 30 node_is n2 drained
	[ "$(record "$job" check 'r.drain.starts' n2)" = true ]
	scontrol update nodename=n2 state=resume
	run timeout 60 srun -w n2 --syscheck=quick echo ran
	[ "$status" -eq 0 ]
	[[ $output == *ran* ]]
	# One that can be is requeued.
	eventually 30 node_is n2 drained
	scontrol update nodename=n2 state=resume
	job=$(sbatch --parsable -w n2 --syscheck=quick -o "$BASE/out/%j" --wrap 'echo ran')
	eventually 30 node_is n2 'drain*'
	eventually 30 job_is "$job" PENDING
	scancel "$job"
}

@test "throttling during a job is in that job's record only, and the next check is not skipped" {
	# Without stream, which beside others may not have the time for arrays beyond large caches: that is no pass.
	policy 'p.partitions.main.default = "quick" p.budget = 0.0001 p.kernels.stream.quick = 0'
	# The first check is done; with this budget it is good for hours.
	srun -w n3 --syscheck=quick true
	local job next
	job=$(sbatch --parsable -w n3 -o "$BASE/out/%j" --wrap 'touch started; sleep 3')
	eventually 20 test -e started # RUNNING it is in the prolog already
	[ "$(record "$job" check 'r.note')" = "the last pass is fresh" ]
	"$MC" throttle n3 77
	eventually 20 job_is "$job" COMPLETED
	eventually 10 has_job_record "$job"
	[ "$(record "$job" job 'r.throttle_events')" = 77 ]
	[ "$(record "$job" job 'r.delta.throttle.package_count')" = 77 ]
	next=$(sbatch --parsable -W -w n3 -o "$BASE/out/%j" --wrap true)
	eventually 10 has_job_record "$next"
	[ "$(record "$next" check 'r.level')" = quick ]
	[ "$(record "$next" job 'r.throttle_events')" = 0 ]
}

@test "scancel during the prolog: no drain, the node is idle again" {
	kernel stream 'sleep 3; echo "{\"kernel\":\"stream\",\"verified\":true,\"triad_gbs\":10}"'
	policy 'p.kernels.stream.quick = 3'
	local job
	job=$(sbatch --parsable -w n1 --syscheck=quick -o "$BASE/out/%j" --wrap 'echo never')
	eventually 20 test -e "$MINICLUSTER_DIR/var/lib/syscheck/n1/begin/$job.json"
	sleep 0.5
	scancel "$job"
	eventually 30 job_is "$job" CANCELLED
	eventually 30 node_is n1 idle
	no_node_is_drained
}

@test "kernels missing, hanging, crashing, babbling: the job starts, no drain, the record says why" {
	policy 'p.limits = { triad_gbs = { min = 1e6 } } p.kernels.stream.quick = 0.1'
	local script why job
	while IFS='|' read -r script why; do
		kernel stream "$script"
		run srun -w n1 --syscheck=quick bash -c 'echo "started: $SYSCHECK_STATUS $SYSCHECK_LEVEL $SLURM_JOB_ID"'
		[ "$status" -eq 0 ]
		[[ $output == *"started: unknown quick "* ]]
		job=$(sed -n 's/^started: unknown quick //p' <<<"$output")
		[ "$(record "$job" check 'r.status')" = unknown ]
		[[ "$(record "$job" check 'r.runs[1].reason')" == *"$why"* ]]
		no_node_is_drained
	done <<-'CASES'
		exec sleep 100|killed after
		kill -SEGV $$|ended by signal
		echo garbage|printed no JSON
		rm -f "$0"; exit 2|could not run
		exit 0|no such file
	CASES
}

@test "policy with a syntax error: the job starts, file and line in the log" {
	# Without it the last good copy would be that of a test before this one.
	srun -w n1 --syscheck=passive true
	echo 'return { mode = ' >"$MINICLUSTER_DIR/etc/syscheck/policy.lua"
	run srun -w n1 --syscheck=quick bash -c 'echo "started: $SYSCHECK_STATUS"'
	[ "$status" -eq 0 ]
	grep -q "policy: $MINICLUSTER_DIR/etc/syscheck/policy.lua:[12]: " "$MINICLUSTER_DIR/var/log/syscheck.log"
	no_node_is_drained
}

@test "an admin's reason, set while the prolog measures, stays" {
	kernel stream 'sleep 2; echo "{\"kernel\":\"stream\",\"verified\":true,\"triad_gbs\":10}"'
	policy 'p.limits = { triad_gbs = { min = 80 } } p.kernels.stream.quick = 2'
	local job
	job=$(sbatch --parsable -w n1 --syscheck=quick -o "$BASE/out/%j" --wrap true)
	eventually 20 test -e "$MINICLUSTER_DIR/var/lib/syscheck/n1/begin/$job.json"
	scontrol update nodename=n1 state=drain reason="fan broken, ask Bob"
	eventually 30 grep -q 'out of service already (fan broken' "$MINICLUSTER_DIR/var/log/syscheck.log"
	[ "$(reason n1)" = "fan broken, ask Bob" ]
	scancel "$job"
}

@test "a nested srun and a second step: one check per node, the levels in every step's environment" {
	local job
	job=$(sbatch --parsable -W -N2 --syscheck=passive,verbose -o "$BASE/out/%j" --wrap \
		'srun -N2 --syscheck=full bash -c "echo step \$SYSCHECK_LEVEL"; srun -N1 bash -c "srun -N1 --overlap hostname >/dev/null; echo again \$SYSCHECK_LEVEL"')
	[ "$(grep -c '^step passive$' "$BASE/out/$job")" = 2 ]
	[ "$(grep -c '^again passive$' "$BASE/out/$job")" = 1 ]
	[ "$(grep -c '^syscheck: n[123] passive' "$BASE/out/$job")" = 2 ]
	[ "$(grep -c '^syscheck: ' "$BASE/out/$job")" = 3 ]
	[ "$(syscheck job "$job" --json | grep -o '"kind":"check"' | wc -l)" = 2 ]
}

@test "a job array: each task is checked and recorded under its own job ID" {
	local array ids id
	array=$(sbatch --parsable --array=3-4 --syscheck=passive -o "$BASE/out/%A_%a" --wrap 'echo $SLURM_JOB_ID; sleep 3')
	eventually 20 test -s "$BASE/out/${array}_3"
	eventually 20 test -s "$BASE/out/${array}_4"
	mapfile -t ids < <(grep -h '^[0-9]*$' "$BASE/out/${array}"_*)
	[ "${#ids[@]}" = 2 ]
	for id in "${ids[@]}"; do
		eventually 20 has_job_record "$id"
		[ "$(record "$id" check 'r.level')" = passive ]
	done
	[[ "$(<"$BASE/out/${array}_4")" == "syscheck: n"*" not measured, counters and hardware fine"* ]]
}

@test "two jobs on one node at once: both run, neither measures" {
	local a b
	a=$(sbatch --parsable -p shared -w n1 -n1 --syscheck=quick -o "$BASE/out/%j" --wrap 'sleep 2')
	b=$(sbatch --parsable -p shared -w n1 -n1 --syscheck=quick -o "$BASE/out/%j" --wrap 'sleep 2')
	eventually 20 has_job_record "$a"
	eventually 20 has_job_record "$b"
	[ "$(record "$a" check 'r.level .. " " .. r.asked')" = "passive quick" ]
	[ "$(record "$b" check 'r.level')" = passive ]
	[[ "$(head -n 1 "$BASE/out/$b")" == "syscheck: n1 not measured, counters and hardware fine (quick needs the whole node"* ]]
}

@test "spool full and missing: the job starts and ends, the loss is logged" {
	"$MC" run n1 -- bash -c "mkdir -p $MINICLUSTER_DIR/var/spool/syscheck/n1 &&
		mount -t tmpfs -o size=4k tmpfs $MINICLUSTER_DIR/var/spool/syscheck/n1 &&
		head -c 4096 /dev/zero >$MINICLUSTER_DIR/var/spool/syscheck/n1/filler"
	run srun -w n1 --syscheck=passive echo started
	# srun is back before the epilog is: full until it has said what it lost.
	local said=yes
	eventually 20 grep -q 'n1 epilog: .*job record lost: .*ENOSPC' "$MINICLUSTER_DIR/var/log/syscheck.log" || said=no
	"$MC" run n1 -- umount "$MINICLUSTER_DIR/var/spool/syscheck/n1"
	[ "$said" = yes ]
	[ "$status" -eq 0 ]
	[[ $output == *started* ]]
	grep -q 'n1 prolog: .*check record lost: .*ENOSPC' "$MINICLUSTER_DIR/var/log/syscheck.log"
	no_node_is_drained
}

@test "job_submit: a level below the floor or above the ceiling is refused in words, nothing is submitted" {
	local before after
	policy 'p.partitions.main.ceiling = "quick"'
	reload_submit
	before=$(scontrol show config | awk '/^NEXT_JOB_ID/ { print $3 }')
	run sbatch --syscheck=none --wrap true
	[ "$status" -ne 0 ]
	[[ $output == *"syscheck: --syscheck=none is below the floor of partition main: use passive or more"* ]]
	run srun --syscheck=none true
	[ "$status" -ne 0 ]
	[[ $output == *"below the floor of partition main"* ]]
	run sbatch --syscheck=full --wrap true
	[[ $output == *"--syscheck=full is more than partition main allows: use quick or less"* ]]
	run sbatch -p shared,main --syscheck=full --wrap true
	[ "$status" -ne 0 ]
	after=$(scontrol show config | awk '/^NEXT_JOB_ID/ { print $3 }')
	[ "$before" = "$after" ]
	run sbatch --parsable -p shared --syscheck=none -o /dev/null --wrap true
	[ "$status" -eq 0 ]
	policy ''
	reload_submit
	run sbatch --parsable --syscheck=full -o /dev/null --wrap true
	[ "$status" -eq 0 ]
}

@test "job_submit: a broken policy without a copy of a good one refuses nobody and is logged" {
	rm -f "$MINICLUSTER_DIR/var/lib/syscheck-submit/policy.good"
	echo 'return {' >"$MINICLUSTER_DIR/etc/syscheck/policy.lua"
	reload_submit
	run sbatch --syscheck=none -o /dev/null --wrap true
	[ "$status" -eq 0 ]
	grep -q "syscheck: policy not used, defaults hold: $MINICLUSTER_DIR/etc/syscheck/policy.lua:[12]:" "$MINICLUSTER_DIR/log/slurmctld.log"
}

# A user's own plugin can put anything into the job's SPANK environment.
@test "job_submit: forged values are refused, shown harmless, and run nowhere" {
	gcc -shared -fPIC -o "$BASE/forge.so" "$FIXTURES/forge.c"
	cp -r "$MINICLUSTER_DIR/etc" "$BASE/forged"
	echo "required $BASE/forge.so" >"$BASE/forged/plugstack.conf"
	local value
	for value in "\$(touch $BASE/pwned)" $'full\nnone' '%s%n' "$(head -c 50000 /dev/zero | tr '\0' a)"; do
		SLURM_CONF=$BASE/forged/slurm.conf FORGE=$value run sbatch -o /dev/null --wrap true
		[ "$status" -ne 0 ]
		[[ $output == *'syscheck: unknown level "'* ]]
		[ "${#output}" -lt 400 ]
	done
	SLURM_CONF=$BASE/forged/slurm.conf FORGE=quick run sbatch -o /dev/null --wrap true
	[ "$status" -eq 0 ]
	[ ! -e "$BASE/pwned" ]
}

@test "a normal user's job: its line, its environment; spool and state are not the user's to read" {
	run setpriv --reuid=65534 --regid=65534 --clear-groups "$BASH" -c \
		"cd '$BASE/out' && srun -w n1 --syscheck=passive bash -c 'echo \$SYSCHECK_STATUS; cat $MINICLUSTER_DIR/var/spool/syscheck/n1/records.jsonl'"
	[[ $output == *"syscheck: n1 not measured, counters and hardware fine"* ]]
	[[ $output == *"Permission denied"* ]]
}

@test "mpirun: the line of each node, not only of the first" {
	[ -x "$(command -v mpirun)" ] || skip "no mpirun here"
	local job out node mpirun='mpirun --allow-run-as-root'
	# From 5 on no variable says it, see docs/user.md.
	[[ "$(mpirun --version)" =~ \ [1-4]\.[0-9] ]] || mpirun+=' --leave-session-attached'
	job=$(sbatch --parsable -N3 -n3 --syscheck=passive,verbose -o "$BASE/out/%j" --wrap "$mpirun hostname; $mpirun hostname")
	eventually 60 job_is "$job" COMPLETED
	out=$(<"$BASE/out/$job")
	for node in n1 n2 n3; do
		[ "$(grep -c "^syscheck: $node passive" <<<"$out")" = 1 ] || { echo "$out"; return 1; }
		[ "$(grep -cx "$node" <<<"$out")" = 2 ] || { echo "$out"; return 1; }
	done
}

@test "slurmd is killed in a prolog, and started anew: the old check ends, drains nothing, and hinders none" {
	policy 'p.kernels.stream.quick = 30 p.limits = { triad_gbs = { min = 80 } }'
	kernel stream "echo \$\$ >>$BASE/measuring; sleep 20; echo '{\"kernel\":\"stream\",\"verified\":true,\"triad_gbs\":1}'"
	local job pid
	pid=$(<"$MINICLUSTER_DIR/run/slurmd.n1.pid")
	job=$(sbatch --parsable -w n1 -N1 --exclusive --syscheck=quick -o "$BASE/out/%j" --wrap true)
	eventually 30 test -s "$BASE/measuring"
	kill -KILL "$pid"
	env -u INVOCATION_ID "$MC" run n1 -- setsid slurmd -N n1 -f "$SLURM_CONF" 3>&- 4>&-
	was_unknown() {
		[ "$(record "$job" check 'r.status .. r.action')" = unknownnone ]
	}
	eventually 20 was_unknown
	[[ $(record "$job" check 'r.problems[1]') == "slurmd (process $pid), which started this check, is gone" ]]
	kernel_gone() {
		! kill -0 "$(head -n 1 "$BASE/measuring")" 2>/dev/null
	}
	eventually 20 kernel_gone
	no_node_is_drained
	scancel "$job"
	eventually 60 node_is n1 idle
	cp --remove-destination "$BASE"/kernels/stream "$MINICLUSTER_DIR/prefix/libexec/syscheck/"
	# Time for arrays beyond large caches, also beside others.
	policy 'p.kernels.stream.quick = 8'
	srun -w n1 --exclusive --syscheck=quick true
	[ "$(record "$(last_job)" check 'r.metrics[1].value > 0')" = true ]
}

# confine PID LIST: a daemon with all its threads
confine() {
	taskset -acp "$2" "$1" >/dev/null
}

# measured_all JOB: on node n2, which was not drained for it
measured_all() {
	eventually 60 job_is "$1" COMPLETED
	[ "$(record "$1" check 'r.cpus.list' n2)" = "$ALL" ]
	[ "$(record "$1" check 'r.cpus.jobs' n2)" = true ]
	[ "$(record "$1" check 'r.cpus.left_out' n2)" = "" ]
	no_node_is_drained
}

@test "slurmd on one CPU, by affinity and in a cpuset: what jobs get is measured, and doctor says so" {
	local pid last job set=/sys/fs/cgroup/cpuset/syscheck-confined-$$
	last=$(($(getconf _NPROCESSORS_ONLN) - 1))
	[ "$last" -ge 1 ] || skip "one CPU has no part"
	pid=$(<"$MINICLUSTER_DIR/run/slurmd.n2.pid")
	job=$(sbatch --parsable -w n2 -N1 --syscheck=quick --wrap true)
	eventually 60 job_is "$job" COMPLETED
	ALL=$(record "$job" check 'r.cpus.list' n2)
	confine "$pid" 0
	job=$(sbatch --parsable -w n2 -N1 --syscheck=quick --wrap true)
	run measured_all "$job"
	confine "$pid" "0-$last"
	[ "$status" -eq 0 ] || { echo "$output"; return 1; }
	mkdir "$set" 2>/dev/null || skip "the rest needs a cpuset of v1"
	echo 0 >"$set/cpuset.cpus"
	cat "${set%/*}/cpuset.mems" >"$set/cpuset.mems"
	echo "$pid" >"$set/cgroup.procs"
	job=$(sbatch --parsable -w n2 -N1 --syscheck=quick --wrap true)
	run measured_all "$job"
	DOCTOR=$("$MC" run n2 -- "$MINICLUSTER_DIR/prefix/bin/syscheck" doctor --node n2) || true
	echo "$pid" >"${set%/*}/cgroup.procs"
	confine "$pid" "0-$last"
	eventually 10 rmdir "$set"
	[ "$status" -eq 0 ] || { echo "$output"; return 1; }
	[[ $DOCTOR == *"slurmd may use CPUs 0 of 0-$last"* ]]
}
