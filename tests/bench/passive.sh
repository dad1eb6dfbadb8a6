#!/bin/bash
# CPU time (user + system) of a whole passive check on a node of two sockets and 256
# CPUs, prepared as a tree of files: the start of Lua, snapshot, inventory, verdict,
# state and record on disk. Its peer is bash that reads the same values file by file,
# as the well-known checkers do; it judges and writes nothing. Rounds are interleaved.
# The epilog on the same tree beside it, and both once more with syscheck.prom for Prometheus. One line of JSON; nothing is asserted.
set -u
cd "$(dirname "$0")/../.." || exit 2
ROUNDS=${ROUNDS:-15}
LUA=${LUA:-lua5.4}

# read_values ROOT: the peer; one builtin `read` a file, no process
read_values() {
	local cpus=$1/sys/devices/system/cpu cpu dir file package core value text n=0
	declare -A seen
	for dir in "$cpus"/cpu[0-9]*; do
		cpu=${dir##*/cpu}
		[ -d "$dir/topology" ] || continue
		read -r package <"$dir/topology/physical_package_id"
		read -r value <"$dir/topology/die_id"
		read -r core <"$dir/topology/core_id"
		for file in "$dir"/thermal_throttle/{package,core}_{throttle_count,throttle_total_time_ms,power_limit_count}; do
			case $file in */package_*) text=$package:$value:${file##*/} ;; *) text=$package:$value:$core:${file##*/} ;; esac
			[ -n "${seen[$text]-}" ] || { read -r "seen[$text]" <"$file"; n=$((n + 1)); }
		done
		for file in scaling_governor scaling_max_freq cpuinfo_max_freq energy_performance_preference; do
			read -r value <"$cpus/cpufreq/policy$cpu/$file" && n=$((n + 1))
		done
	done
	for file in "$1"/sys/devices/system/edac/mc/mc*/{ce_count,ue_count,dimm*/size} "$1"/sys/block/*/stat \
		"$cpus"/{online,present,smt/control,intel_pstate/no_turbo} "$1"/sys/class/dmi/id/* \
		"$1"/proc/sys/kernel/{osrelease,numa_balancing} "$1"/sys/kernel/mm/*/enabled \
		"$1"/sys/class/powercap/intel-rapl:?/{name,energy_uj,max_energy_range_uj} "$1"/sys/fs/resctrl/mon_data/*/mbm_total_bytes \
		"$1"/sys/class/infiniband/*/ports/*/counters/{symbol_error,link_error_recovery,link_downed,port_rcv_errors,local_link_integrity_errors,excessive_buffer_overrun_errors}; do
		read -r value <"$file" && n=$((n + 1))
	done
	for file in "$1"/proc/{stat,schedstat,meminfo,vmstat,diskstats,interrupts,self/mountstats,pressure/*}; do
		while read -r text value; do
			n=$((n + 1))
		done <"$file"
	done
	read -r -N 4096 text <"$1/proc/cpuinfo"
	echo "$n"
}

# cpu_ms COMMAND...: milliseconds of CPU, of the command and what it started
cpu_ms() {
	local t
	TIMEFORMAT='%U %S'
	t=$({ time "$@" >/dev/null 2>>"$dir/trouble"; } 2>&1)
	awk '{ printf "%.0f\n", ($1 + $2) * 1000 }' <<<"$t"
}

# policy DIR [MORE]: a node of its own in DIR
policy() {
	mkdir -p "$1"
	printf 'return { spool = "%s/spool", state = "%s/state", run = "%s/run", %s expect = { ["*"] = { memory_gib = 512, dimms = 16, threads = 256 } } }\n' \
		"$1" "$1" "$1" "${2-}" >"$1/policy.lua"
}

# of NAME: its median, least and most, as JSON
of() {
	printf '"%s_cpu_ms":%d,"%s_min_ms":%d,"%s_max_ms":%d,' "$1" "$(median "$dir/$1")" "$1" "$(sort -n "$dir/$1" | head -n 1)" \
		"$1" "$(sort -n "$dir/$1" | tail -n 1)"
}

median() {
	sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

main() {
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	"$LUA" tests/bench/fixture.lua "$dir/root" || exit 1
	policy "$dir/plain"
	mkdir "$dir/prom"
	policy "$dir/text" "textfile = \"$dir/prom\","
	for _ in $(seq "$ROUNDS"); do
		cpu_ms "$LUA" -E tests/bench/passive.lua "$dir/root" "$dir/plain" >>"$dir/passive"
		cpu_ms "$LUA" -E tests/bench/passive.lua "$dir/root" "$dir/text" >>"$dir/passive_textfile"
		cpu_ms "$LUA" -E tests/bench/passive.lua "$dir/root" "$dir/plain" epilog >>"$dir/epilog"
		cpu_ms "$LUA" -E tests/bench/passive.lua "$dir/root" "$dir/text" epilog >>"$dir/epilog_textfile"
		cpu_ms bash tests/bench/passive.sh --peer "$dir/root" >>"$dir/shell"
		cpu_ms "$LUA" -E -e '' >>"$dir/empty"
	done
	if [ -s "$dir/trouble" ]; then
		head -n 5 "$dir/trouble" >&2
		exit 1
	fi
	printf '{%s%s%s%s' "$(of passive)" "$(of passive_textfile)" "$(of epilog)" "$(of epilog_textfile)"
	awk -v p="$(median "$dir/passive")" -v s="$(median "$dir/shell")" -v t="$(median "$dir/passive_textfile")" \
		-v e="$(median "$dir/empty")" -v r="$ROUNDS" -v load="$(cut -d' ' -f1 /proc/loadavg)" 'BEGIN {
		printf "\"shell_cpu_ms\":%d,\"ratio\":%.3f,\"textfile_ratio\":%.3f,", s, p / s, t / p
		printf "\"empty_lua_cpu_ms\":%d,\"rounds\":%d,\"cpus\":256,\"load\":%.2f}\n", e, r, load }'
}

if [ "${1-}" = --peer ]; then
	read_values "$2"
else
	main
fi
