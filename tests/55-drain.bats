#!/usr/bin/env bats
# One node: what the prolog says to Slurm about a bad node, and what it does
# when Slurm hangs, fails, babbles, or says that the storm guard's cap is used up.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load helpers

setup() {
	agent_reset
	kernel stream "$(says stream '"triad_gbs":61.3')"
}

OURS="syscheck: triad 1.0 < 2.0 GB/s (policy)"

# hurried [NAME=VALUE...]: a prolog whose calls of Slurm end after 9 s: Slurm would drain it after 14
hurried() {
	echo 'PrologEpilogTimeout=14' >"$P/slurm.conf"
	prolog SLURM_CONF="$P/slurm.conf" "$@"
}

# mark EXPRESSION: of r, what the node remembers as bad
mark() {
	lua5.4 - "$P/var/lib/syscheck/bad.json" <<<'local r = require("cjson").decode(io.open(arg[1]):read("a")) print('"$1"')'
}

# undecided: what every check that could not settle ends as. $status is that of the prolog.
undecided() {
	[ "$status" -eq 0 ] || { echo "exit $status"; return 1; }
	[ "$(record check 'r.status .. r.action')" = failundecided ] || { record check r.action; return 1; }
	[ "$(mark 'r.reason .. r.metrics[1].name')" = "triad 61.3 < 80.0 GB/s (policy)triad_gbs" ]
	grep -q 'UNDECIDED: bad, NOT drained, the job starts' "$LOG"
}

# Bad as before, and Slurm answers: the next check drains it, within the cap.
settles() {
	epilog
	fake_slurm
	run prolog SLURM_JOB_ID=4713
	[ "$status" -eq 1 ]
	[ "$(record check 'r.action .. tostring(r.drain.done)')" = draintrue ]
	[ ! -e "$P/var/lib/syscheck/bad.json" ]
	[ -e "$P/var/lib/syscheck/drained.json" ]
}

@test "drained: the job's AdminComment tells its owner; the user's own comment stays" {
	echo 'from an admin' >"$P/slurm/admin"
	run prolog
	[ "$status" -eq 1 ]
	[ "$(<"$P/slurm/admin")" = "from an admin | syscheck drained t1: triad 61.3 < 80.0 GB/s (policy)" ]
	run ! grep -qi ' comment=' "$P/calls"
	[ "$(record check 'r.drain.comment_error')" = nil ]
	# Requeued to the same node: told once.
	run prolog
	[ "$(grep -c admincomment "$P/calls")" = 1 ]
}

@test "AdminComment: lost to another node's write, it is written again; one that cannot be read stays" {
	fake_slurm "case \"\$*\" in 'update jobid'*) [ -e '$P/slurm/lost' ] || { touch '$P/slurm/lost'
		echo 'syscheck drained o1: bad' >'$P/slurm/admin'; exit 0; } ;; esac"
	run prolog
	[ "$status" -eq 1 ]
	[ "$(<"$P/slurm/admin")" = "syscheck drained o1: bad | syscheck drained t1: triad 61.3 < 80.0 GB/s (policy)" ]
	agent_reset
	kernel stream "$(says stream '"triad_gbs":61.3')"
	printf 'one line\nand one more' >"$P/slurm/admin"
	run prolog
	[ "$status" -eq 1 ]
	[[ "$(record check 'r.drain.comment_error')" == *"cannot be read for certain"* ]]
	run ! grep -q admincomment "$P/calls"
}

@test "AdminComment: several nodes of the job, the earlier ones too; bounded" {
	policy 'mode = "enforce", limits = { triad_gbs = { min = 80 } }, max_drained = 1'
	others 100 ALLOCATED+DRAIN "$OURS" 2
	run prolog 'SLURM_NODELIST=o[1-2],t1'
	[ "$status" -eq 1 ]
	[ "$(<"$P/slurm/admin")" = "syscheck drained o1: ${OURS#syscheck: } | syscheck drained o2: ${OURS#syscheck: } | syscheck drained t1: triad 61.3 < 80.0 GB/s (policy)" ]
	rm "$P/slurm/reason" "$P/slurm/admin"
	: >"$P/slurm/others"
	others 100 ALLOCATED+DRAIN "$OURS" 2
	run prolog 'SLURM_NODELIST=o[1-100],t1'
	[[ "$(<"$P/slurm/admin")" == "syscheck drained o1: "*" | more nodes: sinfo -R" ]]
	[ "$(wc -c <"$P/slurm/admin")" -lt 1100 ]
}

