#!/usr/bin/env bats
# alone: it measures the rates of links
# Between the nodes: a real network with leaf switches, broken in a known way, and what
# `syscheck fabric` says of it.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load eventually
load minicluster

setup_file() {
	cluster_up --nodes 9 --leaves 3
	cp "$MINICLUSTER_DIR/etc/syscheck/policy.lua" "$BASE/shipped.lua"
}

setup() {
	cluster_enter
	needs_pmix
}

# What a test that failed on its way may have left.
teardown() {
	local node
	cp "$BASE/shipped.lua" "$MINICLUSTER_DIR/etc/syscheck/policy.lua"
	for node in n2 n5 n6 n8; do
		"$MC" slow-link "$node" both off
		"$MC" drop "$node" off
	done
	"$MC" delay n5 off
	"$MC" mtu n2 off
	"$MC" slow-trunk leaf2 both off
	"$MC" slow-leaf leaf3 off
	scancel -u root
	for node in $(sinfo -h -N -t drain -o %N | sort -u); do
		scontrol update nodename="$node" state=resume
	done
}

# own_policy: drains nobody; files may be written below $BASE/files
own_policy() {
	use_policy <<-LUA
		return { mode = "observe", scontrol = "scontrol", io_paths = { "$BASE/files" },
		   partitions = { ["*"] = { floor = "none", default = "none", ceiling = "none" } },
		   spool = "$MINICLUSTER_DIR/var/spool/syscheck/%n", state = "$MINICLUSTER_DIR/var/lib/syscheck/%n",
		   run = "$MINICLUSTER_DIR/run/syscheck/%n", baseline = "$MINICLUSTER_DIR/etc/syscheck/baseline.json" }
	LUA
}

# empty DIR
empty() {
	[ -z "$(ls -A "$1")" ] || { ls -laR "$1"; return 1; }
}

# idle: all nodes are free again
idle() {
	[ "$(sinfo -h -N -p main -o %T | grep -cx idle)" -eq 9 ]
}

# idle_but NODE: all others are free
idle_but() {
	[ "$(sinfo -h -N -p main -o %T | grep -cx idle)" -eq 8 ] && [ "$(sinfo -h -N -p main -n "$1" -o %T)" = drained ]
}

# fabric ARGS...: measured, its JSON kept
fabric() {
	eventually 60 idle
	run --separate-stderr syscheck fabric --json "$@"
	printf '%s\n' "$output" >"$BASE/answer"
}

# says VALUE EXPRESSION: what answer prints
says() {
	[ "$(answer "$2")" = "$1" ] || { echo "$(answer "$2"), not $1"; return 1; }
}

# answer EXPRESSION: of the object `a` in Python
answer() {
	python3 -c 'import json, sys; a = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$BASE/answer" "$1"
}

# nodes_of CSV: all that were measured
nodes_of() {
	cut -d, -f3,4 <<<"$1" | tail -n +2 | tr -d '\r' | tr , '\n' | sort -u | xargs
}

# sent NODE...: bytes that their links have sent
sent() {
	local node
	for node in "$@"; do
		awk '$1 == "eth0:" { print $10 }' "/proc/$(<"$MINICLUSTER_DIR/run/slurmd.$node.pid")/net/dev"
	done | awk '{ sum += $1 } END { printf "%d\n", sum }'
}

# has_sent BYTES NODE: since $before
has_sent() {
	[ $(($(sent "$2") - before)) -gt "$1" ]
}

# all_measure: each of the nine nodes has a rank
all_measure() {
	[ "$(ranks | wc -l)" -eq 9 ]
}

# rank_on NODE: the process that measures there
rank_on() {
	local pid
	for pid in $(ranks); do
		! grep -qzx "SLURMD_NODENAME=$1" "/proc/$pid/environ" || echo "$pid"
	done
}

# refuses WORDS ARGS...: usage, one line
refuses() {
	run --separate-stderr syscheck fabric "${@:2}"
	[ "$status" -eq 2 ]
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
	[[ $stderr == *"$1"* ]]
}

