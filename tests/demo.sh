#!/bin/bash
# make demo: a slow node is drained, its job goes elsewhere and is explained. A real
# Slurm, a real CPU quota, nothing prepared. Exit 1 if any part of it did not happen.
# KEEP=1 leaves the cluster up.
set -u
cd "$(dirname "$0")/.." || exit 2
. tests/machine.bash

export MINICLUSTER_DIR=/var/tmp/syscheck-demo
minicluster=$PWD/tests/cluster/minicluster
# A directory that every virtual node has: jobs start where they are submitted.
cd / || exit 2
failures=0

say() {
	printf '\n# %s\n' "$*"
}

# Shows the command as a reader can type it, then runs it.
play() {
	printf '$'
	printf ' %s' "${@@Q}" | sed -E "s/'([A-Za-z0-9_.,:=@%+\/-]+)'/\1/g"
	printf '\n'
	"$@"
}

# expect WHAT COMMAND...: part of the story; the command has to succeed.
expect() {
	local what=$1
	shift
	if "$@"; then
		echo "  [happened] $what"
	else
		echo "  [DID NOT HAPPEN] $what"
		failures=$((failures + 1))
	fi
}

# matches TEXT REGEX
matches() {
	[[ $1 =~ $2 ]]
}

finish() {
	if [ "${KEEP:-}" = 1 ]; then
		cat <<-TEXT

		The cluster is up (KEEP=1). To use it, from a directory that is not below /tmp (every
		virtual node has a /tmp of its own):
		    cd /
		    export MINICLUSTER_DIR=$MINICLUSTER_DIR
		    eval "\$($minicluster env)"
		    syscheck job $JOB
		    sinfo -R
		    syscheck fleet
		All three nodes are healthy again, and in use:
		    srun -N3 --syscheck=quick hostname
		To stop it:
		    $minicluster down
		TEXT
	else
		"$minicluster" down
	fi
}

# The job: some work, some I/O, long enough for things to happen meanwhile.
write_job() {
	cat >"$1" <<-'JOB'
	#!/bin/bash
	echo "job starts on $SLURM_JOB_NODELIST, status of $(hostname): $SYSCHECK_STATUS"
	srun bash -c 'dd if=/dev/zero of=/tmp/data bs=1M count=64 oflag=direct conv=fsync status=none; rm /tmp/data; sleep 6'
	echo "job ends"
	JOB
	chmod 755 "$1"
}

# A program like many: every step waits for its slowest node.
write_solver() {
	cat >"$1" <<-'JOB'
	#!/bin/bash
	for step in 1 2 3; do
		srun bash -c 'for ((i = 0; i < 300000; i++)); do :; done'
	done
	JOB
	chmod 755 "$1"
}

# run_solver: submits one run; its ID goes to log/submit
run_solver() {
	play sbatch -N3 --job-name=solver -o /dev/null "$MINICLUSTER_DIR/run/solver.sh" | tee "$MINICLUSTER_DIR/log/submit"
}

queue_empty() {
	[ -z "$(squeue -h)" ]
}

# One value of the job's records: field NODE KIND LUA-EXPRESSION of r
field() {
	syscheck job "$JOB" --json 2>/dev/null | lua5.4 /dev/fd/3 "$@" 3<<-'LUA'
	local node, kind, get = arg[1], arg[2], load("local r = ... return " .. arg[3])
	local last
	for _, r in ipairs(require("cjson").decode(io.read("a"))) do
		if r.node == node and r.kind == kind then last = get(r) end
	end
	print(math.type(last) == "float" and string.format("%.0f", last) or tostring(last))
	LUA
}

wait_for() {
	local deadline=$((SECONDS + $1))
	shift
	until "$@"; do
		[ "$SECONDS" -lt "$deadline" ] || return 1
		sleep 0.3
	done
}

job_state() {
	[ "$(squeue -h -j "$JOB" -o %T 2>/dev/null)" = "$1" ]
}

job_gone() {
	[ -z "$(squeue -h -j "$JOB" -o %T 2>/dev/null)" ]
}

drained() {
	[ -n "$(sinfo -h -R -n "$1" -o %E)" ]
}

# The virtual nodes share this machine: when something else takes its time, a node that
# nobody slowed is too slow, too, and the rest of the story cannot happen.
stop_if_busy() {
	local other
	other=$(sinfo -h -R -o '%n %E' | grep -v '^n2 ')
	if [ -n "$other" ]; then
		echo "demo: a node that nobody slowed is drained: $other"
	elif ! drained n2; then
		echo "demo: n2 is not drained: what healthy nodes measured differs too much, or was left out as others used them (above)"
	else
		return 0
	fi
	echo "demo: something else uses this machine (load $(cut -d' ' -f1-3 /proc/loadavg)); run the demo when it is idle"
	exit 1
}

throttle_seen() {
	[ "$(field "$1" job 'r.throttle_events' 2>/dev/null)" = "$2" ]
}