@test "AdminComment: one task of an array is told, not all of them" {
	fake_slurm "case \"\$*\" in
		*' --jobs=4711 '*) printf '%-12s%-12s%-12s%-12s%-12s%s\n' 4712 4711 1 N/A N/A 'of another task' \
			4711 4711 2 N/A N/A \"\$(cat '$P/slurm/admin' 2>/dev/null || echo '(null)')\"; exit 0 ;;
		'update jobid=4711_2 '*) set -- update jobid=4711 \"\$3\" ;;
		'update jobid='*) exit 1 ;; esac"
	run prolog
	[ "$status" -eq 1 ]
	[ "$(record check 'r.drain.comment_error')" = nil ]
	[ "$(<"$P/slurm/admin")" = "syscheck drained t1: triad 61.3 < 80.0 GB/s (policy)" ]
}

@test "another's reason is kept: the node is out of service already" {
	local state
	for state in IDLE+DRAIN DOWN+DRAIN FAIL ALLOCATED+DRAIN; do
		rm -f "$P/calls"
		scontrol "echo 'NodeName=t1 State=$state Partitions=main Reason=fan broken, ask Bob [root@2026-01-01T00:00:00]'"
		run prolog
		[ "$status" -eq 1 ]
		[ "$(<"$P/calls")" = "--all show nodes --oneliner" ]
		[ "$(record check 'r.drain.kept')" = "fan broken, ask Bob" ]
		[ "$(record check 'r.action')" = drain ]
	done
}

@test "what syscheck fabric drained is not a check's own: it stays, and no passing check takes it back" {
	scontrol "echo 'NodeName=t1 State=IDLE+DRAIN Partitions=main Reason=syscheck: fabric: t1 sends at 0.50 [root@2026-01-01T00:00:00]'"
	run prolog
	[ "$status" -eq 1 ]
	[ "$(<"$P/calls")" = "--all show nodes --oneliner" ]
	[ "$(record check 'r.action .. r.drain.kept')" = "drainsyscheck: fabric: t1 sends at 0.50" ]
	[ ! -e "$P/var/lib/syscheck/drained.json" ]
}

@test "another's reason stands on a node in service, or that may come back: it stays, nothing takes the node out" {
	local state
	for state in ALLOCATED+REBOOT_REQUESTED 'DOWN+NOT_RESPONDING'; do
		rm -rf "$P/calls" "$P/var/lib/syscheck"
		scontrol "echo 'NodeName=t1 State=$state Partitions=main Reason=kernel update, Bob [root@2026-01-01T00:00:00]'
			cat '$P/slurm/others'"
		run prolog
		[ "$(<"$P/calls")" = "--all show nodes --oneliner" ]
		undecided
		[[ "$(record check 'r.drain.error')" == "$state, "*"kernel update, Bob" ]]
	done
	rm -r "$P/var/lib/syscheck"
	others 1 IDLE+DRAIN "$OURS"
	run prolog
	[ "$status" -eq 0 ]
	[ "$(record check 'r.action')" = storm ]
}

@test "a reason that an admin sets between the drain and the second look is kept" {
	fake_slurm "[ -s '$P/slurm/reason' ] && echo 'fan broken' >'$P/slurm/reason'"
	others 20 IDLE
	run prolog
	[ "$status" -eq 1 ]
	[ "$(record check 'r.drain.kept')" = "fan broken" ]
	run ! grep -q undrain "$P/calls"
}

@test "somebody resumes the node meanwhile: the job starts" {
	fake_slurm "rm -f '$P/slurm/reason'"
	run prolog
	[ "$status" -eq 0 ]
	[ "$(record check 'r.action')" = storm ]
	[[ "$(record check 'r.drain.error')" == "somebody resumed it meanwhile" ]]
}

@test "scontrol hangs: the job starts before Slurm would drain the node; it is settled by the next check" {
	scontrol 'trap "" TERM; sleep 300'
	run timeout 30 "$BASH" -c "$(declare -f prolog hurried slurmd_runs); hurried"
	undecided
	[ "$(record check 'r.drain.done')" = false ]
	[[ "$(record check 'r.drain.error')" == *"no answer within"* ]]
	[ "$(record check 'r.reason')" = "triad 61.3 < 80.0 GB/s (policy)" ]
	[ "$(record check 'r.duration_s < 14')" = true ]
	settles
}

