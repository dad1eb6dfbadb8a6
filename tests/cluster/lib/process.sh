# Daemons: started in the foreground, each noted as "name pid start-time", ended
# only if the process of that pid is still the one that was started.
# shellcheck shell=bash disable=SC2153

# start_time PID: field 22 of /proc/PID/stat into START_TIME; with the pid it names one
# process for ever. No subshell: `down` asks for hundreds of them, many times.
start_time() {
	local stat
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
	# The name in parentheses may hold spaces.
	stat=${stat##*) }
	# shellcheck disable=SC2086
	set -- $stat
	START_TIME=${20:-}
	# A zombie is dead, though its parent has not waited for it yet.
	[ "${1:-Z}" != Z ]
}

is_ours() {
	start_time "$1" && [ "$START_TIME" = "$2" ]
}

note() {
	START_TIME=''
	start_time "$2"
	printf '%s %s %s\n' "$1" "$2" "$START_TIME" >>"$DIR/pids"
}

# start NAME GROUP COMMAND...: in a session of its own, output into its log. It enters
# the cluster's GROUP first, so that `down` finds it even if we die before it is noted.
# A test harness waits for whoever holds its descriptors 3 and 4.
start() {
	local name=$1 group=$2
	shift 2
	(
		cgroup_enter "$group" || exit
		exec setsid "$@"
	) </dev/null >>"$DIR/log/$name.out" 2>&1 3>&- 4>&- &
	note "$name" "$!"
}

# dead_daemon: the name of one that is no more
dead_daemon() {
	local name pid start
	while read -r name pid start; do
		is_ours "$pid" "$start" || { echo "$name" && return 0; }
	done <"$DIR/pids"
	return 1
}

start_munge() {
	local dir=$DIR/munge try
	head -c 128 /dev/urandom >"$dir/key"
	chmod 400 "$dir/key"
	chmod 711 "$dir"
	start munged daemons munged -F --force --key-file="$dir/key" --socket="$dir/socket" --pid-file="$dir/pid" \
		--log-file="$dir/munged.log" --seed-file="$dir/seed"
	for try in {1..50}; do
		munge -n -S "$dir/socket" >/dev/null 2>&1 && return 0
		sleep 0.1
	done
	echo "munged: no answer after $try tries" >>"$DIR/log/munged.out"
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
		[ -n "$SLOT" ] && cgroup_kill "$signal"
		wait_gone "${pids[@]}" && break
	done
	return 0
}

wait_gone() {
	local try pid left
	for try in {1..30}; do
		left=0
		for pid in "$@"; do
			is_ours "${pid%:*}" "${pid#*:}" && left=1 && break
		done
		[ "$left" = 0 ] && return 0
		sleep 0.1
	done
	: "$try"
	return 1
}
