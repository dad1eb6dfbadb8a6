#!/usr/bin/env bats
# What a site has looked at: its own programs in checks.d, and what its policy names. Found twice it drains, as kernels
# do; trouble of theirs never does, and holds no job beyond the deadline.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load helpers
load eventually

setup() {
	agent_reset
	C=$P/etc/syscheck/checks.d
	rm -rf "$C"
	mkdir -p "$C"
	policy 'mode = "enforce"'
}

teardown() {
	[ -z "${SERVER:-}" ] || kill "$SERVER" 2>/dev/null || true
	umount -l "$BATS_TEST_TMPDIR/d" 2>/dev/null || true
	agent_keep
}

# check NAME SCRIPT: one in checks.d
check() {
	printf '#!/bin/bash\n%s\n' "$2" >"$C/$1"
	chmod 755 "$C/$1"
}

passive_prolog() {
	prolog SPANK_SYSCHECK=passive "$@"
}

@test "own check: good, before a job at level passive: recorded with its numbers, no call to Slurm" {
	check lustre 'echo "{\"ok\":true,\"text\":\"12 targets\",\"targets\":12}"'
	run passive_prolog
	[ "$status" -eq 0 ]
	[ "$(record check 'r.status')" = pass ]
	[ "$(record check 'r.checks[1].name .. r.checks[1].state')" = lustreok ]
	[ "$(record check 'r.checks[1].result.targets')" = 12 ]
	[ ! -e "$P/calls" ]
	[ ! -s "$LOG" ]
	# A user's line is of what is not as it should be.
	grep -q '^line=syscheck: t1 passive pass' "$P/run/4711"
	run grep -q lustre "$P/run/4711"
	[ "$status" -eq 1 ]
}

@test "own check: bad twice drains with its own words; the user is told" {
	check gpus 'echo "{\"ok\":false,\"text\":\"3 of 4 GPUs\"}"; exit 1'
	run passive_prolog
	[ "$status" -eq 1 ]
	[ "$(grep state=drain "$P/calls")" = "update nodename=t1 state=drain reason=syscheck: gpus: 3 of 4 GPUs" ]
	[ "$(record check 'r.action .. #r.checks')" = drain2 ]
	[ "$(record check 'r.checks[2].attempt')" = 2 ]
	[ "$(record check 'r.metrics[#r.metrics].name .. r.metrics[#r.metrics].mode')" = checks:gpusenforce ]
	grep -q '^brief=gpus: 3 of 4 GPUs' "$P/run/4711"
}

@test "own check: bad once is a warning; as the policy says only a warning, off, observed" {
	check gpus "[ -e '$P/var/once' ] && { echo '{\"ok\":true}'; exit; }; touch '$P/var/once'; echo '{\"ok\":false}'; exit 1"
	run passive_prolog
	[ "$status" -eq 0 ]
	[ "$(record check 'r.status')" = warn ]
	[[ "$(record check 'r.metrics[#r.metrics].text')" == "gpus: bad; not confirmed by a second run: gpus: good" ]]
	check gpus 'echo "{\"ok\":false}"; exit 1'
	local rule want
	while IFS='|' read -r rule want; do
		policy "mode = 'enforce', checks = { gpus = { $rule } }"
		run passive_prolog
		[ "$status" -eq 0 ]
		[ "$(record check 'r.status .. r.action')" = "$want" ] || { echo "$rule: $(record check 'r.status .. r.action')"; return 1; }
	done <<-'CASES'
		action = "warn"|warnnone
		action = "off"|unratednone
		mode = "observe"|failobserved
		nodes = "other[1-9]"|unratednone
		levels = "quick"|unratednone
	CASES
	[ ! -e "$P/calls" ]
}

@test "own check: a bad one and a mode of its own: enforced where all else is observed" {
	check gpus 'echo "{\"ok\":false,\"text\":\"none\"}"; exit 1'
	policy 'checks = { gpus = { mode = "enforce" } }'
	run passive_prolog
	[ "$status" -eq 1 ]
	grep -q 'reason=syscheck: gpus: none' "$P/calls"
}

@test "own check: one that hangs, floods, dies, may not be run: unknown, the job starts, one line in the log each" {
	check hangs 'trap "" TERM; sleep 60 & while :; do :; done'
	check floods 'exec yes'
	check dies 'exit 1'
	check two 'echo "{\"ok\":false}"; echo "{\"ok\":false}"; exit 1'
	check open 'echo "{\"ok\":false}"; exit 1'
	chmod 777 "$C/open"
	ln -s /bin/false "$C/link"
	mkdir "$C/dir"
	echo 'echo' >"$C/plain"
	policy 'mode = "enforce", checks = { hangs = { seconds = 0.3 } }'
	local from=$EPOCHREALTIME
	run passive_prolog
	assert_unknown
	[ "$(record check '#r.checks')" = 8 ]
	local name
	for name in hangs floods dies two open link dir plain; do
		[ "$(grep -c "check $name: " "$LOG")" -eq 1 ] || { echo "$name"; cat "$LOG"; return 1; }
	done
	grep -q 'check open: .*writable by group or others' "$LOG"
	# The hanging one's child, too.
	[ "$(record check 'r.duration_s < 5')" = true ]
	echo "from $from"
}

