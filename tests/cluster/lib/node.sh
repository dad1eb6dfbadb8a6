# Nodes: names, addresses, namespaces, slurmd.
# shellcheck shell=bash disable=SC2153

node_letter() {
	[ "$MODE" = netns ] && echo n || echo s
}

node_names() {
	seq -f "$(node_letter)%.0f" 1 "$NODES"
}

is_node() {
	[[ $1 =~ ^$(node_letter)([1-9][0-9]{0,3})$ ]] && [ "${BASH_REMATCH[1]}" -le "$NODES" ]
}

first_and_last() {
	echo "nodes are $(node_letter)1 to $(node_letter)$NODES"
}

node_address() {
	echo "$(subnet "$SLOT").$((10 + ${1#?}))"
}

# A copy of the node's view of its CPUs, with throttle counters, which a virtual
# machine has not: bound over the real one in this node's mount namespace only. The
# files are those of the kernel's arch/x86/kernel/cpu/mce/therm_throt.c.
cpu_tree() {
	local tree=$1 cpu name
	mkdir -p "$tree"
	# Some files of sysfs cannot be read; a copy without them is enough.
	cp -rd /sys/devices/system/cpu/. "$tree/" 2>/dev/null
	for cpu in "$tree"/cpu[0-9]*; do
		mkdir -p "$cpu/thermal_throttle"
		for name in {core,package}_{throttle_count,throttle_total_time_ms,throttle_max_time_ms,power_limit_count}; do
			echo 0 >"$cpu/thermal_throttle/$name"
		done
	done
}

# As the kernel does it: the package's count in the folder of each of its CPUs.
node_throttle() {
	local file dir=$DIR/nodes/$1/cpu
	for file in "$dir"/cpu[0-9]*/thermal_throttle/package_throttle_count; do
		{
			echo "$2" >"$file.new" && mv "$file.new" "$file" &&
				# About 3 ms an event, as real packages show.
				echo "$(($2 * 3))" >"$file.new" && mv "$file.new" "${file%count}total_time_ms"
		} || return 1
	done
}

node_throttle_show() {
	local count=0
	{ read -r count <"$DIR/nodes/$1/cpu/cpu0/thermal_throttle/package_throttle_count"; } 2>/dev/null
	[ "$count" = 0 ] || echo "  $1 throttle: $count events"
}

# The switch has a network namespace to itself: a host's firewall may drop what its
# bridges forward (bridge-nf-call-iptables), and here it has no rules.
network_create() {
	local link top=bridge
	link=$(link_name "$SLOT")
	[ "$LEAVES" = 0 ] || top=spine
	start switch daemons unshare --net --mount sleep infinity
	holder_wait switch &&
		ip link add "$link" type veth peer name host netns "$HOLDER" &&
		ip address add "$(subnet "$SLOT").1/24" dev "$link" &&
		ip link set "$link" up &&
		in_switch ip link add "$top" type bridge &&
		in_switch ip link set "$top" up &&
		in_switch ip link set host master "$top" up || return 1
	[ "$LEAVES" = 0 ] || leaves_create
}

in_switch() {
	holder_of switch && nsenter -t "$HOLDER" --net -- "$@"
}

# What a node has for itself.
node_namespaces() {
	NAMESPACES=()
	[ "$MODE" = netns ] && NAMESPACES+=(--net --uts --mount)
	is_v1 && return 0
	[ "$MODE" = ports ] && NAMESPACES+=(--mount)
	NAMESPACES+=(--cgroup)
}

# holder_of NODE: the process that keeps its namespaces, into HOLDER; false if it is dead
holder_of() {
	local name pid start
	HOLDER=''
	while read -r name pid start; do
		[ "$name" = "$1" ] || [ "$name" = "$1.namespace" ] || continue
		is_ours "$pid" "$start" && HOLDER=$pid
	done <"$DIR/pids"
	[ -n "$HOLDER" ]
}

