#!/usr/bin/env bats
# What file systems, processes and the clock are in (lua/native/). One that hangs holds one process, and nobody up.
# shellcheck disable=SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load eventually

ROOT=$(cd "$BATS_TEST_DIRNAME/.." && pwd)

# As it is called by the agent, from a process of its own.
state() {
	lua5.4 "$ROOT/tests/fixtures/state.lua" "$@"
}

setup() {
	D=$BATS_TEST_TMPDIR/d
	mkdir "$D" "$BATS_TEST_TMPDIR/locks"
}

teardown() {
	[ -z "${SERVER:-}" ] || kill "$SERVER" 2>/dev/null || true
	umount -l "$D" 2>/dev/null || true
}

# get EXPRESSION: of r, the object in $output
get() {
	lua5.4 /dev/fd/3 "$output" "$1" 3<<-'LUA'
	print(load("local r = ... return " .. arg[2])(require("cjson").decode(arg[1])))
	LUA
}

# dead_server: a file system of FUSE at $D whose server answers nothing, until it ends
dead_server() {
	[ "$(id -u)" -eq 0 ] && [ -w /dev/fuse ] || skip "no /dev/fuse to mount a file system that hangs"
	python3 "$ROOT/tests/fixtures/dead_server.py" "$D" 3>&- &
	SERVER=$!
	eventually 20 grep -qF " $D " /proc/self/mountinfo
}

@test "state: one object; a path, a directory that is written to, what is absent, its file system" {
	run --separate-stderr state --path / --write "$D" --path /nowhere/x --clock
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	[ "${#lines[@]}" -eq 1 ]
	[ "$(get 'r.synchronised ~= nil and r.max_error_ms >= 0')" = true ]
	[ "$(get 'r.paths[1].path .. r.paths[1].state .. r.paths[1].kind .. r.paths[1].type')" \
		= "/answereddirectory$(findmnt -n -o FSTYPE / | tail -n 1)" ]
	[ "$(get 'r.paths[1].free_pct >= 0 and r.paths[1].free_pct <= 100')" = true ]
	[ "$(get 'r.paths[2].writable')" = true ]
	[ "$(get 'r.paths[2].type')" = nil ]
	[ "$(get 'r.paths[3].absent')" = true ]
	[ -z "$(ls -A "$D")" ]
}

@test "state: read-only, full: not writable, and why" {
	[ "$(id -u)" -eq 0 ] || skip "only root mounts"
	mount -t tmpfs -o size=64k,nr_inodes=10 tmpfs "$D"
	run state --write "$D"
	[ "$(get 'r.paths[1].writable')" = true ]
	dd if=/dev/zero of="$D/all" bs=4k count=20 2>/dev/null || true
	run state --write "$D"
	[ "$(get 'r.paths[1].writable')" = false ]
	[ "$(get 'r.paths[1].write_error')" = "No space left on device" ]
	[ "$(get 'r.paths[1].free_pct == 0')" = true ]
	mount -o remount,ro "$D"
	run state --write "$D"
	[ "$(get 'tostring(r.paths[1].writable) .. tostring(r.paths[1].read_only)')" = falsetrue ]
	[ "$(get 'r.paths[1].type')" = tmpfs ]
}

@test "state: processes by name and user, those of a user outside of jobs" {
	cp "$(command -v sleep)" "$BATS_TEST_TMPDIR/my-own-long-daemon-name"
	chmod 755 "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/my-own-long-daemon-name"
	"$BATS_TEST_TMPDIR/my-own-long-daemon-name" 60 3>&- &
	SERVER=$!
	eventually 20 grep -q my-own-long-da "/proc/$SERVER/comm"
	run state --process my-own-long-daemon-name --process my-own-long-daemon-x --process "no such"
	[ "$(get '#r.processes')" = 1 ]
	[ "$(get 'string.format("%s %d %d %d", r.processes[1].name, r.processes[1].uid, r.processes[1].count, r.processes[1].pid)')" \
		= "my-own-long-daemon-name $(id -u) 1 $SERVER" ]
	[ "$(id -u)" -eq 0 ] || return 0
	kill "$SERVER"
	# A script, whose first word is its interpreter's.
	# shellcheck disable=SC2016 # its own
	printf '#!/bin/bash\nread -r <"$1"\n' >"$BATS_TEST_TMPDIR/my-own-long-script-name"
	chmod 755 "$BATS_TEST_TMPDIR/my-own-long-script-name"
	mkfifo "$BATS_TEST_TMPDIR/fifo"
	"$BATS_TEST_TMPDIR/my-own-long-script-name" "$BATS_TEST_TMPDIR/fifo" 3>&- &
	SERVER=$!
	eventually 20 grep -q my-own-long-scr "/proc/$SERVER/comm"
	run state --process my-own-long-script-name --process my-own-long-script-x
	[ "$(get '#r.processes .. r.processes[1].name .. string.format("%d", r.processes[1].pid)')" = "1my-own-long-script-name$SERVER" ]
	kill "$SERVER"
	setpriv --reuid 54321 --clear-groups "$BATS_TEST_TMPDIR/my-own-long-daemon-name" 60 3>&- &
	SERVER=$!
	eventually 20 grep -q my-own-long-da "/proc/$SERVER/comm" # setpriv has become it
	run state --users 54321
	[ "$(get 'string.format("%s %d %d %d", r.users[1].comm, r.users[1].uid, r.users[1].count, r.users[1].pid)')" \
		= "my-own-long-dae 54321 1 $SERVER" ]
	run state --users 54322
	[ "$(get '#r.users')" = 0 ]
}