@test "own check: ten that hang end by the deadline of the level, whatever each may take" {
	local i
	for i in 0 1 2 3 4 5 6 7 8 9; do
		check "hangs$i" 'trap "" TERM; while :; do :; done'
	done
	policy 'mode = "enforce", deadline = { passive = 2 }'
	run passive_prolog
	assert_unknown
	[ "$(record check 'r.duration_s < 3.5')" = true ]
	[[ "$(record check 'r.checks[10].reason')" == *"not started, the deadline is too near" ]]
}

@test "own check: nothing a job says reaches it: no variable, no argument, no input" {
	check env 'printf "{\"ok\":true,\"text\":\"%s %s %s\"}\n" "$#" "$(env | sed "s/=.*//" | sort | tr "\n" " ")" "$(cat | wc -c)"'
	run passive_prolog EVIL=1 SPANK_X=y LD_LIBRARY_PATH=/tmp BASH_ENV=/tmp/x
	[ "$(record check 'r.checks[1].result.text')" = "0 LC_ALL PATH PWD SHLVL SYSCHECK_LEVEL SYSCHECK_NODE _  0" ]
}

@test "own check: the health program runs it, records once, drains the idle node, and resumes it when it passes again" {
	check gpus "[ -e '$P/var/well' ] && { echo '{\"ok\":true}'; exit; }; echo '{\"ok\":false,\"text\":\"none\"}'; exit 1"
	policy "mode = 'enforce', lock = '$P/lock', health = { level = 'passive', recheck = 1 }, resume_after = 1"
	health
	[ "$(record check 'r.trigger .. r.status .. r.action')" = healthfaildrain ]
	scontrol "[ \$1 = show ] && echo 'NodeName=t1 Arch=x86_64 State=IDLE+DRAIN Partitions=main    Reason=syscheck: gpus: none [root@2026-11-21T08:00:00]'; exit 0"
	touch "$P/var/well"
	sleep 1.1
	back() {
		health
		grep -qx 'update nodename=t1 state=resume' "$P/calls"
	}
	eventually 20 back
	[ "$(record check 'r.action')" = resume ]
}

@test "policy: file systems, services, processes and links: good ones pass, a bad one drains" {
	local type
	type=$(findmnt -n -o FSTYPE / | tail -n 1)
	policy "mode = 'enforce', filesystems = { { path = '/', type = '$type' } }, files = { { path = '/etc/passwd', owner = 'root' } },
		processes = { { name = 'no-such-daemon', max = 0 } }, links = { 'lo' }"
	run passive_prolog
	[ "$status" -eq 0 ]
	[ "$(record check 'r.status')" = pass ]
	[ "$(record check '#r.metrics >= 4')" = true ]
	policy "mode = 'enforce', filesystems = { { path = '/', type = 'none-such' } }"
	run passive_prolog
	[ "$status" -eq 1 ]
	grep -q "reason=syscheck: /: is of type $type, expected none-such" "$P/calls"
}

@test "policy: a server that is away costs one check its time, drains at the next, and none of it is repeated" {
	[ "$(id -u)" -eq 0 ] && [ -w /dev/fuse ] || skip "no /dev/fuse to mount a file system that hangs"
	local d=$BATS_TEST_TMPDIR/d
	mkdir "$d"
	python3 "$FIXTURES/dead_server.py" "$d" 3>&- &
	SERVER=$!
	eventually 20 grep -qF " $d " /proc/self/mountinfo
	policy "mode = 'enforce', filesystems = { { path = '$d' } }"
	run passive_prolog
	assert_unknown
	[ "$(record check 'r.text')" = "$d: does not answer" ]
	# For some seconds only: a server's hiccup.
	touch -d '2 seconds ago' "$(find "$P" -name 'path-*')"
	run passive_prolog
	assert_unknown
	[[ $(record check 'r.text') == "$d: does not answer, for "* ]]
	touch -d '20 seconds ago' "$(find "$P" -name 'path-*')"
	run passive_prolog
	[ "$status" -eq 1 ]
	grep -q "reason=syscheck: $d: does not answer, for [0-9]* s" "$P/calls"
	[ "$(record check 'r.duration_s < 5')" = true ]
	# One waits there, with its lock.
	[ "$(find /proc/[0-9]*/fd -lname "$P*/path-*" 2>/dev/null | wc -l)" -eq 1 ]
	umount -l "$d"
	kill "$SERVER"
}

