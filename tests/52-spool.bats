#!/usr/bin/env bats
# The spool of a node: segments, full disks, readers; and `syscheck ship`.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load helpers

setup() {
	agent_reset
	S=$BATS_TEST_TMPDIR/spool
	D=$BATS_TEST_TMPDIR/dest
	mkdir "$D"
	SHIP=("$P/bin/syscheck" ship --spool "$S" --node n1 --to "$D")
}

teardown() {
	[ -z "${RECEIVER:-}" ] || kill "$RECEIVER" 2>/dev/null || true
	agent_keep
}

# append FROM TO [OPTIONS]: records with these numbers, 1 kB each; prints what was not
# acknowledged
append() {
	lua5.4 "$FIXTURES/spool_append.lua" "$P/share/syscheck/lua" "$S" "$1" "$2" "${3:-}"
}

# numbers DIR...: what their readers find, in order; a loss as LOSS:RECORDS:REASON; complaints as BAD
numbers() {
	lua5.4 "$FIXTURES/spool_numbers.lua" "$P/share/syscheck/lua" "$@"
}

# closed, shipped: how many segments
closed() {
	find "$S" -name 'records-*.jsonl' ! -name '*.shipped.jsonl' | wc -l
}

shipped() {
	find "$S" -name 'records-*.shipped.jsonl' | wc -l
}

SMALL='spool_segment_mb = 0.01, spool_max_mb = 10'

@test "a node list that does not fold is cut, in each record; what was asked of Slurm by it is not" {
	local list cpus
	list=$(printf 'rack%d-chassis%d,' {1..11000})t1
	cpus="1(x5500),$(nproc --all)"
	[ "${#list}" -gt 100000 ]
	prolog SLURM_NODELIST="$list" SLURM_JOB_CPUS_PER_NODE="$cpus"
	epilog SLURM_NODELIST="$list" SLURM_JOB_CPUS_PER_NODE="$cpus"
	for kind in check job; do
		[ "$(record $kind '#r.job.nodelist < 4200')" = true ]
		[[ "$(record $kind r.job.nodelist)" == "rack1-chassis2,"*[0-9],... ]]
		[ "$(record $kind r.job.nodes)" = 5501 ]
		# The job has this node whole.
		[ "$(record check r.level)" = quick ]
	done
}

@test "records go to a new file when the old one is full; readers find all in order" {
	append 1 50 "$SMALL"
	[ "$(numbers "$S")" = "$(seq -s ' ' 1 50)" ]
	[ "$(closed)" -ge 4 ]
	[ "$(find "$S" -name '*.jsonl' -size +11k | wc -l)" = 0 ]
	[ "$(find "$S" -name '*.jsonl' ! -perm 640 | wc -l)" = 0 ]
	[[ "$(find "$S" -name 'records-*' -printf '%f\n' | head -n 1)" =~ ^records-[0-9]{8}T[0-9]{6}Z-[0-9a-f]{16}\.jsonl$ ]]
}

@test "several agents at once, every file full after some records: each record once" {
	local i
	for i in 0 1 2 3; do
		append $((i * 100 + 1)) $((i * 100 + 100)) "$SMALL" >"$BATS_TEST_TMPDIR/out$i" &
	done
	wait
	[ "$(cat "$BATS_TEST_TMPDIR"/out?)" = "" ]
	[ "$(numbers "$S" | tr ' ' '\n' | sort -n)" = "$(seq 1 400)" ]
}

@test "a torn last line is ended, by the next record and when the file is closed" {
	append 1 2
	printf '{"v":1,"kind":"jo' >>"$S/records.jsonl"
	append 3 3
	[ "$(numbers "$S")" = "1 2 BAD:3:not a record 3" ]
	printf '{"v":1,"ki' >>"$S/records.jsonl"
	"${SHIP[@]}"
	[ "$(tail -c 1 "$D"/n1/records-*.jsonl)" = "" ]
	append 4 4
	[ "$(numbers "$S")" = "1 2 BAD:3:not a record 3 BAD:5:not a record 4" ]
}

