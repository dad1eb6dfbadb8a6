#!/usr/bin/env bats
# The health program on one node, with fakes for kernels and scontrol: when it measures,
# how it gives way to a prolog, what it resumes and what never.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load helpers

setup() {
	agent_reset
	STATE=$P/var/lib/syscheck
	# A lock, as on a machine of several virtual nodes: steps of other clusters that run on
	# this machine do not make this node busy.
	base='mode = "enforce", lock = "'$P'/lock", limits = { triad_gbs = { min = 80 } }'
	policy "$base"
}

teardown() {
	[ -z "${STEP:-}" ] || kill "$STEP" 2>/dev/null || true
	agent_keep
}

# records: how many there are
records() {
	[ ! -e "$SPOOL" ] || wc -l <"$SPOOL"
}

# set_state FILE STATEMENT: changes the value s of a state file
set_state() {
	lua5.4 - "$STATE/$1" "$2" <<-'LUA'
	local json = require("cjson")
	local f = assert(io.open(arg[1]))
	local s = json.decode(f:read("a"))
	f:close()
	assert(load("local s = ... " .. arg[2]))(s)
	f = assert(io.open(arg[1], "w"))
	f:write(json.encode(s))
	f:close()
	LUA
}

# The next look at a drained node is due now.
recheck_due() {
	set_state drained.json 's.next_s = 0'
}

# drain_it: a prolog finds it slow and drains it; scontrol then tells so
drain_it() {
	kernel stream "$(says stream '"triad_gbs":61.3')"
	run -1 prolog
	epilog
	is_drained 'IDLE+DRAIN' 'syscheck: triad 61.3 < 80.0 GB/s (policy)'
	rm "$P/calls" "$SPOOL"
}

# is_drained STATE REASON
is_drained() {
	scontrol "[ \$1 = show ] && echo 'NodeName=t1 Arch=x86_64 State=$1 Partitions=main    Reason=$2 [root@2026-11-21T08:00:00]'; exit 0"
}

repair() {
	kernel stream "$(says stream '"triad_gbs":100')"
}

@test "an idle node: kernels once, then only counters; no call to Slurm, one record" {
	health
	[ "$(record check '("%s %s %s"):format(r.trigger, r.level, r.status)')" = "health quick pass" ]
	[ "$(record check 'r.job')" = nil ]
	[[ "$(record check 'r.text')" == *" within limits" ]]
	health
	health
	[ "$(records)" = 1 ]
	[ ! -e "$P/calls" ]
	[ ! -e "$P/run/health.json" ]
	[ ! -s "$LOG" ]
}

# files: what there is of state and spool, and which of it was written anew
files() {
	find "$P/var/lib" "$P/var/spool" -type f -printf '%p %i %T@\n' | sort
}

@test "of a node that is well nothing is written" {
	local before
	policy 'health = { level = "passive" }'
	health
	before=$(files)
	[ -n "$before" ]
	health
	[ "$(files)" = "$before" ]
	# Until something is new.
	policy 'health = { level = "passive" }, expect = { ["*"] = { threads = 99999 } }'
	health
	[ "$(record check 'r.status')" = warn ]
	before=$(files)
	health
	[ "$(files)" = "$before" ]
}

@test "its pass spares a job the check, and an asked pass spares the node the kernels" {
	policy "$base, partitions = { main = { default = 'quick' } }, budget = 0.0001"
	health
	unasked_prolog
	[ "$(record check 'r.trigger .. r.level .. r.note')" = "prologpassivethe last pass is fresh" ]
	epilog
	rm -r "$STATE"
	prolog
	epilog
	rm "$SPOOL"
	health
	[ "$(record check 'r.level')" = passive ]
}