@test "Slurm's own time-out holds at the end of a slurm.conf with a line for each of 10,000 nodes, too" {
	scontrol 'exit 1'
	printf 'NodeName=compute-dy-c5n18xlarge-%d CPUs=36 State=CLOUD Feature=dynamic,c5n.18xlarge,efa Weight=1000 RealMemory=186777\n' \
		{1..12000} >"$P/slurm.conf"
	echo 'PrologEpilogTimeout=9' >>"$P/slurm.conf"
	run prolog SLURM_CONF="$P/slurm.conf"
	undecided
	[ "$(record check 'r.duration_s < 9')" = true ]
}

@test "scontrol fails, answers garbage, is missing: the job starts; it is settled by the next check" {
	local script why
	while IFS='|' read -r script why; do
		rm -rf "$P/var/lib/syscheck"
		scontrol "$script"
		run hurried
		undecided
		[ "$(record check 'r.drain.done')" = false ]
		[[ "$(record check 'r.drain.error')" == *"$why"* ]] || { record check 'r.drain.error'; return 1; }
	done <<-'CASES'
		echo "slurm_load_node error: Unable to contact slurm controller" >&2; exit 1|exit code 1: slurm_load_node error
		head -c 100000 /dev/urandom|t1 is not in its answer of 0 nodes
		echo "NodeName=t10 State=IDLE Partitions=main"|t1 is not in its answer of 1 nodes
		echo "NodeName=t1"|t1 is not in its answer
		:|t1 is not in its answer
		kill -SEGV $$|ended by signal 11
		echo "NodeName=t1 State=IDLE+DRAIN Partitions=main Reason=syscheck: x [root@yesterday]"|time of the reason cannot be read
	CASES
	settles
	rm -r "$P/scontrol" "$P/var/lib/syscheck"
	run prolog
	undecided
	[[ "$(record check 'r.drain.error')" == *"no such file"* ]]
}

@test "the first list is asked for again while time remains" {
	fake_slurm "[ \"\$*\" != '--all show nodes --oneliner' ] || [ \"\$(wc -l <'$P/calls')\" -gt 2 ] || { echo busy >&2; exit 1; }"
	run prolog
	[ "$status" -eq 1 ]
	[ "$(record check 'r.action .. tostring(r.drain.done)')" = draintrue ]
	[ "$(head -n 3 "$P/calls" | sort -u)" = "--all show nodes --oneliner" ]
}

@test "the update is refused: the job starts, with room and without" {
	fake_slurm "case \"\$*\" in *state=drain*) echo denied >&2; exit 1 ;; esac"
	run prolog
	undecided
	[[ "$(record check 'r.drain.error')" == *"denied"* ]]
	settles
	# Used up between the first list and the second.
	rm -r "$P/var/lib/syscheck"
	fake_slurm "case \"\$*\" in *state=drain*) mv '$P/slurm/late' '$P/slurm/others'; exit 1 ;; esac"
	others 1 IDLE+DRAIN "$OURS"
	mv "$P/slurm/others" "$P/slurm/late"
	: >"$P/slurm/others"
	run prolog
	undecided
}

@test "the answer to the update is lost, and Slurm did drain: counted all the same, a second after it was seen" {
	fake_slurm
	sed -i 's/^\t\tdate -u +%FT%T >$S\/time ;;/&/; s/date -u +%FT%T >$S\/time ;;/date -u +%FT%T >$S\/time; echo lost >\&2; exit 1 ;;/' "$P/scontrol"
	run prolog
	[ "$status" -eq 1 ]
	[ "$(record check 'r.action .. tostring(r.drain.done)')" = draintrue ]
	[ "$(grep -c 'show nodes' "$P/calls")" = 3 ]
	[ -e "$P/var/lib/syscheck/drained.json" ]
}