@test "state: a server that is away costs its time once; one process waits there, and ends when it is back" {
	dead_server
	run state --path "$D" --path / --seconds 0.3 --locks "$BATS_TEST_TMPDIR/locks"
	[ "$status" -eq 0 ]
	[ "$(get 'r.paths[1].state .. " " .. r.paths[2].state')" = "hangs answered" ]
	[ "$(get 'r.seconds >= 0.3')" = true ]
	local lock
	lock=$(echo "$BATS_TEST_TMPDIR"/locks/path-*d)
	run flock -n "$lock" true
	[ "$status" -ne 0 ]
	[ "$(pgrep -cx syscheck-path)" -ge 1 ]
	for _ in 1 2 3; do
		run state --path "$D" --path / --seconds 0.3 --locks "$BATS_TEST_TMPDIR/locks"
		[ "$(get 'r.paths[1].state .. " " .. r.paths[2].state')" = "hung before answered" ]
		[ "$(get 'r.paths[1].hung_s >= 0.3 and r.seconds < 0.3')" = true ]
	done
	[ "$(pgrep -cf -- "--path $D --path / --seconds 0.3")" -eq 1 ]
	kill "$SERVER"
	eventually 20 flock -n "$lock" true
	run state --path "$D" --locks "$BATS_TEST_TMPDIR/locks"
	[ "$(get 'r.paths[1].state .. " " .. r.paths[1].error')" = "answered Transport endpoint is not connected" ]
}

@test "state: a server that is away, looked at twice in one call or by two that overlap, has not hung before" {
	dead_server
	mkdir "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b"
	run state --path "$D" --path "$D" --path "$D" --seconds 0.3 --locks "$BATS_TEST_TMPDIR/a"
	[ "$(get 'r.paths[1].state .. r.paths[2].state .. r.paths[3].state')" = hangshangshangs ]
	state --path "$D" --seconds 0.6 --locks "$BATS_TEST_TMPDIR/b" 3>&- >/dev/null &
	local first=$!
	eventually 20 compgen -G "$BATS_TEST_TMPDIR/b/path-*"
	run state --path "$D" --seconds 0.6 --locks "$BATS_TEST_TMPDIR/b"
	[ "$(get 'r.paths[1].state')" = hangs ]
	wait "$first"
}

@test "state: what hangs holds nothing of who looked: no lock, no pipe, no signal's handler" {
	dead_server
	exec 9>"$BATS_TEST_TMPDIR/own"
	flock -n 9
	# The pipe of run ends, too.
	run state --path "$D" --seconds 0.3 --locks "$BATS_TEST_TMPDIR/locks"
	[ "$(get 'r.paths[1].state')" = hangs ]
	exec 9>&-
	flock -n "$BATS_TEST_TMPDIR/own" true
	local pid
	pid=$(pgrep -f -- "--path $D --seconds 0.3")
	[ "$(find "/proc/$pid/fd" -lname /dev/null | wc -l)" -eq 3 ]
	grep -Eq '^SigCgt:.0+$' "/proc/$pid/status"
	[ "$(ps -o sid= -p "$pid" | tr -d ' ')" = "$pid" ]
}

@test "state: without locks what hangs is ended" {
	dead_server
	run state --path "$D" --seconds 0.3
	[ "$(get 'r.paths[1].state')" = hangs ]
	none_waits() {
		! pgrep -f -- "--path $D --seconds 0.3"
	}
	eventually 20 none_waits
}

@test "state: checks that look at the same moment wait for each other and report nothing wrong" {
	local i pids=()
	for i in 1 2 3 4 5 6 7 8; do
		state --path / --seconds 2 --locks "$BATS_TEST_TMPDIR/locks" >"$BATS_TEST_TMPDIR/$i" 3>&- &
		pids+=($!)
	done
	wait "${pids[@]}"
	[ "$(grep -l '"state":"answered"' "$BATS_TEST_TMPDIR"/[1-8] | wc -l)" -eq 8 ]
}

@test "state: a wrong argument is an error of one line; a lock that is a link is not followed" {
	local args
	for args in "--seconds 0" "--seconds x" "--seconds 601" "--path x" "--process=" "--users 0" "--users x"; do
		read -ra list <<<"${args/=/ }"
		[[ $args != *= ]] || list+=("")
		run --separate-stderr state "${list[@]}"
		[ "$status" -eq 2 ] || { echo "$args: $status"; return 1; }
		[ -z "$output" ]
		[ "${#stderr_lines[@]}" -eq 1 ] || { echo "$stderr"; return 1; }
		[[ $stderr == state:* ]]
	done
	list=()
	for ((i = 0; i < 129; i++)); do list+=(--path /); done
	run state "${list[@]}"
	[ "$output" = "state: more than 128 paths" ]
	run state "${list[@]:2}"
	[ "$(get '#r.paths == 128 and r.paths[128].state')" = answered ]
	ln -s "$BATS_TEST_TMPDIR/elsewhere" "$BATS_TEST_TMPDIR/locks/path-%2f"
	run state --path / --locks "$BATS_TEST_TMPDIR/locks"
	[ "$(get 'r.paths[1].state .. ": " .. r.paths[1].error')" = "failed: Too many levels of symbolic links" ]
	[ ! -e "$BATS_TEST_TMPDIR/elsewhere" ]
	# Our own trouble with a lock is none of the path's.
	run state --path / --locks "$BATS_TEST_TMPDIR/none"
	[ "$(get 'r.paths[1].state .. tostring(r.paths[1].absent)')" = failednil ]
}