@test "its records name the cluster as those of jobs do: from the last prolog, else from slurm.conf" {
	policy "$base, budget = 0"
	local dir=$BATS_TEST_TMPDIR/conf
	mkdir "$dir"
	printf 'include names.conf\nSlurmctldHost=h\n' >"$dir/slurm.conf"
	printf '# ClusterName=no\nClusterName=Chem_HPC\nNodeName=t1\n' >"$dir/names.conf"
	# No prolog has said where it is.
	unshare --mount bash -c 'd=/etc/slurm
		[ -d "$d" ] || { mount -t tmpfs none /opt && d=/opt/slurm/etc && mkdir -p "$d"; }
		mount --bind "$1" "$d" && env -i SLURMD_NODENAME=t1 "$2"' - "$dir" "$P/libexec/syscheck/health"
	[ "$(record check r.cluster)" = chem_hpc ]
	rm -r "$P/var/lib/syscheck"
	# An older prolog's environment, or a configless node: only the place is known.
	prolog SLURM_CLUSTER_NAME= SLURM_CONF="$dir/slurm.conf"
	epilog SLURM_CLUSTER_NAME= SLURM_CONF="$dir/slurm.conf"
	[ "$(record job r.cluster)" = chem_hpc ]
	rm -f "$SPOOL" "$P/var/lib/syscheck/last_health.json"
	health
	[ "$(record check r.cluster)" = chem_hpc ]
	prolog
	epilog
	rm -f "$SPOOL" "$P/var/lib/syscheck/last_health.json"
	health
	[ "$(record check 'r.trigger .. r.cluster')" = healthtest ]
	# What is no file is not waited for.
	rm -r "$P/var/lib/syscheck" "$SPOOL" "$dir/slurm.conf"
	mkfifo "$dir/slurm.conf"
	prolog SLURM_CLUSTER_NAME= SLURM_CONF="$dir/slurm.conf"
	[ "$(record check r.trigger)" = prolog ]
}

@test "level none and passive, budget 0: no kernels" {
	policy "$base, health = { level = 'none' }"
	health
	[ ! -e "$SPOOL" ]
	policy "$base, health = { level = 'passive' }"
	health
	[ "$(record check 'r.level')" = passive ]
	policy "$base, budget = 0"
	health
	[ "$(records)" = 1 ]
}

@test "kernels that hang cost one job their deadline, not every job; a node that reboots is checked" {
	policy "$base, partitions = { main = { default = 'quick' } }, budget = 0.0001, kernels = { stream = { quick = 0.1 } }"
	kernel stream 'exec sleep 60'
	unasked_prolog
	[ "$(record check 'r.level .. r.status')" = quickunknown ]
	epilog
	unasked_prolog
	[ "$(record check 'r.level .. r.note')" = "passivethe last check is not paid for yet" ]
	epilog
	set_state last_pass.json 's.boot_id = "other"'
	unasked_prolog
	[ "$(record check 'r.level')" = quick ]
	# A state that cannot be written: whoever could not enter the cost does not measure.
	epilog
	rm -r "$STATE"
	echo "a file" >"$STATE"
	unasked_prolog
	[ "$(record check 'r.level .. r.note')" = "passivewhat it costs could not be written down" ]
}

@test "every: again when the last pass is older, and paid for; a clock that jumps changes nothing" {
	policy "$base, health = { every = 60 }, budget = 0.5"
	health
	[ "$(records)" = 1 ]
	set_state last_pass.json 's.pass_s = s.pass_s - 61'
	set_state last_pass.json 's.next_s = s.next_s + 500'
	health
	[ "$(records)" = 1 ]
	set_state last_pass.json 's.next_s = 0'
	health
	[ "$(records)" = 2 ]
	# A year back in the state, as far as wall clocks go: times there are the kernel's.
	touch -d '2030-01-01' "$STATE/last_pass.json"
	health
	[ "$(records)" = 2 ]
}

@test "after a reboot it measures at once" {
	health
	set_state last_pass.json 's.boot_id = "other"; s.next_s = 1e12'
	health
	[ "$(records)" = 2 ]
}

