#!/usr/bin/env bats
# One check at a time on a node, and what is left when an agent or who started it ends
# before its time: killed, stopped, out of memory, broken.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load helpers
load eventually

setup() {
	agent_reset
	AGENT=$P/libexec/syscheck/agent.lua
	[ -e "$BATS_FILE_TMPDIR/agent.lua" ] || cp "$AGENT" "$BATS_FILE_TMPDIR/agent.lua"
	base='mode = "enforce", limits = { triad_gbs = { min = 80 } }'
}

teardown() {
	cp "$BATS_FILE_TMPDIR/agent.lua" "$AGENT"
	cp "$P"/kernels/* "$P/libexec/syscheck/"
	agent_keep
}

gone() {
	! kill -0 "$1" 2>/dev/null
}

# measures_until FILE: a stream that says which process it is, measures until FILE is there, and is slow
measures_until() {
	kernel stream 'echo $$ >>'"$P"'/measuring
		until [ -e '"$1"' ]; do sleep 0.05; done
		'"$(says stream '"triad_gbs":61.3')"
	policy "$base, kernels = { stream = { quick = 30 } }, deadline = { quick = 60 }"
	rm -f "$P/measuring" "$1"
}

# dies_in STAGE LUA: the agent of this stage does LUA instead
dies_in() {
	{
		printf 'if arg[1] == "%s" then\n%s\nend\n' "$1" "$2"
		tail -n +2 "$BATS_FILE_TMPDIR/agent.lua"
	} >"$AGENT"
}

KILL='require("luv").kill(require("luv").os_getpid(), "sigkill") require("luv").sleep(60000)'

# records KIND: how many there are
records() {
	[ ! -e "$SPOOL" ] || grep -c "\"kind\":\"$1\"" "$SPOOL" || true
}

@test "beside another check nothing is measured: unknown, no drain, due as before" {
	measures_until "$P/go"
	prolog SLURM_JOB_ID=4711 3>&- &
	eventually 20 test -s "$P/measuring"
	run -3 "$P/bin/syscheck" run
	[[ $output == *"triad: not measured: another check of this node is measuring (process "* ]]
	# The same job's, started anew: slurmd was killed in the prolog.
	policy "$base, partitions = { main = { default = 'quick' } }, budget = 0.0001"
	ASKED=0 run slurmd_runs prolog
	assert_unknown
	[[ $(record check 'r.text') == "triad: not measured: another check of this node is measuring (process "* ]]
	[ "$(wc -l <"$P/measuring")" = 1 ]
	grep -q '"due":"never checked"' "$P/var/lib/syscheck/last_pass.json"
	touch "$P/go"
	wait
}

@test "who is dead, another process, of 90 s ago, or of another user does not hold the node; garbage neither" {
	local start entry now
	sleep 300 3>&- &
	local other=$!
	start=$(awk '{ print $22 }' "/proc/$other/stat")
	now=$(lua5.4 -e 'print(require("luv").hrtime() / 1e9)')
	mkdir -p "$P/run"
	for entry in '{"pid":999999,"start":1,"since_s":'"$now"'}' '{"pid":'"$other"',"start":1,"since_s":'"$now"'}' \
		'{"pid":'"$other"',"start":'"$start"',"since_s":1}' '{"pid":'"$other"',"start":'"$start"',"since_s":1e300}' \
		'{"pid":'"$other"',"start":'"$start"'}' '{"pid":"x"}' '[]' x ''; do
		printf '%s' "$entry" >"$P/run/measure.json"
		prolog
		epilog
		[ "$(record check 'r.status')" = pass ] || { echo "$entry"; return 1; }
	done
	printf '{"pid":%d,"start":%d,"since_s":%s}' "$other" "$start" "$now" >"$P/run/measure.json"
	chmod 666 "$P/run/measure.json"
	prolog
	[ "$(record check 'r.status')" = pass ]
	# It may be believed: then it holds.
	printf '{"pid":%d,"start":%d,"since_s":%s}' "$other" "$start" "$(lua5.4 -e 'print(require("luv").hrtime() / 1e9)')" \
		>"$P/run/measure.json"
	chmod 600 "$P/run/measure.json"
	prolog
	[ "$(record check 'r.status')" = unknown ]
	kill "$other"
}

# slurmd SCRIPT: a daemon of Slurm's name, as its scripts see it; into $SLURMD
slurmd() {
	cp "$(command -v bash)" "$BATS_TEST_TMPDIR/slurmd"
	"$BATS_TEST_TMPDIR/slurmd" -c "$1; true" 3>&- &
	SLURMD=$!
}

@test "slurmd is killed in a prolog: the check ends, drains nothing, holds nothing" {
	measures_until "$P/never"
	export -f prolog slurmd_runs
	slurmd prolog
	eventually 20 test -s "$P/measuring"
	kill -KILL "$SLURMD"
	eventually 20 test -s "$SPOOL"
	[ "$(record check 'r.status .. r.action')" = unknownnone ]
	[[ $(record check 'r.problems[1]') == "slurmd (process $SLURMD), which started this check, is gone" ]]
	eventually 20 gone "$(<"$P/measuring")"
	[ ! -e "$P/calls" ]
	eventually 5 test ! -e "$P/run/measure.json"
	# The next one measures, and is believed.
	kernel stream "$(says stream '"triad_gbs":61.3')"
	run -1 prolog
}

@test "slurmd is killed while Slurm is asked: nothing is left that would be taken for a job, once the epilog is over" {
	kernel stream "$(says stream '"triad_gbs":61.3')"
	policy "$base"
	fake_slurm 'sleep 0.5'
	export -f prolog slurmd_runs
	slurmd prolog
	eventually 20 test -s "$P/calls"
	kill -KILL "$SLURMD"
	epilog
	eventually 40 grep -q 'ended: slurmd (process ' "$LOG"
	[ -s "$P/slurm/reason" ]
	[ -z "$(ls "$P/var/lib/syscheck/begin")" ]
	[ ! -e "$P/run/4711" ]
	rm "$P/slurm/reason"
	fake_slurm
	kernel stream "$(says stream '"triad_gbs":100')"
	prolog SLURM_JOB_ID=4712
	[ "$(record check 'r.level')" = quick ]
}

@test "slurmd is killed before the second run: what the first found is not confirmed, wrong results neither" {
	kernel stream '[ -e '"$P"'/gone ] || { kill -KILL $(<'"$P"'/slurmd.pid); touch '"$P"'/gone; }
		echo '"'"'{"kernel":"stream","verified":false,"error":"bad","triad_gbs":61.3}'"'"'; exit 1'
	policy "$base"
	export -f prolog slurmd_runs
	slurmd 'echo $$ >'"$P"'/slurmd.pid; prolog'
	eventually 20 test -s "$SPOOL"
	[ "$(record check 'r.status .. r.action')" = failnone ]
	[ ! -e "$P/calls" ]
}

@test "a kernel ends with its agent, whatever kills that" {
	cp "$P/kernels/stream" "$P/libexec/syscheck/stream"
	policy 'kernels = { stream = { quick = 30 } }, deadline = { quick = 60 }'
	prolog 3>&- &
	kernel_of() {
		pgrep -n -f "$P/libexec/syscheck/stream" >"$P/kernel.pid"
	}
	eventually 20 kernel_of
	local kernel agent
	kernel=$(<"$P/kernel.pid")
	agent=$(ps -o ppid= -p "$kernel")
	kill -KILL "${agent// /}"
	eventually 10 gone "$kernel"
	wait
}

@test "a killed agent: the job starts, a log line, a record, the job's line" {
	kernel stream 'kill -KILL $PPID; sleep 1'
	run -0 prolog
	[ "$(grep -c ' t1 prolog: job 4711: error: the agent was killed: out of memory, or by hand$' "$LOG")" = 1 ]
	[ "$(record check '("%s %s %s %s"):format(r.trigger, r.level, r.asked, r.status)')" = "prolog quick quick unknown" ]
	[ "$(record check 'r.text')" = "the prolog's agent was killed: out of memory, or by hand" ]
	[ "$(record check 'r.job.id')" = 4711 ]
	grep -q "^line=syscheck: t1 quick unknown  (the prolog's agent was killed: out of memory, or by hand)$" "$P/run/4711"
	epilog
	[ "$(record job 'r.check.status')" = unknown ]
	"$P/bin/syscheck" ingest --store "$BATS_TEST_TMPDIR/s.db" "$P/var/spool/syscheck"
	run -0 "$P/bin/syscheck" node t1 --store "$BATS_TEST_TMPDIR/s.db"
	[[ $output == *"unknown: the prolog's agent was killed"* ]]
	run -0 "$P/bin/syscheck" fleet --store "$BATS_TEST_TMPDIR/s.db"
	[[ $output == *NEWEST_CHECK_UNKNOWN*t1*"the prolog's agent was killed"* ]]
}

@test "an agent that ends by an error, a code of its own, or that cannot be started: said, and the job starts" {
	dies_in prolog 'error("broken")'
	run -0 prolog
	grep -q 'broken$' "$LOG"
	grep -q ': error: the agent ended with exit code 1$' "$LOG"
	[ "$(record check 'r.text')" = "the prolog's agent ended with exit code 1" ]
	dies_in prolog 'require("luv").kill(require("luv").os_getpid(), "sigsegv")'
	run -0 prolog SPANK_SYSCHECK=
	[ "$(record check 'r.text')" = "the prolog's agent was ended by signal 11" ]
	[ "$(record check 'r.level')" = none ]
	sed -E "s|'[^']*/lua[0-9.]*' -E|'$P/no/lua' -E|" "$P/libexec/syscheck/prolog" >"$P/libexec/syscheck/prolog.nolua"
	chmod 755 "$P/libexec/syscheck/prolog.nolua"
	run -0 slurmd_runs prolog.nolua
	rm "$P/libexec/syscheck/prolog.nolua"
	grep -q ': error: the agent could not be started (exit code 127): .*/no/lua: No such file or directory$' "$LOG"
}

