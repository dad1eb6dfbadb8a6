#!/usr/bin/env bats
# syscheck setup on a site that was made by hand: from packages to the first verdict, beside the site's own scripts,
# and back.
# shellcheck disable=SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load eventually
load packages

ROOT=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
MC=$ROOT/tests/cluster/minicluster
SITE=$ROOT/tests/site.sh
HOSTS=(head n1 n2 n3)
umask 022

setup_file() {
	[ "$(id -u)" = 0 ] || skip "needs root"
	command -v dpkg-shlibdeps >/dev/null || skip "no dpkg-dev: no packages"
	export BASE MINICLUSTER_DIR
	BASE=$(mktemp -d /var/tmp/site.XXXXXX)
	chmod 755 "$BASE"
	MINICLUSTER_DIR=$BASE/c
	tree_copy "$BASE/tree"
	make -s -C "$BASE/tree" packages >"$BASE/packages.log"
	"$SITE" up
	local host
	for host in "${HOSTS[@]}"; do
		# Packages of this machine that ours are not about may have triggers.
		on "$host" dpkg --no-triggers -i "$BASE"/tree/build/packages/syscheck{,-slurm,-store}_*.deb
		state "$host" >"$BASE/before.$host"
	done >"$BASE/dpkg.log"
	on head cat /etc/syscheck/policy.lua >"$BASE/policy.lua"
}

teardown_file() {
	[ -n "${BASE:-}" ] || return 0
	local made=$MINICLUSTER_DIR/run/made
	[ ! -e "$made" ] || made=1
	"$MC" down
	[ "$made" != 1 ] || rmdir /run/syscheck
	rm -rf "$BASE"
}

setup() {
	D=$BASE/c
	cd /
}

on() {
	"$SITE" run "$@"
}

# What users and the admin type, on the controller.
srun() { on head srun "$@"; }
sbatch() { on head sbatch "$@"; }
sinfo() { on head sinfo "$@"; }
scontrol() { on head scontrol "$@"; }
scancel() { on head scancel "$@"; }
syscheck() { on head syscheck "$@"; }

# idle: no job has a node
idle() {
	[ "$(sinfo -h -N -p whole -t idle -o %N | sort -u | wc -l)" = 3 ]
}

# state HOST: content, mode and owner of all that is in its /etc
state() {
	# shellcheck disable=SC2016 # for the shell there
	on "$1" bash -c 'cd /etc && find . -printf "%p %m %U %G %l\n" -type f -exec md5sum {} + | sort'
}

@test "the site as it is: its own scripts run, setup only shows what it would do" {
	local host
	for host in "${HOSTS[@]}"; do
		on "$host" tee /etc/whose <<<"$host" >/dev/null
	done
	for host in "${HOSTS[@]}"; do
		[ "$(on "$host" cat /etc/whose)" = "$host" ]
		on "$host" rm /etc/whose
	done
	srun -p shared -n1 --immediate=30 true
	eventually 20 grep -q epilog "$D/log/site/epilog"
	[ "$("$SITE" log | cut -d' ' -f1 | sort | uniq -c | awk '{ print $2 $1 }' | tr '\n' ' ')" = "epilog1 prolog1 submit1 " ]
	run --separate-stderr syscheck setup
	[ "$status" -eq 0 ]
	[[ $output == *"+Epilog=/etc/syscheck/slurm-epilog"* ]]
	[[ $output == *"-MessageTimeout=20"* ]]
	[[ $output == *"first, on each node: syscheck setup --write"* ]]
	[[ $output == *"nothing is changed yet: syscheck setup --write"* ]]
	diff <(state head) "$BASE/before.head"
	on head test ! -e /var/lib/syscheck/setup
}

@test "from the packages to the first verdict: setup --write, restart, a job" {
	local node
	for node in n1 n2 n3; do
		on "$node" syscheck setup --write >/dev/null
	done
	syscheck setup --write >/dev/null
	"$SITE" restart
	: >"$D/log/site/prolog"
	run --separate-stderr srun -p whole -N2 --immediate=60 --syscheck=quick hostname
	[ "$status" -eq 0 ]
	[ "$(sort <<<"$output")" = $'n1\nn2' ]
	# Hosts do not see each other's /run. A quick check has no time for more memory than large caches hold, and says so.
	local first="measured, nothing to compare with yet"
	[[ $stderr != *"caches hold"* ]] || first="not fully checked: memory not measured"
	[[ $stderr =~ syscheck:\ n[12]\ ("measured, nothing to compare with yet"|"$first"),\ and\ 1\ other\ node: ]]
	for node in n1 n2; do
		grep -q "^prolog job [0-9]* $node$" "$D/log/site/prolog"
		on "$node" cat /var/spool/syscheck/records.jsonl | grep '"kind":"check"' | grep -q '"status":"unrated"'
	done
	eventually 20 idle
	[ "$(on head stat -c %U /var/lib/syscheck-submit)" = slurm ]
}