@test "busy: a job's begin, a prolog's, a step without one" {
	prolog
	rm "$SPOOL" "$STATE/last_pass.json"
	health
	[ "$(record check 'r.level')" = passive ]
	# Of a day ago and without a step: its epilog never ran.
	set_state begin/4711.json 's.snapshot.uptime_s = s.snapshot.uptime_s - 90000'
	health
	[ "$(record check 'r.level')" = quick ]
	rm -r "$STATE/last_pass.json" "$STATE/begin"

	[ "$(id -u)" = 0 ] || skip "a step is root's"
	cp "$(command -v sleep)" "$BATS_TEST_TMPDIR/slurmstepd"
	(exec -a "slurmstepd: [999999.batch]" "$BATS_TEST_TMPDIR/slurmstepd" 60 3>&-) &
	STEP=$!
	sleep 0.2
	policy 'mode = "enforce", limits = { triad_gbs = { min = 80 } }'
	health
	[ ! -e "$STATE/last_pass.json" ]
}

@test "a prolog takes the machine while it measures: no waiting, no kernel left, nothing recorded as bad" {
	policy "$base, kernels = { stream = { quick = 5 } }"
	kernel stream 'echo $$ >"'"$P"'/kernel.pid"; trap "" TERM; sleep 30 & wait; sleep 30'
	health 3>&- &
	local n=0 pid
	until [ -s "$P/kernel.pid" ] || [ $((n += 1)) -gt 100 ]; do sleep 0.1; done
	pid=$(<"$P/kernel.pid")
	rm "$P/kernel.pid"
	[ -d "/proc/$pid" ]
	prolog SPANK_SYSCHECK=passive
	# Its group is gone, or a zombie that nobody has collected yet.
	[[ "$(ps -o stat= -g "$pid")" != [!Z]* ]]
	wait
	[ "$(records)" = 1 ]
	[ "$(record check 'r.trigger .. r.level .. r.action')" = prologpassivenone ]
	grep -q 'ended the health check of process' "$LOG"
	[ ! -e "$P/run/health.json" ]
	# What it may have cost is paid: no pass, so it is still due.
	grep -q '"due":"never checked"' "$STATE/last_pass.json"
}

@test "a health program that starts beside a prolog: never both measure" {
	# Each kernel says when it runs; overlaps would show.
	local i
	kernel stream 'echo "$PPID begins" >>"'"$P"'/trace"; sleep 0.2; echo "$PPID ends" >>"'"$P"'/trace"
		'"$(says stream '"triad_gbs":100')"
	for i in 1 2 3 4 5 6; do
		rm -f "$STATE/last_pass.json" "$P/trace"
		policy 'mode = "enforce", lock = "'"$P"'/lock'"$i"'"'
		health 3>&- &
		sleep "0.0$((i * 2))"
		prolog
		wait
		# Whoever began and did not end was killed before the next one began.
		lua5.4 - "$P/trace" <<-'LUA'
		local open, n = nil, 0
		for line in io.lines(arg[1]) do
			local who, what = line:match("^(%d+) (%a+)$")
			if what == "begins" then open, n = who, n + 1 else assert(who == open, "both measured") end
		end
		assert(n >= 1 and n <= 2)
		LUA
		epilog
	done
}

@test "claims that are not to be believed: of a dead process, of another one, of a user's, garbage" {
	mkdir -p "$P/run"
	sleep 60 3>&- &
	local victim=$!
	local claim
	for claim in '{"pid":'"$victim"',"start":1}' '{"pid":999999,"start":1}' '{"pid":1,"start":0}' '{"pid":-1}' '{"pid":"x"}' \
		'{"pid":1e300,"start":1}' '[]' 'x' ''; do
		printf '%s' "$claim" >"$P/run/health.json"
		prolog
		epilog
		kill -0 "$victim"
		[[ $(ps -o stat= -p "$victim") == S* ]]
		[ ! -e "$P/run/health.json" ]
	done
	# Right in every word, but anybody could have written it.
	local start
	start=$(awk '{ print $22 }' "/proc/$victim/stat")
	printf '{"pid":%d,"start":%d}' "$victim" "$start" >"$P/run/health.json"
	chmod 666 "$P/run/health.json"
	prolog
	kill -0 "$victim"
	kill "$victim"
}

@test "two at once: the second leaves" {
	kernel stream 'sleep 1; '"$(says stream '"triad_gbs":100')"
	health 3>&- &
	sleep 0.5
	health
	[ ! -e "$SPOOL" ]
	wait
	[ "$(records)" = 1 ]
}