@test "the whole group is stopped, for ever: killed, reaped, recorded" {
	limited 1
	dies_in prolog 'local uv = require("luv") io.open("'"$P"'/agent.pid", "w"):write(uv.os_getpid()):close() uv.kill(0, "sigstop")'
	run -0 slurmd_runs prolog.short
	rm "$P/libexec/syscheck/prolog.short"
	eventually 10 gone "$(<"$P/agent.pid")"
	[ "$(record check 'r.text')" = "the prolog's agent did not end within 1 s and was killed" ]
}

@test "the epilog's agent is killed: the job's record is written all the same, and says so" {
	prolog
	dies_in epilog "$KILL"
	run -0 epilog
	grep -q ' t1 epilog: job 4711: error: the agent was killed' "$LOG"
	[ "$(record job 'r.problems[1]')" = "the epilog's agent was killed: out of memory, or by hand" ]
	[ "$(record job 'r.elapsed_s ~= nil')" = true ]
	[ "$(records job)" = 1 ]
	# Where that fails, too, the loss is recorded.
	cp "$P/share/syscheck/lua/syscheck/epilog.lua" "$P/epilog.keep"
	echo 'error("broken")' >"$P/share/syscheck/lua/syscheck/epilog.lua"
	prolog SLURM_JOB_ID=4712
	run -0 epilog SLURM_JOB_ID=4712
	cp "$P/epilog.keep" "$P/share/syscheck/lua/syscheck/epilog.lua"
	[ "$(records job)" = 1 ]
	[ "$(record loss '("%d %s"):format(r.lost_records, r.reason)')" = "1 the epilog's agent was killed: out of memory, or by hand" ]
	# The job is over: the next one is measured.
	prolog SLURM_JOB_ID=4713
	[ "$(record check 'r.level')" = quick ]
}