@test "fabric: a node that receives slowly is named, with its direction and how slow" {
	"$MC" slow-link n5 in 50
	fabric --nodes 'n[1-9]' --seed 1
	"$MC" slow-link n5 in off
	[ "$status" -eq 1 ]
	[ "$(answer '[(f["node"], f["direction"]) for f in a["findings"] if f["kind"] == "nic"]')" = "[('n5', 'in')]" ]
	# What was set is 0.25 of the others' rate.
	[ "$(answer '0.23 < [f["share"] for f in a["findings"] if f["kind"] == "nic"][0] < 0.27')" = True ]
	[[ "$(answer '[f["text"] for f in a["findings"] if f["kind"] == "nic"][0]')" == "n5 receives at 0.2"*" of its peers, alone and with every partner: its NIC, port or cable"* ]]
}

# enforce LIMITS: the policy from now on, of nine nodes that may all go
enforce() {
	use_policy <<-LUA
		return { mode = "enforce", max_drained = 1, limits = { $1 }, scontrol = "scontrol",
		   partitions = { ["*"] = { floor = "none", default = "none", ceiling = "none" } },
		   spool = "$MINICLUSTER_DIR/var/spool/syscheck/%n", state = "$MINICLUSTER_DIR/var/lib/syscheck/%n",
		   run = "$MINICLUSTER_DIR/run/syscheck/%n", baseline = "$MINICLUSTER_DIR/etc/syscheck/baseline.json" }
	LUA
}

@test "fabric: a confirmed NIC takes its node out where the site says so; node and fleet say since when" {
	local records since
	records=$MINICLUSTER_DIR/var/spool/syscheck/$(hostname -s)/records.jsonl
	rm -f "$records"
	"$MC" slow-link n5 in 50
	fabric --nodes 'n[1-9]' --seed 1
	[ "$(answer 'a["recorded"], a["failed"]')" = "(9, [])" ]
	[[ "$(scontrol show node n5)" != *DRAIN* ]]
	enforce "fabric_in_ratio = { action = 'fail' }"
	fabric --nodes 'n[1-9]' --seed 2
	"$MC" slow-link n5 in off
	[ "$(answer '[(f["node"], f["action"]) for f in a["failed"]]')" = "[('n5', 'drain')]" ]
	[[ "$(scontrol show node n5)" == *DRAIN*"Reason=syscheck: fabric: n5 receives at 0.2"* ]]
	[ "$(sinfo -h -N -p main -t drain -o %N)" = n5 ]
	# The node's own health check knows nothing of a drain that is not its own, and leaves it.
	[ ! -e "$MINICLUSTER_DIR/var/lib/syscheck/n5/drained.json" ]
	scontrol update nodename=n5 state=resume
	"$ROOT/tests/schema.py" "$records"
	fabric --nodes 'n[1-9]' --seed 3
	[ "$status" -eq 0 ]
	head -n 18 "$records" >"$BASE/records-bad.jsonl"
	syscheck ingest --store "$BASE/store.db" "$BASE/records-bad.jsonl"
	since=$(sed -n 's/.*"time":"\([^"]*\)".*/\1/p' "$BASE/records-bad.jsonl" | sort | head -n 1)
	run -0 syscheck fleet --store "$BASE/store.db"
	[[ $output == *"n5 "*"$since"*" 2 "*"n5 receives at 0.2"*"NIC, port or cable"* ]]
	run -0 syscheck node n5 --store "$BASE/store.db"
	[[ $output == *"fabric runs 2"*"fabric "*"n5 receives at 0.2"*"drain "*"syscheck: fabric: n5 receives at 0.2"* ]]
	# Repaired.
	syscheck ingest --store "$BASE/store.db" "$records"
	run -0 syscheck node n5 --store "$BASE/store.db"
	[[ $output == *"no longer: n5 receives"* ]]
	run -0 syscheck fleet --store "$BASE/store.db"
	[[ $output != *"n5 receives at"* ]]
}

