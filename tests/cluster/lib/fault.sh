# Faults of the network with leaves. $DIR/faults has those that are active, one a line as
# "KEY=VALUE", KEY being the command and its operands ("slow-link n3 out=20"); what the
# network does follows from that file alone. What drops or sorts frames are rules of the
# bridges, in the switch's namespace, where no node can see them.
# shellcheck shell=bash disable=SC2153

declare -A FAULT=()

load_faults() {
	local line
	FAULT=()
	[ -f "$DIR/faults" ] || return 0
	while read -r line; do
		FAULT[${line%%=*}]=${line#*=}
	done <"$DIR/faults"
}

save_faults() {
	local key
	# Moved: a crash leaves no half of it.
	for key in "${!FAULT[@]}"; do
		echo "$key=${FAULT[$key]}"
	done | sort -V >"$DIR/faults.new" && mv "$DIR/faults.new" "$DIR/faults"
}

# set_fault VALUE|off KEY...
set_fault() {
	local value=$1 key
	shift
	for key in "$@"; do
		if [ "$value" = off ]; then
			unset 'FAULT[$key]'
		else
			FAULT[$key]=$value
		fi
	done
	save_faults
}

want_node() {
	is_node "$1" || bad_usage "no node \"$1\": $(first_and_last)"
}

# number TEXT FROM TO DIGITS: into NUMBER without needless zeros; false unless it is off, or
# a number in that range with at most DIGITS after the point
number() {
	local whole part scale=$((10 ** $4)) value
	NUMBER=$1
	[ "$1" = off ] && return 0
	[[ $1 =~ ^([0-9]{1,4})(\.([0-9]+))?$ ]] || return 1
	part=${BASH_REMATCH[3]}
	[ "${#part}" -le "$4" ] || return 1
	whole=$((10#${BASH_REMATCH[1]}))
	while [ "${#part}" -lt "$4" ]; do
		part+=0
	done
	value=$((whole * scale + 10#0$part))
	[ "$value" -ge "$2" ] && [ "$value" -le "$3" ] || return 1
	while [[ $part = *0 ]]; do
		part=${part%0}
	done
	NUMBER=$whole${part:+.$part}
}

want_rate() {
	number "$1" 1 1000 0 || bad_usage "RATE is a whole number of Mbit/s from 1 to 1000, or off, not \"$1\""
}

slow_link() {
	want_node "$1"
	want_rate "$3"
	case $2 in
	in | out) set_fault "$NUMBER" "slow-link $1 $2" ;;
	both) set_fault "$NUMBER" "slow-link $1 in" "slow-link $1 out" ;;
	*) bad_usage "slow-link is for in, out or both, not \"$2\"" ;;
	esac
	shape_out "$1" && shape_in "$1"
}

slow_trunk() {
	is_leaf "$1" || bad_usage "no leaf \"$1\": leaves are leaf1 to leaf$LEAVES"
	want_rate "$3"
	case $2 in
	up | down) set_fault "$NUMBER" "slow-trunk $1 $2" ;;
	both) set_fault "$NUMBER" "slow-trunk $1 up" "slow-trunk $1 down" ;;
	*) bad_usage "slow-trunk is for up, down or both, not \"$2\"" ;;
	esac
	shape_trunk "$1" up && shape_trunk "$1" down
}

slow_leaf() {
	is_leaf "$1" || bad_usage "no leaf \"$1\": leaves are leaf1 to leaf$LEAVES"
	want_rate "$2"
	set_fault "$NUMBER" "slow-leaf $1"
	shape_leaf "$1"
}

# One key for both orders of the two.
slow_path() {
	want_node "$1"
	want_node "$2"
	[ "$1" != "$2" ] || bad_usage "slow-path takes two nodes, not $1 twice"
	want_rate "$3"
	if [ "${1#n}" -lt "${2#n}" ]; then
		set_fault "$NUMBER" "slow-path $1 $2"
	else
		set_fault "$NUMBER" "slow-path $2 $1"
	fi
	shape_in "$1" && shape_in "$2" && write_rules
}

# To the node up to segment() frames of a TCP are lost together, from it each alone.
loss() {
	want_node "$1"
	number "$2" 10 10000 2 || bad_usage "PERCENT is a number from 0.1 to 100, or off, not \"$2\""
	set_fault "$NUMBER" "loss $1"
	write_rules && shape_out "$1"
}

drop() {
	want_node "$1"
	[ "$2" = on ] || [ "$2" = off ] || bad_usage "drop is on or off, not \"$2\""
	set_fault "$2" "drop $1"
	write_rules
}

# At both ends. A larger frame is dropped without a word by the end that has to send it on,
# as a real switch does; a TCP that connects now knows the size, one from before does not.
mtu() {
	want_node "$1"
	number "$2" 576 9000 0 || bad_usage "BYTES is a whole number from 576 to 9000, or off, not \"$2\""
	set_fault "$NUMBER" "mtu $1"
	[ "$NUMBER" = off ] && NUMBER=1500
	in_node "$1" ip link set eth0 mtu "$NUMBER" && in_switch ip link set "$1" mtu "$NUMBER"
}