@test "the epilog's agent and its second try are killed while they write: the job is over all the same" {
	local file=$P/share/syscheck/lua/syscheck/spool/records.lua
	prolog SLURM_JOB_ID=4714
	cp "$file" "$P/records.keep"
	sed -i "s/^return records\$/if arg[1] ~= \"prolog\" then records.append = function() $KILL end end return records/" "$file"
	run -0 epilog SLURM_JOB_ID=4714
	cp "$P/records.keep" "$file"
	grep -q ' t1 epilog: job 4714: error: the agent was killed' "$LOG"
	prolog SLURM_JOB_ID=4715
	[ "$(record check 'r.level')" = quick ]
	epilog SLURM_JOB_ID=4715
}

@test "the health program's agent is killed each time: one record, a log line each" {
	dies_in health "$KILL"
	run -0 health
	run -0 health
	[ "$(grep -c ' t1 health: error: the agent was killed' "$LOG")" = 2 ]
	[ "$(records check)" = 1 ]
	[ "$(record check 'r.trigger .. r.status')" = healthunknown ]
}

@test "without a log that can be written: what ended the agent is recorded, the epilog's work done" {
	local log
	for log in /dev/null "$P"; do
		rm -rf "$P/var/spool" "$P/var/lib"
		ln -sfn "$log" "$LOG"
		dies_in prolog "$KILL"
		run -0 prolog
		[ "$(record check 'r.text')" = "the prolog's agent was killed: out of memory, or by hand" ]
		cp "$BATS_FILE_TMPDIR/agent.lua" "$AGENT"
		prolog
		dies_in epilog "$KILL"
		run -0 epilog
		[ "$(record job 'r.elapsed_s ~= nil')" = true ]
	done
	rm "$LOG"
}