@test "the site's job_submit.lua speaks first, then the policy" {
	local job
	run srun -A nobody true
	[[ $output == *"the site says no"* ]]
	printf 'return { partitions = { ["*"] = { ceiling = "quick" } } }\n' | on head tee /etc/syscheck/policy.lua >/dev/null
	sleep 1.2 # slurmctld compares whole seconds
	on head touch /etc/slurm/job_submit.lua
	run srun --syscheck=full true
	[ "$status" -ne 0 ]
	[[ $output == *quick* ]]
	job=$(sbatch --parsable -p shared -o /dev/null --wrap true)
	[[ $(scontrol show job "$job") == *"Comment=seen by the site"* ]]
	eventually 20 idle
	on head cp "$BASE/policy.lua" /etc/syscheck/policy.lua
}

@test "what is set up is not set up again, and doctor has no errors" {
	local before
	before=$(state head)
	run --separate-stderr syscheck setup --write
	[ "$status" -eq 0 ]
	[[ $output == "nothing to change"* ]]
	[ "$(state head)" = "$before" ]
	run on n2 syscheck setup
	[[ $output == "nothing to change"* ]]
	run --separate-stderr on n1 syscheck doctor
	[[ $output == *" 0 errors,"* ]]
	run --separate-stderr syscheck doctor
	[[ $output == *" 0 errors,"* ]]
	# A script that everybody may change is one behind ours, too.
	on n2 chown 1000 /etc/slurm/site/prolog
	run --separate-stderr on n2 syscheck doctor
	[[ $output == *"error owned by uid 1000 [/etc/slurm/site/prolog]"* ]]
	on n2 chown 0 /etc/slurm/site/prolog
	on n3 rm /etc/syscheck/slurm-prolog
	run --separate-stderr on n3 syscheck doctor
	[[ $output == *"Prolog /etc/syscheck/slurm-prolog: is not there"*"syscheck setup --write on this node"* ]]
	on n3 syscheck setup --write >/dev/null
	on n3 test -x /etc/syscheck/slurm-prolog
}

@test "a prolog of the site's that fails drains its node, as without us; ours that is away does not" {
	on n3 cp -a /etc/slurm/site/prolog /etc/slurm/site/kept
	printf '#!/bin/bash\nexit 3\n' | on n3 tee /etc/slurm/site/prolog >/dev/null
	sbatch -p shared -w n3 -o /dev/null --wrap true
	drained() {
		[[ $(sinfo -h -n n3 -p shared -o %T) == drain* ]]
	}
	eventually 30 drained
	on n3 mv /etc/slurm/site/kept /etc/slurm/site/prolog
	scancel -u root
	scontrol update nodename=n3 state=resume
	eventually 20 idle
	on n3 mv /usr/libexec/syscheck /usr/libexec/away
	srun -p shared -w n3 --immediate=30 true
	eventually 20 idle
	on n3 mv /usr/libexec/away /usr/libexec/syscheck
}

@test "--undo: nodes keep what their slurmd may run until it is restarted; then all is as it was, and jobs run" {
	local node
	for node in n1 n2 n3; do
		run --separate-stderr on "$node" syscheck setup --undo
		[ "$status" -eq 1 ]
		[[ $stderr == *"slurm-prolog: kept, as the slurmd here was started with it"* ]]
		on "$node" test -x /etc/syscheck/slurm-prolog
	done
	srun -p shared -w n1 --immediate=30 true
	syscheck setup --undo >/dev/null
	"$SITE" restart
	for node in n1 n2 n3; do
		on "$node" syscheck setup --undo >/dev/null
	done
	for node in "${HOSTS[@]}"; do
		diff <(state "$node") "$BASE/before.$node"
		on "$node" test ! -e /var/lib/syscheck/setup
	done
	[ "$(on head stat -c %U /var/lib/syscheck-submit)" = root ]
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
	printf 'ClusterName=x\nSlurmctldHost=head\nNodeName=head\nPartitionName=p Nodes=head\nProllog=/x\n' >"$BASE/bad.conf"
	run --separate-stderr syscheck setup --write --conf "$BASE/bad.conf"
	[ "$status" -eq 1 ]
	[[ $stderr == *"$BASE/bad.conf: Slurm refuses it: Parsing error at unrecognized key: Prollog"* ]]
	# What --write would refuse the preview says.
	on head chmod 777 /etc/slurm
	run --separate-stderr syscheck setup
	[ "$status" -eq 1 ]
	[[ $stderr == *"/etc/slurm: writable by everybody"* ]]
	[[ $output != *"nothing is changed yet"* ]]
	on head chmod 755 /etc/slurm
	run --separate-stderr on head setpriv --reuid=nobody --clear-groups syscheck setup --write
	[ "$status" -eq 1 ]
	[[ $stderr == *"only root can"* ]]
	run syscheck setup --write --undo
	[ "$status" -eq 2 ]
}