@test "Slurm drains after the check has given up: the health program counts it, and steps back or lets it stay" {
	local cap
	policy 'mode = "enforce", lock = "'"$P"'/lock", limits = { triad_gbs = { min = 80 } }, health = { level = "none" }'
	for cap in room full; do
		rm -rf "$P/var/lib/syscheck"
		fake_slurm "case \"\$*\" in *state=drain*) exit 1 ;; esac"
		run prolog
		undecided
		[ "$(mark r.sent)" = true ]
		epilog
		fake_slurm
		echo "syscheck: triad 61.3 < 80.0 GB/s (policy)" >"$P/slurm/reason"
		date -u +%FT%T >"$P/slurm/time"
		[ "$cap" = room ] || others 1 IDLE+DRAIN "$OURS"
		kernel stream "$(says stream '"triad_gbs":100')"
		health
		if [ "$cap" = room ]; then
			[ "$(record check 'r.trigger .. r.action .. tostring(r.drain.done)')" = healthdraintrue ]
			[ -s "$P/slurm/reason" ]
			[ -e "$P/var/lib/syscheck/drained.json" ]
			[ ! -e "$P/var/lib/syscheck/bad.json" ]
		else
			[ "$(record check 'r.trigger .. r.action')" = healthstorm ]
			[ ! -s "$P/slurm/reason" ]
			[ ! -e "$P/var/lib/syscheck/drained.json" ]
		fi
		kernel stream "$(says stream '"triad_gbs":61.3')"
	done
}

@test "a drain that may stand: another check settles it while the health program waits its turn: left as that has it" {
	policy 'mode = "enforce", lock = "'"$P"'/lock", limits = { triad_gbs = { min = 80 } }, health = { level = "none" }'
	fake_slurm "case \"\$*\" in *state=drain*) exit 1 ;; esac"
	run prolog
	[ "$(mark r.sent)" = true ]
	epilog
	rm "$P/calls"
	flock "$P/var/lib/syscheck/drain.lock" sleep 1 3>&- &
	until ! flock -n "$P/var/lib/syscheck/drain.lock" true; do sleep 0.05; done
	health 3>&- &
	sleep 0.5
	rm "$P/var/lib/syscheck/bad.json"
	wait
	[ ! -e "$P/var/lib/syscheck/bad.json" ]
	[ ! -e "$P/calls" ]
}

@test "storm guard: the cap is used up: one call, not drained, told loudly, the job starts" {
	others 28 IDLE
	others 3 IDLE+DRAIN "$OURS"
	run prolog
	[ "$status" -eq 0 ]
	[ "$(<"$P/calls")" = "--all show nodes --oneliner" ]
	[ "$(record check 'r.status .. r.action')" = failstorm ]
	[ "$(record check '("%s %d %d %d"):format(r.drain.full.name, r.drain.full.taken, r.drain.full.cap, r.drain.full.total)')" = "main 3 3 32" ]
	grep -q 'STORM GUARD: bad, NOT drained, the job starts: syscheck: triad 61.3 .*main: 3 of 32 nodes' "$LOG"
	grep -q 'line=.*quick fail .*(storm guard: not drained)' "$P/run/4711"
}

@test "storm guard: what counts is drained, by syscheck, within the window" {
	others 4 IDLE+DRAIN "Prolog error"
	others 4 DOWN+DRAIN "fan broken"
	others 4 IDLE "$OURS"
	others 4 DOWN "Not responding"
	others 4 IDLE+DRAIN "$OURS" 90000
	others 1 MIXED+DRAIN "$OURS"
	run prolog
	[ "$status" -eq 1 ]
	[ "$(record check 'r.drain.done')" = true ]
}

@test "storm guard: others were first in the same second: steps back, by undrain; later ones do not count" {
	# A drain of another's that the first look did not see.
	fake_slurm "case \"\$*\" in *state=drain*) date -u +'NodeName=o1 State=IDLE+DRAIN Partitions=main Reason=$OURS [root@%FT%T]' >'$P/slurm/others' ;; esac"
	run prolog
	[ "$status" -eq 0 ]
	[ "$(record check 'r.action')" = storm ]
	[ "$(record check 'r.drain.done')" = false ]
	[ "$(tail -n 1 "$P/calls")" = "update nodename=t1 state=undrain" ]
	run ! grep -q admincomment "$P/calls"
	# By name: t1 comes before x1.
	rm "$P/var/lib/syscheck/bad.json"
	fake_slurm "case \"\$*\" in *state=drain*) date -u -d '+1 minute' +'NodeName=x1 State=IDLE+DRAIN Partitions=main Reason=$OURS [root@%FT%T]' >'$P/slurm/others' ;; esac"
	run prolog
	[ "$status" -eq 1 ]
	[ "$(record check 'r.action')" = drain ]
}