@test "the wall clock is set in the prolog: the node is drained, or what ended the agent is told, as otherwise" {
	local step clock=(LD_PRELOAD="$BATS_TEST_TMPDIR/clock.so")
	gcc -shared -fPIC -DCLOCK_FILE="\"$P/clock\"" -o "$BATS_TEST_TMPDIR/clock.so" "$BATS_TEST_DIRNAME/faults/clock.c" -ldl
	for step in 172800 -172800; do
		agent_reset
		policy "$base"
		rm -f "$P/clock"
		kernel stream "echo $step >$P/clock; $(says stream '"triad_gbs":61.3')"
		run -1 prolog "${clock[@]}"
		[ ! -s "$LOG" ] || run ! grep 'the agent' "$LOG"
		[ "$(records check)" = 1 ]
		epilog
		rm -f "$P/clock"
		kernel stream "echo $step >$P/clock; kill -KILL \$PPID; sleep 1"
		run -0 prolog SLURM_JOB_ID=4712 "${clock[@]}"
		[ "$(record check 'r.text')" = "the prolog's agent was killed: out of memory, or by hand" ]
	done
}

@test "a signal ends the entry, as when systemd stops slurmd and all that it started: no failed prolog, no failed epilog" {
	local stage signal entry
	for stage in prolog epilog; do
		dies_in "$stage" 'io.open("'"$P"'/runs", "w"):close() require("luv").sleep(3000)'
		for signal in TERM HUP USR1; do
			rm -f "$P/runs"
			SLURM_JOB_ID=4711 SLURMD_NODENAME=t1 "$P/libexec/syscheck/$stage" 3>&- &
			entry=$!
			eventually 10 test -e "$P/runs"
			kill -"$signal" "$entry"
			wait "$entry"
		done
		cp "$BATS_FILE_TMPDIR/agent.lua" "$AGENT"
	done
}

# cgroup CONTROLLER SETTING...: a group (v1) with these; into $CGROUP
cgroup() {
	local setting
	if [ "$(id -u)" != 0 ] || [ ! -d "/sys/fs/cgroup/$1" ]; then
		skip "needs root and a cgroup (v1) of $1"
	fi
	CGROUP=/sys/fs/cgroup/$1/syscheck-test-$$
	mkdir "$CGROUP" || skip "no cgroup here"
	shift
	for setting in "$@"; do
		echo "${setting#*=}" >"$CGROUP/${setting%%=*}" || { rmdir "$CGROUP"; skip "no ${setting%%=*} here"; }
	done
}