@test "config import: a policy that can be used, programs that run, each line accounted for; nothing is evaluated" {
	cat >"$BATS_TEST_TMPDIR/nhc.conf" <<-EOF
		# a comment
		* || export TIMEOUT=15

		* || check_fs_mount_rw -f /
		* || check_fs_free / 0%
		t[1-4] || check_ps_blacklist no-such-daemon
		* || check_cmd_output -t 2 -r 0 -m '/^a "b"/' -m '!/c/' printf 'a "b"\nd\n'
		* || check_cmd_status -t 2 -r 0 test -e $BATS_TEST_TMPDIR/there
		* || check_file_contents /etc/passwd '/^root:/' '!/^nobody-else:/'
		* || check_ps_loadavg \$(touch $BATS_TEST_TMPDIR/evaluated)
		* || check_of_our_own; touch $BATS_TEST_TMPDIR/evaluated
	EOF
	run syscheck_config import "$BATS_TEST_TMPDIR/nhc.conf" --output "$BATS_TEST_TMPDIR/new"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"line 4: check_fs_mount_rw -f / -> filesystems"* ]]
	[[ $output == *"line 10: "*"needs a hand: todo/nhc-10-check_ps_loadavg (a shell's text (\$), which is never run"* ]]
	[[ $output == *"9 lines: 3 in the policy, 3 in checks.d, 2 need a hand, 1 not taken; 2 blank or comments"* ]]
	[ "$(find "$BATS_TEST_TMPDIR/new" -type f -printf '%P %m\n' | sort)" = "$(printf '%s\n' \
		'checks.d/nhc-7-check_cmd_output 755' 'checks.d/nhc-8-check_cmd_status 755' 'checks.d/nhc-9-check_file_contents 755' \
		'policy.lua 644' 'todo/nhc-10-check_ps_loadavg 644' 'todo/nhc-11-check_of_our_own 644' | sort)" ]
	shellcheck -S warning "$BATS_TEST_TMPDIR"/new/checks.d/* "$BATS_TEST_TMPDIR"/new/todo/*
	# Again: what is there stays.
	run syscheck_config import "$BATS_TEST_TMPDIR/nhc.conf" --output "$BATS_TEST_TMPDIR/new"
	[ "$status" -eq 1 ]
	[[ $output == *"is there already"* ]]
	run syscheck_config import "$BATS_TEST_TMPDIR/nhc.conf"
	[ "$status" -eq 0 ]
	[[ $output == *"-- line 4: check_fs_mount_rw"* ]]
	# As it is, on a node.
	cp "$BATS_TEST_TMPDIR"/new/checks.d/* "$C/"
	cp "$BATS_TEST_TMPDIR/new/policy.lua" "$P/etc/syscheck/policy.lua"
	touch "$BATS_TEST_TMPDIR/there"
	run passive_prolog
	[ "$status" -eq 0 ]
	[ "$(record check 'r.status .. #r.checks')" = pass3 ] || { record check 'r.text'; return 1; }
	rm "$BATS_TEST_TMPDIR/there"
	run passive_prolog
	[ "$(record check 'r.status .. r.action')" = failobserved ]
	[ "$(record check 'r.reason')" = "nhc-8-check_cmd_status: test: exit status 1, expected 0" ]
	[ ! -e "$BATS_TEST_TMPDIR/evaluated" ]
	run syscheck_config import /nonexistent
	[ "$status" -eq 1 ]
	run syscheck_config import /dev/null
	[ "$status" -eq 1 ]
}

@test "policy: what is wrong in it is named by its line, and config show has each item" {
	policy 'filesystems = { { path = "scratch" }, { type = "nfs" } },
		services = { "a b" },
		checks = { x = { level = "quick" } }, pcie = { { kind = "tpu" } }, links = "eth0"'
	run syscheck_config check
	[ "$status" -ne 0 ]
	[[ $output == *'policy.lua:2: filesystems.1.path must be an absolute path'* ]]
	[[ $output == *'policy.lua:2: filesystems.2 has no path'* ]]
	[[ $output == *'policy.lua:3: services.1.name must be a name of at most 63 '* ]]
	[[ $output == *'policy.lua:4: unknown key checks.x.level, did you mean "levels"?'* ]]
	[[ $output == *'policy.lua:4: pcie.1.kind must be one of "gpu"'* ]]
	[[ $output == *'policy.lua:4: links must be a list of at most 64 tables'* ]]
	policy 'processes = { { name = "x", min = 3, max = 2 } }'
	run syscheck_config check
	[[ $output == *'policy.lua:2: processes.1: min 3 is above max 2: no value is within'* ]]
	policy 'filesystems = { { path = "/scratch", type = { "nfs", "nfs4" }, mount = false } }, services = { "sshd" },
		checks = { gone = {} }, links = { "eth0", { name = "ib0", rate = 200 } }'
	run syscheck_config show
	[[ $output == *"filesystems.1.path "*"/scratch"*"policy.lua:2"* ]]
	[[ $output == *"filesystems.1.type "*"nfs, nfs4"* ]]
	[[ $output == *"services "*sshd* ]]
	[[ $output =~ filesystems.1.mount\ +false\ +policy.lua:2 ]]
	[[ $output =~ links.1\ +eth0\ .*links.2.name\ +ib0\ .*links.2.rate\ +200\  ]]
	run syscheck_config check
	[[ $output == *"gone is not in $C on this host"* ]]
}

syscheck_config() {
	"$P/bin/syscheck" config "$@" 2>&1
}
