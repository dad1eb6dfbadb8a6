#!/usr/bin/env bats
# alone: it times a slowed node
# The cluster that the other tests stand on: real, alone, and gone afterwards.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load eventually

MC=$(cd "$BATS_TEST_DIRNAME/cluster" && pwd)/minicluster

setup_file() {
	[ "$(id -u)" = 0 ] || skip "needs root"
	export BASE
	BASE=$(mktemp -d /var/tmp/mc.XXXXXX)
	chmod 755 "$BASE"
	"$MC" up --bare --dir "$BASE/a" --nodes 3
}

teardown_file() {
	[ -n "${BASE:-}" ] || return 0
	"$MC" down --dir "$BASE/a"
	"$MC" down --dir "$BASE/b"
	rm -rf "$BASE"
}

setup() {
	# Nodes have a /tmp of their own: a checkout below it is not there.
	cd / || return
	export SLURM_CONF=$BASE/a/etc/slurm.conf
}

# one_line PATTERN: what went wrong, in one line of minicluster's
one_line() {
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
	# shellcheck disable=SC2053 # a pattern
	[[ $stderr == "minicluster: "$1 ]]
}

@test "nodes: own names, network and hosts; jobs run across them" {
	run srun -N3 bash -c 'hostname; getent hosts n1 n2 n3 | wc -l'
	[ "$status" -eq 0 ]
	[ "$(sort <<<"$output")" = $'3\n3\n3\nn1\nn2\nn3' ]
	run "$MC" status --dir "$BASE/a"
	[ "$status" -eq 0 ]
	[[ $output == *"munged alive"*"slurmctld alive"*"slurmd.n3 alive"* ]]
}

@test "jobs of a normal user run, steps end when their job does" {
	run setpriv --reuid=65534 --regid=65534 --clear-groups srun -N2 id -u
	[ "$status" -eq 0 ]
	[ "$output" = $'65534\n65534' ]
	run srun -N1 bash -c 'setsid sleep 471147 & sleep 0.2'
	[ "$status" -eq 0 ]
	sleep 1
	run pgrep -fx 'sleep 471147'
	[ "$status" -ne 0 ]
}

@test "throttle: every CPU of that node shows its package's count, no other node does" {
	"$MC" throttle n3 1204 --dir "$BASE/a"
	run srun -N3 -l bash -c 'sort -u /sys/devices/system/cpu/cpu*/thermal_throttle/package_throttle_count; hostname' 
	[ "$(grep -c ' 1204$' <<<"$output")" = 1 ]
	[ "$(grep -c ' 0$' <<<"$output")" = 2 ]
	run "$MC" run n3 --dir "$BASE/a" -- cat /sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count
	[ "$output" = 1204 ]
	[ ! -e /sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count.new ]
}

# turns NODE: how far a loop gets there in half a second, on all CPUs
turns() {
	"$MC" run "$1" --dir "$BASE/a" -- bash -c 'for i in $(seq "$(nproc)"); do
		lua5.4 -e "local n, e = 0, ... local uv = require(\"luv\") local t = uv.hrtime() + 5e8
			repeat for _ = 1, 1000 do n = n + 1 end until uv.hrtime() > t print(n)" &
	done; wait' | awk '{ n += $1 } END { print n }'
}

@test "slow: a quota that jobs and commands there feel, and that can be lifted" {
	local full slow
	"$MC" slow n2 10 --dir "$BASE/a"
	run "$MC" status --dir "$BASE/a"
	[[ $output == *"n2 slow: 10 % of the machine"* ]]
	full=$(turns n1) slow=$(turns n2)
	# A tenth in theory; under a half is not by chance.
	[ "$((slow * 2))" -lt "$full" ]
	"$MC" slow n2 100 --dir "$BASE/a"
	run "$MC" status --dir "$BASE/a"
	[[ $output != *"n2 slow"* ]]
}

@test "run: the command's exit status comes back" {
	run "$MC" run n1 --dir "$BASE/a" -- bash -c 'exit 7'
	[ "$status" -eq 7 ]
}

