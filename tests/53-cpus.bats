#!/usr/bin/env bats
# The CPUs that are measured where slurmd, and so the prolog, is confined. Real kernels, real sets.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load eventually
load helpers

ALL=$(getconf _NPROCESSORS_ONLN)

setup() {
	[ "$(id -u)" = 0 ] || skip "needs root"
	[ "$ALL" -ge 2 ] || skip "needs two CPUs"
	agent_reset
	cp "$P/kernels/noise" "$P/libexec/syscheck/"
	policy 'mode = "enforce", kernels = { stream = { quick = 0 }, dgemm = { quick = 0 }, noise = { quick = 0.3 } },
		limits = { noise_pct = { max = 1000 } }'
	FIRST=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
	TOP=/sys/fs/cgroup
	[ ! -d "$TOP/cpuset" ] || TOP=$TOP/cpuset
	SET=$TOP/syscheck-test-$$
}

teardown() {
	agent_keep
	rmdir "$SET/job_4711" "$SET" 2>/dev/null || true
}

# The cores that a kernel measures when nothing confines it.
cores() {
	"$P/kernels/noise" --seconds 0.1 | lua5.4 -e 'print(require("cjson").decode(io.read("a")).cpus)'
}

# measures COMMAND...: a prolog, again until its kernels were not killed: this machine may be busy
measures() {
	local try
	for try in {1..10}; do
		run "$@"
		[ "$(record check 'r.runs[1].state')" != ok ] || return 0
		echo "try $try: $(record check 'r.text')"
	done
	return 1
}

# a_cpuset: $SET, of the first CPU, and in it one by the name of a job's
a_cpuset() {
	local dir
	mkdir "$SET" 2>/dev/null || skip "no cgroup can be made here"
	[ -e "$SET/cpuset.cpus" ] || skip "no cpuset controller here"
	for dir in "$SET" "$SET/job_4711"; do
		[ -d "$dir" ] || mkdir "$dir"
		echo "$FIRST" >"$dir/cpuset.cpus"
		if [ "$TOP" != /sys/fs/cgroup ]; then
			cat "$TOP/cpuset.mems" >"$dir/cpuset.mems"
		elif [ "$dir" = "$SET" ] && [ "${1:-}" = job ]; then
			echo +cpuset >"$SET/cgroup.subtree_control"
		else
			return 0
		fi
	done
}

# in_set DIR COMMAND...: in that set
in_set() {
	(echo "$BASHPID" >"$1/cgroup.procs" && "${@:2}")
}

@test "slurmd on one CPU by affinity, in a cpuset: all CPUs are measured, nothing is left behind" {
	local all
	all=$(cores)
	measures taskset -c "$FIRST" "$BASH" -c "$(declare -f prolog slurmd_runs); P=$P; prolog"
	[ "$status" -eq 0 ]
	[ "$(record check 'r.cpus.list')" = "$all" ]
	[ "$(record check 'r.cpus.jobs')" = true ]
	[ "$(record check 'r.cpus.left_out')" = "" ]
	[ "$(record check 'r.status')" = pass ]
	a_cpuset
	measures in_set "$SET" prolog
	[ "$status" -eq 0 ]
	[ "$(record check 'r.cpus.list')" = "$all" ]
	[ "$(record check 'r.status')" = pass ]
	[ "$(wc -l <"$SET/cgroup.procs")" -eq 0 ]
}

# holds PID: that kernel may use all CPUs, and which cgroup it is in
holds() {
	grep -qx "Cpus_allowed_list:.$(cat /sys/devices/system/cpu/online)" "/proc/$1/status" && grep -q "$2" "/proc/$1/cgroup"
}

@test "a kernel leaves a cpuset that confines it, and no other" {
	local pid
	a_cpuset
	cat /sys/devices/system/cpu/online >"$SET/cpuset.cpus"
	(echo "$BASHPID" >"$SET/cgroup.procs" && exec taskset -c "$FIRST" "$P/kernels/noise" --seconds 60 \
		--widen "$(cat /sys/devices/system/cpu/online)" --cgroup "$TOP") >/dev/null 3>&- &
	pid=$!
	eventually 20 holds "$pid" "/${SET##*/}$"
	kill "$pid"
	wait "$pid" || true
	# What is refused, or nonsense, changes nothing.
	run taskset -c "$FIRST" "$P/kernels/noise" --seconds 0.1 --widen 60000-65535 --cgroup /nonexistent
	[ "$status" -eq 0 ]
	[[ $output == *'"threads":1,"cpus":"'"$FIRST"'"'* ]]
	run taskset -c "$FIRST" "$P/kernels/noise" --seconds 0.1 --widen 0-x
	[[ $output == *'"threads":1,"cpus":"'"$FIRST"'"'* ]]
}

@test "a job's own cgroup is not left: a part of the node is not rated" {
	a_cpuset job
	measures in_set "$SET/job_4711" prolog
	[ "$status" -eq 0 ]
	[ "$(record check 'r.cpus.list')" = "$FIRST" ]
	[ "$(record check 'r.cpus.jobs')" = false ]
	[ "$(record check 'r.status')" = unknown ]
	[[ "$(record check 'r.text')" == "noise "*" % not rated: measured on CPUs $FIRST (1 of "*" cores), which are not those that jobs get"* ]]
}

@test "what cannot be left is unknown, not slow" {
	# slurmd in a container that has one CPU: nothing can be joined.
	policy 'mode = "enforce", kernels = { dgemm = { quick = 0 }, noise = { quick = 0 } }'
	kernel stream "$(says stream "\"triad_gbs\":20,\"threads\":1,\"cpus\":\"$FIRST\",\"mems\":\"0\"")"
	prolog
	printf '{"v":2,"classes":{"%s":{"nodes":9,"metrics":{"triad_gbs":{"median":86,"mad_pct":1,"tolerance_pct":4,"n":90,"nodes":9}},"expect":{},"config":{}}}}' \
		"$(record check 'r.class')" >"$P/etc/syscheck/baseline.json"
	run prolog
	[ "$status" -eq 0 ]
	[ "$(record check 'r.status')" = unknown ]
	[[ "$(record check 'r.text')" == "triad 20.0 GB/s not rated: measured on CPUs $FIRST (1 of "*" cores), the baseline is of all cores"* ]]
	[ ! -e "$P/calls" ]
	# The same value on the CPUs that the baseline is of drains.
	kernel stream "$(says stream "\"triad_gbs\":20,\"cpus\":\"$(cores)\"")"
	run prolog
	[ "$status" -eq 1 ]
	[[ "$(record check 'r.reason')" == "triad 20.0 < 77.4 GB/s"* ]]
}