@test "fabric: a node that TCP's window makes slow is said to be, and stays in service" {
	local pid
	enforce "fabric_in_ratio = { action = 'fail' }, fabric_out_ratio = { action = 'fail' }"
	pid=$(<"$MINICLUSTER_DIR/run/slurmd.n5.pid")
	"$MC" delay n5 15
	nsenter --net="/proc/$pid/ns/net" sysctl -qw net.ipv4.tcp_rmem='4096 65536 65536'
	fabric --nodes 'n[1-9]' --seed 4
	"$MC" delay n5 off
	nsenter --net="/proc/$pid/ns/net" sysctl -qw net.ipv4.tcp_rmem="$(sysctl -n net.ipv4.tcp_rmem)"
	[ "$(answer '[(f["node"], f["window"]["setting"], f["window"]["node"]) for f in a["findings"] if f["kind"] == "window"]')" = "[('n5', 'tcp_rmem', 'n5')]" ]
	[ "$(answer '[f["node"] for f in a["findings"] if f["kind"] == "nic"]')" = "[]" ]
	# Half of 64 KiB or more at 15 ms, of 200 Mbit/s less what frames take; it needs what the link holds meanwhile.
	[ "$(answer '[0.02e6 < w["bytes"] < 0.08e6 and 14e3 < w["rtt_us"] < 18e3 and 0.3e6 < w["needs_bytes"] < 0.45e6 for w in [f["window"] for f in a["findings"] if f["kind"] == "window"]]')" = "[True]" ]
	[[ "$(answer '[f["text"] for f in a["findings"] if f["kind"] == "window"][0]')" == *"TCP's window of "*" kB at 15"*"Mbit/s: it needs "*" kB (net.ipv4.tcp_rmem of n5)" ]]
	[ "$(answer 'a["failed"]')" = "[]" ]
	[ -z "$(sinfo -h -N -t drain -o %N)" ]
}

@test "fabric: an uplink is named by its leaf and direction, and no node of it" {
	"$MC" slow-trunk leaf2 up 60
	fabric --nodes 'n[1-9]' --seed 2
	"$MC" slow-trunk leaf2 up off
	[ "$status" -eq 1 ]
	[ "$(answer '[(f["leaf"], f["direction"]) for f in a["findings"] if f["kind"].startswith("uplink")]')" = "[('leaf2', 'up')]" ]
	[ "$(answer '[f for f in a["findings"] if f["kind"] == "nic"]')" = "[]" ]
}

# overloaded: leaf3 is named, and nothing else
overloaded() {
	[ "$status" -eq 1 ] &&
		[ "$(answer '[(f["kind"], f.get("leaf")) for f in a["findings"] if f["kind"] != "collision"]')" = "[('leaf_overloaded', 'leaf3')]" ]
}

# as_set: each of the three nodes of leaf3 gets half of what it does alone, as they share 300 Mbit/s, with links of 200;
# those of the others as much; and who is among nodes of other leaves what its link carries
as_set() {
	[ "$(answer '0.4 < [f["share"] for f in a["findings"] if f["kind"] == "leaf_overloaded"][0] < 0.6')" = True ] &&
		[ "$(answer '[l["leaf"] for l in a["leaves"] if 0.85 < l["packed_ratio"] < 1.15]')" = "['leaf1', 'leaf2']" ] &&
		[ "$(answer '0.85 < a["alltoall_striped_gbs"] / max(p["ab_gbs"] for p in a["pairs"] if p["kind"] == "within") < 1.1')" = True ]
}

@test "fabric: a leaf switch that carries less than its ports is named, not its nodes or its uplink" {
	local named=0 wrong=0 right=0
	"$MC" slow-leaf leaf3 300
	# Nine nodes share this machine's CPUs: where something else has these for a moment, a pair is slow ("route"), or all
	# that send at once are (packed, nine do, striped, three). Then it is measured again: two measurements have to be
	# right, more than are wrong, and one has the numbers that were set.
	while [ "$wrong" -lt 3 ] && [ "$((named + wrong))" -lt 6 ] &&
		{ [ "$named" -lt 2 ] || [ "$named" -le "$wrong" ] || [ "$right" -eq 0 ]; }; do
		fabric --nodes 'n[1-9]' --seed 3
		answer 'a["findings"], a["leaves"], a["alltoall_striped_gbs"]'
		if ! overloaded; then
			wrong=$((wrong + 1))
			continue
		fi
		named=$((named + 1))
		! as_set || right=1
		# No allreduce is faster than its messages.
		[ "$(answer 'a["allreduce_us"] > 0.8 * a["allreduce_least_us"] > 0')" = True ]
	done
	"$MC" slow-leaf leaf3 off
	[ "$named" -ge 2 ]
	[ "$named" -gt "$wrong" ]
	[ "$right" -eq 1 ]
}