# unshare becomes sleep only after it has made the mounts private; before that, what is
# mounted in there could show up outside.
holder_wait() {
	local try comm
	for try in {1..200}; do
		holder_of "$1" || return 1
		{ read -r comm <"/proc/$HOLDER/comm"; } 2>/dev/null
		[ "${comm:-}" = sleep ] && return 0
		sleep 0.02
	done
	: "$try"
	return 1
}

# The holder keeps the namespaces alive; they end with it, and all mounts and the veth
# pair with them.
namespaces_create() {
	local node=$1
	node_namespaces
	[ "${#NAMESPACES[@]}" -gt 0 ] || return 0
	start "$node.namespace" "$node" unshare "${NAMESPACES[@]}" sleep infinity
	holder_wait "$node" || return 1
	if ! is_v1; then
		cgroup_root_of_node "$node" "$HOLDER" &&
			nsenter -t "$HOLDER" --mount --cgroup -- mount -t cgroup2 cgroup2 /sys/fs/cgroup || return 1
	fi
	if [ "$MODE" = netns ]; then
		netns_create "$node" "$HOLDER" || return 1
	fi
	[ "$LEAVES" = 0 ] || leaves_add "$node"
}

netns_create() {
	local node=$1 holder=$2 dir=$DIR/nodes/$1 mac=()
	[ "$LEAVES" = 0 ] || mac=(address "$(node_mac "$node")")
	mkdir -p "$dir/tmp"
	chmod 1777 "$dir/tmp"
	cpu_tree "$dir/cpu"
	in_switch ip link add "$node" type veth peer name eth0 "${mac[@]}" netns "$holder" &&
		in_switch ip link set "$node" master "$(switch_of "$node")" up &&
		nsenter -t "$holder" --net --uts --mount -- "$BASH" -s "$node" "$(node_address "$node")" "$DIR" <<-'INSIDE'
			set -eu
			node=$1 address=$2 dir=$3
			hostname "$node"
			ip link set lo up
			ip address add "$address/24" dev eth0
			ip link set eth0 up
			mount --bind "$dir/nodes/hosts" /etc/hosts
			mount --bind "$dir/nodes/$node/cpu" /sys/devices/system/cpu
			# A node shows its own links: those of the network namespace in which sysfs is mounted.
			mount -t sysfs sysfs /mnt
			mount --bind /mnt/devices/virtual/net /sys/devices/virtual/net
			mount --bind /mnt/class/net /sys/class/net
			umount /mnt
			# What a node has of its own, as a disk of its own would hold it.
			for own in etc var; do
				[ ! -d "$dir/nodes/$node/$own" ] || mount --bind "$dir/nodes/$node/$own" "$dir/$own"
			done
			case $dir in
			/tmp/*)
				mkdir -p "$dir/nodes/$node/tmp/${dir#/tmp/}"
				mount --bind "$dir" "$dir/nodes/$node/tmp/${dir#/tmp/}"
				;;
			esac
			mount --rbind "$dir/nodes/$node/tmp" /tmp
		INSIDE
}

# node_exec NODE COMMAND...: replaces this shell.
node_exec() {
	local node=$1 enter=()
	shift
	node_namespaces
	if [ "${#NAMESPACES[@]}" -gt 0 ]; then
		holder_of "$node" || die "$node is dead: see minicluster status"
		enter=(nsenter -t "$HOLDER" "${NAMESPACES[@]}")
		[ "$MODE" = netns ] && enter+=(--wd=/)
		enter+=(--)
	fi
	cgroup_enter "$(node_group "$node")" || die "$node: cannot enter its cgroup"
	export SLURMD_NODENAME=$node
	exec "${enter[@]}" "$@"
}

node_start() {
	local node=$1
	namespaces_create "$node" || return 1
	mkdir -p "$DIR/spool/$node"
	(
		# With INVOCATION_ID slurmd would take itself for a unit of systemd's.
		unset INVOCATION_ID
		node_exec "$node" setsid slurmd -D -N "$node" -f "$SLURM_CONF"
	) </dev/null >>"$DIR/log/slurmd.$node.out" 2>&1 3>&- 4>&- &
	note "slurmd.$node" "$!"
}
