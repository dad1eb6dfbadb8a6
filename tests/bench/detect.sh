#!/bin/bash
# make bench-detect: what the checks find, and whom they drain wrongly. Needs `make`.
#   detect.sh            both parts, merged into build/bench/detect.json
#   detect.sh real       real kernels in cpu cgroups with quotas (root; about 7 min;
#                        CHECKS=20 of each)
#   detect.sh sim        the verdict over 1,000,000 synthetic checks (about 1 min)
# Nothing is asserted: the machine is shared, and the table says how busy it was.
set -u
cd "$(dirname "$0")/../.." || exit 2

QUOTAS=(95 90 85 80 70 50)
LEARNERS=5 # untouched nodes that teach the baseline
UNTOUCHED=2
CHECKS=${CHECKS:-20}
PERIOD_US=10000 # as minicluster's: shorter than a pass of any kernel
OTHERS_PCT=${OTHERS_PCT:-20} # about 10 are the kernel's own work for memory that a run gives back
GIVE_UP_S=${GIVE_UP_S:-600}
OUT=build/bench/detect
ROOT='' ACCT='' TRIED=0 DISTURBED=0

# v1 or v2, where this machine has the cpu controller.
cgroup_make() {
	if [ -d /sys/fs/cgroup/cpu ]; then
		ROOT=/sys/fs/cgroup/cpu/syscheck-detect-$$
	else
		ROOT=/sys/fs/cgroup/syscheck-detect-$$
		echo +cpu >/sys/fs/cgroup/cgroup.subtree_control
	fi
	mkdir "$ROOT" || return 1
	# v1: what a group used is counted in another hierarchy.
	if [ -d /sys/fs/cgroup/cpuacct ] && [ ! -f "$ROOT/cpu.max" ]; then
		ACCT=/sys/fs/cgroup/cpuacct/${ROOT##*/}
		mkdir -p "$ACCT" || return 1
	fi
	[ ! -f "$ROOT/cgroup.subtree_control" ] || echo +cpu >"$ROOT/cgroup.subtree_control"
	# A group's share hides its processes' nice value: who is nice outside is so here.
	if [ "$(nice)" -gt 0 ]; then
		[ ! -f "$ROOT/cpu.shares" ] || echo 15 >"$ROOT/cpu.shares"
		[ ! -f "$ROOT/cpu.weight" ] || echo 1 >"$ROOT/cpu.weight"
	fi
}

# cgroup_node NAME PERCENT
cgroup_node() {
	local quota=$((PERIOD_US * $(getconf _NPROCESSORS_ONLN) * $2 / 100))
	mkdir "$ROOT/$1" || return 1
	[ -z "$ACCT" ] || mkdir -p "$ACCT/$1" || return 1
	[ "$2" -lt 100 ] || return 0
	if [ -f "$ROOT/$1/cpu.max" ]; then
		echo "$quota $PERIOD_US" >"$ROOT/$1/cpu.max"
	else
		echo "$PERIOD_US" >"$ROOT/$1/cpu.cfs_period_us" && echo "$quota" >"$ROOT/$1/cpu.cfs_quota_us"
	fi
}

cgroup_remove() {
	local dir
	for dir in "$ROOT" "$ACCT"; do
		[ ! -d "$dir" ] || find "$dir" -depth -type d -exec rmdir {} + 2>/dev/null
	done
}

# busy_ticks: of all CPUs, by anybody
busy_ticks() {
	local user nice system irq softirq steal
	read -r _ user nice system _ _ irq softirq steal _ </proc/stat
	echo $((user + nice + system + irq + softirq + steal))
}

# own_ticks NODE: of what ran in its group
own_ticks() {
	local usage=0 key
	if [ -f "$ROOT/$1/cpu.stat" ] && grep -q ^usage_usec "$ROOT/$1/cpu.stat"; then
		read -r key usage <"$ROOT/$1/cpu.stat"
		echo $((usage * $(getconf CLK_TCK) / 1000000))
	elif [ -f "$ACCT/$1/cpuacct.usage" ]; then
		usage=$(<"$ACCT/$1/cpuacct.usage")
		echo $((usage * $(getconf CLK_TCK) / 1000000000))
	fi
	: "${key-}"
}

# measure NODE FILE: one run of the command, appended as a record. A job has its node for
# itself: a run during which others took more than OTHERS_PCT of this machine is done again,
# whatever it measured, until GIVE_UP_S have gone by.
measure() {
	local busy own from others all
	while :; do
		# Not into the middle of somebody's work, where it ends soon.
		for _ in 1 2 3; do
			busy=$(busy_ticks)
			[ "$SECONDS" -le "$GIVE_UP_S" ] && sleep 0.1
			[ "$(($(busy_ticks) - busy))" -gt 2 ] || break
		done
		busy=$(busy_ticks) own=$(own_ticks "$1") from=${EPOCHREALTIME/./}
		(
			echo "$BASHPID" >"$ROOT/$1/cgroup.procs" || exit 1
			[ ! -d "$ACCT" ] || echo "$BASHPID" >"$ACCT/$1/cgroup.procs"
			SLURMD_NODENAME=$1 exec build/prefix/bin/syscheck run --level quick --json --policy "$OUT/policy.lua"
		) >"$OUT/one"
		[ "$?" -le 3 ] && [ -s "$OUT/one" ] || return 1
		all=$(((${EPOCHREALTIME/./} - from) * $(getconf CLK_TCK) * $(getconf _NPROCESSORS_ONLN) / 1000000))
		others=$(($(busy_ticks) - busy - ($(own_ticks "$1") - own)))
		TRIED=$((TRIED + 1))
		[ "$((100 * others))" -gt "$((OTHERS_PCT * all))" ] || break
		if [ "$SECONDS" -gt "$GIVE_UP_S" ]; then
			DISTURBED=$((DISTURBED + 1))
			break
		fi
	done
	cat "$OUT/one" >>"$2"
}

real() {
	local name percent round i
	rm -rf "$OUT"
	mkdir -p "$OUT"/{learn,first,second} || return 1
	cat >"$OUT/policy.lua" <<-POLICY
	return {
	   kernels = { stream = { quick = 0.15 }, dgemm = { quick = 0.15 }, noise = { quick = 0.05 } },
	   baseline = "$PWD/$OUT/none.json", spool = "$PWD/$OUT/spool", state = "$PWD/$OUT/state",
	}
	POLICY
	local nodes=() learners=()
	cgroup_make || { echo "detect: a cpu cgroup cannot be made" >&2; return 1; }
	trap cgroup_remove EXIT
	trap "exit 143" TERM INT HUP
	for percent in "${QUOTAS[@]}"; do
		nodes+=("q$percent")
		cgroup_node "q$percent" "$percent" || return 1
	done
	for ((i = 1; i <= UNTOUCHED; i++)); do
		nodes+=("u$i")
		cgroup_node "u$i" 100 || return 1
	done
	for ((i = 1; i <= LEARNERS; i++)); do
		learners+=("l$i")
		cgroup_node "l$i" 100 || return 1
	done
	cut -d' ' -f1-3 /proc/loadavg >"$OUT/load"
	for ((round = 1; round <= CHECKS; round++)); do
		# Interleaved, in another order each time, so that what else runs meets all.
		while read -r name; do
			case $name in
			l*) measure "$name" "$OUT/learn/records.jsonl" || return 1 ;;
			*)
				measure "$name" "$OUT/first/records.jsonl" &&
					measure "$name" "$OUT/second/records.jsonl" || return 1
				;;
			esac
		done < <(shuf -e "${nodes[@]}" "${learners[@]}")
		printf '\rround %d of %d' "$round" "$CHECKS" >&2
	done
	echo >&2
	cut -d' ' -f1-3 /proc/loadavg >>"$OUT/load"
	echo "$TRIED runs, $DISTURBED kept that others disturbed" >>"$OUT/load"
	lua5.4 tests/bench/detect.lua real "$OUT"
}

main() {
	case ${1:-all} in
	real) real ;;
	sim) lua5.4 tests/bench/detect.lua sim ;;
	all) real && lua5.4 tests/bench/detect.lua sim ;;
	*) echo "usage: detect.sh [real|sim]" >&2; exit 2 ;;
	esac
}

main "$@"