@test "fabric: three nodes are enough to tell who it is, two are not, and it says so" {
	"$MC" slow-link n2 both 40
	"$MC" mtu n2 1400
	fabric --nodes 'n[1-3]'
	"$MC" mtu n2 off
	[ "$(answer '[f["node"] for f in a["findings"] if f["kind"] == "nic"]')" = "['n2']" ]
	# What is unlike the others' links is said beside.
	[ "$(answer '[(u["nodes"], u["what"]) for u in a["unlike"]]')" = "[(['n2'], 'mtu')]" ]
	[[ "$(answer 'a["findings"][0]["text"]')" == *"cable; eth0 MTU 1400, 2 of 3 MTU "* ]]
	[ "$(answer 'sorted({(l["node"], l["name"], l["rate_gbps"]) for l in a["links"]})[0]')" = "('n1', 'eth0', 10)" ]
	run --separate-stderr syscheck fabric --nodes 'n[1-2]'
	"$MC" slow-link n2 both off
	[ "$status" -eq 0 ]
	[[ $output == *"of two nobody can be blamed"* ]]
}

@test "fabric: a node to which nothing gets through is named, and the others are measured" {
	"$MC" drop n6 on
	fabric --nodes 'n[1-9]'
	"$MC" drop n6 off
	[ "$status" -eq 1 ]
	[ "$(answer '[f["node"] for f in a["findings"] if f["kind"] == "silent"]')" = "['n6']" ]
	[ "$(answer 'len({p["a"] for p in a["pairs"]} | {p["b"] for p in a["pairs"]})')" = 8 ]
	[[ "$(sinfo -h -R)" != *"Kill task failed"* ]]
}

@test "fabric: a rank that is killed is one line, and the others are measured" {
	local before pid status=0
	eventually 60 idle
	before=$(sent n2)
	syscheck fabric --nodes 'n[1-9]' --json >"$BASE/answer" 2>"$BASE/said" &
	pid=$!
	eventually 60 has_sent 4000000 n2 # its rounds have begun
	kill -KILL "$(rank_on n2)"
	wait "$pid" || status=$?
	[ "$status" -eq 1 ]
	[ ! -s "$BASE/said" ]
	says "['n2 does not answer: n2: task 1: Killed']" '[f["text"] for f in a["findings"] if f["kind"] == "silent"]'
	[ "$(answer 'len({p["a"] for p in a["pairs"]} | {p["b"] for p in a["pairs"]})')" = 8 ]
}

@test "fabric: inside an allocation it takes that one's nodes, and so does --job" {
	eventually 60 idle
	run --separate-stderr salloc -Q -N3 --nodelist=n1,n4,n7 syscheck fabric --csv
	[ "$status" -le 1 ]
	[[ ${lines[0]} == round,kind,a,b,* ]]
	[ "$(nodes_of "$output")" = "n1 n4 n7" ]
	eventually 60 idle
	local id
	id=$(sbatch --parsable -N2 --nodelist=n2,n9 -o /dev/null --wrap 'sleep 300')
	eventually 60 sh -c '[ "$(squeue -h -j "$1" -o %T)" = RUNNING ]' sh "$id"
	run --separate-stderr syscheck fabric --csv --job "$id"
	scancel "$id"
	[ "$status" -eq 0 ]
	[ "$(nodes_of "$output")" = "n2 n9" ]
}

@test "fabric: the idle nodes of a partition, in shards: each is measured, then what is between them" {
	local id
	"$MC" slow-link n8 out 50
	"$MC" slow-trunk leaf2 up 60
	eventually 60 idle
	id=$(sbatch --parsable -N1 --nodelist=n3 -o /dev/null --wrap 'sleep 300')
	eventually 60 sh -c '[ "$(squeue -h -j "$1" -o %T)" = RUNNING ]' sh "$id"
	run --separate-stderr syscheck fabric --idle main --shard 3 --json --seed 1
	scancel "$id"
	"$MC" slow-link n8 out off
	"$MC" slow-trunk leaf2 up off
	[ "$status" -eq 1 ]
	printf '%s\n' "$output" >"$BASE/answer"
	# n1 and n2 are what is left of leaf1; then one good node of each leaf.
	[ "$(answer '[[n["node"] for n in s["nodes"]] for s in a["shards"]]')" = "[['n1', 'n2'], ['n4', 'n5', 'n6'], ['n7', 'n8', 'n9'], ['n1', 'n4', 'n7']]" ]
	[ "$(answer '[[(f["kind"], f.get("node", f.get("leaf")), f["direction"]) for f in s["findings"]] for s in a["shards"]]')" = "[[], [], [('nic', 'n8', 'out')], [('uplink_link', 'leaf2', 'up')]]" ]
	[ "$(answer '[s["recorded"] for s in a["shards"]]')" = "[2, 3, 3, 3]" ]
	[ -z "$(squeue -h -n syscheck-fabric -o %i)" ]
}

