#!/bin/bash
# syscheck @STAGE@: scrub, bound, run the agent. Slurm calls it as root: the prolog before
# a job, the epilog after it, health (HealthCheckProgram) on idle nodes.
#
# Exit 1, which drains the node and requeues the job, for one reason only: the prolog's
# agent ended with "node bad, confirmed". Whatever else happens, the job starts.
set -u
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH LC_ALL=C
umask 022
cd / || exit 0

STAGE=@STAGE@
NODE_BAD=99
LOG='@LOCALSTATEDIR@/log/syscheck.log'

# Seconds that the agent may take; to end it, and to record that, takes 7 more at most.
case $STAGE in
prolog) LIMIT=74 ;; # longer than any deadline the policy may set
health) LIMIT=52 ;; # Slurm kills it after 60
*) LIMIT=10 ;; # the epilog reads files and writes a line
esac

RESULT=0   # exit code
CODE=      # of the agent
SAID=      # why it could not be started
OOM_SCORE= # as it was

# Whether the log can be appended to; it is made as logrotate makes it. A FIFO would block.
has_log() {
	local code
	[ -f "$LOG" ] || [ ! -e "$LOG" ] || return
	umask 027
	{ : >>"$LOG"; } 2>/dev/null
	code=$?
	umask 022
	return "$code"
}

# bounded SECONDS ARGUMENT...: runs the agent, into $CODE: its exit code, one of lua/native/native.c, or
#   120 what was to bound it hangs and cannot be killed   121 it was stopped, or hung, and is killed
# and what it said that could not be started, into $SAID.
bounded() {
	local what='' value='' status process='' pid lost='' lines=0 began now left=$(($1 + 1))
	CODE='' SAID=''
	read -r began _ </proc/uptime || began=0
	# -E: no LUA_INIT, LUA_PATH.
	exec 3< <(exec '@LUA@' -E '@LIBEXECDIR@/bound.lua' "$1" "${OOM_SCORE:-0}" "$LOG" \
		'@LIBEXECDIR@/agent.lua' "${@:2}" 2>&1) || CODE=125
	pid=${!-}
	while [ -z "$CODE" ]; do
		# read -t and not wait: what cannot even be started (a dead disk) must not hold up the job.
		read -r -t "$left.7" what value <&3
		status=$?
		# bash's limit goes by the wall clock: where that was set forward, the line is only now read, and
		# its first letter gone.
		if [ "$status" -gt 128 ]; then
			read -r -t 0.5 what value <&3
			status=$?
		fi
		case $status.$what in
		0.process | 0.rocess) process=$value ;;
		0.code | 0.ode) CODE=${value//[!0-9]/} ;;
		0.*)
			SAID=${SAID:-$what $value}
			# Nothing says so much.
			if [ $((lines += 1)) -ge 100 ]; then
				kill -KILL "$pid"
				CODE=125 lost=1
			fi
			;;
		1.*)
			# Without a word: it could not be started, or was killed. No exit code of that is a verdict.
			lost=1
			wait "$pid"
			CODE=$?
			case $CODE in 0 | 1 | "$NODE_BAD") CODE=125 ;; esac
			;;
		*)
			lost=1
			kill -KILL "$pid"
			read -r -t 0.5 what value <&3
			CODE=$(($? > 128 ? 120 : 121))
			;;
		esac
		[ -z "$CODE" ] || break
		# One limit for all of it, however late it started, by the kernel's clock.
		read -r now _ </proc/uptime || now=$began
		left=$(($1 + 1 + ${began%.*} - ${now%.*}))
		[ "$left" -ge 0 ] || left=0
	done
	# What the agent has left ends with who bounded it.
	[ -z "$lost" ] || [ -z "$process" ] || kill -KILL -- "-$process"
	exec 3<&-
}

# complain: logs what ended the agent, and has it recorded.
complain() {
	local why
	case $CODE in
	120 | 122) why="did not end within $LIMIT s and could not be killed" ;;
	121 | 123) why="did not end within $LIMIT s and was killed" ;;
	124) why="did not end within $LIMIT s" ;;
	125 | 126 | 127) why="could not be started (exit code $CODE)${SAID:+: ${SAID//[![:print:]]/?}}" ;;
	137) why='was killed: out of memory, or by hand' ;;
	*)
		why="ended with exit code $CODE"
		[ "$CODE" -lt 129 ] || why="was ended by signal $((CODE - 128))"
		;;
	esac
	# In a process of its own: the log's disk may be what hangs. Where there is no log, or no room
	# in it, the record is all that says it.
	read -r -t 1 < <(log "$why"; echo) || return
	# What hangs before it has a limit would do so again.
	case $CODE in 120 | 121) ;; *) bounded 2 ended "$STAGE" "the $STAGE's agent $why" ;; esac
}

log() {
	local time node=${SLURMD_NODENAME:-${HOSTNAME%%.*}} job=${SLURM_JOB_ID-}
	TZ=UTC0 printf -v time '%(%FT%TZ)T' -1
	has_log && printf '%s %s %s: %serror: the agent %s\n' "$time" "${node//[!A-Za-z0-9._-]/?}" "$STAGE" \
		"${job:+job ${job//[!0-9]/?}: }" "$1" >>"$LOG"
}

main() {
	# bash itself ends with another code where it cannot start a process; and to Slurm one that a signal
	# ends (systemd stops slurmd and all that it started) is a prolog or epilog that failed.
	trap 'exit "$RESULT"' EXIT HUP INT QUIT PIPE TERM USR1 USR2
	# Nothing that may be left behind holds slurmd's pipes: it reads them to their end.
	exec </dev/null >/dev/null 2>&1
	# Slurm takes a prolog that the kernel killed for want of memory for a failed one.
	read -r OOM_SCORE </proc/self/oom_score_adj
	echo -1000 >/proc/self/oom_score_adj
	bounded "$LIMIT" "$STAGE"
	# Any other stage's failure would drain the node, too, or only be logged.
	case $STAGE.$CODE in
	"prolog.$NODE_BAD") RESULT=1 ;;
	*.0) ;;
	health.140) ;; # SIGUSR2: it gave way to a prolog, see node/claim.lua
	*) complain ;;
	esac
	exit "$RESULT"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
	# Somebody at a prompt, and not Slurm: nothing is measured, drained or recorded.
	case ${1-} in
	-h | --help)
		echo "usage: Slurm runs this ($STAGE) without arguments; see man syscheck-${STAGE/epilog/prolog}"
		exit 0
		;;
	esac
	main "$@"
fi
