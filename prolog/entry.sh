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

# Seconds that the agent may take.
case $STAGE in
prolog) LIMIT=75 ;; # longer than any deadline the policy may set
health) LIMIT=52 ;; # Slurm kills it after 60
*) LIMIT=10 ;; # the epilog reads files and writes a line
esac

agent() {
	local log=$LOG
	# A FIFO would block.
	if [ -e "$log" ] && [ ! -f "$log" ]; then
		log=/dev/null
	fi
	{ : >>"$log"; } 2>/dev/null || log=/dev/null
	# -E: no LUA_INIT, LUA_PATH. No descriptor of slurmd's is left to an agent that
	# may outlive this shell.
	timeout -k 2 "$LIMIT" '@LUA@' -E '@LIBEXECDIR@/agent.lua' "$STAGE" </dev/null >/dev/null 2>>"$log"
	echo "$?"
}

main() {
	local code=
	# Nothing that may be left behind holds slurmd's pipes: it reads them to their end.
	exec </dev/null >/dev/null 2>&1
	# read -t and not wait: an agent stuck in the kernel (a dead disk) cannot even
	# be killed, and must not hold up the job.
	read -r -t "$((LIMIT + 5))" code < <(agent)
	# Any other stage's failure would drain the node, too, or only be logged.
	[ "$STAGE" = prolog ] && [ "$code" = "$NODE_BAD" ] && return 1
	return 0
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
	main "$@"
fi
