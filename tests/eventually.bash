# shellcheck shell=bash
# eventually SECONDS COMMAND...: waits until COMMAND succeeds, or fails and says so; with the
# end of $LOG, where a test has one
eventually() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || { echo "never happened: $*"; [ -z "${LOG:-}" ] || tail -n 20 "$LOG"; return 1; }
		sleep 0.2
	done
}
