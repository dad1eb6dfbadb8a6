# The slot: a number that no other cluster on this machine has. It names the network,
# the addresses, the ports, the cgroups.
# shellcheck shell=bash disable=SC2153

# Holds SLOT/dir, the DIR of the cluster that has it. The folder itself is the lock, so
# it stays.
SLOTS=/run/minicluster-slots

# Below the ephemeral ports, 1,100 a cluster.
port_base() {
	echo $((10000 + $1 * 1100))
}

# The host's end of the cluster's network.
link_name() {
	echo "scmc$1"
}

# 198.18.0.0/15 is for tests between network devices (RFC 2544): no site uses it.
subnet() {
	echo "198.18.$1"
}

# Used by others than a cluster that holds the slot: the same range of ports, name or
# addresses, or a cluster whose DIR somebody deleted while it ran.
slot_in_use() {
	local base net SLOT=$1
	base=$(port_base "$1") net=$(subnet "$1").0/24
	ss -Hltn "sport >= :$base and sport < :$((base + 1100))" | grep -q . ||
		ip link show "$(link_name "$1")" >/dev/null 2>&1 ||
		ip -4 route show table all root "$net" | grep -q . ||
		ip -4 route show table all match "$net" | grep -qv '^default' ||
		find "$(cpu_root)" -name cgroup.procs -exec cat {} + 2>/dev/null | grep -q .
}

claim_slot() {
	local slot lock
	mkdir -p "$SLOTS"
	exec {lock}<"$SLOTS"
	flock "$lock"
	for slot in {0..19}; do
		# Left by a cluster whose DIR was deleted by hand.
		if [ -f "$SLOTS/$slot/dir" ] && [ ! -e "$(<"$SLOTS/$slot/dir")" ]; then
			rm -rf "${SLOTS:?}/$slot"
		fi
		if ! slot_in_use "$slot" && mkdir "$SLOTS/$slot" 2>/dev/null; then
			printf '%s\n' "$DIR" >"$SLOTS/$slot/dir"
			SLOT=$slot
			break
		fi
	done
	exec {lock}<&-
	[ -n "$SLOT" ]
}

holds_slot() {
	[ -f "$SLOTS/$SLOT/dir" ] && [ "$(<"$SLOTS/$SLOT/dir")" = "$DIR" ]
}

# All that are noted for DIR: `up` may have died before it wrote its settings.
release_slots() {
	local file
	for file in "$SLOTS"/*/dir; do
		[ -f "$file" ] && [ "$(<"$file")" = "$DIR" ] && rm -rf "${file%/dir}"
	done
	return 0
}