in_cgroup() {
	(echo "$BASHPID" >"$CGROUP/cgroup.procs" && "$@")
}

@test "an agent that cannot be killed (frozen): the entry returns in time and says so; it ends when it can" {
	cgroup freezer
	limited 1
	dies_in prolog 'local function put(path, text) local f = io.open(path, "w") f:write(text) f:close() end
		put("'"$P"'/agent.pid", require("luv").os_getpid())
		put("'"$CGROUP"'/cgroup.procs", "0")
		put("'"$CGROUP"'/freezer.state", "FROZEN")'
	# slurmd reads it to its end; so does cat.
	run -0 timeout 60 bash -c "SLURM_JOB_ID=4711 SLURMD_NODENAME=t1 '$P/libexec/syscheck/prolog.short' 2>&1 | cat; exit \${PIPESTATUS[0]}"
	rm "$P/libexec/syscheck/prolog.short"
	kill -0 "$(<"$P/agent.pid")"
	echo THAWED >"$CGROUP/freezer.state"
	eventually 10 gone "$(<"$P/agent.pid")"
	eventually 10 rmdir "$CGROUP"
	grep -q ': error: the agent did not end within 1 s and could not be killed$' "$LOG"
	[ "$(record check 'r.text')" = "the prolog's agent did not end within 1 s and could not be killed" ]
}

# caller PYTHON STAGE: starts it as slurmd might be, with signals as PYTHON leaves them
caller() {
	run env SLURM_JOB_ID=4711 SLURMD_NODENAME=t1 python3 -c "import os, signal
$1
os.execv('$P/libexec/syscheck/$2', ['$2'])"
}

@test "signals that the caller ignores or blocks: the verdict is that of the agent, at once" {
	local how
	for how in 'signal.signal(signal.SIGCHLD, signal.SIG_IGN)' \
		'signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())' \
		'[signal.signal(s, signal.SIG_IGN) for s in signal.valid_signals() - {9, 19, 32, 33}]'; do
		dies_in prolog 'os.exit(99)'
		caller "$how" prolog
		[ "$status" = 1 ] || { echo "$how"; return 1; }
		dies_in prolog 'os.exit(0)'
		caller "$how" prolog
		[ "$status" = 0 ]
	done
	[ ! -e "$LOG" ] || run ! grep 'the agent' "$LOG"
}

@test "what bounds the agent is broken, missing, or ends as it should not: the job starts, and the log says why" {
	local bound=$P/libexec/syscheck/bound.lua native=$P/lib/syscheck/lua/syscheck_native.so said
	cp "$bound" "$P/bound.keep"
	cp "$native" "$P/native.keep"
	while IFS='|' read -r how said; do
		rm -f "$LOG"
		eval "$how"
		run -0 prolog
		cp "$P/bound.keep" "$bound"
		cp "$P/native.keep" "$native"
		grep -q ": error: the agent could not be started (exit code 125)$said" "$LOG" || { echo "$how"; cat "$LOG"; return 1; }
	done <<-'LIST'
		rm "$bound"|: .*bound.lua
		: >"$bound"|$
		echo 'os.exit(99)' >"$bound"|$
		echo 'os.exit(0)' >"$bound"|$
		echo 'x y' >"$bound"|: .*syntax error
		rm "$native"|: .*syscheck_native.so: cannot open
		echo x >"$native"|: .*syscheck_native.so
	LIST
	run -0 prolog
}

