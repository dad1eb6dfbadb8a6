#!/usr/bin/env bats
# alone: it measures
# The kernel io, alone and through the agent: directories that are bad, full,
# others', frozen; kills at any moment. Never a speed.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load helpers
load kernels

IO=$ROOT/build/kernels/io

setup() {
	D=$BATS_TEST_TMPDIR/d
	mkdir "$D"
	FROZEN=
}

# Whatever a test did: nothing stays frozen or mounted.
teardown() {
	[ -z "$FROZEN" ] || thaw
	local m
	while read -r m; do
		umount "$m"
	done < <(awk -v top="$BATS_TEST_TMPDIR/" 'index($5, top) == 1 { print $5 }' /proc/self/mountinfo)
}

could_not() {
	quiet_failure io || return 1
	[[ $stderr == "io: "*"$1"* ]] || { echo "stderr: $stderr"; return 1; }
}

empty() {
	[ -z "$(ls -A "$1")" ] || { ls -la "$1"; return 1; }
}

# mounted TYPE OPTIONS: a file system in $D, or a skip
mounted() {
	[ "$(id -u)" = 0 ] || skip "a mount needs root"
	mount -t "$1" -o "$2" none "$D" || skip "$1 cannot be mounted here"
}

# A small ext4 in $D that can be frozen.
ext4() {
	[ "$(id -u)" = 0 ] || skip "a mount needs root"
	command -v mkfs.ext4 fsfreeze >/dev/null || skip "mkfs.ext4 or fsfreeze is missing"
	truncate -s 300M "$BATS_TEST_TMPDIR/image"
	mkfs.ext4 -q -F -m 0 -E root_owner "$BATS_TEST_TMPDIR/image"
	mount -o loop "$BATS_TEST_TMPDIR/image" "$D" || skip "no loop devices here"
	rmdir "$D/lost+found"
}

freeze() {
	FROZEN=1
	fsfreeze -f "$D"
}

thaw() {
	fsfreeze -u "$D"
	FROZEN=
}

# until_free FILE: waits until nobody holds the lock any more, the janitors too
until_free() {
	timeout 20 flock "$1" true
}

# until_there FILE: looks often, as SLOW_UNLINK sleeps for half a second only
until_there() {
	timeout 10 bash -c 'until [ -e "$1" ]; do sleep 0.02; done' - "$1"
}

# shim: the libc of io_shim.c, in $SHIM
shim() {
	gcc -shared -fPIC -O1 -o "$BATS_TEST_TMPDIR/shim.so" "$ROOT/tests/fixtures/io_shim.c" -ldl
	SHIM=LD_PRELOAD=$BATS_TEST_TMPDIR/shim.so
}

@test "io: measures, verifies, prints one object, leaves nothing" {
	run --separate-stderr "$IO" --dir "$D" --seconds 0.5
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	[ "$(get 'r.kernel .. r.dir')" = "io$D" ]
	[ "$(get 'r.verified and r.v == 1 and r.threads == 1')" = true ]
	[ "$(get 'r.write_gbs > 0 and r.read_gbs > 0 and r.bytes > 0 and r.read_bytes <= r.bytes')" = true ]
	[ "$(get 'r.fsync_us <= r.fsync_p99_us and r.fsync_p99_us <= r.fsync_max_us and r.fsyncs > 0')" = true ]
	[ "$(get 'r.creates_per_s > 0 and r.stats_per_s > 0 and r.unlinks_per_s > 0 and r.files > 0')" = true ]
	[ "$(get r.filesystem)" = "$(findmnt -n -o FSTYPE --target "$D" | tail -n 1)" ]
	empty "$D"
}

@test "io: --max-mb and 1 % of the free space are kept" {
	run --separate-stderr "$IO" --dir "$D" --seconds 0.3 --max-mb 1
	[ "$(get 'r.bytes > 0 and r.bytes <= 1e6')" = true ]
	mounted tmpfs size=60m
	run --separate-stderr "$IO" --dir "$D" --seconds 0.3
	[ "$(get 'r.bytes > 0 and r.bytes <= 0.6 * 1024 * 1024')" = true ]
	[ "$(get 'r.filesystem .. tostring(r.direct)')" = tmpfsfalse ]
}

@test "io: a file system that refuses O_DIRECT is measured through the page cache" {
	shim
	run --separate-stderr env "$SHIM" ODD_ALIGNMENT=1 "$IO" --dir "$D" --seconds 0.3 --max-mb 40
	[ "$status" -eq 0 ]
	[ "$(get r.direct)" = false ]
}