@test "killed in the middle: what it left hinders neither a prolog nor the next one" {
	kernel stream 'echo $PPID >"'"$P"'/agent.pid"; sleep 3'
	health 3>&- &
	local n=0
	until [ -s "$P/agent.pid" ] || [ $((n += 1)) -gt 100 ]; do sleep 0.1; done
	kill -KILL "$(<"$P/agent.pid")"
	wait
	[ -e "$P/run/health.json" ]
	repair
	prolog
	[ ! -e "$P/run/health.json" ]
	[ "$(record check 'r.status')" = pass ]
	epilog
	set_state last_pass.json 's.pass_s = nil; s.next_s = 0'
	health
	[ "$(record check 'r.trigger .. r.status')" = healthpass ]
}

@test "run directory that cannot be made: counters only; state that cannot: no kernels" {
	echo "a file" >"$P/run"
	health
	[ "$(record check 'r.level')" = passive ]
	grep -q 'no kernels, the lock: ' "$LOG"
	rm -rf "${P:?}/run" "$SPOOL" "$STATE"
	mkdir -p "${STATE%/*}"
	echo "a file" >"$STATE"
	health
	[ "$(record check 'r.level')" = passive ]
	grep -q 'not measured, state: ' "$LOG"
}

@test "state files that are no files: a job is not held up" {
	local file
	kernel stream "$(says stream '"triad_gbs":100')"
	for file in last.json last_pass.json drained.json bad.json last_health.json begin/4711.json begin/1.json; do
		rm -rf "$STATE" "$SPOOL"
		mkdir -p "$STATE/begin"
		mkfifo "$STATE/$file"
		timeout 30 "$BASH" -c "$(declare -f prolog slurmd_runs); prolog" || { echo "$file"; return 1; }
		[ "$(record check 'r.status')" = pass ]
		timeout 30 env -i SLURMD_NODENAME=t1 "$P/libexec/syscheck/health"
	done
}

@test "kernels that hang: unknown, no drain, in time; policy broken: no kernels" {
	policy "$base, kernels = { stream = { quick = 0.1 }, dgemm = { quick = 0.1 } }"
	kernel stream 'exec sleep 60'
	timeout 40 env -i SLURMD_NODENAME=t1 "$P/libexec/syscheck/health"
	[ "$(record check 'r.status')" = unknown ]
	[ ! -e "$P/calls" ]
	# It is not tried again at once.
	health
	[ "$(records)" = 1 ]
	echo 'return {' >"$P/etc/syscheck/policy.lua"
	rm -r "$STATE" "$SPOOL"
	health
	[ "$(record check 'r.level .. r.status')" = passiveunknown ]
}

@test "an idle node that fails is drained, in observe it is only told; another's reason is kept" {
	kernel stream "$(says stream '"triad_gbs":61.3')"
	policy 'lock = "'"$P"'/lock", limits = { triad_gbs = { min = 80 } }'
	health
	[ "$(record check 'r.action')" = observed ]
	[ ! -e "$P/calls" ]
	rm "$STATE"/last*
	policy "$base"
	health
	[ "$(record check 'r.action')" = drain ]
	grep -q '^update nodename=t1 state=drain reason=syscheck: triad 61.3' "$P/calls"
	[ -e "$STATE/drained.json" ]
	rm -r "$STATE"
	scontrol 'echo "NodeName=t1 State=IDLE+DRAIN Reason=fan broken, ask Bob [root@2026-01-01T00:00:00]"'
	health
	[ "$(record check 'r.drain.kept')" = "fan broken, ask Bob" ]
	[ ! -e "$STATE/drained.json" ]
}

@test "observe: the same lack is told once in a while, another one at once" {
	policy "files = { { path = '/nowhere/a' } }"
	health
	health
	[ "$(grep -c 'would drain.*/nowhere/a' "$P/var/log/syscheck.log")" -eq 1 ]
	policy "files = { { path = '/nowhere/b' } }"
	health
	[ "$(grep -c 'would drain.*/nowhere/b' "$P/var/log/syscheck.log")" -eq 1 ]
	[ "$(record check 'r.action')" = observed ]
	health
	[ "$(grep -c 'would drain' "$P/var/log/syscheck.log")" -eq 2 ]
}