@test "storm guard: the step back fails: the job starts all the same, and it is remembered" {
	fake_slurm "case \"\$*\" in *state=drain*) date -u +'NodeName=o1 State=IDLE+DRAIN Partitions=main Reason=$OURS [root@%FT%T]' >'$P/slurm/others' ;;
		*undrain*) echo busy >&2; exit 1 ;; esac"
	run prolog
	[ "$status" -eq 0 ]
	[ "$(record check 'r.action')" = storm ]
	[ "$(record check 'r.drain.done')" = true ]
	[[ "$(record check 'r.drain.error')" == "step back: "*busy* ]]
	[ "$(grep -c undrain "$P/calls")" = 2 ]
	[ "$(mark 'r.action .. tostring(r.sent)')" = stormtrue ]
	[ ! -e "$P/var/lib/syscheck/drained.json" ]
}

@test "storm guard: the step back gets no answer, and an admin drains the node: that is not taken back" {
	fake_slurm "case \"\$*\" in *state=drain*) date -u +'NodeName=o1 State=IDLE+DRAIN Partitions=main Reason=$OURS [root@%FT%T]' >'$P/slurm/others' ;;
		*undrain*) [ -e '$P/slurm/late' ] || { touch '$P/slurm/late'; echo 'fan broken' >'$P/slurm/reason'; sleep 60; } ;; esac"
	printf '#!/bin/bash\necho "drained $(<%q)"\n' "$P/slurm/reason" >"$P/sinfo"
	chmod 755 "$P/sinfo"
	run prolog
	rm "$P/sinfo"
	[ "$status" -eq 0 ]
	[ "$(<"$P/slurm/reason")" = "fan broken" ]
	[ "$(grep -c undrain "$P/calls")" = 1 ]
}

@test "storm guard: drained by a check that died before it could step back: done now" {
	echo "$OURS" >"$P/slurm/reason"
	date -u +%FT%T >"$P/slurm/time"
	others 1 IDLE+DRAIN "$OURS"
	run prolog
	[ "$status" -eq 0 ]
	[ "$(record check 'r.action')" = storm ]
	[ ! -s "$P/slurm/reason" ]
	run ! grep -q 'state=drain' "$P/calls"
}

@test "storm guard: a node in two partitions, the smaller one's cap holds" {
	export PARTITIONS=big,small
	sed -i 's/^#!.*/&\nPARTITIONS=big,small/' "$P/scontrol"
	others 100 IDLE
	sed -i 's/Partitions=main/Partitions=big/' "$P/slurm/others"
	echo "NodeName=s1 State=IDLE+DRAIN Partitions=small  Reason=$OURS [root@$(date -u +%FT%T)]" >>"$P/slurm/others"
	run prolog
	[ "$status" -eq 0 ]
	[ "$(record check 'r.drain.full.name')" = small ]
}

@test "corruption: the cap holds for it, too" {
	kernel dgemm "echo '{\"kernel\":\"dgemm\",\"verified\":false,\"error\":\"bad\",\"gflops\":50}'; exit 1"
	others 1 IDLE+DRAIN "$OURS"
	run prolog
	[ "$status" -eq 0 ]
	[ "$(record check 'r.corrupt')" = true ]
	[ "$(record check 'r.action')" = storm ]
}

@test "no list after the drain: not counted, so it steps back where the reason is exactly ours; the job starts" {
	fake_slurm "[ \"\$*\" != '--all show nodes --oneliner' ] || [ ! -s '$P/slurm/reason' ] || { echo busy >&2; exit 1; }"
	printf '#!/bin/bash\necho "drained $(<%q)"\n' "$P/slurm/reason" >"$P/sinfo"
	chmod 755 "$P/sinfo"
	run hurried
	undecided
	[[ "$(record check 'r.drain.error')" == *busy* ]]
	[ ! -s "$P/slurm/reason" ]
	[ "$(mark r.sent)" = nil ]
	# Whose reason it is is not known: it stays, and is asked for later.
	local sinfo
	rm "$P/calls"
	for sinfo in 'echo "drained fan broken"' 'exit 1'; do
		rm -rf "$P/var/lib/syscheck" "$P/slurm/reason"
		printf '#!/bin/bash\n%s\n' "$sinfo" >"$P/sinfo"
		run hurried
		undecided
		[ "$(mark r.sent)" = true ]
		[ -s "$P/slurm/reason" ]
		run ! grep -q undrain "$P/calls"
		rm "$P/calls"
	done
	rm "$P/sinfo"
}

