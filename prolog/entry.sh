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
CODE=      # of the agent; empty: it could not be ended
OOM_SCORE= # as it was
UPTIME=

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

# agent SECONDS ARGUMENT...: prints its process (a group's leader), then its exit code.
agent() {
	local limit=$1
	shift
	has_log || LOG=/dev/null
	{
		echo "$OOM_SCORE" >/proc/self/oom_score_adj
		# -E: no LUA_INIT, LUA_PATH. No descriptor of slurmd's is left to an agent that
		# may outlive this shell.
		exec timeout -k 1 "$limit" '@LUA@' -E '@LIBEXECDIR@/agent.lua' "$@" </dev/null >/dev/null 2>>"$LOG"
	} &
	echo "process $!"
	wait "$!"
	echo "code $?"
}

# bounded SECONDS ARGUMENT...: runs the agent, into $CODE.
bounded() {
	local what value process=''
	CODE=
	exec 3< <(agent "$@")
	# read -t and not wait: an agent stuck in the kernel (a dead disk) cannot even
	# be killed, and must not hold up the job.
	while read -r -t "$(($1 + 1)).5" what value <&3; do
		case $what in
		process) process=$value ;;
		code)
			CODE=$value
			break
			;;
		esac
	done
	# The whole group: timeout was stopped with it, or killed and left the agent behind.
	if [ -n "$process" ] && [ "${CODE:-137}" -ge 124 ]; then
		kill -KILL -- "-$process"
		# bash's limit goes by the wall clock: where that was set forward, the code is only now read.
		[ -n "$CODE" ] || read -r -t 0.5 what CODE <&3 || CODE=
	fi
	exec 3<&-
}

# The kernel's clock, whole seconds, into $UPTIME: the wall clock, so $SECONDS, may be set meanwhile.
uptime() {
	read -r UPTIME _ </proc/uptime || UPTIME=0
	UPTIME=${UPTIME%.*}
}

# complain BEGAN: logs what ended the agent that began then, and has it recorded.
complain() {
	local why=''
	uptime
	case $CODE in
	'') why="did not end within $LIMIT s and could not be killed" ;;
	124) why="did not end within $LIMIT s" ;;
	126 | 127) why="could not be started (exit code $CODE)" ;;
	137)
		why='was killed: out of memory, or by hand'
		[ $((UPTIME - $1)) -lt "$LIMIT" ] || why="did not end within $LIMIT s and was killed"
		;;
	*)
		why="ended with exit code $CODE"
		[ "$CODE" -lt 129 ] || why="was ended by signal $((CODE - 128))"
		;;
	esac
	# In a process of its own: the log's disk may be what hangs. Where there is no log, or no room
	# in it, the record is all that says it.
	read -r -t 1 < <(log "$why"; echo) && bounded 2 ended "$STAGE" "the $STAGE's agent $why"
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
	uptime
	local began=$UPTIME
	bounded "$LIMIT" "$STAGE"
	# Any other stage's failure would drain the node, too, or only be logged.
	case $STAGE.$CODE in
	"prolog.$NODE_BAD") RESULT=1 ;;
	*.0) ;;
	health.140) ;; # SIGUSR2: it gave way to a prolog, see node/claim.lua
	*) complain "$began" ;;
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
