#!/usr/bin/env bats
# syscheck setup on a site that was made by hand: from an installation to the first verdict, beside the site's own scripts,
# and back.
# shellcheck disable=SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load eventually

ROOT=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
MC=$ROOT/tests/cluster/minicluster
SITE=$ROOT/tests/site.sh
umask 022

setup_file() {
	[ "$(id -u)" = 0 ] || skip "needs root"
	export BASE MINICLUSTER_DIR
	BASE=$(mktemp -d /var/tmp/site.XXXXXX)
	chmod 755 "$BASE"
	MINICLUSTER_DIR=$BASE/c
	"$SITE" up
	# As a package puts the same files on each host.
	make -s -C "$ROOT" install PREFIX="$BASE/c/prefix" SYSCONFDIR="$BASE/c/etc" LOCALSTATEDIR="$BASE/c/var" \
		RUNDIR="$BASE/c/run/syscheck/%n" DESTDIR= >/dev/null
	local node dir
	for node in n1 n2 n3; do
		for dir in syscheck slurm logrotate.d; do
			cp -a "$BASE/c/etc/$dir" "$BASE/c/nodes/$node/etc/"
		done
		cp -a "$BASE/c/var/." "$BASE/c/nodes/$node/var/"
	done
	for node in . nodes/n1 nodes/n2 nodes/n3; do
		mkdir -p "$BASE/before/$node"
		cp -a "$BASE/c/$node/etc" "$BASE/before/$node/etc"
	done
}

teardown_file() {
	[ -n "${BASE:-}" ] || return 0
	"$MC" down
	rm -rf "$BASE"
}

setup() {
	D=$BASE/c
	export SLURM_CONF=$D/etc/slurm.conf
	cd /
}

syscheck() {
	"$D/prefix/bin/syscheck" "$@"
}

# on NODE ARGUMENT...: syscheck there
on() {
	local node=$1
	shift
	"$MC" run "$node" -- "$D/prefix/bin/syscheck" "$@"
}

# idle: no job has a node
idle() {
	[ "$(sinfo -h -N -p whole -t idle -o %N | sort -u | wc -l)" = 3 ]
}

# state DIR: content, mode and owner of all that is below it
state() {
	(cd "$1" && find . -printf '%p %m %U %G %l\n' -type f -exec md5sum {} + | sort)
}

@test "the site as it is: its own scripts run, setup only shows what it would do" {
	srun -p shared -n1 --immediate=30 true
	eventually 20 grep -q epilog "$D/log/site/epilog"
	[ "$("$SITE" log | cut -d' ' -f1 | sort | uniq -c | awk '{ print $2 $1 }' | tr '\n' ' ')" = "epilog1 prolog1 submit1 " ]
	run --separate-stderr syscheck setup
	[ "$status" -eq 0 ]
	[[ $output == *"+Epilog=$D/etc/syscheck/slurm-epilog"* ]]
	[[ $output == *"-MessageTimeout=20"* ]]
	[[ $output == *"first, on each node: syscheck setup --write"* ]]
	[[ $output == *"nothing is changed yet: syscheck setup --write"* ]]
	[ "$(state "$D/etc")" = "$(state "$BASE/before/etc")" ]
	[ ! -e "$D/var/lib/syscheck/setup" ]
}

@test "from the installation to the first verdict: setup --write, restart, a job" {
	local node
	for node in n1 n2 n3; do
		on $node setup --write >/dev/null
	done
	syscheck setup --write >/dev/null
	"$SITE" restart
	: >"$D/log/site/prolog"
	run --separate-stderr srun -p whole -N2 --immediate=60 --syscheck=quick hostname
	[ "$status" -eq 0 ]
	[ "$(sort <<<"$output")" = $'n1\nn2' ]
	[[ $stderr == *"syscheck: 2 nodes measured"* ]]
	for node in n1 n2; do
		grep -q "^prolog job [0-9]* $node$" "$D/log/site/prolog"
		grep -q '"kind":"check".*"status":"unrated"' "$D/nodes/$node/var/spool/syscheck"/records*.jsonl ||
			grep -q '"status":"unrated".*"kind":"check"' "$D/nodes/$node/var/spool/syscheck"/records*.jsonl
	done
	eventually 20 idle
	[ "$(stat -c %U "$D/var/lib/syscheck-submit")" = slurm ]
}