@test "corruption that Slurm could not be told of: a later check that measures right does not take it back" {
	kernel dgemm "echo '{\"kernel\":\"dgemm\",\"verified\":false,\"error\":\"bad\",\"gflops\":50}'; exit 1"
	kernel stream "$(says stream '"triad_gbs":100')"
	scontrol 'exit 1'
	run hurried
	[ "$status" -eq 0 ]
	[ "$(record check 'r.action')" = undecided ]
	kernel dgemm "$(says dgemm '"gflops":50')"
	fake_slurm
	epilog
	run prolog
	[ "$status" -eq 1 ]
	[ "$(record check 'r.status .. r.action')" = passdrain ]
	[ "$(<"$P/slurm/reason")" = "syscheck: dgemm: WRONG RESULT: bad" ]
	grep -q '"corrupt":true' "$P/var/lib/syscheck/drained.json"
}

@test "corruption found while Slurm is not asked again yet, at the cap: kept, drained as soon as there is room" {
	others 1 IDLE+DRAIN "$OURS"
	prolog
	epilog
	kernel stream "$(says stream '"triad_gbs":100')"
	kernel dgemm "echo '{\"kernel\":\"dgemm\",\"verified\":false,\"error\":\"bad\",\"gflops\":50}'; exit 1"
	prolog
	epilog
	[ "$(wc -l <"$P/calls")" = 1 ]
	[ "$(mark 'r.action .. tostring(r.corrupt)')" = stormtrue ]
	# Right, and low rates that drain or are only observed: none of them is what it is drained for.
	kernel dgemm "$(says dgemm '"gflops":50')"
	prolog
	epilog
	kernel stream "$(says stream '"triad_gbs":61.3')"
	policy 'mode = "enforce", limits = { triad_gbs = { min = 80, mode = "observe" } }'
	fake_slurm
	sed -i 's/"next_s":[0-9.e+]*/"next_s":0/' "$P/var/lib/syscheck/bad.json"
	run prolog
	[ "$status" -eq 1 ]
	[ "$(<"$P/slurm/reason")" = "syscheck: dgemm: WRONG RESULT: bad" ]
	grep -q '"corrupt":true' "$P/var/lib/syscheck/drained.json"
}

@test "undecided: measured again before the next job, whatever the budget and the partition's default; well: forgotten" {
	scontrol 'exit 1'
	run hurried
	undecided
	epilog
	policy 'mode = "enforce", limits = { triad_gbs = { min = 80 } }, budget = 0.0001, partitions = { ["*"] = { default = "passive" } }'
	kernel stream "$(says stream '"triad_gbs":100')"
	rm "$P/calls"
	unasked_prolog
	[ "$(record check 'r.level .. r.status .. r.action')" = quickpassnone ]
	[ ! -e "$P/calls" ]
	[ ! -e "$P/var/lib/syscheck/bad.json" ]
	epilog
	unasked_prolog
	[ "$(record check 'r.level')" = passive ]
}

@test "undecided: a node that idles is measured by the health program at once, and drained" {
	policy 'mode = "enforce", lock = "'"$P"'/lock", limits = { triad_gbs = { min = 80 } }, health = { level = "passive" }'
	scontrol 'exit 1'
	run hurried
	undecided
	epilog
	fake_slurm
	health
	[ "$(record check 'r.trigger .. r.level .. r.action')" = healthquickdrain ]
	[ -s "$P/slurm/reason" ]
}

@test "undecided again and again, and at the cap: slurmctld is asked at ever longer intervals" {
	others 1 IDLE+DRAIN "$OURS"
	local i
	for i in {1..6}; do
		prolog SLURM_JOB_ID="$i"
		epilog SLURM_JOB_ID="$i"
		[ "$(record check 'r.action')" = storm ]
		[ "$(record check 'r.drain.full.cap')" = 1 ]
		health
	done
	[ "$(wc -l <"$P/calls")" = 1 ]
	[ "$(grep -c 'STORM GUARD' "$LOG")" = 6 ]
	# When that time is over, once more.
	sed -i 's/"next_s":[0-9.e+]*/"next_s":0/' "$P/var/lib/syscheck/bad.json"
	prolog SLURM_JOB_ID=7
	epilog SLURM_JOB_ID=7
	[ "$(wc -l <"$P/calls")" = 2 ]
	[ "$(mark "r.tries == 2")" = true ]
	# Refused: a second time at once, then later.
	rm -r "$P/var/lib/syscheck"
	fake_slurm "case \"\$*\" in *state=drain*) exit 1 ;; esac"
	for i in {1..4}; do
		prolog SLURM_JOB_ID="$i"
		epilog SLURM_JOB_ID="$i"
		[ "$(record check 'r.action')" = undecided ]
	done
	[ "$(grep -c state=drain "$P/calls")" = 2 ]
}