@test "io: no O_TMPFILE: a name for a moment" {
	shim
	run --separate-stderr env "$SHIM" NO_TMPFILE=1 "$IO" --dir "$D" --seconds 0.3
	[ "$status" -eq 0 ]
	[ "$(get r.verified)" = true ]
	empty "$D"
}

@test "io: every fsync is of a file with a name; on ZFS and btrfs every write is" {
	shim
	local fs log=$BATS_TEST_TMPDIR/log
	for fs in 0 2fc12fc1 9123683e; do
		rm -f "$log"
		run --separate-stderr env "$SHIM" SYNC_LOG="$log" FS_MAGIC=$fs "$IO" --dir "$D" --seconds 0.4 --max-mb 4
		[ "$status" -eq 0 ]
		[ "$(awk 'NR > 1 && $2 != 1' "$log" | wc -l)" = 0 ]
		[ "$(get '("%d"):format(r.fsyncs + 2)')" = "$(wc -l <"$log")" ]
		# The first is the end of writing.
		[ "$(head -n 1 "$log" | cut -d' ' -f2)" = "$([ "$fs" = 0 ] && echo 0 || echo 1)" ] || { head "$log"; return 1; }
		empty "$D"
	done
}

@test "io: ZFS that says nothing of O_DIRECT ignores it" {
	shim
	run --separate-stderr env "$SHIM" FS_MAGIC=2fc12fc1 NO_DIOALIGN=1 "$IO" --dir "$D" --seconds 0.3 --max-mb 4
	[ "$status" -eq 0 ]
	[ "$(get r.direct)" = false ]
	run --separate-stderr env "$SHIM" NO_DIOALIGN=1 "$IO" --dir "$D" --seconds 0.3 --max-mb 4
	local without
	without=$(get r.direct)
	run --separate-stderr "$IO" --dir "$D" --seconds 0.3 --max-mb 4
	[ "$(get r.direct)" = "$without" ]
}

@test "io: a file that somebody links while it has a name: exit 2, and he has nothing of it" {
	shim
	# Without O_TMPFILE the first name is the data file's; after it, and with it, that of the appends.
	local more
	for more in "NO_TMPFILE=1 LINK_FROM=1" "NO_TMPFILE=1 LINK_FROM=2" "LINK_FROM=1" "FS_MAGIC=9123683e LINK_FROM=1"; do
		# shellcheck disable=SC2086
		run --separate-stderr env "$SHIM" $more "$IO" --dir "$D" --seconds 0.3 --max-mb 4
		could_not "somebody linked the file meanwhile" || { echo "$more"; return 1; }
		[ "$(ls -A "$D")" = stolen ]
		[ "$(stat -c %s "$D/stolen")" = 0 ]
		rm "$D/stolen"
	done
	# NFS itself hides an open file under another name.
	run --separate-stderr env "$SHIM" NO_TMPFILE=1 LINK_FROM=1 FS_MAGIC=6969 "$IO" --dir "$D" --seconds 0.3 --max-mb 4
	[ "$status" -eq 0 ]
}

@test "io: one wrong byte is exit 1 and named" {
	shim
	local at
	for at in 0 7 4097 1048575 1048583; do
		run --separate-stderr env "$SHIM" WRONG_BYTE=$at "$IO" --dir "$D" --seconds 1 --max-mb 20
		[ "$status" -eq 1 ]
		[ "$(get r.verified)" = false ]
		[[ "$(get r.error)" == "$D: byte $at of "* ]] || { get r.error; return 1; }
		empty "$D"
	done
}

@test "io: bad options are one line, exit 2" {
	local bad words
	for bad in "" "--dir" "--dir= " "--max-mb 0 --dir $D" "--max-mb -1 --dir $D" "--max-mb much --dir $D" \
		"--max-mb 2e6 --dir $D" "--seconds 0 --dir $D" "--dir $D --bogus" "$D"; do
		read -r -a words <<<"$bad"
		run --separate-stderr "$IO" "${words[@]}"
		could_not "" || { echo "$bad"; return 1; }
	done
	empty "$D"
}