@test "the site's job_submit.lua speaks first, then the policy" {
	local job
	run srun -A nobody true
	[[ $output == *"the site says no"* ]]
	printf 'return { partitions = { ["*"] = { ceiling = "quick" } } }\n' >"$D/etc/syscheck/policy.lua"
	sleep 1.2 # slurmctld compares whole seconds
	touch "$D/etc/job_submit.lua"
	run srun --syscheck=full true
	[ "$status" -ne 0 ]
	[[ $output == *quick* ]]
	job=$(sbatch --parsable -p shared -o /dev/null --wrap true)
	[[ $(scontrol show job "$job") == *"Comment=seen by the site"* ]]
	eventually 20 idle
	cp -a "$BASE/before/etc/syscheck/policy.lua" "$D/etc/syscheck/policy.lua"
}

@test "what is set up is not set up again, and doctor has no errors" {
	local before
	before=$(state "$D/etc")
	run --separate-stderr syscheck setup --write
	[ "$status" -eq 0 ]
	[[ $output == "nothing to change"* ]]
	[ "$(state "$D/etc")" = "$before" ]
	run on n2 setup
	[[ $output == "nothing to change"* ]]
	run --separate-stderr on n1 doctor
	[[ $output == *" 0 errors,"* ]]
	run --separate-stderr syscheck doctor
	[[ $output == *" 0 errors,"* ]]
	rm "$D/nodes/n3/etc/syscheck/slurm-prolog"
	run --separate-stderr on n3 doctor
	[[ $output == *"Prolog $D/etc/syscheck/slurm-prolog: is not there"*"syscheck setup --write on this node"* ]]
	on n3 setup --write >/dev/null
	[ -x "$D/nodes/n3/etc/syscheck/slurm-prolog" ]
}

@test "a prolog of the site's that fails drains its node, as without us; ours that is away does not" {
	printf '#!/bin/bash\nexit 3\n' >"$D/nodes/n3/etc/site/prolog"
	sbatch -p shared -w n3 -o /dev/null --wrap true
	drained() {
		[[ $(sinfo -h -n n3 -p shared -o %T) == drain* ]]
	}
	eventually 30 drained
	cp -a "$BASE/before/nodes/n3/etc/site/prolog" "$D/nodes/n3/etc/site/prolog"
	scancel -u root
	scontrol update nodename=n3 state=resume
	eventually 20 idle
	mv "$D/prefix/libexec" "$D/prefix/away"
	srun -p shared -w n3 --immediate=30 true
	eventually 20 idle
	mv "$D/prefix/away" "$D/prefix/libexec"
}

@test "--undo: nodes keep what their slurmd may run until it is restarted; then all is as it was, and jobs run" {
	local node
	for node in n1 n2 n3; do
		run --separate-stderr on $node setup --undo
		[ "$status" -eq 1 ]
		[[ $stderr == *"slurm-prolog: kept, as the slurmd here was started with it"* ]]
		[ -x "$D/nodes/$node/etc/syscheck/slurm-prolog" ]
	done
	srun -p shared -w n1 --immediate=30 true
	syscheck setup --undo >/dev/null
	"$SITE" restart
	for node in n1 n2 n3; do
		on $node setup --undo >/dev/null
	done
	for node in . nodes/n1 nodes/n2 nodes/n3; do
		diff <(state "$D/$node/etc") <(state "$BASE/before/$node/etc")
		[ ! -e "$D/$node/var/lib/syscheck/setup" ]
	done
	[ "$(stat -c %U "$D/var/lib/syscheck-submit")" = root ]
	run syscheck setup --undo
	[ "$output" = "nothing to take back" ]
	: >"$D/log/site/prolog"
	srun -p whole -N3 --immediate=30 true
	[ "$(cut -d' ' -f4 "$D/log/site/prolog" | sort | tr '\n' ' ')" = "n1 n2 n3 " ] || { cat "$D/log/site/prolog"; false; }
	[ -z "$(sinfo -h -R -p whole)" ]
}

@test "no slurm.conf, one that Slurm would refuse, nobody but root" {
	run --separate-stderr syscheck setup --conf /nonexistent/slurm.conf
	[ "$status" -eq 3 ]
	[[ $stderr == "syscheck: setup: "*"/nonexistent/slurm.conf"* ]]
	printf 'Prolog=/a Epilog=/b\n' >"$BASE/bad.conf"
	run --separate-stderr syscheck setup --write --conf "$BASE/bad.conf"
	[ "$status" -eq 1 ]
	[[ $stderr == "syscheck: setup: $BASE/bad.conf:1: Slurm refuses what follows Prolog"* ]]
	[ "$(wc -l <<<"$stderr")" = 1 ]
	run --separate-stderr setpriv --reuid=nobody --clear-groups "$D/prefix/bin/syscheck" setup --write
	[ "$status" -eq 1 ]
	[[ $stderr == *"only root can"* ]]
	run syscheck setup --write --undo
	[ "$status" -eq 2 ]
}