@test "out of service for another's reason: an idle node that is bad does not ask for ever, a job asks at once" {
	policy 'mode = "enforce", lock = "'"$P"'/lock", expect = { ["*"] = { threads = 99999, action = "fail" } }, health = { recheck = 1 }'
	scontrol "echo 'NodeName=t1 State=IDLE+DRAIN Partitions=main Reason=fan broken, ask Bob [root@2026-01-01T00:00:00]'"
	health
	[ "$(record check 'r.action .. r.drain.kept')" = "nonefan broken, ask Bob" ]
	sed -i 's/"next_s":[0-9.e+]*/"next_s":0/' "$P/var/lib/syscheck/bad.json"
	health
	sed -i 's/"next_s":[0-9.e+]*/"next_s":0/' "$P/var/lib/syscheck/bad.json"
	health
	[ "$(wc -l <"$P/calls")" = 3 ]
	[ "$(mark "r.tries == 3")" = true ]
	health
	[ "$(wc -l <"$P/calls")" = 3 ]
	fake_slurm
	run prolog
	[ "$status" -eq 1 ]
	[ -s "$P/slurm/reason" ]
}

@test "another check of this node drains it, and takes long: the job starts, undecided" {
	mkdir -p "$P/var/lib/syscheck"
	: >"$P/var/lib/syscheck/drain.lock"
	flock "$P/var/lib/syscheck/drain.lock" sleep 30 3>&- &
	local holder=$!
	until ! flock -n "$P/var/lib/syscheck/drain.lock" true; do sleep 0.05; done
	run hurried
	kill "$holder"
	undecided
	[[ "$(record check 'r.drain.error')" == "another check of this node is at it"* ]]
	[ ! -e "$P/calls" ]
}

@test "reason: quotes, other alphabets, line ends, 250 bytes" {
	kernel dgemm "printf '%s\n' '{\"kernel\":\"dgemm\",\"verified\":false,\"error\":\"\\\"µ\\\" '\$(printf 'x%.0s' {1..400})'\",\"gflops\":50}'; exit 1"
	run prolog
	[ "$status" -eq 1 ]
	cat "$P/slurm/reason"
	[[ "$(<"$P/slurm/reason")" == "syscheck: dgemm: WRONG RESULT: '??' xxx"* ]]
	[ "$(tr -d '\n' <"$P/slurm/reason" | wc -c)" -le 250 ]
	[ "$(wc -l <"$P/slurm/reason")" = 1 ]
}

@test "two prologs of one node at once: one after the other, both leave" {
	policy 'mode = "enforce", expect = { ["*"] = { threads = 99999, action = "fail" } }'
	local a b codes=''
	prolog SLURM_JOB_ID=1 SPANK_SYSCHECK=passive & a=$!
	prolog SLURM_JOB_ID=2 SPANK_SYSCHECK=passive & b=$!
	wait "$a" || codes+=$?
	wait "$b" || codes+=$?
	[ "$codes" = 11 ]
	[ "$(grep -c 'state=drain' "$P/calls")" = 1 ]
}

@test "the agent is killed while it talks to Slurm: the epilog appends the one record" {
	scontrol 'kill -KILL $PPID; sleep 2'
	run prolog
	# No exit code of the agent's: the job starts.
	[ "$status" -eq 0 ]
	[ ! -e "$SPOOL" ]
	run epilog
	[ "$(grep -c '"kind":"check"' "$SPOOL")" = 1 ]
	[ "$(record check 'r.status .. r.action')" = failundecided ]
	[ "$(mark 'r.action .. tostring(r.sent)')" = undecidednil ]
	[[ "$(record check 'r.drain.error')" == *"ended before Slurm had answered"* ]]
	[ "$(record job 'r.check.status')" = fail ]
	[ "$(record job 'r.check.id')" = "$(record check 'r.id')" ]
	run epilog
	[ "$(grep -c '"kind":"check"' "$SPOOL")" = 1 ]
}

@test "the agent is killed while it tells the job's owner: the node knows that it drained itself" {
	fake_slurm '[ "$1" != --noheader ] || { kill -KILL $PPID; sleep 2; }'
	run prolog
	[ "$status" -eq 0 ]
	[ -s "$P/slurm/reason" ]
	grep -q '"reason":"syscheck: triad 61.3 ' "$P/var/lib/syscheck/drained.json"
}

