#!/usr/bin/env bats
# Rule 7: a passing prolog or epilog sends no RPC to slurmctld. On 100 nodes, by
# slurmctld's own count: a job with syscheck costs the same calls as one without.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load minicluster

NODES=100

setup_file() {
	cluster_up --mode ports --nodes "$NODES"
}

setup() {
	cluster_enter
}

# rpcs_of LEVEL: "type count" of every RPC that slurmctld got during one job on all nodes
rpcs_of() {
	local job log=$MINICLUSTER_DIR/log/slurmctld.log
	# The nodes' own registrations after the start are not the job's.
	sleep 2
	sdiag -r >/dev/null
	job=$(sbatch --parsable -N "$NODES" --syscheck="$1" -o /dev/null --wrap true)
	until [[ "$(tail -n 400 "$log")" == *"_job_complete: JobId=$job done"* ]]; do sleep 0.3; done
	until [ "$(sinfo -h -o %T | sort -u)" = idle ]; do sleep 0.3; done
	sdiag | sed -nE 's/^\s*([A-Z_]+) +\( *[0-9]+\) +count:([0-9]+) .*/\1 \2/p' |
		grep -vE 'REQUEST_(STATS_INFO|PARTITION_INFO|NODE_INFO|CONFIG|UPDATE_)|NODE_REGISTRATION' | sort
	# What a checker's scontrol, sinfo or squeue would send: none from the nodes. Our own
	# sinfo above asks for NODE_INFO; UPDATE_NODE and the job queries nobody does.
	sdiag | grep -E 'REQUEST_(UPDATE_NODE|UPDATE_JOB|JOB_INFO|JOB_USER_INFO|JOB_INFO_SINGLE|PING) ' | sed 's/^/extra: /'
}

records() {
	cat "$MINICLUSTER_DIR"/var/spool/syscheck/*/records.jsonl | grep -c "\"kind\":\"$1\""
}

@test "100 passing prologs and epilogs add no RPC: the same counts as with empty ones" {
	local with without libexec=$MINICLUSTER_DIR/prefix/libexec/syscheck checks jobs
	with=$(rpcs_of passive)
	checks=$(records check) jobs=$(records job)
	# It really ran, everywhere.
	[ "$checks" = "$NODES" ]
	[ "$jobs" = "$NODES" ]
	printf '#!/bin/sh\nexit 0\n' >"$libexec/prolog"
	printf '#!/bin/sh\nexit 0\n' >"$libexec/epilog"
	without=$(rpcs_of passive)
	[ "$(records check)" = "$checks" ]
	echo "with: $with"
	echo "without: $without"
	[[ $with != *extra:* ]]
	[[ $with == *"REQUEST_COMPLETE_PROLOG $NODES"* ]]
	[ "$with" = "$without" ]
}
