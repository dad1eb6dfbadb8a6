# A network with leaf switches (`up --leaves`): one bridge a leaf, a bridge `spine`, and a
# veth between each leaf and the spine, its trunk. All are in the switch's namespace:
#
#   node n4: eth0 ---- n4 [leaf2] up2 ---- down2 [spine] host ---- controller
#
# Every link has a rate in both directions, so that the links are the bottleneck and not
# this machine's CPUs: a tbf where a frame enters the link, at eth0 and n4, up2 and down2.
# The controller's link has none.
#
# RATE is what tbf counts: Ethernet headers, no preamble, no gap. Of 1514 bytes of a full
# frame TCP carries 1448 (20 IP, 20 TCP, 12 its timestamps), so its goodput is at most
# 0.956 RATE: 191 of 200 Mbit/s; 0.946 with an mtu of 1200, (mtu - 52) / (mtu + 14).
# shellcheck shell=bash disable=SC2153

# As large as any node's link may be (`mtu`).
TRUNK_MTU=9000

# want_leaves LEAVES RATE: the options, empty where not given
want_leaves() {
	if [ -z "$1" ]; then
		[ -z "$2" ] || bad_usage "--rate needs --leaves"
		return 0
	fi
	[ "$MODE" = netns ] || bad_usage "--leaves needs --mode netns: nodes in ports mode share one network"
	if ! [[ $1 =~ ^[1-9][0-9]{0,2}$ ]] || [ "$1" -gt "$NODES" ]; then
		bad_usage "--leaves is a number from 1 to that of the nodes, $NODES, not \"$1\""
	fi
	LEAVES=$1 RATE=${2:-200}
	if ! [[ $RATE =~ ^[1-9][0-9]{1,3}$ ]] || [ "$RATE" -gt 1000 ]; then
		bad_usage "--rate is a whole number of Mbit/s from 10 to 1000, not \"$RATE\""
	fi
}

leaf_names() {
	seq -f 'leaf%.0f' 1 "$LEAVES"
}

is_leaf() {
	[[ $1 =~ ^leaf([1-9][0-9]{0,3})$ ]] && [ "${BASH_REMATCH[1]}" -le "$LEAVES" ]
}

