#!/usr/bin/env bats
# alone: 120 nodes at once
# A real Slurm: what a drained node, its job's owner and slurmctld see; and a
# storm, in which every node is bad at once.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load eventually
load minicluster

setup_file() {
	cluster_up --mode ports --nodes 12
	eval "$("$MC" env)"
	# Slurm drains a node whose prolog takes longer.
	echo PrologEpilogTimeout=45 >>"$MINICLUSTER_DIR/etc/slurm.conf"
	scontrol reconfigure
	local libexec=$MINICLUSTER_DIR/prefix/libexec/syscheck
	# A kernel's environment names no node; the agent's does.
	rm "$libexec/stream"
	printf '#!/bin/bash\n%s\n' \
		"node=\$(tr '\\0' '\\n' </proc/\$PPID/environ | sed -n s/^SLURMD_NODENAME=//p)
		sleep 0.5; [ -e $BASE/bad.\$node ] && v=10 || v=100
		echo '{\"kernel\":\"stream\",\"verified\":true,\"triad_gbs\":'\$v'}'" >"$libexec/stream"
	chmod 755 "$libexec/stream"
}

setup() {
	cluster_enter .
	rm -f "$BASE"/bad.* "$MINICLUSTER_DIR"/var/lib/syscheck/*/{bad,drained}.json
	: >"$MINICLUSTER_DIR/var/log/syscheck.log"
	policy ''
}

teardown() {
	local n=0
	scancel -u root -u nobody 2>/dev/null
	scontrol update nodename='s[1-12]' state=resume 2>/dev/null || true
	until { [ "$(sinfo -h -N -p main -t idle | wc -l)" = 12 ] && no_agents; } || [ $((n += 1)) -gt 200 ]; do
		sleep 0.2
	done
}

policy() {
	local d=$MINICLUSTER_DIR
	use_policy <<-LUA
	return {
		mode = "enforce", limits = { triad_gbs = { min = 80 } }, partitions = { ["*"] = { default = "quick" } },
		budget = 1, -- nobody asks here; before every job
		kernels = { stream = { quick = 1 }, dgemm = { quick = 0 }, noise = { quick = 0 } },
		spool = "$d/var/spool/syscheck/%n", state = "$d/var/lib/syscheck/%n", run = "$d/run/syscheck/%n",
		$1
	}
	LUA
}

has_reason() {
	# shellcheck disable=SC2053 # a pattern
	[[ $(reason "$1") == $2 ]]
}

@test "its owner reads in scontrol show job which node was drained and why; his own comment stays" {
	: >"$BASE/bad.s2"
	local job text
	job=$(setpriv --reuid=65534 --regid=65534 --clear-groups sbatch --parsable -w s2 --comment='my own' -o /dev/null --wrap true)
	eventually 30 has_reason s2 'syscheck: triad 10.0 < 80.0 GB/s (policy)'
	eventually 20 job_is "$job" PENDING
	text=$(setpriv --reuid=65534 --regid=65534 --clear-groups scontrol show job "$job")
	[[ $text == *"AdminComment=syscheck drained s2: triad 10.0 < 80.0 GB/s (policy)"* ]]
	[[ $text == *" Comment=my own"* ]]
	scancel "$job"
}

@test "a job's name that says what an AdminComment is: nothing of it is written back" {
	local job text
	: >"$BASE/bad.s5"
	job=$(setpriv --reuid=65534 --regid=65534 --clear-groups sbatch --parsable -w s5 -o /dev/null \
		-J $'x\n   AdminComment=approved by root \n\nJobId=1 ArrayJobId=1 ArrayTaskId=2 ' --wrap true)
	[[ $(scontrol show job "$job") == *$'\n   AdminComment=approved by root '* ]]
	eventually 30 has_reason s5 'syscheck: triad 10.0 < 80.0 GB/s (policy)'
	eventually 20 job_is "$job" PENDING
	text=$(squeue --noheader --jobs="$job" --Format=admin_comment:0)
	[ "$text" = "syscheck drained s5: triad 10.0 < 80.0 GB/s (policy)" ]
	scancel "$job"
}

# all_told JOB COUNT: so many nodes are drained, and the job's comment names each of them
all_told() {
	local n drained comment
	drained=$(sinfo -h -N -R -p main -o '%N %E' | awk '/ syscheck: / { print $1 }')
	comment=$(scontrol show job "$1" | grep AdminComment)
	[ "$(wc -w <<<"$drained")" = "$2" ] || return 1
	for n in $drained; do
		[[ $comment == *"syscheck drained $n: triad 10.0"* ]] || return 1
	done
}

@test "several nodes of one job fail at once: the cap, and who is drained is in the comment" {
	local n job
	for n in {1..12}; do : >"$BASE/bad.s$n"; done
	policy 'max_drained = 0.34,'
	# Its script starts on the first node that is ready: one that had ended before the others
	# are told would be a finished job, whose comment Slurm does not change.
	job=$(sbatch --parsable -N 12 -o /dev/null --wrap 'sleep 60')
	eventually 40 job_is "$job" PENDING
	# Nodes that step back may be seen drained until they have, and the last one that
	# stays writes when it has looked again.
	eventually 30 all_told "$job" 4
	sleep 4
	all_told "$job" 4
	[ "$(sinfo -h -N -R -p main -o '%N %E' | wc -l)" = 4 ]
	scancel "$job"
}

@test "a node in two partitions and a partition of one node: drained, once" {
	: >"$BASE/bad.s3"
	scontrol create partitionname=one nodes=s3 oversubscribe=exclusive
	local job
	job=$(sbatch --parsable -p one -o /dev/null --wrap true)
	eventually 30 has_reason s3 'syscheck: triad 10.0 *'
	scancel "$job"
	scontrol delete partitionname=one
}

# scontrol_with SCRIPT: what nodes call instead of scontrol runs SCRIPT first. Where $BASE/hold is,
# held waits until it is not.
scontrol_with() {
	printf '#!/bin/bash\nPATH=/usr/bin:/bin\nheld() { echo $PPID >>%q; while [ -e %q ]; do sleep 0.1; done; }\n%s\nexec scontrol "$@"\n' \
		"$BASE/waiting" "$BASE/hold" "$1" >"$BASE/scontrol"
	chmod 755 "$BASE/scontrol"
	ln -sf /usr/bin/sinfo "$BASE/sinfo"
	policy 'scontrol = "'"$BASE"'/scontrol", lock = "'"$MINICLUSTER_DIR"'/run/lock.%n",'
	# `config check` has called it, too.
	rm -f "$BASE/waiting"
}

# three_jobs: each on a bad node of its own, s4 to s6
three_jobs() {
	local n
	JOBS=()
	for n in 4 5 6; do
		: >"$BASE/bad.s$n"
		JOBS+=("$(sbatch --parsable -w "s$n" -o /dev/null --wrap true)")
	done
}

lines() {
	[ "$(grep -c "$2" "$1" 2>/dev/null)" = "$3" ]
}

count_out() {
	[ "$(sinfo -h -N -R -p main -o %N | wc -l)" = "$1" ]
}

# Each of the three nodes' next health checks, at the same time: at the cap of 1 in the end.
three_settle() {
	local n
	policy 'lock = "'"$MINICLUSTER_DIR"'/run/lock.%n",'
	for n in 4 5 6; do
		env -i SLURMD_NODENAME="s$n" "$MINICLUSTER_DIR/prefix/libexec/syscheck/health" 3>&- &
	done
	wait
	eventually 10 count_out 1
	sinfo -h -R -p main -o %E | grep -q '^syscheck: triad 10.0'
}

# Agents, not their calls: one that gets no answer for long calls again.
three_wait() {
	[ "$(sort -u "$BASE/waiting" | wc -l)" = 3 ]
}

# with_slurmctld_stopped: from when three prologs wait in their call until all have given up
with_slurmctld_stopped() {
	local ctld
	ctld=$(awk '$1 == "slurmctld" { print $2 }' "$MINICLUSTER_DIR/pids")
	: >"$BASE/hold"
	three_jobs
	eventually 30 three_wait || { sort "$BASE/waiting" | uniq -c; squeue; return 1; }
	kill -STOP "$ctld"
	rm "$BASE/hold"
	eventually 60 lines "$LOG" 'UNDECIDED: bad, NOT drained, the job starts' 3 || { kill -CONT "$ctld"; return 1; }
	kill -CONT "$ctld"
}

# three_ran: no job was requeued, none is held
three_ran() {
	local job
	for job in "${JOBS[@]}"; do
		eventually 60 job_is "$job" COMPLETED || return
		[[ $(scontrol show job "$job") == *" Restarts=0 "* ]] || return
	done
}

@test "slurmctld stops before it is asked: no node leaves service, the jobs run; then the cap is drained" {
	scontrol_with 'held'
	with_slurmctld_stopped
	three_ran
	count_out 0
	three_settle
}

@test "slurmctld stops when it is told to drain, and does it later: checks that follow bring it back to the cap" {
	scontrol_with 'case "$*" in *state=drain*) held ;; esac'
	with_slurmctld_stopped
	three_ran
	# What it was told it does, though nobody waits any more.
	eventually 30 count_out 3
	[ "$(sinfo -h -N -R -p main -o '%N %E' | grep -c ' syscheck: triad')" = 3 ]
	three_settle
}

@test "slurmctld refuses to drain: no node leaves service, the jobs run; then the cap is drained" {
	scontrol_with 'case "$*" in *state=drain*) exec setpriv --reuid=65534 --regid=65534 --clear-groups scontrol "$@" ;; esac'
	three_jobs
	three_ran
	count_out 0
	lines "$LOG" 'UNDECIDED: .*slurm_update error' 3
	three_settle
}

@test "storm: 120 nodes are bad at once: at most the cap is drained, every job ends, slurmctld answers" {
	local json=$BATS_TEST_TMPDIR/detect.json
	echo '{"other":1,"storm_nodes":7}' >"$json"
	run "$ROOT/tests/bench/storm.sh" --nodes 120 --json "$json"
	echo "$output"
	# Shown when it passes, too.
	echo "# ${output//$'\n'/$'\n# '}" >&3
	[ "$status" -eq 0 ]
	[[ $output == *"storm: 12 of 120 nodes are drained, cap 12; 0 for other reasons"* ]]
	[ "$(lua5.4 -e "local t = require('cjson').decode(io.open('$json'):read('a')) print(('%d %d %d'):format(t.other, t.storm_nodes, t.storm_cap))")" = "1 120 12" ]
}

@test "storm: the same while slurmctld runs for a quarter of the time: never more than the cap, for whatever reason" {
	run "$ROOT/tests/bench/storm.sh" --nodes 100 --ctld-share 25 --json "$BATS_TEST_TMPDIR/detect.json"
	echo "$output"
	echo "# ${output//$'\n'/$'\n# '}" >&3
	[ "$status" -eq 0 ]
	[[ $output == *"cap 10; 0 for other reasons"* ]]
}