@test "who does not get the lock in time writes a segment of his own, and is acknowledged" {
	append 1 1
	flock "$S/.lock" sleep 30 &
	local holder=$!
	sleep 0.3
	[ "$(append 2 2)" = "" ]
	kill "$holder"
	wait "$holder" || true
	# It is a whole segment; the open file comes last.
	[ "$(numbers "$S")" = "2 1" ]
	[ "$(closed)" = 1 ]
}

@test "beyond its maximum: shipped data goes first, without a word; then the oldest, counted" {
	local max='spool_segment_mb = 0.01, spool_max_mb = 0.1'
	append 1 30 "$max"
	"${SHIP[@]}"
	append 31 60 "$max"
	local before
	before=$(shipped)
	append 61 100 "$max"
	[ "$(shipped)" -lt "$before" ]
	[[ "$(numbers "$S")" != *LOSS* ]]
	[[ "$(numbers "$S")" == *"$(seq -s ' ' 31 100)" ]]
	append 101 200 "$max"
	[ "$(shipped)" = 0 ]
	[[ "$(numbers "$S")" == *" 198 199 200" ]]
	[ "$(du -cb "$S"/*.jsonl | tail -n 1 | cut -f 1)" -le 110000 ]
	# What is gone is what was told, to the record.
	local there lost
	there=$(numbers "$S" | tr ' ' '\n' | grep -c '^[0-9]')
	lost=$(cat "$S"/*.jsonl | sed -n 's/.*"lost_records":\([0-9]*\).*/\1/p' | awk '{ n += $1 } END { print n }')
	echo "there $there, told lost $lost"
	[ "$((there + lost))" = 170 ]
	[[ "$(numbers "$S")" == *"LOSS:"*":spool over its maximum"* ]]
	grep -h '"kind":"loss"' "$S"/*.jsonl >"$BATS_TEST_TMPDIR/loss"
	"$ROOT/tests/schema.py" "$BATS_TEST_TMPDIR/loss"
}

# full_disk SCRIPT: in a mount namespace of its own, with 128 KiB for $S
full_disk() {
	export -f append numbers closed shipped
	export S D P SMALL
	unshare -m --propagation private bash -c 'mkdir -p "$S" && mount -t tmpfs -o size=128k tmpfs "$S" || exit 9
		'"$1"
}

@test "disk full: the newest record is kept; what is shipped goes first, then the oldest, counted" {
	[ "$(id -u)" = 0 ] || skip "a full disk needs root"
	run full_disk '
		append 1 40
		'"$P/bin/syscheck ship --spool \"$S\" --node n1 --to \"$D\""'
		append 41 60
		[ "$(shipped)" -gt 0 ] || exit 2
		# Somebody else fills the disk.
		cat /dev/zero >"$S/filler" 2>/dev/null
		before=$(shipped)
		append 61 80
		[ "$(shipped)" -lt "$before" ] || exit 3
		[[ "$(numbers "$S")" != *LOSS* ]] || exit 4
		[[ "$(numbers "$S")" == *"$(seq -s " " 41 80)" ]] || exit 5
		cat /dev/zero >>"$S/filler" 2>/dev/null
		append 81 120
		[ "$(shipped)" = 0 ] || exit 6
		numbers "$S"'
	echo "$status $output"
	[ "$status" -eq 0 ]
	[[ "${lines[-1]}" =~ LOSS:[0-9]+:disk\ full ]]
	[[ "${lines[-1]}" == *" 118 119 120" ]]
}

@test "disk full and nothing to give up: not acknowledged, no half line, and told as soon as there is room" {
	[ "$(id -u)" = 0 ] || skip "a full disk needs root"
	run full_disk '
		append 1 2
		cat /dev/zero >"$S/filler" 2>/dev/null
		# Until the rest of the last page is used up.
		append 3 7 >/dev/null
		append 8 10
		size=$(stat -c %s "$S/records.jsonl")
		[ "$(tail -c 1 "$S/records.jsonl")" = "" ] || exit 2
		rm "$S/filler"
		append 11 11
		numbers "$S"
		ls -A "$S"'
	echo "$status $output"
	[ "$status" -eq 0 ]
	[[ "${lines[0]}" == "8: $S: ENOSPC"* ]]
	[[ "${lines[2]}" == "10: $S: ENOSPC"* ]]
	[[ "${lines[3]}" =~ ^1\ 2(\ [3-7])*\ LOSS:([0-9]+):disk\ full\ 11$ ]]
	[ "$(($(wc -w <<<"${BASH_REMATCH[1]}") + BASH_REMATCH[2]))" = 8 ]
	[[ "$output" != *lost-* ]]
}

@test "a segment that vanishes or is closed while it is read: no complaint, nothing twice" {
	append 1 40 "$SMALL"
	lua5.4 "$FIXTURES/spool_changes.lua" "$P/share/syscheck/lua" "$S" >"$BATS_TEST_TMPDIR/got"
	run ! grep BAD "$BATS_TEST_TMPDIR/got"
	[ "$(sort "$BATS_TEST_TMPDIR/got" | uniq -d)" = "" ]
	[ "$(head -n 1 "$BATS_TEST_TMPDIR/got") $(tail -n 1 "$BATS_TEST_TMPDIR/got")" = "1 40" ]
	[ "$(wc -l <"$BATS_TEST_TMPDIR/got")" -ge 25 ]
}

@test "a line of 100 MB, NUL bytes, half a line, a directory and a FIFO with a segment's name" {
	mkdir "$S"
	local name=records-20260101T000000Z-0000000000000000
	{
		printf '{"v":1,"kind":"job","id":"1","node":"n1"}\n'
		head -c 100000000 /dev/zero | tr '\0' 'x'
		printf '\n'
		head -c 5000000 /dev/zero
		printf '\n{"v":1,"kind":"job","id":"2","node":"n1"}\n{"v":1,"ki'
	} >"$S/$name.jsonl"
	mkdir "$S/records-20260101T000001Z-0000000000000000.jsonl"
	mkfifo "$S/records-20260101T000002Z-0000000000000000.jsonl"
	append 3 3
	# shellcheck disable=SC3045
	run bash -c "ulimit -v 300000; $(declare -f numbers); P='$P'; numbers '$S'"
	[[ $output == "1 BAD:2:longer than 1 MiB BAD:3:longer than 1 MiB 2 BAD:5:not a record "* ]]
	[[ $output == *" 3" ]]
	[ "$(grep -o 'not a file' <<<"$output" | wc -l)" = 2 ]
}

@test "ship: whole copies with the same names, marked; the next time there is nothing to do" {
	append 1 50 "$SMALL"
	run --separate-stderr "${SHIP[@]}"
	[ "$status" -eq 0 ]
	[[ $output =~ ^n1:\ [0-9]+\ segments\ \([0-9.]+\ kB\)\ to\ $D$ ]]
	[ "$stderr" = "" ]
	[ "$(numbers "$D/n1")" = "$(seq -s ' ' 1 50)" ]
	[ "$(closed)" = 0 ]
	[ ! -e "$S/records.jsonl" ]
	[ "$(stat -c %a "$D/n1" "$D"/n1/*.jsonl | sort -u)" = $'640\n750' ]
	local f
	for f in "$S"/*.shipped.jsonl; do
		cmp "$f" "$D/n1/$(basename "$f" .shipped.jsonl).jsonl"
	done
	run "${SHIP[@]}"
	[ "$status" -eq 0 ]
	[ "$output" = "" ]
	# The node still answers from what it keeps.
	[ "$(numbers "$S")" = "$(seq -s ' ' 1 50)" ]
	append 51 52
	"${SHIP[@]}"
	[ "$(numbers "$D/n1")" = "$(seq -s ' ' 1 52)" ]
}

@test "ship: killed after the copy and before the mark, it does the same again; what it left half is gone" {
	append 1 30 "$SMALL"
	"${SHIP[@]}"
	local f
	f=$(find "$S" -name '*.shipped.jsonl' | head -n 1)
	mv "$f" "${f%.shipped.jsonl}.jsonl"
	echo half >"$D/n1/.records-20260101T000000Z-0000000000000000.jsonl.0123456789abcdef"
	"${SHIP[@]}"
	[ "$(numbers "$D/n1")" = "$(seq -s ' ' 1 30)" ]
	[ "$(find "$D/n1" -name '.*' -type f)" = "" ]
}

@test "ship keeps as much as the policy says" {
	append 1 100 "$SMALL"
	policy 'ship = "'"$D"'", ship_keep_mb = 0.03'
	"$P/bin/syscheck" ship --spool "$S" --node n1
	[ "$(numbers "$D/n1")" = "$(seq -s ' ' 1 100)" ]
	[ "$(shipped)" -ge 2 ]
	[ "$(shipped)" -le 4 ]
	[[ "$(numbers "$S")" == *" 99 100" ]]
}

# refused WORDS...: exit 1, one line that has the words, and all records still wait
refused() {
	local word
	run --separate-stderr "${SHIP[@]}"
	[ "$status" -eq 1 ] || { echo "status $status: $output $stderr"; return 1; }
	[ "$output" = "" ]
	[ "$(wc -l <<<"$stderr")" = 1 ] || { echo "$stderr"; return 1; }
	for word in "$@" "nothing is lost"; do
		[[ $stderr == *"$word"* ]] || { echo "no '$word' in: $stderr"; return 1; }
	done
	[ "$(numbers "$S")" = "$(seq -s ' ' 1 5)" ]
}

@test "ship: a destination that is not there, a file, read-only, full, writable by all: one line, exit 1, nothing lost" {
	append 1 5
	rmdir "$D"
	refused "$D: no such directory"
	[ ! -e "$D" ]
	echo x >"$D"
	refused "$D: not a directory"
	rm "$D"
	mkdir "$D"
	chmod 777 "$D"
	refused "everybody may rename and remove"
	chmod 755 "$D"
	[ "$(id -u)" = 0 ] || return 0
	mount -t tmpfs -o size=4k tmpfs "$D"
	cat /dev/zero >"$D/filler" 2>/dev/null || true
	refused ENOSPC
	[ "$(find "$D" -name '.records*')" = "" ]
	rm "$D/filler"
	mount -o remount,ro "$D"
	refused EROFS
	umount "$D"
	"${SHIP[@]}"
	[ "$(numbers "$D/n1")" = "1 2 3 4 5" ]
}

@test "ship: a planted link or another user's directory is refused; a link in a segment's place is replaced, not followed" {
	append 1 5
	mkdir "$BATS_TEST_TMPDIR/other"
	ln -s "$BATS_TEST_TMPDIR/other" "$D/n1"
	refused "$D/n1: a link"
	[ "$(ls -A "$BATS_TEST_TMPDIR/other")" = "" ]
	rm "$D/n1"
	echo file >"$D/n1"
	refused "$D/n1: not a directory"
	rm "$D/n1"
	mkdir "$D/n1"
	chmod 777 "$D/n1"
	refused "everybody may write"
	chmod 755 "$D/n1"
	if [ "$(id -u)" = 0 ]; then
		chown 65534 "$D/n1"
		refused "belongs to user 65534"
		# Unless the whole directory is his: root_squash, or an account for it.
		chown 65534 "$D"
	fi
	local name=records-20260101T000000Z-0000000000000000.jsonl
	mv "$S/records.jsonl" "$S/$name"
	echo precious >"$BATS_TEST_TMPDIR/victim"
	ln -s "$BATS_TEST_TMPDIR/victim" "$D/n1/$name"
	"${SHIP[@]}"
	[ "$(numbers "$D/n1")" = "1 2 3 4 5" ]
	[ ! -L "$D/n1/$name" ]
	[ "$(<"$BATS_TEST_TMPDIR/victim")" = precious ]
}

@test "ship: usage, no destination, a spool that is not there" {
	run --separate-stderr "$P/bin/syscheck" ship --spool "$S"
	[ "$status" -eq 2 ]
	[[ $stderr == "syscheck: ship: nothing says where to: "* ]]
	local to
	for to in relative syslog:LOCAL0 "syslog:" "ftp://x" $'/a\nb'; do
		run --separate-stderr "$P/bin/syscheck" ship --to "$to" --spool "$S"
		[ "$status" -eq 2 ]
		[ "$(wc -l <<<"$stderr")" = 1 ]
		[[ $stderr == "syscheck: --to must be an absolute path or \"syslog:FACILITY\", not "* ]]
	done
	run --separate-stderr "$P/bin/syscheck" ship --to "$D" --node ../x
	[ "$status" -eq 2 ]
	for to in soon 0 86401; do
		run --separate-stderr "$P/bin/syscheck" ship --to "$D" --timeout "$to"
		[ "$status" -eq 2 ]
		[[ $stderr == "syscheck: --timeout: a number of seconds from 1 to 86400"* ]]
	done
	run --separate-stderr "$P/bin/syscheck" ship --to "$D" --spool "$S"
	[ "$status" -eq 1 ]
	[[ $stderr == *"no such file or directory"* ]]
	policy 'ship = "syslog:Bad!"'
	run --separate-stderr "$P/bin/syscheck" ship --policy "$P/etc/syscheck/policy.lua"
	[ "$status" -eq 2 ]
	[[ $stderr == *'ship must be an absolute path or "syslog:FACILITY"'* ]]
	run "$P/bin/syscheck" ship --help
	[[ $output == *--to* ]]
	[[ $output != *worker* ]]
}

@test "ship without --spool: every node's spool that the policy's %n stands for, each in its own directory" {
	policy 'spool = "'"$BATS_TEST_TMPDIR"'/all/%n", ship = "'"$D"'"'
	S=$BATS_TEST_TMPDIR/all/n1 append 1 2
	S=$BATS_TEST_TMPDIR/all/n2 append 3 4
	"$P/bin/syscheck" ship
	[ "$(numbers "$D/n1" "$D/n2")" = "1 2 3 4" ]
	# And what prolog and epilog write is where ship looks.
	prolog
	epilog
	"$P/bin/syscheck" ship
	[ "$(find "$D/t1" -name '*.jsonl' | wc -l)" = 1 ]
	run "$P/bin/syscheck" job 4711 --spool "$D/t1"
	[ "$status" -eq 0 ]
	"$ROOT/tests/schema.py" "$D"/t1/*.jsonl
}

# receiver [deaf]: a datagram socket $LOGSOCK, its messages in $BATS_TEST_TMPDIR/syslog
receiver() {
	LOGSOCK=$BATS_TEST_TMPDIR/log
	python3 - "$LOGSOCK" "$BATS_TEST_TMPDIR/syslog" "${1:-}" 3>&- <<-'PY' &
	import socket, sys, time
	s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
	s.bind(sys.argv[1])
	if sys.argv[3]:
	    time.sleep(300)
	with open(sys.argv[2], "wb", 0) as f:
	    while True:
	        f.write(s.recv(100000) + b"\n")
	PY
	RECEIVER=$!
	local n=0
	until [ -S "$LOGSOCK" ] || [ $((n += 1)) -gt 100 ]; do sleep 0.05; done
}

@test "ship to syslog: messages within 2,048 bytes, joined again they are the same records; the rest is sent later" {
	append 1 3
	# One that has to be split, with what JSON escapes and UTF-8.
	lua5.4 - "$P/share/syscheck/lua" "$S" <<-'LUA'
	package.path = arg[1] .. "/?.lua;" .. package.path
	local records = require("syscheck.spool.records")
	for i = 4, 20 do
		assert(records.append(arg[2], { v = 1, kind = "job", id = ("%032x"):format(i), node = "n1",
			name = ('"\\/\n\27é漢'):rep(i * 40) }))
	end
	LUA
	cat "$S/records.jsonl" >"$BATS_TEST_TMPDIR/want"
	printf 'damaged\0line\n' >>"$S/records.jsonl"
	receiver
	run --separate-stderr "$P/bin/syscheck" ship --spool "$S" --node n1 --to "syslog:local3@$LOGSOCK"
	echo "$output $stderr"
	[ "$status" -eq 0 ]
	[[ $stderr == *"1 damaged line, not sent" ]]
	sleep 0.5
	grep -q '^<158>.* syscheck: {' "$BATS_TEST_TMPDIR/syslog"
	[ "$(awk '{ if (length($0) > n) n = length($0) } END { print n }' "$BATS_TEST_TMPDIR/syslog")" -le 2048 ]
	"$P/bin/syscheck" ship --join <"$BATS_TEST_TMPDIR/syslog" >"$BATS_TEST_TMPDIR/got"
	cmp "$BATS_TEST_TMPDIR/want" "$BATS_TEST_TMPDIR/got"
	[ "$(shipped)" = 1 ]
	# A part is missing: said, the rest is given.
	run bash -c "grep -v '\"part\":2' '$BATS_TEST_TMPDIR/syslog' | '$P/bin/syscheck' ship --join 2>&1 >/dev/null"
	[ "$status" -eq 1 ]
	[[ $output == *"a part is not in this log: "* ]]
}

@test "ship to syslog resumes where it stopped" {
	append 1 10
	"$P/bin/syscheck" ship --spool "$S" --node n1 --to /nowhere || true
	receiver
	# Killed after six records: what a killed ship leaves.
	local name=records-20260101T000000Z-0000000000000000.jsonl
	mv "$S/records.jsonl" "$S/$name"
	printf '{"segment":"%s","offset":%d}' "$name" "$(head -n 6 "$S/$name" | wc -c)" >"$S/.ship-offset"
	"$P/bin/syscheck" ship --spool "$S" --node n1 --to "syslog:local3@$LOGSOCK"
	sleep 0.5
	"$P/bin/syscheck" ship --join <"$BATS_TEST_TMPDIR/syslog" >"$BATS_TEST_TMPDIR/got"
	cmp <(tail -n 4 "$S"/records-*.shipped.jsonl) "$BATS_TEST_TMPDIR/got"
	append 11 11
	"$P/bin/syscheck" ship --spool "$S" --node n1 --to "syslog:local3@$LOGSOCK"
	sleep 0.5
	[ "$("$P/bin/syscheck" ship --join <"$BATS_TEST_TMPDIR/syslog" | wc -l)" = 5 ]
}

@test "ship to syslog: no daemon, one that takes nothing: exit 1, nothing lost; meanwhile agents append and a second ship gives up" {
	append 1 400
	run --separate-stderr "$P/bin/syscheck" ship --spool "$S" --node n1 --to "syslog:local0@$BATS_TEST_TMPDIR/none"
	[ "$status" -eq 1 ]
	[[ $stderr == *"no syslog daemon there"*"nothing is lost"* ]]
	receiver deaf
	"$P/bin/syscheck" ship --spool "$S" --node n1 --to "syslog:local0@$LOGSOCK" --timeout 6 2>"$BATS_TEST_TMPDIR/first" &
	local first=$!
	sleep 2
	run --separate-stderr "${SHIP[@]}"
	[ "$status" -eq 1 ]
	[[ $stderr == *"an earlier ship still runs, or hangs"* ]]
	[ "$(append 401 402)" = "" ]
	wait "$first" || true
	cat "$BATS_TEST_TMPDIR/first"
	grep -q 'no answer within 6 s; nothing is lost' "$BATS_TEST_TMPDIR/first"
	# Ended with all that it had started: the lock is free.
	"${SHIP[@]}"
	[ "$(numbers "$D/n1")" = "$(seq -s ' ' 1 402)" ]
}

@test "the units of systemd are installed, and name this installation" {
	local dir=$P/lib/systemd/system
	grep -q "^ExecStart=$P/bin/syscheck ship$" "$dir/syscheck-ship.service"
	grep -q '^RandomizedDelaySec=' "$dir/syscheck-ship.timer"
}
