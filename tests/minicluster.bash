# shellcheck shell=bash
# What the tests of a whole minicluster share; it is the one of `minicluster env`.
# shellcheck disable=SC2034

ROOT=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
FIXTURES=$BATS_TEST_DIRNAME/fixtures
MC=$ROOT/tests/cluster/minicluster
umask 022 # the modes that tests expect
load machine

# cluster_up OPTION...: the file's own cluster, below $BASE, with $BASE/out for what users write
cluster_up() {
	[ "$(id -u)" = 0 ] || skip "needs root"
	export BASE MINICLUSTER_DIR
	BASE=$(mktemp -d /var/tmp/mc.XXXXXX)
	chmod 755 "$BASE"
	MINICLUSTER_DIR=$BASE/c
	mkdir -m 1777 "$BASE/out"
	"$MC" up "$@"
}

# cluster_enter [DIR]: a test's own start
cluster_enter() {
	eval "$("$MC" env)"
	cd "$BASE/${1:-out}" || return
	unset "${!SLURM_JOB@}" "${!SYSCHECK_@}"
	LOG=$MINICLUSTER_DIR/var/log/syscheck.log
}

# needs_pmix: OpenMPI's ranks under srun
needs_pmix() {
	[[ "$(srun --mpi=list 2>&1)" == *pmix* ]] || skip "this Slurm was built without PMIx (Debian's 26.05)"
}

cluster_down() {
	[ -n "${BASE:-}" ] || return 0
	"$MC" down
	rm -rf "$BASE"
}

teardown_file() {
	cluster_down
}

# use_policy: standard input is the policy from now on, at once and whole. It must be good:
# beside a broken one the last good copy would be tested.
use_policy() {
	local new=$MINICLUSTER_DIR/etc/policy.new
	cat >"$new"
	"$MINICLUSTER_DIR/prefix/bin/syscheck" config check --policy "$new" >/dev/null || return
	mv "$new" "$MINICLUSTER_DIR/etc/syscheck/policy.lua"
}

# slurmctld compares whole seconds: a touch in the second of the last load is missed.
reload_submit() {
	sleep 1.2
	touch "$MINICLUSTER_DIR/etc/job_submit.lua"
}

# job_is JOB STATE
job_is() {
	[[ $(scontrol show job "$1" 2>/dev/null) =~ JobState=$2\  ]]
}

# node_is NODE PATTERN
node_is() {
	# shellcheck disable=SC2053 # a pattern
	[[ $(sinfo -h -n "$1" -p main -o %T) == $2 ]]
}

# no_agents: no prolog, epilog or health program of this cluster is at work. A node may be idle
# again before its prolog has ended, which then leaves its state to the next test.
no_agents() {
	! pgrep -f "$MINICLUSTER_DIR/prefix/libexec/syscheck/agent.lua" >/dev/null
}

# ranks: fabric's processes, on all nodes
ranks() {
	pgrep -f "^$MINICLUSTER_DIR/prefix/libexec/syscheck/fabric "
}

no_ranks() {
	! ranks
}

# reason NODE: why it is out of service, or nothing
reason() {
	sinfo -h -R -n "$1" -o %E
}

# is_for_dgemm REASON: a node was drained for its dgemm. slurmctld is on the same CPUs, and a hypervisor may have given
# them away: that may be said after it. And where the box had no time for a whole call, it is what the node did at most.
is_for_dgemm() {
	[[ $1 =~ ^syscheck:\ dgemm\ (at\ most\ )?[0-9.]+\ \<\ [0-9.]+\ GFLOP/s\ \(policy\)(\;\ $WHO_HAD_CPUS\ .*)?$ ]] ||
		{ echo "$1"; return 1; }
}