@test "bad input: one line, exit 2" {
	local words
	while read -r -a words; do
		run --separate-stderr "$MC" "${words[@]}"
		[ "$status" -eq 2 ] || { echo "${words[*]}: $status"; return 1; }
		one_line '*' || { echo "${words[*]}: $stderr"; return 1; }
	done <<-CASES
		bogus
		up --nodes 0
		up --nodes x
		up --nodes 5000
		up --mode vm
		up --dir relative
		up --dir
		up --bogus
		up extra
		slow n9 50 --dir $BASE/a
		slow n1 0 --dir $BASE/a
		slow n1 101 --dir $BASE/a
		slow n1 half --dir $BASE/a
		slow n1 --dir $BASE/a
		throttle n1 -1 --dir $BASE/a
		throttle ../n1 1 --dir $BASE/a
		run n1 --dir $BASE/a
		run nobody --dir $BASE/a -- true
	CASES
}

@test "not root: one line" {
	[ "$(id -u)" = 0 ] || skip "not root"
	# The checkout may be out of a user's reach: a copy.
	cp -r "$(dirname "$MC")" "$BASE/copy"
	run --separate-stderr setpriv --reuid=65534 --regid=65534 --clear-groups "$BASE/copy/minicluster" up
	[ "$status" -eq 1 ]
	one_line "must be root*"
}

@test "a second up on the same DIR is refused and leaves the first alone" {
	run --separate-stderr "$MC" up --bare --dir "$BASE/a"
	[ "$status" -eq 1 ]
	one_line "there is a cluster in $BASE/a already*"
	run srun -N3 true
	[ "$status" -eq 0 ]
}

@test "a second cluster at the same time; after kill -9 of its daemons, down leaves nothing of it" {
	local slot pid name srun _
	"$MC" up --bare --dir "$BASE/b" --nodes 2
	SLURM_CONF=$BASE/b/etc/slurm.conf run srun -N2 hostname
	[ "$(sort <<<"$output")" = $'n1\nn2' ]
	slot=$(sed -n 's/^SLOT=//p' "$BASE/b/settings")
	# Not with bats' own pipe: an srun whose slurmctld is gone may stay.
	SLURM_CONF=$BASE/b/etc/slurm.conf srun -N2 sleep 471148 3>&- &
	srun=$!
	eventually 30 pgrep -fx '[^ ]*sleep 471148'
	while read -r name pid _; do
		case $name in
		munged | slurmctld | slurmd.n1 | n2.namespace) kill -9 "$pid" ;;
		esac
	done <"$BASE/b/pids"
	run "$MC" status --dir "$BASE/b"
	[ "$status" -eq 1 ]
	[[ $output == *"slurmctld DEAD"* ]]
	"$MC" down --dir "$BASE/b"
	pkill -9 -P "$srun" || true
	kill -9 "$srun"
	[ ! -e "$BASE/b" ]
	[ ! -e "/run/minicluster-slots/$slot" ]
	run ip link show "scmc$slot"
	[ "$status" -ne 0 ]
	[ -z "$(find /sys/fs/cgroup -name "syscheck-minicluster-$slot")" ]
	run pgrep -fx '[^ ]*sleep 471148'
	[ "$status" -ne 0 ]
	run grep -c "$BASE/b" /proc/mounts
	[ "$output" = 0 ]
	"$MC" down --dir "$BASE/b"
	# The first one has not felt it.
	run srun -N3 hostname
	[ "$status" -eq 0 ]
}

@test "ports: forty nodes, no namespaces" {
	"$MC" up --bare --dir "$BASE/b" --mode ports --nodes 40
	SLURM_CONF=$BASE/b/etc/slurm.conf run srun -N40 -l bash -c 'echo "$SLURMD_NODENAME"'
	[ "$status" -eq 0 ]
	[ "$(awk '{ print $2 }' <<<"$output" | sort -u | wc -l)" = 40 ]
	run --separate-stderr "$MC" throttle s1 5 --dir "$BASE/b"
	[ "$status" -eq 1 ]
	one_line "throttle needs --mode netns*"
	"$MC" down --dir "$BASE/b"
}
