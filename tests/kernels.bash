# shellcheck shell=bash
# What the kernels' tests share.
# shellcheck disable=SC2034,SC2154 # bats sets status, output and stderr

ROOT=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
FIXTURES=$BATS_TEST_DIRNAME/fixtures

# get EXPRESSION: of the one JSON object r in $output; fails if there is not exactly one line
get() {
	lua5.4 /dev/fd/3 "$output" "$1" 3<<-'LUA'
	local text = arg[1]
	assert(not text:find("\n"), "several lines")
	local r = require("cjson").decode(text)
	print(load("local r = ... return " .. arg[2])(r))
	LUA
}

# quiet_failure KERNEL: exit 2, nothing on stdout, one line of its on stderr
quiet_failure() {
	[ "$status" -eq 2 ] || { echo "status $status"; return 1; }
	[ -z "$output" ] || { echo "stdout: $output"; return 1; }
	[ "$(wc -l <<<"$stderr")" -eq 1 ] || { echo "stderr: $stderr"; return 1; }
	[[ $stderr == "$1: "* ]] || { echo "stderr: $stderr"; return 1; }
}

# run_until TEST COMMAND...: as run --separate-stderr, up to five times, until TEST (a function) holds; fails where it
# never does
run_until() {
	local holds=$1
	shift
	for _ in {1..5}; do
		run --separate-stderr "$@"
		! "$holds" || return 0
	done
	return 1
}

had_time() {
	[[ $status -ne 2 || $stderr != *"set-up left hardly any of the time box" ]]
}

# run_in_time COMMAND...: as run --separate-stderr; again where others left set-up hardly any of the time box
run_in_time() {
	run_until had_time "$@" || true
}

# allowed_cpu [N]: the N-th (default: the first) CPU that this shell may use
allowed_cpu() {
	taskset -cp $$ | sed 's/.*: //' | awk -F, -v n="${1:-1}" '{
		for (i = 1; i <= NF; i++) {
			last = split($i, ends, "-")
			for (cpu = ends[1]; cpu <= ends[last]; cpu++)
				if (++seen == n)
					print cpu
		}
	}'
}

# in_group CONTROLLER V1 V2 COMMAND...: runs it in a cgroup with these settings, a "FILE VALUE" on each line
in_group() {
	local group=/sys/fs/cgroup/syscheck-test-$$ controller=$1 settings=$3 file value
	if [ -d "/sys/fs/cgroup/$controller" ]; then
		group=/sys/fs/cgroup/$controller/syscheck-test-$$ settings=$2
	fi
	shift 3
	mkdir "$group" || skip "no $controller cgroup can be made"
	while read -r file value; do
		[ -f "$group/$file" ] || { rmdir "$group"; skip "the $controller controller is not enabled here"; }
		echo "$value" >"$group/$file"
	done <<<"$settings"
	run --separate-stderr bash -c "echo \$\$ >'$group/cgroup.procs' && exec \"\$@\"" - "$@"
	until rmdir "$group" 2>/dev/null; do sleep 0.1; done
}

# in_memory BYTES COMMAND...: runs it in a memory cgroup of that size
in_memory() {
	in_group memory "memory.limit_in_bytes $1" "memory.max $1" "${@:2}"
}

# at_quota PERCENT PERIOD_US COMMAND...: runs it in a cpu cgroup with so much of one CPU
at_quota() {
	local period=$2 quota=$(($1 * $2 / 100))
	in_group cpu "cpu.cfs_period_us $period"$'\n'"cpu.cfs_quota_us $quota" "cpu.max $quota $period" "${@:3}"
}