# leaf_range LEAF: first and last number of its nodes. The first leaves have one more, if
# they cannot all have the same.
leaf_range() {
	local i=$((${1#leaf} - 1)) size=$((NODES / LEAVES)) more=$((NODES % LEAVES)) first
	first=$((i * size + (i < more ? i : more) + 1))
	echo "$first $((first + size + (i < more) - 1))"
}

# leaf_of NODE: leaf_range the other way round
leaf_of() {
	local i=$((${1#n} - 1)) size=$((NODES / LEAVES)) more=$((NODES % LEAVES))
	if [ "$i" -lt "$((more * (size + 1)))" ]; then
		echo "leaf$((i / (size + 1) + 1))"
	else
		echo "leaf$(((i - more) / size + 1))"
	fi
}

# switch_of NODE: the bridge that it hangs on
switch_of() {
	if [ "$LEAVES" = 0 ]; then
		echo bridge
	else
		leaf_of "$1"
	fi
}

# Known beforehand: rules that name a node's frames need it.
node_mac() {
	printf '02:00:c6:12:%02x:%02x' "$SLOT" "$((10 + ${1#n}))"
}

write_topology_conf() {
	local leaf first last
	for leaf in $(leaf_names); do
		read -r first last < <(leaf_range "$leaf")
		if [ "$first" = "$last" ]; then
			echo "SwitchName=$leaf Nodes=n$first"
		else
			echo "SwitchName=$leaf Nodes=n[$first-$last]"
		fi
	done
	echo "SwitchName=spine Switches=leaf[1-$LEAVES]"
}

# in_node NODE COMMAND...: in its network, with the host's files and outside its quota
in_node() {
	holder_of "$1" && nsenter -t "$HOLDER" --net -- "${@:2}"
}

# segment RATE: frames that TCP hands over as one, half a millisecond's worth, 1 to 8. More
# (64 KiB is usual) would stand in each queue as one; with 1, nine nodes that send 200
# Mbit/s each need more than two CPUs, with 8 one. No rate depends on it: tbf counts the
# header of every frame in a segment.
segment() {
	local frames=$(($1 / 25))
	echo $((frames < 1 ? 1 : frames > 8 ? 8 : frames))
}

# burst RATE: bytes that pass at once, in 2 ms: a timer that comes late by less than that
# costs no throughput. And a frame of TRUNK_MTU has to fit, or tbf drops it.
burst() {
	local bytes=$(($1 * 250))
	echo $((bytes > 9216 ? bytes : 9216))
}

# queue RATE: bytes that wait, at most, 25 ms: TCP fills that, and a ping behind it waits
# as long. At the least a few segments, or slow links would only drop.
queue() {
	local bytes=$(($1 * 3125))
	echo $((bytes > 32000 ? bytes : 32000))
}

# shape RATE DEVICE ENTER...: its sending side; repeated, it changes the rate. ENTER runs
# tc where DEVICE is.
shape() {
	"${@:3}" tc qdisc replace dev "$2" root handle 1: tbf rate "$1mbit" burst "$(burst "$1")" limit "$(queue "$1")"
}

leaves_create() {
	local leaf i
	ip link set "$(link_name "$SLOT")" gso_max_segs "$(segment "$RATE")" || return 1
	for leaf in $(leaf_names); do
		i=${leaf#leaf}
		in_switch ip -batch - <<-BATCH && shape_trunk "$leaf" up && shape_trunk "$leaf" down || return 1
			link add $leaf type bridge
			link add up$i mtu $TRUNK_MTU type veth peer name down$i mtu $TRUNK_MTU
			link set up$i master $leaf up
			link set down$i master spine up
			link set $leaf up
		BATCH
	done
}

# shape_trunk LEAF up|down: what all its nodes together may send, if nothing else is set
shape_trunk() {
	local first last rate=${FAULT[slow-trunk $1 $2]:-}
	read -r first last < <(leaf_range "$1")
	shape "${rate:-$((RATE * (last - first + 1)))}" "$2${1#leaf}" in_switch
}

# shape_leaf LEAF: what all its nodes together may send to anybody (`slow-leaf`): a switch that
# carries less than its ports. All that comes from them goes through one device with a tbf.
shape_leaf() {
	local i=${1#leaf} rate=${FAULT[slow-leaf $1]:-} first last node
	read -r first last < <(leaf_range "$1")
	if [ -z "$rate" ]; then
		in_switch ip link show "load$i" >/dev/null 2>&1 || return 0
		for ((node = first; node <= last; node++)); do
			in_switch tc qdisc del dev "n$node" ingress || return 1
		done
		in_switch ip link delete "load$i"
		return
	fi
	if ! in_switch ip link show "load$i" >/dev/null 2>&1; then
		in_switch ip link add "load$i" type ifb && in_switch ip link set "load$i" up || return 1
		for ((node = first; node <= last; node++)); do
			in_switch tc qdisc add dev "n$node" ingress &&
				in_switch tc filter add dev "n$node" parent ffff: protocol all u32 match u32 0 0 \
					action mirred egress redirect dev "load$i" || return 1
		done
	fi
	shape "$rate" "load$i" in_switch
}

# shape_out NODE: where only TCP gathers frames to segments; bridges and veth forward what
# they get. A node with `loss` makes none: frames are to be lost one by one.
shape_out() {
	local rate=${FAULT[slow-link $1 out]:-$RATE} frames
	frames=$(segment "$rate")
	[ -z "${FAULT[loss $1]:-}" ] || frames=1
	in_node "$1" ip link set eth0 gso_max_segs "$frames" && shape "$rate" eth0 in_node "$1"
}

# path_class NODE: the class in which frames from NODE wait, where they have one; hexadecimal
path_class() {
	printf '2:%x' "$((16 + ${1#n}))"
}

# paths_of NODE: "PEER RATE", for each node whose frames to NODE have a rate of their own
paths_of() {
	local key first second
	for key in "${!FAULT[@]}"; do
		read -r first second <<<"${key#slow-path }"
		case $key in
		"slow-path $1 "*) echo "$second ${FAULT[$key]}" ;;
		"slow-path "*" $1") echo "$first ${FAULT[$key]}" ;;
		esac
	done
}

# shape_in NODE: at the switch's end. Paths with a rate of their own (`slow-path`) are
# classes of an htb inside the tbf; a frame's priority, which nft sets, says in which it
# waits. The others are in 2:1, for which the tbf is the only limit.
shape_in() {
	local rate=${FAULT[slow-link $1 in]:-$RATE} paths peer path class
	paths=$(paths_of "$1")
	shape "$rate" "$1" in_switch &&
		in_switch tc qdisc replace dev "$1" parent 1:1 bfifo limit "$(queue "$rate")" || return 1
	[ -n "$paths" ] || return 0
	{
		echo "qdisc replace dev $1 parent 1:1 handle 2: htb default 1"
		echo "class replace dev $1 parent 2: classid 2:1 htb rate 10gbit burst 64kb cburst 64kb quantum 9216"
		echo "qdisc replace dev $1 parent 2:1 bfifo limit $(queue "$rate")"
		while read -r peer path; do
			class=$(path_class "$peer")
			echo "class replace dev $1 parent 2: classid $class htb rate ${path}mbit burst $(burst "$path")" \
				"cburst $(burst "$path") quantum 9216"
			echo "qdisc replace dev $1 parent $class bfifo limit $(queue "$path")"
		done <<<"$paths"
	} | in_switch tc -batch -
}

# leaves_add NODE: its link exists
leaves_add() {
	shape_out "$1" && shape_in "$1"
}
