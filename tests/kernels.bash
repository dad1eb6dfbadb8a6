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

# in_memory BYTES COMMAND...: runs it in a memory cgroup of that size
in_memory() {
	local group=/sys/fs/cgroup/syscheck-test-$$ limit=$1
	shift
	if [ -d /sys/fs/cgroup/memory ]; then
		group=/sys/fs/cgroup/memory/syscheck-test-$$
		mkdir "$group" || skip "no memory cgroup can be made"
		echo "$limit" >"$group/memory.limit_in_bytes"
	else
		mkdir "$group" || skip "no memory cgroup can be made"
		[ -f "$group/memory.max" ] || { rmdir "$group"; skip "the memory controller is not enabled here"; }
		echo "$limit" >"$group/memory.max"
	fi
	run --separate-stderr bash -c "echo \$\$ >'$group/cgroup.procs' && exec \"\$@\"" - "$@"
	until rmdir "$group" 2>/dev/null; do sleep 0.1; done
}

# at_quota PERCENT PERIOD_US COMMAND...: runs it in a cpu cgroup with so much of one CPU
at_quota() {
	local group=/sys/fs/cgroup/syscheck-quota-$$ quota=$(($1 * $2 / 100)) period=$2
	shift 2
	if [ -d /sys/fs/cgroup/cpu ]; then
		group=/sys/fs/cgroup/cpu/syscheck-quota-$$
		mkdir "$group" || skip "no cpu cgroup can be made"
		echo "$period" >"$group/cpu.cfs_period_us"
		echo "$quota" >"$group/cpu.cfs_quota_us"
	else
		mkdir "$group" || skip "no cpu cgroup can be made"
		[ -f "$group/cpu.max" ] || { rmdir "$group"; skip "the cpu controller is not enabled here"; }
		echo "$quota $period" >"$group/cpu.max"
	fi
	run --separate-stderr bash -c "echo \$\$ >'$group/cgroup.procs' && exec \"\$@\"" - "$@"
	until rmdir "$group" 2>/dev/null; do sleep 0.1; done
}
