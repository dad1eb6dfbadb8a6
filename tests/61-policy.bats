#!/usr/bin/env bats
# A real Slurm: what a user may submit, told in words, by sbatch, srun,
# salloc, arrays and heterogeneous jobs; a policy that breaks while Slurm runs.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load minicluster

setup_file() {
	cluster_up --nodes 2
	local kernel
	for kernel in stream:triad_gbs:10 dgemm:gflops:10 noise:noise_pct:1 numa:latency_ns:100 scaling:best_gbs:10; do
		IFS=: read -r kernel name value <<<"$kernel"
		rm "$MINICLUSTER_DIR/prefix/libexec/syscheck/$kernel"
		printf '#!/bin/bash\necho %q\n' "{\"kernel\":\"$kernel\",\"verified\":true,\"$name\":$value}" \
			>"$MINICLUSTER_DIR/prefix/libexec/syscheck/$kernel"
		chmod 755 "$MINICLUSTER_DIR/prefix/libexec/syscheck/$kernel"
	done
}

setup() {
	cluster_enter
	: >"$LOG"
}

teardown() {
	local n=0
	scancel -u root
	scontrol update nodename=n[1-2] state=resume 2>/dev/null || true
	until [ "$(sinfo -h -N -p main -t idle | wc -l)" = 2 ] || [ $((n += 1)) -gt 100 ]; do
		sleep 0.2
	done
}

# policy TEXT: the inside of the table, with the cluster's directories; slurmctld reads it
policy() {
	local d=$MINICLUSTER_DIR
	use_policy <<-LUA || return
	return {
		budget = 1, -- before every job, however long a check takes on a busy machine
		mode = "enforce", lock = "$d/lock", deadline = { quick = 60, full = 60 },
		spool = "$d/var/spool/syscheck/%n", state = "$d/var/lib/syscheck/%n", run = "$d/run/syscheck/%n",
		baseline = "$d/etc/syscheck/baseline.json",
		$1
	}
	LUA
	reload_submit
}

next_job() {
	scontrol show config | awk '/^NEXT_JOB_ID/ { print $3 }'
}

# refused WORDS COMMAND...: exits non-zero, says WORDS, submits nothing
refused() {
	local words=$1 before
	shift
	before=$(next_job)
	run timeout 60 "$@"
	[ "$status" -ne 0 ] || { echo "accepted: $*"; return 1; }
	[[ $output == *"$words"* ]] || { echo "$output"; return 1; }
	[ "$before" = "$(next_job)" ]
}

@test "a level out of bounds: sbatch, srun, salloc, an array, a heterogeneous job" {
	policy 'partitions = { main = { floor = "passive", default = "passive", ceiling = "quick" } }'
	local below="--syscheck=none is below the floor of partition main: use passive or more"
	local above="--syscheck=full is more than partition main allows: use quick or less"
	refused "$below" sbatch --syscheck=none --wrap true
	refused "$below" srun --syscheck=none true
	refused "$above" salloc --syscheck=full true
	refused "$above" sbatch --syscheck=full --array=1-3 --wrap true
	refused "component 1: $above" sbatch -p shared -n1 --syscheck=full : -p main -n1 --syscheck=full --wrap true
	run timeout 60 srun --syscheck=quick bash -c 'echo $SYSCHECK_LEVEL'
	[ "$status" -eq 0 ]
	[[ $output == *quick* ]]
	run timeout 60 salloc -N1 --syscheck=quick srun bash -c 'echo $SYSCHECK_LEVEL'
	[ "$status" -eq 0 ]
	[[ $output == *quick* ]]
	run timeout 60 sbatch -W -o "$BASE/out/a%a" --syscheck=quick --array=1-2 --wrap 'echo $SYSCHECK_LEVEL'
	[ "$status" -eq 0 ]
	[ "$(cat "$BASE"/out/a[12] | grep -c '^quick$')" = 2 ]
}

@test "a heterogeneous job within bounds: each component is checked as its partition says" {
	policy 'partitions = { main = { floor = "quick", default = "quick" } }'
	run timeout 90 sbatch -W -o "$BASE/out/het" -p main -N1 --syscheck=quick : -p shared -n1 --syscheck=passive \
		--wrap 'srun --het-group=0,1 bash -c "echo \$SLURM_HET_SIZE \$SYSCHECK_LEVEL"'
	[ "$status" -eq 0 ]
	grep -q '2 quick' "$BASE/out/het"
	grep -q '2 passive' "$BASE/out/het"
}