@test "resume: after two passing checks in a row, one question, then back in service" {
	drain_it
	health
	[ "$(record check 'r.status')" = fail ]
	[ "$(<"$P/calls")" = "show node --oneliner t1" ]
	rm "$P/calls"
	repair
	recheck_due
	health
	[ "$(record check 'r.status .. r.action')" = passnone ]
	# The next look waits its time, and asks nobody.
	health
	[ "$(records)" = 2 ]
	[ ! -e "$P/calls" ]
	recheck_due
	health
	[ "$(record check 'r.action')" = resume ]
	[ "$(<"$P/calls")" = "show node --oneliner t1
update nodename=t1 state=resume" ]
	[ ! -e "$STATE/drained.json" ]
	grep -q 'resumed after 2 passing checks; was drained for: syscheck: triad 61.3' "$LOG"
	# The next check is not skipped.
	grep -q '"due":"resumed"' "$STATE/last_pass.json"
}

@test "resume: a fail, an unknown between two passes starts the count anew; so does a reboot" {
	local between
	for between in "$(says stream '"triad_gbs":60')" 'exit 2' reboot; do
		agent_reset
		policy "$base"
		drain_it
		repair
		health
		recheck_due
		if [ "$between" = reboot ]; then
			set_state drained.json 's.boot_id = "other"; s.next_s = 1e9'
		else
			kernel stream "$between"
			health
			recheck_due
			repair
		fi
		health
		recheck_due
		[ "$(record check 'r.action')" = none ]
		health
		[ "$(record check 'r.action')" = resume ]
	done
}

@test "resume: never in observe, with resume_after = 0, after wrong results" {
	drain_it
	repair
	policy 'lock = "'"$P"'/lock", limits = { triad_gbs = { min = 80 } }, resume_after = 1'
	recheck_due
	health
	policy "$base, resume_after = 0"
	health
	[ -e "$STATE/drained.json" ]
	[ ! -e "$P/calls" ]
	set_state drained.json 's.corrupt = true'
	policy "$base, resume_after = 1"
	health
	health
	[ ! -e "$P/calls" ]
	[ "$(grep -c 'wrong results: stays drained until an admin resumes it' "$LOG")" = 1 ]
}

@test "wrong results leave a marker that says so, found by a prolog or by the health program" {
	kernel dgemm "echo '{\"kernel\":\"dgemm\",\"verified\":false,\"error\":\"bad\",\"gflops\":50}'; exit 1"
	run -1 prolog
	grep -q '"corrupt":true' "$STATE/drained.json"
	agent_reset
	policy "$base"
	drain_it
	repair
	kernel dgemm "echo '{\"kernel\":\"dgemm\",\"verified\":false,\"error\":\"bad\",\"gflops\":50}'; exit 1"
	health
	grep -q '"corrupt":true' "$STATE/drained.json"
}

@test "wrong results: the marker is lost, and a later check fails by a value: never resumed" {
	# As after the reboot of a node whose state directory is in memory.
	policy "$base, resume_after = 1"
	kernel stream "$(says stream '"triad_gbs":61.3')"
	fake_slurm
	echo 'syscheck: dgemm: WRONG RESULT: cpu 3: C[1][2] is 5, expected 4' >"$P/slurm/reason"
	date -u +%FT%T >"$P/slurm/time"
	health
	[ "$(record check 'r.status .. r.action .. tostring(r.drain.done)')" = faildraintrue ]
	rm "$P/calls"
	is_drained IDLE+DRAIN 'syscheck: dgemm: WRONG RESULT: cpu 3: C[1][2] is 5, expected 4'
	repair
	recheck_due
	health
	health
	[ ! -e "$P/calls" ]
	grep -q 'wrong results: stays drained until an admin resumes it' "$LOG"
}

@test "drained beyond the storm guard's cap, as it could not step back: the health program does, whatever it measures" {
	local health_finds
	for health_finds in fail pass; do
		agent_reset
		policy "$base, resume_after = 1"
		kernel stream "$(says stream '"triad_gbs":61.3')"
		fake_slurm "case \"\$*\" in *state=drain*) date -u +'NodeName=o1 State=IDLE+DRAIN Partitions=main Reason=syscheck: x [root@%FT%T]' >'$P/slurm/others' ;;
			*undrain*) [ -e '$P/slurm/late' ] || exit 1 ;; esac"
		run -0 prolog
		epilog
		[ "$(record check 'r.action .. tostring(r.drain.done)')" = stormtrue ]
		touch "$P/slurm/late"
		rm "$P/calls"
		[ "$health_finds" = fail ] || repair
		health
		[ "$(record check 'r.trigger .. r.action')" = healthstorm ]
		[ "$(tail -n 1 "$P/calls")" = "update nodename=t1 state=undrain" ]
		[ ! -s "$P/slurm/reason" ]
		[ ! -e "$STATE/drained.json" ]
	done
	# It is well: nothing is left to remember.
	prolog SLURM_JOB_ID=4712
	[ ! -e "$STATE/bad.json" ]
}

