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

# Below the ephemeral ports, 1,100 a cluster.
port_base() {
	echo $((10000 + $1 * 1100))
}

bridge_name() {
	echo "scmc$1"
}

# 198.18.0.0/15 is for tests between network devices (RFC 2544): no site uses it.
subnet() {
	echo "198.18.$1"
}

node_address() {
	echo "$(subnet "$SLOT").$((10 + ${1#?}))"
}

network_create() {
	local bridge
	bridge=$(bridge_name "$SLOT")
	ip link add "$bridge" type bridge &&
		ip address add "$(subnet "$SLOT").1/24" dev "$bridge" &&
		ip link set "$bridge" up
}

# A copy of the node's view of its CPUs, with throttle counters, which a virtual
# machine has not: bound over the real one in this node's mount namespace only.
cpu_tree() {
	local tree=$1 cpu name
	mkdir -p "$tree"
	# Some files of sysfs cannot be read; a copy without them is enough.
	cp -rd /sys/devices/system/cpu/. "$tree/" 2>/dev/null
	for cpu in "$tree"/cpu[0-9]*; do
		mkdir -p "$cpu/thermal_throttle"
		for name in {core,package}_{throttle,power_limit}_{count,total_time_ms,max_time_ms}; do
			echo 0 >"$cpu/thermal_throttle/$name"
		done
	done
}

# As the kernel does it: the package's count in the folder of each of its CPUs.
node_throttle() {
	local file dir=$DIR/nodes/$1/cpu
	for file in "$dir"/cpu[0-9]*/thermal_throttle/package_throttle_count; do
		echo "$2" >"$file.new" && mv "$file.new" "$file"
		# About 3 ms an event, as real packages show.
		echo "$(($2 * 3))" >"$file.new" && mv "$file.new" "${file%count}total_time_ms"
	done
}

holder_of() {
	awk -v name="$1.namespace" '$1 == name { print $2, $3 }' "$DIR/pids" | tail -n 1
}

# Network, mount and host name of its own. The holder keeps the namespaces alive; they
# end with it, and all mounts and the veth pair with them.
namespaces_create() {
	local node=$1 dir=$DIR/nodes/$1 holder try veth
	mkdir -p "$dir/tmp"
	chmod 1777 "$dir/tmp"
	cpu_tree "$dir/cpu"
	start "$node.namespace" unshare --net --uts --mount sleep infinity
	holder=$(holder_of "$node")
	holder=${holder% *}
	for try in {1..100}; do
		[ "$(readlink "/proc/$holder/ns/net")" != "$(readlink /proc/self/ns/net)" ] &&
			[ "$(readlink "/proc/$holder/ns/mnt")" != "$(readlink /proc/self/ns/mnt)" ] && break
		sleep 0.05
	done
	: "$try"
	veth=$(bridge_name "$SLOT")$node
	ip link add "$veth" type veth peer name eth0 netns "$holder" &&
		ip link set "$veth" master "$(bridge_name "$SLOT")" up &&
		nsenter -t "$holder" --net --uts --mount -- "$BASH" -s "$node" "$(node_address "$node")" "$DIR" <<-'INSIDE'
			set -eu
			node=$1 address=$2 dir=$3
			# unshare exec'd sleep after it made the mounts private.
			hostname "$node"
			ip link set lo up
			ip address add "$address/24" dev eth0
			ip link set eth0 up
			mount --bind "$dir/nodes/hosts" /etc/hosts
			mount --bind "$dir/nodes/$node/cpu" /sys/devices/system/cpu
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
	local node=$1 holder=() enter=()
	shift
	if [ "$MODE" = netns ]; then
		read -r -a holder < <(holder_of "$node")
		is_ours "${holder[0]:-0}" "${holder[1]:-x}" || die "$node is dead: see minicluster status"
		enter=(nsenter -t "${holder[0]}" --net --uts --mount --wd=/ --)
	fi
	echo "$BASHPID" >"$(cpu_root)/$node/cgroup.procs" || die "$node: cannot enter its cgroup"
	export SLURMD_NODENAME=$node
	exec "${enter[@]}" "$@"
}

node_start() {
	local node=$1
	if [ "$MODE" = netns ]; then
		namespaces_create "$node" || return 1
	fi
	mkdir -p "$DIR/spool/$node"
	(
		unset SLURMD_NODENAME
		node_exec "$node" setsid slurmd -D -N "$node" -f "$SLURM_CONF" </dev/null >>"$DIR/log/slurmd.$node.log" 2>&1
	) &
	note "slurmd.$node" "$!"
}
