# cgroups: one tree per cluster, syscheck-minicluster-SLOT. Below it `daemons` (munged,
# slurmctld, the network) and one group a node, which has the CPU quota and holds all
# that the node runs:
#   v1  in the cpu hierarchy, which Slurm 22.05 leaves alone, so steps stay in it.
#       Slurm's own groups (slurm_n1) go below our tree of the other hierarchies.
#   v2  Slurm moves slurmd and steps to system.slice/NODE_slurmstepd.scope, the same
#       path for every cluster. Each node has a cgroup namespace whose root is its own
#       group, so that scope lies in it. The rule "processes only in leaves" makes one
#       more level: NODE/daemon.
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

# cgroup_enter GROUP: this shell goes into a group of the cluster's
cgroup_enter() {
	echo "$BASHPID" >"$(cpu_root)/$1/cgroup.procs"
}

# Where a node's commands start.
node_group() {
	if is_v1; then
		echo "$1"
	else
		echo "$1/daemon"
	fi
}

# v2: children of DIR get what the machine has of these. cpu is for the quota, the
# others for what a job's record may hold. They stay on at the root after `down`: who
# else has come to use them is not for us to know.
enable_controllers() {
	local c
	for c in cpu memory pids; do
		echo "+$c" >"$1/cgroup.subtree_control"
	done 2>/dev/null
	return 0
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
		enable_controllers /sys/fs/cgroup
		enable_controllers "$(cpu_root)"
	fi
	mkdir -p "$(cpu_root)/daemons" || return 1
	for node in $(node_names); do
		mkdir -p "$(cpu_root)/$node" || return 1
	done
}

# cgroup_root_of_node NODE PID, v2: PID has made the node's cgroup namespace and goes to
# the leaf; the node's group is now an inner one.
cgroup_root_of_node() {
	local dir
	dir=$(cpu_root)/$1
	mkdir -p "$dir/daemon" "$dir/system.slice" && echo "$2" >"$dir/daemon/cgroup.procs" || return 1
	enable_controllers "$dir"
	enable_controllers "$dir/system.slice"
}

# nproc would say what this shell may use.
machine_cpus() {
	getconf _NPROCESSORS_ONLN
}

# cgroup_quota NODE PERCENT: of all CPUs, in periods of 10 ms: shorter than a pass of
# any kernel, so that no pass runs in a gap.
cgroup_quota() {
	local dir period=10000 quota=-1
	dir=$(cpu_root)/$1
	[ "$2" -lt 100 ] && quota=$((period * $(machine_cpus) * $2 / 100))
	# The kernel takes no quota below 1 ms.
	[ "$quota" -ge 0 ] && [ "$quota" -lt 1000 ] && quota=1000
	if is_v1; then
		echo "$period" >"$dir/cpu.cfs_period_us" && echo "$quota" >"$dir/cpu.cfs_quota_us"
	elif [ -f "$dir/cpu.max" ]; then
		[ "$quota" = -1 ] && quota=max
		echo "$quota $period" >"$dir/cpu.max"
	else
		die "this machine's cgroups have no cpu controller, so no node can be slow"
	fi
}

cgroup_quota_show() {
	local dir quota='' period=''
	dir=$(cpu_root)/$1
	if is_v1; then
		{ read -r quota <"$dir/cpu.cfs_quota_us" && read -r period <"$dir/cpu.cfs_period_us"; } 2>/dev/null
	else
		{ read -r quota period <"$dir/cpu.max"; } 2>/dev/null
	fi
	case $quota in
	'' | -1 | max) ;;
	*) echo "  $1 slow: $((100 * quota / period / $(machine_cpus))) % of the machine" ;;
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
		# A killed process leaves its group a moment later, and may have forked before.
		for try in {1..50}; do
			find "$root" -depth -type d -exec rmdir {} + 2>/dev/null
			[ -d "$root" ] || break
			cgroup_kill KILL
			sleep 0.1
		done
		: "$try"
		[ -d "$root" ] && echo "minicluster: $root could not be removed" >&2
	done
	return 0
}
