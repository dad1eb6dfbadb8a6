# Daemons: started in the foreground, each noted as "name pid start-time", ended
# only if the process of that pid is still the one that was started.
# shellcheck shell=bash disable=SC2153

# Field 22 of /proc/PID/stat: with the pid it names one process for ever.
start_time() {
	local stat
	stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
	# The name in parentheses may hold spaces.
	stat=${stat##*) }
	# shellcheck disable=SC2086
	set -- $stat
	# A zombie is dead, whoever has not looked after it yet.
	[ "$1" != Z ] && echo "${20}"
}

is_ours() {
	local now
	now=$(start_time "$1") && [ "$now" = "$2" ]
}

note() {
	printf '%s %s %s\n' "$1" "$2" "$(start_time "$2")" >>"$DIR/pids"
}

# start NAME COMMAND...: in a session of its own, output into its log.
start() {
	local name=$1
	shift
	setsid "$@" </dev/null >>"$DIR/log/$name.log" 2>&1 &
	note "$name" "$!"
}

start_munge() {
	local dir=$DIR/munge try
	head -c 128 /dev/urandom >"$dir/key"
	chmod 400 "$dir/key"
	chmod 711 "$dir"
	start munged munged -F --force --key-file="$dir/key" --socket="$dir/socket" --pid-file="$dir/pid" \
		--log-file="$dir/munged.log" --seed-file="$dir/seed"
	for try in {1..50}; do
		munge -n -S "$dir/socket" >/dev/null 2>&1 && return 0
		sleep 0.1
	done
	echo "munged: no answer after $try tries" >>"$DIR/log/munged.log"
	return 1
}

# Ends what was noted, latest first, then whatever still runs in our cgroups (job
# steps, prologs): nobody else is in there.
stop_all() {
	local name pid start pids=() signal
	if [ -f "$DIR/pids" ]; then
		while read -r name pid start; do
			is_ours "$pid" "$start" && pids+=("$pid:$start")
		done < <(tac "$DIR/pids")
	fi
	for signal in TERM KILL; do
		for pid in "${pids[@]}"; do
			is_ours "${pid%:*}" "${pid#*:}" && kill -s "$signal" "${pid%:*}"
		done 2>/dev/null
		[ -n "${SLOT:-}" ] && cgroup_kill "$signal"
		wait_gone "${pids[@]}" && break
	done
	if [ -n "${SLOT:-}" ]; then
		cgroup_kill KILL
	fi
	return 0
}

wait_gone() {
	local try pid left
	for try in {1..30}; do
		left=0
		for pid in "$@"; do
			is_ours "${pid%:*}" "${pid#*:}" && left=1
		done
		[ "$left" = 0 ] && return 0
		sleep 0.1
	done
	: "$try"
	return 1
}