@test "io: no directory, a file, a link, a link on the way, a dangling link: refused by name" {
	touch "$BATS_TEST_TMPDIR/file"
	ln -s "$D" "$BATS_TEST_TMPDIR/link"
	ln -s nowhere "$BATS_TEST_TMPDIR/dangling"
	mkdir "$D/below"
	local name why
	while IFS='|' read -r name why; do
		run --separate-stderr "$IO" --seconds 0.2 --dir "$BATS_TEST_TMPDIR/$name"
		could_not "$name: $why" || { echo "$name"; return 1; }
	done <<-'CASES'
		missing|No such file
		file|Not a directory
		link|it is or leads over a link
		link/|it is or leads over a link
		link/below|it is or leads over a link
		dangling|it is or leads over a link
	CASES
	run --separate-stderr "$IO" --seconds 0.2 --dir "$(printf '/%0300d' 1)"
	could_not "name too long"
	run --separate-stderr "$IO" --seconds 0.2 --dir $'/a\nb\e[2J'
	could_not "/a?b?[2J: No such file"
	empty "$D/below"
}

@test "io: full, read-only, out of inodes, no place for files" {
	mounted tmpfs size=40m
	head -c 40m /dev/zero >"$D/filler" || true
	run --separate-stderr "$IO" --dir "$D"
	could_not "too little room: "
	umount "$D"
	mounted tmpfs ro
	run --separate-stderr "$IO" --dir "$D"
	could_not "Read-only file system"
	umount "$D"
	mounted tmpfs nr_inodes=1
	run --separate-stderr "$IO" --dir "$D"
	could_not "No space left on device"
	run --separate-stderr "$IO" --dir /proc
	could_not "/proc: no file can be made"
}

@test "io: quota reached while writing, a limit on file sizes: exit 2, nothing left" {
	shim
	run --separate-stderr env "$SHIM" QUOTA_FROM=3145728 "$IO" --dir "$D" --seconds 0.5
	could_not "write: Disk quota exceeded"
	run --separate-stderr env "$SHIM" NO_TMPFILE=1 QUOTA_FROM=0 "$IO" --dir "$D" --seconds 0.5
	could_not "write: Disk quota exceeded"
	run --separate-stderr bash -c "ulimit -f 2048; exec '$IO' --dir '$D' --seconds 0.5"
	could_not "write: File too large"
	empty "$D"
}

@test "io: a normal user measures where he may write, and nowhere else" {
	[ "$(id -u)" = 0 ] || skip "not root"
	local dir
	dir=$(mktemp -d /tmp/io.XXXXXX)
	cp "$IO" "$dir/io"
	mkdir "$dir/his" "$dir/sticky"
	chown 65534:65534 "$dir/his"
	chmod 755 "$dir"
	chmod 1777 "$dir/sticky"
	for where in his sticky; do
		run --separate-stderr setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/io" --dir "$dir/$where" --seconds 0.3
		[ "$status" -eq 0 ]
		run --separate-stderr "$dir/io" --dir "$dir/$where" --seconds 0.3
		[ "$status" -eq 0 ]
		empty "$dir/$where"
	done
	run --separate-stderr setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/io" --dir "$dir" --seconds 0.3
	rm -r "$dir"
	could_not "Permission denied"
}

@test "io: stdout closed or full is exit 2; stdin and stderr closed do not matter" {
	run --separate-stderr bash -c "exec '$IO' --dir '$D' --seconds 0.2 >&-"
	could_not "stdout is closed"
	run --separate-stderr bash -c "exec '$IO' --dir '$D' --seconds 0.2 >/dev/full"
	could_not "cannot be written"
	run --separate-stderr bash -c "exec '$IO' --dir '$D' --seconds 0.2 <&- 2>&-"
	[ "$status" -eq 0 ]
	[ "$(get r.verified)" = true ]
	empty "$D"
}

@test "io: 120 kills at random moments leave no name, with and without O_TMPFILE" {
	shim
	local i pid signal mode=(NO_TMPFILE=1 TMPFILE=1)
	for ((i = 0; i < 120; i++)); do
		signal=KILL
		((i % 4)) || signal=TERM
		# The lock is held by whatever the kernel leaves behind.
		env "$SHIM" "${mode[i % 2]}" flock --no-fork "$BATS_TEST_TMPDIR/lock" \
			"$IO" --dir "$D" --seconds 0.4 --max-mb 1 >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
		pid=$!
		sleep "0.$(printf %03d $((RANDOM % 200)))"
		kill -"$signal" "$pid" 2>/dev/null || true
		wait "$pid" || true
		until_free "$BATS_TEST_TMPDIR/lock"
		empty "$D" || { echo "after kill $i"; return 1; }
	done
}