@test "the node crashes while it talks to Slurm: the next prolog appends the one record" {
	scontrol 'kill -KILL $PPID; sleep 2'
	run prolog
	sed -i 's/"boot_id":"[^"]*"/"boot_id":"other"/g' "$P/var/lib/syscheck/begin/4711.json"
	kernel stream "$(says stream '"triad_gbs":100')"
	run prolog SLURM_JOB_ID=4712
	[ "$status" -eq 0 ]
	[ "$(grep -c '"status":"fail"' "$SPOOL")" = 1 ]
	[ "$(wc -l <"$SPOOL")" = 2 ]
}

@test "the node crashes while it talks to Slurm: so does the health program, or the same job's next prolog" {
	local stage
	for stage in health prolog; do
		agent_reset
		kernel stream "$(says stream '"triad_gbs":61.3')"
		scontrol 'kill -KILL $PPID; sleep 2'
		run prolog
		[ ! -e "$SPOOL" ]
		sed -i 's/"boot_id":"[^"]*"/"boot_id":"other"/g' "$P/var/lib/syscheck/begin/4711.json"
		kernel stream "$(says stream '"triad_gbs":100')"
		"$stage"
		epilog
		[ "$(grep -c '"status":"fail"' "$SPOOL")" = 1 ] || { echo "$stage: $(<"$SPOOL")"; return 1; }
	done
}

# squeue ROW: what it says of the job's batch script and of requeuing it
squeue() {
	rm -f "$P/squeue"
	printf '#!/bin/bash\n[[ "$*" == *Requeue* ]] || exec %q "$@"\necho "squeue $*" >>%q\n%s\n' "$P/scontrol" "$P/calls" "$1" >"$P/squeue"
	chmod 755 "$P/squeue"
}

@test "a job that cannot be requeued: cancelled, or started on the drained node, as the policy says" {
	local limits='limits = { triad_gbs = { min = 80 } }'
	squeue 'echo "4711        1           0           "'
	run prolog
	[ "$status" -eq 1 ]
	run ! grep -q ^squeue.*Requeue "$P/calls"
	while IFS='|' read -r row expected note; do
		rm -rf "$P/slurm/reason" "${P:?}/var" "$P/run"
		policy "mode = 'enforce', no_requeue = 'start', $limits"
		squeue "$row"
		run prolog
		[ "$status" -eq "$expected" ] || { echo "$row: $status"; return 1; }
		[ -s "$P/slurm/reason" ]
		[ "$(record check 'r.action')" = drain ]
		[ "$(record check 'r.note')" = "$note" ] || { echo "$row: $(record check 'r.note')"; return 1; }
		[ "$(record check 'r.drain.starts')" = "$([ "$expected" = 1 ] && echo nil || echo true)" ]
	done <<-'CASES'
		echo "4711  1  1"|1|nil
		echo "4711  1  0"|0|drained; Slurm cannot requeue this job, so it starts here
		echo "4711  0  1"|0|drained; Slurm cannot requeue this job, so it starts here
		echo "4710  1  1"|0|drained; whether Slurm can requeue this job is not known, so it starts here
		exit 1|0|drained; whether Slurm can requeue this job is not known, so it starts here
		exec sleep 60|0|drained; whether Slurm can requeue this job is not known, so it starts here
	CASES
	grep -q 'syscheck: t1 quick fail .*drained; ' "$P/run/4711" || grep -q 'line=.*drained; ' "$P/run/4711"
}

@test "a job that cannot be requeued does not start on a node that computes wrong" {
	policy 'mode = "enforce", no_requeue = "start"'
	squeue 'echo "4711 1 0"'
	kernel dgemm 'echo "{\"kernel\":\"dgemm\",\"v\":1,\"verified\":false,\"gflops\":50}"; exit 1'
	run prolog
	[ "$status" -eq 1 ]
	[ "$(record check 'r.corrupt')" = true ]
	# Nor on one that an earlier check found so and could not drain.
	rm -f "$P/slurm/reason"
	rm -rf "${P:?}/var"
	fake_slurm 'exit 1'
	run prolog
	[ "$status" -eq 0 ]
	[ "$(record check 'r.action')" = undecided ]
	fake_slurm
	kernel dgemm "$(says dgemm '"gflops":50')"
	sed -i 's/"next_s":[0-9.e+]*/"next_s":0/' "$P/var/lib/syscheck/bad.json"
	run prolog
	[ "$status" -eq 1 ]
	[ "$(record check 'tostring(r.corrupt) .. r.action')" = nildrain ]
}