@test "fabric: a job that ends meanwhile is one line, whoever ended it" {
	local pid
	eventually 60 idle
	syscheck fabric --idle main --json >"$BASE/printed" 2>"$BASE/said" &
	pid=$!
	# Not before all have started: where a job ends between one node's launch and another's, which then refuses it, a
	# slurmstepd of 24.11 waits for ever, and the job is completing.
	eventually 60 all_measure
	scancel -n syscheck-fabric
	wait "$pid" || status=$?
	[ "$status" -eq 3 ]
	[ "$(wc -l <"$BASE/said")" -eq 1 ]
	grep -q 'ended meanwhile: cancelled or preempted' "$BASE/said"
	[ ! -s "$BASE/printed" ]
}

@test "fabric: what a user measures accuses nobody: nothing is recorded, nobody drained" {
	local records
	eventually 60 idle
	records=$(cat "$MINICLUSTER_DIR"/var/spool/syscheck/"$(hostname -s)"/records*.jsonl | wc -l)
	enforce "fabric_in_ratio = { action = 'fail' }, fabric_out_ratio = { action = 'fail' }"
	"$MC" slow-link n2 in 40
	run --separate-stderr setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$(command -v syscheck)" fabric --nodes 'n[1-3]' --json
	"$MC" slow-link n2 in off
	[ "$status" -eq 1 ]
	[[ $output == *"n2 receives at 0.2"* ]]
	[[ $output != *'"recorded"'* ]]
	[ "$(cat "$MINICLUSTER_DIR"/var/spool/syscheck/"$(hostname -s)"/records*.jsonl | wc -l)" = "$records" ]
	[ -z "$(sinfo -h -N -t drain -o %N)" ]
}

@test "fabric: no process is left when it is interrupted" {
	eventually 60 idle
	syscheck fabric --nodes 'n[1-9]' >"$BASE/said" 2>&1 &
	local pid=$!
	eventually 60 sh -c '[ -n "$(squeue -h -s -o %i)" ]'
	kill -INT "$pid" || kill -TERM "$pid"
	run wait "$pid"
	eventually 60 sh -c '[ -z "$(squeue -h -o %i)" ]'
	eventually 30 no_ranks
}

@test "fabric: bad input is one line that says what would be right" {
	refuses "no job to measure in" --csv
	refuses "two are the least" --nodes n1
	refuses "is no list of nodes" --nodes 'n[1-'
	refuses "is no list of nodes" --nodes '../x,n1'
	refuses "--share is a number from 0.01 to 1, not \"2\" (see syscheck fabric --help)" --nodes 'n[1-2]' --share 2
	refuses "--seed is a whole number" --nodes 'n[1-2]' --seed x
	refuses "--job is a whole number" --job n1
	refuses "/nonexistent" --nodes 'n[1-2]' --policy /nonexistent
	refuses "can not be used together" --job 1 --nodes 'n[1-2]'
	refuses "can not be used together" --idle main --nodes 'n[1-2]'
	refuses "--shard is a whole number from 3 to 512" --idle main --shard 2
	refuses "--idle is the name of a partition" --idle 'main,shared'
	run --separate-stderr syscheck fabric --job 99999
	[ "$status" -eq 3 ]
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
	[[ $stderr == *"job 99999"* ]]
	run --separate-stderr syscheck fabric --nodes 'x[1-2]'
	[ "$status" -eq 3 ]
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
	[[ $stderr == *"x1: Slurm knows no such node" ]]
	run --separate-stderr syscheck fabric --idle nosuch
	[ "$status" -eq 3 ]
	[[ $stderr == "syscheck: fabric: partition nosuch: Slurm knows none, or it has no nodes" ]]
	scontrol update nodename=n4 state=drain reason=mine
	run --separate-stderr syscheck fabric --nodes 'n[3-4]'
	[ "$status" -eq 3 ]
	[[ $stderr == "syscheck: fabric: only n3 is in service: n4 is drained: left out" ]]
	eventually 60 idle_but n4
	# Who is measured, and that the exit status says what the findings do. A finding is no failure: where something else
	# has one of two CPUs, 1 of 25 runs names a node whose messages were late; 30 of 30 without it name none.
	run --separate-stderr syscheck fabric --nodes 'n[1-4]' --json
	printf '%s\n' "$output" | tee "$BASE/answer"
	[ "$(answer 'sorted({p[k] for p in a["pairs"] for k in ("a", "b")})')" = "['n1', 'n2', 'n3']" ]
	[ "$status" -eq "$(answer 'int(len(a["findings"]) > 0)')" ]
}