@test "io: the janitor holds no pipe of the agent's, and does its work after a kill of the group" {
	shim
	local pid janitor reader out=$BATS_TEST_TMPDIR/out asleep=$BATS_TEST_TMPDIR/asleep
	mkfifo "$BATS_TEST_TMPDIR/pipe"
	timeout 20 cat "$BATS_TEST_TMPDIR/pipe" >"$out" &
	reader=$!
	# Each unlink takes half a second: on fast storage a whole run may not.
	setsid env "$SHIM" SLOW_UNLINK="$asleep" flock --no-fork "$BATS_TEST_TMPDIR/lock" \
		"$IO" --dir "$D" --seconds 30 --max-mb 1 >"$BATS_TEST_TMPDIR/pipe" 2>&1 3>&- &
	pid=$!
	until_there "$asleep"
	janitor=$(pgrep -P "$pid")
	kill -STOP "$janitor"
	kill -KILL -- "-$pid"
	wait "$reader" # ends though the janitor cannot
	grep -q '^State:.*stopped' "/proc/$janitor/status" # and not dead with the group
	[ -n "$(ls -A "$D")" ]
	kill -CONT "$janitor"
	until_free "$BATS_TEST_TMPDIR/lock"
	empty "$D"
}

@test "io: a file system that writes 4 MB a second behind its cache keeps to the time box" {
	cat >"$BATS_TEST_TMPDIR/behind.c" <<-'C'
	#define _GNU_SOURCE
	#include <dlfcn.h>
	#include <fcntl.h>
	#include <sys/types.h>
	#include <unistd.h>
	static size_t waiting;
	ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
	{
		waiting += n;
		return ((ssize_t (*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64"))(fd, p, n, at);
	}
	ssize_t pwrite(int fd, const void *p, size_t n, off_t at) { return pwrite64(fd, p, n, at); }
	int fdatasync(int fd) { (void)fd; usleep(waiting / 4); waiting = 0; return 0; }
	C
	gcc -shared -fPIC -o "$BATS_TEST_TMPDIR/behind.so" "$BATS_TEST_TMPDIR/behind.c" -ldl
	local dir
	dir=$(mktemp -d /dev/shm/syscheck-test.XXXXXX) || skip "no file system in memory"
	run --separate-stderr env LD_PRELOAD="$BATS_TEST_TMPDIR/behind.so" "$IO" --dir "$dir" --seconds 2
	empty "$dir"
	rmdir "$dir"
	[ "$status" -eq 0 ] || { echo "$stderr"; return 1; }
	[ "$(get 'r.verified and not r.direct and r.seconds < 3 and r.write_gbs < 0.005')" = true ] || { echo "$output"; return 1; }
}

# ---- through the agent

io_policy() {
	policy "io_paths = { $1 }, kernels = { stream = { full = 0.1 }, dgemm = { full = 0.1 }, noise = { full = 0.1 }, numa = { full = 0 }, scaling = { full = 0 }, io = { full = 0.3 } }, ${2:-}"
}

# io_state: path and state of the last record's io runs
io_state() {
	record check '(function() local t = {} for _, x in ipairs(r.runs) do if x.path then t[#t + 1] = x.path:match("[^/]*$") .. "=" .. x.state end end return table.concat(t, " ") end)()'
}

@test "agent: each path is measured at level full only, recorded, shown; nothing is rated" {
	agent_reset
	mkdir "$D/b"
	io_policy "'$D', '$D/b'"
	run prolog SPANK_SYSCHECK=quick
	[ "$(record check '#r.runs')" = 3 ]
	run prolog SPANK_SYSCHECK=full
	[ "$status" -eq 0 ]
	[ "$(io_state)" = "d=ok b=ok" ]
	[ "$(record check 'r.runs[5].kernel .. " " .. tostring(r.runs[5].result.write_gbs > 0)')" = "io true" ]
	run "$P/bin/syscheck" run --level full
	[ "$status" -eq 0 ]
	[ "$(grep -c 'GB/s w/r.*unrated' <<<"$output")" = 2 ]
	empty "$D/b"
}

@test "agent: a bad directory is unknown, logged, and no reason to drain; wrong data warns" {
	agent_reset
	io_policy "'$D', '$D/missing'" 'mode = "enforce", limits = { triad_gbs = { min = 80 } }'
	run prolog SPANK_SYSCHECK=full
	assert_unknown
	[ "$(io_state)" = "d=ok missing=unknown" ]
	grep -qF "io: $D/missing: No such file or directory" "$LOG"
	grep -q "line=.*full unknown .*io .*n/a" "$P/run/4711"
	cp "$P/libexec/syscheck/io" "$P/io.keep"
	kernel io "echo '{\"kernel\":\"io\",\"verified\":false,\"error\":\"$D: byte 5 of 9 read back is wrong: 0x01\"}'; exit 1"
	run prolog SPANK_SYSCHECK=full
	[ "$status" -eq 0 ]
	[ "$(record check 'r.status .. r.action')" = warnnone ]
	grep -qF "WRONG DATA: $D: byte 5" "$LOG"
	kernel io "$(says io '"write_gbs":1,"read_gbs":"fast"')"
	run prolog SPANK_SYSCHECK=full
	mv "$P/io.keep" "$P/libexec/syscheck/io"
	assert_unknown
	[ ! -e "$P/calls" ]
}

@test "agent: a failing node fails with a bad directory, too" {
	agent_reset
	kernel stream "$(says stream '"triad_gbs":61.3')"
	io_policy "'$D/missing'" 'mode = "enforce", limits = { triad_gbs = { min = 80 } }'
	run prolog SPANK_SYSCHECK=full
	[ "$status" -eq 1 ]
	[ "$(record check 'r.status')" = fail ]
}

@test "agent: a frozen directory costs its time box, is unknown, and holds one process however many jobs look" {
	ext4
	agent_reset
	io_policy "'$D', '$BATS_TEST_TMPDIR'" 'mode = "enforce", limits = { triad_gbs = { min = 80 } }'
	freeze
	local n
	for n in 1 2 3; do
		run prolog SPANK_SYSCHECK=full SLURM_JOB_ID="$n"
		assert_unknown
		run epilog SLURM_JOB_ID="$n"
		[ "$(io_state)" = "d=unknown $(basename "$BATS_TEST_TMPDIR")=ok" ]
		[ "$(pgrep -cf "^$P/libexec/syscheck/io --seconds 0.3 --dir $D\$")" -le 2 ] # the kernel and its janitor
		if [ "$n" = 1 ]; then
			[[ "$(record check 'r.runs[4].reason')" == "io: $D: hangs in the kernel, left behind"* ]]
		else
			[[ "$(record check 'r.runs[4].reason')" == "io: $D: an earlier check still hangs there"* ]]
		fi
	done
	run "$P/bin/syscheck" run --level full
	[ "$status" -eq 3 ]
	[[ $output == *"an earlier check still hangs there, not started"* ]]
	thaw
	until_free "$P/run/io-${D//\//%2f}" || { ls "$P/run"; return 1; }
	empty "$D"
	run prolog SPANK_SYSCHECK=full SLURM_JOB_ID=4
	[ "$(io_state)" = "d=ok $(basename "$BATS_TEST_TMPDIR")=ok" ]
	empty "$D"
}

@test "agent: hanging directories do not reach beyond the deadline" {
	ext4
	agent_reset
	mkdir "$D"/{1,2,3,4}
	io_policy "'$D/1', '$D/2', '$D/3', '$D/4'" 'deadline = { full = 5 }'
	freeze
	run prolog SPANK_SYSCHECK=full
	assert_unknown
	[[ "$(record check 'r.runs[7].reason')" == "io: $D/4: not started, the deadline is too near" ]]
	# Against the policy's deadline, not this machine's speed.
	[ "$(record check 'r.duration_s < 7')" = true ]
	thaw
	# What was left behind ends now; before the unmount.
	local lock
	for lock in "$P"/run/io-*; do
		until_free "$lock"
	done
}

@test "io: killed with a name on a frozen file system: held until the thaw, then gone" {
	ext4
	shim
	env "$SHIM" SLOW_UNLINK="$BATS_TEST_TMPDIR/asleep" flock --no-fork "$BATS_TEST_TMPDIR/lock" \
		"$IO" --dir "$D" --seconds 2 --max-mb 1 >/dev/null 2>&1 3>&- &
	local pid=$!
	until_there "$BATS_TEST_TMPDIR/asleep"
	freeze
	kill -KILL "$pid"
	wait "$pid" || true
	[ -n "$(ls -A "$D")" ]
	# What an agent would see: still at work there.
	run flock --nonblock "$BATS_TEST_TMPDIR/lock" true
	[ "$status" -eq 1 ]
	thaw
	until_free "$BATS_TEST_TMPDIR/lock"
	empty "$D"
}