@test "what bounds the agent hangs before it has a limit, or starts late: one limit for all of it" {
	local bound=$P/libexec/syscheck/bound.lua writer
	cp "$bound" "$P/bound.keep"
	limited 4
	dies_in prolog 'os.execute("exec sleep 100")'
	rm "$bound"
	mkfifo "$bound"
	run -0 slurmd_runs prolog.short
	grep -q ': error: the agent did not end within 4 s and was killed$' "$LOG"
	# The shell ends it, which records nothing; a limit that began with the start would, and be recorded.
	(sleep 4.5; cat "$P/bound.keep" >"$bound") 3>&- &
	writer=$!
	run -0 slurmd_runs prolog.short
	[ "$(grep -c ': error: the agent did not end within 4 s and was killed$' "$LOG")" = 2 ]
	[ "$(records check)" = "" ]
	rm "$bound" "$P/libexec/syscheck/prolog.short"
	cp "$P/bound.keep" "$bound"
	wait "$writer" || true
}

@test "slurmd kills the prolog's group, or somebody its watcher: nothing is left without a limit" {
	local entry
	mkdir -p "$P/etc/syscheck/checks.d"
	printf '#!/bin/sh\necho $$ >%q\nexec sleep 600\n' "$P/check.pid" >"$P/etc/syscheck/checks.d/hang"
	chmod 755 "$P/etc/syscheck/checks.d/hang"
	SLURM_JOB_ID=4711 SLURMD_NODENAME=t1 setsid "$P/libexec/syscheck/prolog" 3>&- &
	entry=$!
	eventually 20 test -s "$P/check.pid"
	kill -KILL -- "-$entry"
	eventually 20 gone "$(<"$P/check.pid")"
	rm -r "$P/etc/syscheck/checks.d"
	dies_in prolog 'io.open("'"$P"'/watcher", "w"):write(io.open("/proc/self/stat"):read("a"):match("%) %a (%d+)")):close()
		os.execute("echo $$ >'"$P"'/left.pid; exec sleep 600")'
	SLURM_JOB_ID=4712 SLURMD_NODENAME=t1 "$P/libexec/syscheck/prolog" 3>&- &
	entry=$!
	eventually 20 test -s "$P/left.pid"
	kill -KILL "$(<"$P/watcher")"
	wait "$entry"
	eventually 20 gone "$(<"$P/left.pid")"
}

@test "out of memory: the kernel takes the agent, never the entry; the job starts" {
	cgroup memory memory.limit_in_bytes=128M
	echo 128M 2>/dev/null >"$CGROUP/memory.memsw.limit_in_bytes" || true
	# The shells are the first to go, where they could.
	dies_in prolog 'io.open("/proc/self/oom_score_adj", "w"):write("-900"):close()
		local t = {} while true do t[#t + 1] = ("x"):rep(1048576) .. #t end'
	first_to_go() {
		echo 500 >/proc/self/oom_score_adj
		slurmd_runs prolog
	}
	run -0 in_cgroup first_to_go
	eventually 10 rmdir "$CGROUP"
	[ "$(record check 'r.text')" = "the prolog's agent was killed: out of memory, or by hand" ]
}

@test "no process can be started: the job starts" {
	cgroup pids pids.max=1
	run in_cgroup bash -c 'exec "$@"' - "$P/libexec/syscheck/prolog"
	eventually 10 rmdir "$CGROUP"
	[ "$status" = 0 ]
}

@test "a user's syscheck run does without the lock that is root's" {
	[ "$(id -u)" = 0 ] || skip "needs root to be another user"
	mkdir "$BATS_TEST_TMPDIR/lock"
	chmod 1777 "$BATS_TEST_TMPDIR/lock"
	policy "$base, lock = '$BATS_TEST_TMPDIR/lock/l'"
	chmod 755 "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR" "$P"
	run -0 setpriv --reuid=65534 --regid=65534 --clear-groups "$P/bin/syscheck" run
	[[ $output == *"level quick: pass"* ]]
	[[ $output == *"problem: measured without the lock $BATS_TEST_TMPDIR/lock/l, which is root's"* ]]
	# Nor is one made that root would refuse.
	[ ! -e "$BATS_TEST_TMPDIR/lock/l" ]
	prolog
	[ "$(record check 'r.status')" = pass ]
	run -0 setpriv --reuid=65534 --regid=65534 --clear-groups "$P/bin/syscheck" run
	[[ $output == *"level quick: pass"* ]]
}