@test "accounts and QOS: refused by name; the prolog knows the account" {
	policy 'accounts = { physics = { floor = "quick", default = "quick" }, guest = { ceiling = "passive" } },
		qos = { debug = { ceiling = "none" } },'
	refused "--syscheck=passive is below the floor of account physics: use quick or more" \
		sbatch -A physics --syscheck=passive --wrap true
	refused "--syscheck=quick is more than account guest allows: use passive or less" srun -A guest --syscheck=quick true
	refused "--syscheck=passive is more than QOS debug allows: use none or less" \
		sbatch -q debug --syscheck=passive --wrap true
	run timeout 60 srun -A physics bash -c 'echo $SYSCHECK_LEVEL'
	[ "$status" -eq 0 ]
	[[ $output == *quick* ]]
	run timeout 60 srun bash -c 'echo $SYSCHECK_LEVEL'
	[[ $output == *passive* ]]
}

@test "sbatch --no-requeue warns where a check may drain" {
	local words="syscheck: with --no-requeue the job is cancelled if one of its nodes fails the check before it"
	policy 'partitions = { shared = { default = "passive" } }'
	run timeout 60 sbatch --no-requeue -o /dev/null -p shared --wrap true
	[ "$status" -eq 0 ]
	[[ $output != *"--no-requeue"* ]]
	run timeout 60 sbatch --no-requeue -o /dev/null --syscheck=quick --wrap true
	[ "$status" -eq 0 ]
	[[ $output == *"$words"* ]]
	run timeout 60 sbatch --requeue -o /dev/null --syscheck=quick --wrap true
	[[ $output != *"--no-requeue"* ]]
	policy 'partitions = { main = { default = "quick" } }'
	run timeout 60 sbatch --no-requeue -o /dev/null -p main --wrap true
	[[ $output == *"$words"* ]]
	policy 'no_requeue = "start"'
	run timeout 60 sbatch --no-requeue -o /dev/null --syscheck=quick --wrap true
	[ "$status" -eq 0 ]
	[[ $output != *"--no-requeue"* ]]
}

@test "kernels on shared nodes: passive with a note, or exclusive, or refused" {
	local words="--syscheck=full needs whole nodes, and partition shared gives parts of them"
	policy ''
	run timeout 60 srun -p shared -n1 --syscheck=full bash -c 'echo ran $SYSCHECK_LEVEL'
	[ "$status" -eq 0 ]
	[[ $output == *"$words: passive runs where"* ]]
	[[ $output == *"ran passive"* ]]
	policy 'shared = "exclusive"'
	run timeout 60 srun -p shared -n1 --syscheck=quick bash -c 'echo ran $SYSCHECK_LEVEL'
	[ "$status" -eq 0 ]
	[[ $output == *"the job is made exclusive"* ]]
	[[ $output == *"ran quick"* ]]
	policy 'shared = "refuse"'
	refused "$words: add --exclusive, or use passive" sbatch -p shared -n1 --syscheck=full --wrap true
	refused "needs whole nodes" salloc -p shared -n1 --syscheck=quick true
	run timeout 60 sbatch -W -o /dev/null -p shared --exclusive --syscheck=quick --wrap true
	[ "$status" -eq 0 ]
	[[ $output != *"needs whole nodes"* ]]
}

@test "a policy that breaks: job_submit keeps the last good one, and says so; so does the node" {
	policy 'partitions = { main = { floor = "passive", default = "quick" } }, limits = { triad_gbs = { min = 1 } },'
	refused "below the floor of partition main" sbatch --syscheck=none --wrap true
	run timeout 60 srun -w n1 true
	[ "$status" -eq 0 ]
	[ "$(stat -c %a "$MINICLUSTER_DIR/var/lib/syscheck/policy.good")" = 600 ]
	echo 'return { mode = ' >"$MINICLUSTER_DIR/etc/syscheck/policy.lua"
	reload_submit
	refused "below the floor of partition main" sbatch --syscheck=none --wrap true
	grep -q "syscheck: policy not used, last good copy of 20.*Z holds: $MINICLUSTER_DIR/etc/syscheck/policy.lua:" \
		"$MINICLUSTER_DIR/log/slurmctld.log"
	run timeout 60 srun -w n1 bash -c 'echo "$SYSCHECK_LEVEL $SYSCHECK_STATUS"'
	[[ $output == *"quick pass"* ]]
	grep -q "policy: $MINICLUSTER_DIR/etc/syscheck/policy.lua:.*; last good copy of 20.*Z is used" "$LOG"
}

@test "config show: a node's partitions by Slurm, an unknown one" {
	policy 'partitions = { main = { floor = "passive" } },'
	run syscheck config show n1
	[ "$status" -eq 0 ]
	[[ $output == *"partition main"*"partition shared (not named in the policy"*"its own partition's levels hold"* ]]
	[[ $output =~ floor\ +passive\ +partition\ main\ +policy.lua:6 ]]
	run syscheck config show --partition mian
	[ "$status" -eq 1 ]
	[ "$output" = 'syscheck: Slurm has no partition "mian", did you mean "main"?' ]
	run syscheck config show n99
	[ "$status" -eq 1 ]
	[[ $output == "syscheck: node n99: "*"name a partition with --partition" ]]
}