# The second half: nobody drains anything, and a user complains.
complaint() {
	local node answer collected=$MINICLUSTER_DIR/var/collected id
	say "n2 is repaired. A user's solver runs as it did for weeks."
	play "$minicluster" slow n2 off
	play scontrol update nodename=n2 state=resume
	write_solver "$MINICLUSTER_DIR/run/solver.sh"
	for _ in 1 2 3 4 5; do
		run_solver >/dev/null
		wait_for 30 queue_empty
	done
	tail -n 1 "$MINICLUSTER_DIR/log/submit"

	say "Then n3 overheats while it runs: it throttles, and computes at a tenth of its speed."
	play "$minicluster" slow n3 10
	run_solver
	sleep 1.5
	play "$minicluster" throttle n3 2408
	wait_for 60 queue_empty
	play "$minicluster" slow n3 off
	id=$(awk '/^Submitted/ { print $4 }' "$MINICLUSTER_DIR/log/submit")

	say "Every node ships its records (a timer does that); they are stored."
	mkdir -p "$collected" "$MINICLUSTER_DIR/var/store"
	export SYSCHECK_STORE=$MINICLUSTER_DIR/var/store/syscheck.db
	for node in n1 n2 n3; do
		play env SLURMD_NODENAME="$node" syscheck ship --to "$collected"
	done
	play syscheck ingest "$collected"

	say "The user: job $id was slow. Why?"
	play syscheck why "$id" | tee "$MINICLUSTER_DIR/log/why"
	answer=$(sed -n 2p "$MINICLUSTER_DIR/log/why")
	expect "the job is found slow against its 5 like runs" matches "$answer" \
		"^job $id took [0-9.]+x what 5 like runs took .*: slow; "
	expect "the answer is n3, and only n3" matches "$answer" ' n3: [^;]*(throttled|CPU quota)'
	expect "nobody else is blamed" test "$(grep -cE '(^| )n[12]: ' <<<"$answer")" = 0
	play syscheck node n3 --since 1h
}

main() {
	local began=$SECONDS out
	JOB='?'
	"$minicluster" down
	trap 'finish' EXIT

	say "A cluster: three nodes, a real Slurm, syscheck installed as a site installs it."
	play "$minicluster" up --nodes 3 || exit 1
	eval "$("$minicluster" env)"
	play sinfo

	say "Healthy nodes are measured, and what they measure becomes the baseline."
	play srun -N3 --syscheck=full true
	play srun -N3 --syscheck=full true
	# Three nodes are few: --force says that we know.
	play syscheck baseline learn --force
	expect "a baseline is written" test -s "$MINICLUSTER_DIR/etc/syscheck/baseline.json"

	say "n2 becomes slow: 40 % of its CPU time is left, as under heavy throttling."
	play "$minicluster" slow n2 40

	say "A user submits a job, and wants every node checked first, and a line of each."
	write_job "$MINICLUSTER_DIR/run/job.sh"
	play cat "$MINICLUSTER_DIR/run/job.sh"
	play sbatch -N2 --syscheck=full,verbose -o "$MINICLUSTER_DIR/log/job-%j.out" "$MINICLUSTER_DIR/run/job.sh" |
		tee "$MINICLUSTER_DIR/log/submit"
	JOB=$(awk '/^Submitted/ { print $4 }' "$MINICLUSTER_DIR/log/submit")
	expect "the job is submitted" matches "$JOB" '^[0-9]+$'
	out=$MINICLUSTER_DIR/log/job-$JOB.out

	wait_for 60 drained n2 || stop_if_busy
	say "n2 measured too little, twice: it is drained, with the number and the limit."
	play sinfo -R -o '%n %E'
	expect "n2 is drained by syscheck, with value and limit" matches "$(sinfo -h -R -n n2 -o %E)" \
		'^syscheck: (triad|dgemm) [0-9.]+ < [0-9.]+ (GB/s|GFLOP/s) \(class .+, median [0-9.]+\)(; (noise [0-9.]+ %|'"$WHO_HAD_CPUS"' .*))*$'
	stop_if_busy
	wait_for 60 job_state RUNNING
	stop_if_busy
	play squeue -o '%i %T %N %V'

	say "The job is requeued and runs on healthy nodes. While it runs, n3 throttles 1204 times."
	# n3 itself is at work, not only the script on n1: its own line shows it.
	wait_for 30 grep -qs '^syscheck: n3 ' "$out"
	play "$minicluster" throttle n3 1204
	wait_for 60 job_gone
	expect "the job was requeued once" matches "$(scontrol show job "$JOB" 2>/dev/null)" 'Restarts=1 '
	expect "it ran on n1 and n3" matches "$(scontrol show job "$JOB" 2>/dev/null)" ' NodeList=n\[1,3\]'

	say "The job's own output:"
	play cat "$out"
	# A script starts when its own node is checked; n3 may be checked a moment later.
	expect "it starts with one sentence on its nodes" matches "$(head -n 1 "$out")" \
		'^syscheck: .*(2 nodes checked, |n1 checked, .* and 1 other node: )'
	expect "it has n1's check" matches "$(sed -n 2p "$out")" \
		'^syscheck: n1 full (pass|warn)  triad [0-9.]+ GB/s .* dgemm [0-9.]+ GFLOP/s .* noise [0-9.]+ % .*throttle 0'
	expect "it has n3's check, too" grep -q '^syscheck: n3 full ' "$out"
	expect "it says at its end that n3 throttled" grep -q \
		"^syscheck: n3 throttled 1,204 times (3.6 s of [0-9.]* s) during this job; ask: syscheck why $JOB\$" "$out"
	expect "the job ended well" grep -q '^job ends' "$out"

	wait_for 20 throttle_seen n3 1204
	say "What every node went through during it:"
	play syscheck job "$JOB"
	expect "n3's record has the throttle events" throttle_seen n3 1204
	expect "n1's record has none" throttle_seen n1 0
	expect "n3's record has its I/O time" matches "$(field n3 job 'r.delta.pressure and r.delta.pressure.io_some_us')" '^[1-9]'
	expect "n2's check is recorded as a fail, confirmed" test "$(field n2 check 'r.status')" = fail
	complaint

	echo
	if [ "$failures" -gt 0 ]; then
		echo "demo: $failures part(s) of the story did not happen; the prolog's log:"
		tail -n 20 "$MINICLUSTER_DIR/var/log/syscheck.log"
		exit 1
	fi
	echo "demo: every part of the story happened, in $((SECONDS - began)) s."
}

main "$@"