@test "resume: what it was drained for must be measured and pass, not only the rest" {
	policy "$base, resume_after = 1"
	drain_it
	kernel stream "$(says stream '"triad_gbs":100')"
	policy 'mode = "enforce", lock = "'"$P"'/lock", resume_after = 1, limits = { gflops = { min = 10 } }'
	health
	[ "$(record check 'r.status .. r.action')" = passnone ]
	[ ! -e "$P/calls" ]
	grep -q 'triad_gbs is not rated by this check' "$LOG"
}

@test "resume: never what is down, failing, in maintenance, not answering, or in use" {
	local state
	policy "$base, resume_after = 1"
	drain_it
	repair
	for state in DOWN+DRAIN 'IDLE+DRAIN+MAINTENANCE' 'IDLE*+DRAIN' 'IDLE+DRAIN*' IDLE+FAIL+DRAIN MIXED+DRAIN ALLOCATED+DRAIN \
		IDLE+DRAIN+REBOOT_REQUESTED IDLE+DRAIN+POWERED_DOWN; do
		is_drained "$state" 'syscheck: triad 61.3 < 80.0 GB/s (policy)'
		recheck_due
		health
		[ -e "$STATE/drained.json" ] || { echo "$state: marker"; return 1; }
	done
	run ! grep -q update "$P/calls"
	is_drained IDLE+DRAIN+DYNAMIC_NORM 'syscheck: triad 61.3 < 80.0 GB/s (policy)'
	recheck_due
	health
	[ "$(tail -n 1 "$P/calls")" = "update nodename=t1 state=resume" ]
}

@test "resume: not with another's reason, a longer one, or in service; and then it never asks again" {
	local line
	policy "$base, resume_after = 1"
	while IFS='|' read -r line; do
		agent_reset
		policy "$base, resume_after = 1"
		drain_it
		repair
		scontrol "echo 'NodeName=t1 $line'"
		health
		[ "$(<"$P/calls")" = "show node --oneliner t1" ] || { echo "$line: $(<"$P/calls")"; return 1; }
		[ ! -e "$STATE/drained.json" ] || { echo "$line"; return 1; }
		health
		[ "$(wc -l <"$P/calls")" = 1 ]
	done <<-'CASES'
		State=IDLE+DRAIN Reason=fan broken [bob@2026-01-01T00:00:00]
		State=IDLE+DRAIN Reason=syscheck: triad 61.3 < 80.0 GB/s (policy), Bob looks at it [bob@2026-01-01T00:00:00]
		State=IDLE+DRAIN Reason=syscheck: triad 61.3 [root@2026-01-01T00:00:00]
		State=IDLE Partitions=main
		State=IDLE Reason=syscheck: triad 61.3 < 80.0 GB/s (policy) [root@2026-01-01T00:00:00]
	CASES
}

