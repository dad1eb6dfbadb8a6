# cgroups: one tree per cluster, syscheck-minicluster-SLOT, in every hierarchy that is
# used. Slurm's own groups go below it, and each node has one for its CPU quota.
# shellcheck shell=bash disable=SC2153

# v1 where the controllers are mounted that way; Slurm needs the freezer there.
is_v1() {
	[ -d /sys/fs/cgroup/freezer ] && [ -d /sys/fs/cgroup/cpu ]
}

V1=(freezer cpuset memory cpuacct devices blkio pids)

group() {
	echo "syscheck-minicluster-$SLOT"
}

cpu_root() {
	if is_v1; then
		echo "/sys/fs/cgroup/cpu/$(group)"
	else
		echo "/sys/fs/cgroup/$(group)"
	fi
}

cgroup_create() {
	local c node
	mkdir -p "$(cpu_root)" "$DIR/cg" || return 1
	if is_v1; then
		# Slurm looks for its hierarchies below CgroupMountpoint: give it ours, so that
		# the nodes of two clusters do not share /slurm_n1.
		for c in "${V1[@]}"; do
			[ -d "/sys/fs/cgroup/$c" ] || continue
			mkdir -p "/sys/fs/cgroup/$c/$(group)" || return 1
			ln -sfn "/sys/fs/cgroup/$c/$(group)" "$DIR/cg/$c"
		done
		if [ -d "$DIR/cg/cpuset" ]; then
			cat /sys/fs/cgroup/cpuset/cpuset.cpus >"$DIR/cg/cpuset/cpuset.cpus"
			cat /sys/fs/cgroup/cpuset/cpuset.mems >"$DIR/cg/cpuset/cpuset.mems"
			echo 1 >"$DIR/cg/cpuset/cgroup.clone_children"
		fi
	else
		echo +cpu >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null
		echo +cpu >"$(cpu_root)/cgroup.subtree_control" 2>/dev/null
	fi
	for node in $(node_names); do
		mkdir -p "$(cpu_root)/$node" || return 1
	done
}

# cgroup_quota NODE PERCENT: of all CPUs, in periods of 10 ms: shorter than a pass of
# any kernel, so that no pass runs in a gap.
cgroup_quota() {
	local dir period=10000 quota=-1
	dir=$(cpu_root)/$1
	[ "$2" -lt 100 ] && quota=$((period * $(nproc) * $2 / 100))
	# The kernel takes no quota below 1 ms.
	[ "$quota" -ge 0 ] && [ "$quota" -lt 1000 ] && quota=1000
	if is_v1; then
		echo "$period" >"$dir/cpu.cfs_period_us" && echo "$quota" >"$dir/cpu.cfs_quota_us"
	else
		[ "$quota" = -1 ] && quota=max
		echo "$quota $period" >"$dir/cpu.max"
	fi
}

cgroup_quota_show() {
	local dir quota period
	dir=$(cpu_root)/$1
	if is_v1; then
		quota=$(cat "$dir/cpu.cfs_quota_us" 2>/dev/null) period=$(cat "$dir/cpu.cfs_period_us" 2>/dev/null)
	else
		read -r quota period 2>/dev/null <"$dir/cpu.max"
	fi
	case ${quota:-} in
	'' | -1 | max) ;;
	*) echo "  $1 slow: $((100 * quota / period / $(nproc))) % of the machine" ;;
	esac
}

# Every process in the cluster's groups gets the signal.
cgroup_kill() {
	local file pid
	while read -r file; do
		while read -r pid; do
			kill -s "$1" "$pid"
		done <"$file"
	done < <(find "$(cpu_root)" -name cgroup.procs 2>/dev/null) 2>/dev/null
}

cgroup_remove() {
	local root try
	for root in /sys/fs/cgroup/"$(group)" /sys/fs/cgroup/*/"$(group)"; do
		[ -d "$root" ] || continue
		# A killed process leaves its group a moment later.
		for try in {1..50}; do
			find "$root" -depth -type d -exec rmdir {} + 2>/dev/null
			[ -d "$root" ] || break
			sleep 0.1
		done
		: "$try"
		[ -d "$root" ] && echo "minicluster: $root could not be removed" >&2
	done
	return 0
}