@test "fabric: who spares the network does not let all nodes send at once" {
	local before
	before=$(sent n1 n2 n3)
	fabric --nodes 'n[1-3]' --share 0.1
	[ "$(answer '"alltoall_packed_gbs" in a, "allreduce_us" in a')" = "(False, True)" ]
	# Of 25 MB/s; without a share it is half of that.
	[ "$(answer "($(sent n1 n2 n3) - $before) / 3 / a['seconds'] < 0.15 * 25e6")" = True ]
	[ "$(answer '[p["ab_gbs"] for p in a["pairs"]].count(None)')" = 0 ]
}

@test "fabric: files: a node that writes slowly is named; where they may be written the site says; nothing is left" {
	local group pid device
	mkdir -p "$BASE/files/a"
	own_policy
	refuses "written only in or under the policy's io_paths: $BASE/files" --nodes 'n[1-3]' --io "$BASE"
	refuses "written only in or under" --nodes 'n[1-3]' --io "$BASE/files/.."
	refuses "written only in or under" --nodes 'n[1-3]' --io "$BASE/files-too"
	refuses "cannot be used together" --nodes 'n[1-3]' --io "$BASE/files" --share 0.5
	refuses "--io-mb is a whole number" --nodes 'n[1-3]' --io "$BASE/files" --io-mb 0
	refuses "name their directory, --io DIR" --nodes 'n[1-3]' --io-mb 8
	device=$(stat -c %Hd:%Ld "$BASE/files")
	group=/sys/fs/cgroup/blkio/syscheck-test-$$
	[ -d /sys/fs/cgroup/blkio ] && [ -e "/sys/dev/block/$device" ] && mkdir "$group" || skip "no blkio controller here, or no disk below $BASE"
	pid=$(<"$MINICLUSTER_DIR/run/slurmd.n5.pid")
	echo "$pid" >"$group/cgroup.procs"
	echo "$device 20000000" >"$group/blkio.throttle.write_bps_device"
	fabric --nodes 'n[1-9]' --io "$BASE/files/a" --io-mb 40
	echo "$device 0" >"$group/blkio.throttle.write_bps_device"
	echo "$pid" >/sys/fs/cgroup/blkio/cgroup.procs
	eventually 30 rmdir "$group"
	[ "$(answer '[(f["node"], f["direction"], f["how"]) for f in a["findings"] if f["kind"].startswith("io")]')" = "[('n5', 'write', 'alone')]" ]
	[ "$(answer 'a["io"]["dir"], len(a["io"]["nodes"]), a["io"]["direct"], a["io"]["own"]["read_gbs"] > 0')" = "('$BASE/files/a', 9, True, True)" ]
	[ "$(answer '[n["write_gbs"] < 0.03 for n in a["io"]["nodes"] if n["node"] == "n5"]')" = "[True]" ]
	empty "$BASE/files/a"
}