@test "resume: scontrol down, slow, garbage, missing: stays drained, is tried again" {
	local script
	policy "$base, resume_after = 1"
	drain_it
	repair
	for script in 'echo "Unable to contact slurm controller" >&2; exit 1' 'exec sleep 60' 'echo garbage' 'head -c 3000 /dev/urandom' \
		'echo "NodeName=t2 State=IDLE+DRAIN Reason=syscheck: triad 61.3 < 80.0 GB/s (policy) [root@x]"' ''; do
		scontrol "$script"
		recheck_due
		timeout 55 env -i SLURMD_NODENAME=t1 "$P/libexec/syscheck/health"
		[ -e "$STATE/drained.json" ]
		run ! grep -q update "$P/calls"
	done
	rm "$P/scontrol"
	recheck_due
	health
	[ -e "$STATE/drained.json" ]
	grep -q "resume: scontrol show: no answer within 5 s" "$LOG"
	is_drained IDLE+DRAIN 'syscheck: triad 61.3 < 80.0 GB/s (policy)'
	recheck_due
	health
	[ ! -e "$STATE/drained.json" ]
}

@test "a job starts on a node that was drained: its check is not skipped, and one question says whether it is back" {
	policy "$base, partitions = { main = { default = 'quick' } }, budget = 0.0001"
	repair
	prolog
	epilog
	drain_it
	repair
	unasked_prolog
	[ "$(record check 'r.level')" = quick ]
	epilog
	unasked_prolog
	[ "$(record check 'r.level')" = passive ]
	epilog
	[ ! -e "$P/calls" ]
	scontrol 'echo "NodeName=t1 State=IDLE Partitions=main"'
	health
	[ ! -e "$STATE/drained.json" ]
	health
	[ "$(<"$P/calls")" = "show node --oneliner t1" ]
}

@test "a drain that did not happen leaves no marker; a damaged marker resumes nothing" {
	kernel stream "$(says stream '"triad_gbs":61.3')"
	scontrol 'exit 1'
	echo 'PrologEpilogTimeout=9' >"$P/slurm.conf"
	run -0 prolog SLURM_CONF="$P/slurm.conf"
	[ ! -e "$STATE/drained.json" ]
	epilog
	repair
	local text
	for text in '{' '{}' '{"reason":7}' '[]' ''; do
		printf '%s' "$text" >"$STATE/drained.json"
		rm -f "$P/calls"
		health
		[ ! -e "$P/calls" ]
	done
	# Fields that are none, and a reason that says so itself.
	is_drained IDLE+DRAIN 'syscheck: x'
	echo '{"reason":"syscheck: x","passes":"many","next_s":{},"metrics":7}' >"$STATE/drained.json"
	health
	[ ! -e "$P/calls" ]
}

@test "damage in what the node remembers as bad: no drain, no call but one list" {
	local text
	for text in '{' '[]' '{"reason":7}' '{"reason":"x","sent":"yes","tries":"many","next_s":{},"metrics":[7,{"name":[]}],"full":7}' \
		'{"reason":"x","action":"undecided","sent":true,"corrupt":1,"level":9,"tries":1e300,"full":{"name":"p","cap":{}},"error":{}}'; do
		agent_reset
		policy "$base"
		mkdir -p "$STATE"
		printf '%s' "$text" >"$STATE/bad.json"
		health
		unasked_prolog
		[ "$(record check 'r.action')" = none ]
		run ! grep -qvx -e '--all show nodes --oneliner' "$P/calls"
		[ "$(grep -c error: "$LOG")" = 0 ]
		epilog
	done
}

@test "while it stays bad, it is looked at less and less often, at most once an hour" {
	drain_it
	local i waits=()
	for i in 1 2 3 4 5 6; do
		recheck_due
		health
		waits+=("$(lua5.4 -e 'local s = require("cjson").decode(io.read("a"))
			local u = require("luv").hrtime() / 1e9 print((s.next_s - u + 30) // 60 * 60 | 0)' <"$STATE/drained.json")")
	done
	[ "${waits[*]}" = "300 600 1200 2400 3600 3600" ]
}

@test "Slurm's configuration is where the last prolog was told" {
	prolog SLURM_CONF=/opt/slurm/etc/slurm.conf
	epilog
	drain_it
	scontrol 'echo "conf $SLURM_CONF"; exit 1'
	scontrol 'echo "conf $SLURM_CONF" >>"'"$P"'/calls"; exit 1'
	recheck_due
	health
	grep -q '^conf /opt/slurm/etc/slurm.conf$' "$P/calls"
}
