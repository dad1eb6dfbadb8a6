#!/bin/bash
# Six passive checks of LBNL's NHC and our six, on this machine, in paired rounds: wall and CPU time (user and system, of
# all processes). NHC=DIR is its source tree (github.com/mej/nhc); nothing is fetched. Ours is the whole health program
# and prolog: counters, inventory, record on disk, too. NHC runs as it is shipped, but marks no node (a call to slurmctld
# each time): with its time limit, as ours has one; "unlimited" is without. One line of JSON; nothing is asserted.
set -u
cd "$(dirname "$0")/../.." || exit 2
ROUNDS=${ROUNDS:-21}

# times NAME COMMAND...: appends "wall cpu" in ms to $dir/NAME
times() {
	local name=$1
	shift
	python3 tests/bench/times.py "$@" 2>>"$dir/out.$name" | tail -n 1 >>"$dir/$name"
	[ "${PIPESTATUS[0]}" -eq 0 ] || echo "$name: failed" >>"$dir/trouble"
}

# median NAME COLUMN
median() {
	sort -n -k "$2,$2" "$dir/$1" | awk -v c="$2" '{ v[NR] = $c } END { print v[int((NR + 1) / 2)] }'
}

# What NHC's and our six look at: the root file system, written to and with room; sockets, cores, threads; memory; a
# service's process; the load; a network device.
nhc_conf() {
	cat <<-EOF
		* || check_fs_mount_rw -f /
		* || check_fs_free / 1%
		* || check_hw_cpuinfo $sockets $cores $threads
		* || check_hw_physmem 1k 1000tb
		* || check_ps_service -u root -d bash bash
		* || check_hw_eth lo
	EOF
}

our_policy() {
	cat <<-EOF
		return {
		   filesystems = { { path = "/", writable = true, free_pct = 1 } },
		   expect = { ["*"] = { packages = $sockets, cores = $cores, threads = $threads, memory_gib = { $gib, 1 } } },
		   processes = { { name = "bash", user = "root" } },
		   links = { "lo" },
		   health = { level = "passive" },
		}
	EOF
}

# nhc NAME SETTING...
nhc() {
	times "$1" PATH="$PATH" "$NHC/nhc" -c "$dir/nhc.conf" -l "$dir/nhc.log" INCDIR="$NHC/scripts" \
		HELPERDIR="$NHC/helpers" CONFDIR="$dir" MARK_OFFLINE=0 NHC_RM=slurm "${@:2}"
}

# ours STAGE
ours() {
	times "$1" SLURM_JOB_ID="$RANDOM" SLURM_JOB_USER=root SLURM_JOB_UID=0 SLURM_JOB_PARTITION=main \
		SLURM_NODELIST=t1 SLURMD_NODENAME=t1 SLURM_CLUSTER_NAME=test SPANK_SYSCHECK=passive "$dir/p/libexec/syscheck/$1"
}

main() {
	[ -x "${NHC:-}/nhc" ] || { echo "NHC=DIR: NHC's source tree is wanted (github.com/mej/nhc)" >&2; exit 2; }
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	sockets=$(lscpu -p=socket | grep -v '^#' | sort -u | wc -l)
	cores=$(lscpu -p=core,socket | grep -v '^#' | sort -u | wc -l)
	threads=$(nproc --all)
	gib=$(awk '/^MemTotal/ { print int($2 / 1048576 + 0.999) }' /proc/meminfo)
	nhc_conf >"$dir/nhc.conf"
	make -s install PREFIX="$dir/p" SYSCONFDIR="$dir/p/etc" LOCALSTATEDIR="$dir/p/var" RUNDIR="$dir/p/run" DESTDIR= >/dev/null || exit 1
	our_policy >"$dir/p/etc/syscheck/policy.lua"
	for _ in $(seq "$ROUNDS"); do
		nhc nhc
		nhc unlimited TIMEOUT=0
		ours health
		ours prolog
	done
	# Ours ends with 0 whatever becomes of it.
	[ ! -s "$dir/p/var/log/syscheck.log" ] || echo 'ours: failed' >>"$dir/trouble"
	if [ -s "$dir/trouble" ]; then
		sort "$dir/trouble" | uniq -c >&2
		tail -n 3 "$dir/p/var/log/syscheck.log" "$dir/nhc.log" >&2
		exit 1
	fi
	for name in nhc unlimited health prolog; do
		echo "$name $(median "$name" 1) $(median "$name" 2)"
	done | awk -v r="$ROUNDS" -v load="$(cut -d' ' -f1 /proc/loadavg)" '{
		printf "%s\"%s_wall_ms\":%.1f,\"%s_cpu_ms\":%.1f", NR == 1 ? "{" : ",", $1, $2, $1, $3
		w[$1] = $2; c[$1] = $3
	} END {
		for (i = 1; i <= split("health prolog", ours, " "); i++) {
			o = ours[i]
			printf ",\"%s_wall_ratio\":%.3f,\"%s_cpu_ratio\":%.3f", o, w[o] / w["nhc"], o, c[o] / c["nhc"]
			printf ",\"%s_unlimited_wall_ratio\":%.3f,\"%s_unlimited_cpu_ratio\":%.3f", o, w[o] / w["unlimited"], o, c[o] / c["unlimited"]
		}
		printf ",\"rounds\":%d,\"load\":%.2f}\n", r, load
	}'
}

main