# What NODE sends is dropped where it enters the leaf, and a program (delay.c), which has
# seen it there, gives it in again later, by a port of its own. The bridge still learns from
# the first one where NODE is; the second learns nothing and gets nothing.
delay() {
	local i=${1#n}
	want_node "$1"
	number "$2" 10 100000 2 || bad_usage "MS is a number from 0.1 to 1000, or off, not \"$2\""
	set_fault "$NUMBER" "delay $1"
	stop_one "delay.$1"
	if [ "$NUMBER" = off ]; then
		write_rules
		! in_switch ip link show "late$i" >/dev/null 2>&1 || in_switch ip link delete "late$i"
		return
	fi
	build_delay || return 1
	if ! in_switch ip link show "late$i" >/dev/null 2>&1; then
		in_switch ip -batch - <<-BATCH || return 1
			link add late$i mtu $TRUNK_MTU type veth peer name again$i mtu $TRUNK_MTU
			link set late$i master $(leaf_of "$1")
			link set late$i type bridge_slave learning off flood off mcast_flood off bcast_flood off
			link set late$i up
			link set again$i up
		BATCH
	fi
	# Without descriptor 9, the lock, which it would hold as long as it lives.
	in_switch true && start "delay.$1" daemons nsenter -t "$HOLDER" --net -- \
		"$DIR/run/delay" "$1" "again$i" "$NUMBER" 9<&- && write_rules
}

build_delay() {
	[ -x "$DIR/run/delay" ] && return 0
	command -v gcc >/dev/null || die "gcc not found: apt-get install gcc"
	gcc -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -o "$DIR/run/delay.new" "$HERE/delay.c" && mv "$DIR/run/delay.new" "$DIR/run/delay"
}

# stop_one NAME: ends what was noted under it, and forgets it: `status` calls a noted one
# that is gone dead.
stop_one() {
	local name pid start
	while read -r name pid start; do
		[ "$name" = "$1" ] && is_ours "$pid" "$start" || continue
		kill "$pid"
		wait_gone "$pid:$start"
	done <"$DIR/pids"
	grep -q "^$1 " "$DIR/pids" || return 0
	grep -v "^$1 " "$DIR/pids" >"$DIR/pids.new"
	mv "$DIR/pids.new" "$DIR/pids"
}

# rules_of KEY: nft's rules for one fault. From a node come those that enter by its own port
# and those that `delay` gave in again.
rules_of() {
	local kind node peer value=${FAULT[$1]} from host
	read -r kind node peer <<<"$1"
	from="iifname { \"$node\", \"late${node#n}\" }"
	host=$(subnet "$SLOT").1
	case $kind in
	loss)
		[[ $value =~ ^([0-9]+)\.?([0-9]*)$ ]]
		value=${BASH_REMATCH[2]}00
		# The last of those that are lost: nft takes no number that the random one never is.
		value=$((BASH_REMATCH[1] * 100 + 10#${value:0:2} - 1))
		echo "$from numgen random mod 10000 <= $value drop"
		echo "oifname \"$node\" numgen random mod 10000 <= $value drop"
		;;
	drop)
		# Not ARP: with no answer to that the sender's own kernel would say "no route to host".
		echo "$from ip daddr != $host drop"
		echo "$from ether type ip6 drop"
		echo "oifname \"$node\" ip saddr != $host drop"
		echo "oifname \"$node\" ether type ip6 drop"
		;;
	slow-path)
		echo "oifname \"$node\" ether saddr $(node_mac "$peer") meta priority set $(path_class "$peer")"
		echo "oifname \"$peer\" ether saddr $(node_mac "$node") meta priority set $(path_class "$node")"
		;;
	delay)
		echo "iifname \"$node\" drop"
		echo "iifname \"late${node#n}\" oifname \"$node\" drop"
		;;
	esac
}

# All of them, at once, in place of those that were.
write_rules() {
	local key
	{
		echo "table bridge faults"
		echo "delete table bridge faults"
		echo "table bridge faults {"
		echo "chain forward {"
		echo "type filter hook forward priority 0;"
		for key in "${!FAULT[@]}"; do
			rules_of "$key"
		done
		echo "}"
		echo "}"
	} | in_switch nft -f -
}

faults_show() {
	local line unit
	[ -s "$DIR/faults" ] || return 0
	while read -r line; do
		case $line in
		slow-*) unit=" Mbit/s" ;;
		loss*) unit=" %" ;;
		delay*) unit=" ms" ;;
		mtu*) unit=" bytes" ;;
		*) unit='' ;;
		esac
		echo "  ${line/=/: }$unit"
	done <"$DIR/faults"
}

# fault COMMAND OPERAND...
fault() {
	local command=$1 operands
	shift
	case $command in
	slow-link) operands="NODE in|out|both RATE|off" ;;
	slow-trunk) operands="LEAF up|down|both RATE|off" ;;
	slow-leaf) operands="LEAF RATE|off" ;;
	slow-path) operands="NODE NODE RATE|off" ;;
	loss) operands="NODE PERCENT|off" ;;
	delay) operands="NODE MS|off" ;;
	mtu) operands="NODE BYTES|off" ;;
	drop) operands="NODE on|off" ;;
	esac
	# shellcheck disable=SC2086 # a word each
	set -- "$#" $operands -- "$@"
	[ "$1" = "$(wc -w <<<"$operands")" ] || bad_usage "$command takes $operands"
	while [ "$1" != -- ]; do
		shift
	done
	shift
	[ "$LEAVES" -gt 0 ] || die "$command needs a network with leaves: minicluster up --leaves K"
	# Two at once would overwrite each other's line.
	exec 9<"$DIR/settings"
	flock 9
	load_faults
	"${command/-/_}" "$@" || die "$command $*: the network did not take it"
}
