# shellcheck shell=bash
# Who else has this machine: what is measured on it can be no better than what is left.

# How a text begins to name who had the CPUs: other processes, or other virtual machines
# shellcheck disable=SC2034
WHO_HAD_CPUS='(others used|the hypervisor gave)'

# cpu_times: of all CPUs, in ticks: used time, and all of their time, and what the host of a virtual machine kept of it
# (it is used)
cpu_times() {
	awk '/^cpu / { used = $2 + $3 + $4 + $7 + $8 + $9; print used, used + $5 + $6, $9 }' /proc/stat
}

# others_worked USED ALL STOLEN: since these cpu_times others used this machine. Kernels of a test use all CPUs for some
# seconds of a minute, and a slow node a tenth of them.
others_worked() {
	local used all
	read -r used all _ < <(cpu_times)
	echo "CPUs used since: $((100 * (used - $1) / (all - $2))) %"
	[ $((100 * (used - $1))) -ge $((40 * (all - $2))) ]
}

# host_took USED ALL STOLEN: since these cpu_times it kept a tenth or more of what was to run
host_took() {
	local used stolen
	read -r used _ stolen < <(cpu_times)
	echo "of CPU time the host kept $((stolen - $3)) of $((used - $1)) ticks"
	[ $((10 * (stolen - $3))) -ge "$((used - $1))" ]
}

# on_own_cpus COMMAND...: does it, which measures this machine and fails where that is not as it should be. Where the
# host kept CPUs meanwhile: three tries, then it is skipped.
on_own_cpus() {
	local try since
	for try in 1 2 3; do
		read -ra since < <(cpu_times)
		"$@" && return
		host_took "${since[@]}" || return 1
	done
	skip "the host keeps CPUs from this machine, in each of $try tries"
}