@test "fabric: files: a node that has another file system there is named; none is left of who is killed" {
	local pid
	mkdir -p "$BASE/files/b"
	own_policy
	pid=$(<"$MINICLUSTER_DIR/run/slurmd.n2.pid")
	nsenter --mount="/proc/$pid/ns/mnt" mount -t tmpfs none "$BASE/files/b"
	fabric --nodes 'n[1-5]' --io "$BASE/files/b" --io-mb 8
	[ "$status" -eq 1 ]
	[[ "$(answer '[f["text"] for f in a["findings"] if f["kind"] == "io_error"][0]')" == "n2 cannot use $BASE/files/b, most nodes can: it is not the file system that the other nodes have there" ]]
	[ "$(answer 'a["io"]["own"]["write_gbs"] > 0')" = True ]
	nsenter --mount="/proc/$pid/ns/mnt" umount "$BASE/files/b"
	empty "$BASE/files/b"
	eventually 60 idle
	syscheck fabric --nodes 'n[1-5]' --io "$BASE/files/b" --io-mb 100000 >"$BASE/printed" 2>&1 &
	pid=$!
	# Each rank has it open, and its file in it has no name any more.
	eventually 60 sh -c '[ -n "$(find /proc/[0-9]*/fd -lname "$1/.syscheck-io-*/*(deleted)" 2>/dev/null)" ]' sh "$BASE/files/b"
	empty "$BASE/files/b"
	scancel --signal=KILL --full -n syscheck-fabric
	wait "$pid" || status=$?
	[ "$status" -eq 3 ]
	empty "$BASE/files/b"
	eventually 60 idle
}

@test "fabric: files: what cannot be done is one line, what could be measured is there" {
	mkdir -p "$BASE/files/c"
	own_policy
	fabric --nodes 'n[1-3]' --io "$BASE/files/none"
	[ "$status" -eq 3 ]
	[ "$stderr" = "syscheck: fabric: files in $BASE/files/none: No such file or directory" ]
	[ "$(answer 'len(a["pairs"]) > 0')" = True ]
	# As the user who asks.
	run --separate-stderr setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$(command -v syscheck)" fabric --nodes 'n[1-3]' --io "$BASE/files/c" --csv
	[ "$status" -eq 3 ]
	[[ $stderr == *"files in $BASE/files/c: nothing can be written there: Permission denied" ]]
	ln -s c "$BASE/files/link"
	fabric --nodes 'n[1-3]' --io "$BASE/files/link" --io-mb 8
	# That two CPUs are slow for one of three nodes is a finding, and none about files.
	[ "$status" -eq "$(answer 'int(len(a["findings"]) > 0)')" ]
	[ "$(answer 'a["io"]["dir"], [f for f in a["findings"] if f["kind"] == "io_error"]')" = "('$BASE/files/c', [])" ]
	empty "$BASE/files/c"
}

# A second port of each node, above its first one, which is made slow in n5.
@test "fabric: rails: the port that is slow is named with its node, the other one is well; who has none is said" {
	eventually 60 idle
	srun -N9 -n9 bash -euc 'echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore
		echo 2 >/proc/sys/net/ipv4/conf/all/arp_announce
		ip link add link eth0 name eth1 type macvlan mode bridge
		ip address add "198.51.100.${SLURMD_NODENAME#n}/24" dev eth1
		ip link set eth1 gso_max_segs 8 up
		[ "$SLURMD_NODENAME" != n5 ] || tc qdisc replace dev eth1 root handle 1: tbf rate 100mbit burst 25000 limit 312500'
	fabric --nodes 'n[4-9]' --rails 3
	eventually 60 idle
	srun -N9 -n9 ip link delete eth1
	[ "$status" -eq 1 ]
	[ "$stderr" = "syscheck: fabric: n[4-9]: there is no rail 3: they have 2 at most" ]
	[ "$(answer '[(s["rail"], f["node"], f["direction"]) for s in a["shards"] for f in s["findings"] if f["kind"] == "nic"]')" = "[(2, 'n5', 'out')]" ]
	[[ "$(answer '[f["text"] for f in a["shards"][1]["findings"] if f["kind"] == "nic"][0]')" == "rail 2 (eth1): n5 sends at 0."* ]]
	[ "$(grep -h '"rail":2' "$MINICLUSTER_DIR"/var/spool/syscheck/*/* | grep '"node":"n5"' | grep -c '"text":"rail 2 (eth1): n5 sends')" -eq 1 ]
	refuses "--rails is a whole number from 1 to 32" --nodes 'n[4-9]' --rails 0
}

@test "fabric: the kernel refuses a plan that it does not understand" {
	run --separate-stderr bash -c 'echo "round 0-0" | "$1/prefix/libexec/syscheck/fabric" --seconds 20' bash "$MINICLUSTER_DIR"
	[ "$status" -eq 2 ]
}
