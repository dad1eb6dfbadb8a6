#!/usr/bin/env bats
# Records into the store and out again, on SQLite, PostgreSQL and MariaDB.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load helpers
load servers

setup_file() {
	agent_install
	export PG MY PGURL MYURL
	PG=$(server_dir spg) MY=$(server_dir smy)
	start_postgresql "$PG"
	start_mariadb "$MY"
}

teardown_file() {
	stop_server "$PG"
	stop_server "$MY" TERM
	rm -rf "$PG" "$MY"
}

setup() {
	agent_reset
	PATH=$P/bin:$PATH
	D=$BATS_TEST_TMPDIR/spool
	BAD=$BATS_TEST_TMPDIR/bad.jsonl
	mkdir -p "$D"
}

# fresh KIND: an empty store; STORE is its name
fresh() {
	KIND=$1
	rm -f "$BAD"
	case $KIND in
	sqlite)
		STORE=$BATS_TEST_TMPDIR/store/s.db
		rm -rf "$BATS_TEST_TMPDIR/store"
		;;
	postgresql)
		STORE=$PGURL
		psql -h "$PG" -U admin -d postgres -Xqc 'DROP DATABASE IF EXISTS syscheck WITH (FORCE)' -c 'CREATE DATABASE syscheck'
		;;
	mariadb)
		STORE=$MYURL
		mariadb --no-defaults -S "$MY/s" -u root -e 'DROP DATABASE IF EXISTS syscheck; CREATE DATABASE syscheck'
		;;
	esac
}

# q SQL: by the database's own program
q() {
	case $KIND in
	sqlite) sqlite3 "$STORE" "$1" ;;
	postgresql) psql -h "$PG" -U admin -d syscheck -XAtqF'|' -c "$1" ;;
	mariadb) mariadb --no-defaults -S "$MY/s" -u root -D syscheck -BN --raw -e "SET sql_mode=CONCAT(@@sql_mode,',PIPES_AS_CONCAT,ANSI_QUOTES'); $1" | tr '\t' '|' ;;
	esac
}

# everywhere FUNCTION: on each kind of store
everywhere() {
	for kind in sqlite postgresql mariadb; do
		echo "on $kind"
		rm -rf "${D:?}"/*
		fresh "$kind"
		"$1"
	done
}

ingest() {
	run --separate-stderr syscheck ingest --store "$STORE" --bad "$BAD" "$@"
	echo "status $status; $output; $stderr"
}

# lines EXPRESSION...: records of spool; each is Lua, of check(t), job(t), loss(t)
lines() {
	lua5.4 "$FIXTURES/lines.lua" "$@"
}

# for_all: prints a directory of which everybody may run p/bin/syscheck; what is below $P only root reaches
for_all() {
	local dir
	dir=$(mktemp -d /tmp/store.XXXXXX)
	chmod 755 "$dir"
	make -s -C "$ROOT" install PREFIX="$dir/p" DESTDIR= >/dev/null
	echo "$dir"
}

# two_nodes FILE: a job of two nodes, checks and job records; n1 slow
two_nodes() {
	lines 'for n = 1, 2 do
	   local c = id()
	   check { node = "n" .. n, id = c, time = at(0), trigger = "prolog", level = "passive", status = "pass", action = "none",
	      metrics = { { name = "throttle_events", status = "pass", value = 0 } } }
	   job { node = "n" .. n, time = at(3600 + n), elapsed_s = 3600, check = { id = c }, throttle_events = n == 1 and 1204 or 0,
	      job = { name = "x" }, delta = { disk = { read_bytes = 12345678901234 }, pressure = { io_some_us = 5 } },
	      ["end"] = { limits = { clock_mhz = 2400.5 }, disk = { busy_ms = 9 } }, begin = { disk = { busy_ms = 4 } } }
	end' >"$1"
}

stores_once() {
	two_nodes "$D/records.jsonl"
	ingest "$D"
	[ "$status" -eq 0 ]
	[[ $output == "1 files, 4 records: 4 new, 0 known; 0 bad lines;"* ]]
	[ "$(q 'SELECT COUNT(*) FROM run')" = 1 ]
	[ "$(q 'SELECT seen, begin_s, end_s, nodes FROM run' | sed 's/\.0//g')" = '2|1795161600|1795165202|2' ]
	[ "$(q 'SELECT SUM(throttle_events) FROM job_node' | sed 's/\.0//g')" = 1204 ]
	[ "$(q 'SELECT COUNT(*) FROM job_node j JOIN check_node c ON c."key" = j.check_key AND c.node = j.node AND c.run = j.run')" = 2 ]
	[ "$(q 'SELECT COUNT(*) FROM job_node WHERE nfs_ops IS NULL AND clock_limit_mhz = 2400.5 AND disk_read_bytes = 12345678901234')" = 2 ]
	# Once more, nothing read; then another file of the same records.
	ingest "$D"
	[[ $output == "1 files, 0 records: 0 new, 0 known;"* ]]
	cp "$D/records.jsonl" "$D/records-20261120T100000Z-0123456789abcdef.jsonl"
	rm "$D/records.jsonl"
	ingest "$D"
	[[ $output == "1 files, 4 records: 0 new, 4 known;"* ]]
	[ "$(q 'SELECT seen FROM run' | sed 's/\.0//')" = 2 ]
	[ "$(q 'SELECT COUNT(*) FROM job_node')" = 2 ]
}

@test "ingest: each record once, with every number; a second time nothing" {
	everywhere stores_once
}

@test "ingest: the api reads numbers as numbers, absent as nil, text as it was" {
	reads_back() {
		two_nodes "$D/records.jsonl"
		lines 'job { job = { id = 5, name = "x\27[31m\"; DROP TABLE run; -- \u{1F4A5}\0<b>" }, time = at(9), elapsed_s = 5, problems = { "p" } }' >>"$D/records.jsonl"
		ingest "$D"
		[ "$status" -eq 0 ]
		run lua5.4 "$FIXTURES/store_reads.lua" "$P/share/syscheck/lua" "$STORE"
		echo "$output"
		[ "$output" = good ]
	}
	everywhere reads_back
}

# hook COMMANDS: the policy's notify program does these; what it read is in $TOLD, a line each call
hook() {
	printf '#!/bin/sh\n%s\n' "$1" >"$BATS_TEST_TMPDIR/hook"
	chmod 755 "$BATS_TEST_TMPDIR/hook"
}

tells_once() {
	TOLD=$BATS_TEST_TMPDIR/told
	rm -f "$TOLD"
	printf 'return { notify = { program = { "%s", "%s" }, every = 0, timeout = 1 } }\n' "$BATS_TEST_TMPDIR/hook" "$TOLD" \
		>"$P/etc/syscheck/policy.lua"
	hook 'cat >>"$1"'
	# A node's year of history in a new store, and what came before anybody was to be told.
	lines 'for day = 0, 365 do check { node = "n1", time = ago(day + 0.01), action = "drain", status = "fail", text = "triad 1 < 2",
	   drain = { done = true, reason = "syscheck: triad 1 < 2" } } end' >"$D/records.jsonl"
	ingest "$D"
	[ "$status" -eq 0 ]
	[ ! -e "$TOLD" ]
	# At once three programs that are no use, with more than a pipe holds: ingest is as ever, and nothing is lost.
	lines 'local text = "x" .. ("\u{20AC}"):rep(160)
	for n = 1, 400 do check { node = "n" .. n, time = ago(0), action = "observed", status = "fail", text = text } end
	check { node = "n401", time = ago(0), action = "drain", status = "fail", text = "triad 1 < 2",
	   drain = { done = true, reason = "syscheck: triad 1 < 2" } }' >>"$D/records.jsonl"
	local use
	for use in 'exec 0<&-; echo "no route" >&2; exit 1' yes 'sleep 60'; do
		hook "$use"
		ingest "$D"
		[ "$status" -eq 0 ]
		[[ $stderr == "syscheck: notify: $BATS_TEST_TMPDIR/hook: "*"; 401 events are waiting for the next ingest" ]]
	done
	hook 'cat >>"$1"'
	ingest "$D"
	[ -z "$stderr" ]
	ingest "$D"
	[ "$(wc -l <"$TOLD")" -eq 1 ]
	[ "$(lua5.4 -e 'local o = require("cjson").decode(io.read("a")); print(#o.events, o.more // 1 | 0, o.cluster)' <"$TOLD")" = $'200\t201\tc' ]
	# The same state once more is no news, what is new is.
	lines 'check { node = "n2", time = ago(0), action = "observed", status = "fail", text = "x" .. ("\u{20AC}"):rep(160) }
	check { node = "n401", time = ago(-1 / 1440), action = "resume", status = "pass" }' >>"$D/records.jsonl"
	ingest "$D"
	[ "$(tail -n 1 "$TOLD" | lua5.4 -e 'local o = require("cjson").decode(io.read("a")); print(#o.events, o.events[1].event, o.events[1].node)')" = \
		$'1\tresume\tn401' ]
	run syscheck drains --store "$STORE" --csv
	[ "$status" -eq 0 ]
	[ "$(grep -c "^n[0-9]*,c,observed," <<<"$output")" -eq 400 ]
	[[ $output == *"n401,c,drain,false,"*",resume,"* ]]
}

@test "notify: new events once, whatever the program does; drains lists them" {
	everywhere tells_once
}

@test "ingest: two records of one key are both kept, and found again" {
	collide() {
		lines 'for i = 1, 3 do job { id = "abcdef0" .. (i - 1) .. ("%024x"):format(i), time = at(60), elapsed_s = 9 } end' >"$D/records.jsonl"
		ingest "$D"
		[[ $output == *" 3 records: 3 new,"* ]]
		cp "$D/records.jsonl" "$BATS_TEST_TMPDIR/again.jsonl"
		ingest "$BATS_TEST_TMPDIR/again.jsonl"
		[[ $output == *" 3 records: 0 new, 3 known;"* ]]
		[ "$(q 'SELECT MAX("key") - MIN("key") FROM job_node')" = 2 ]
	}
	everywhere collide
}

@test "ingest: bad lines go aside with their line and reason, the rest is stored" {
	bad_lines() {
		{
			echo junk
			echo '{"v":2,"kind":"job"}'
			head -c 3000000 /dev/zero | tr '\0' x
			echo
			head -c 100 /dev/zero
			echo
			lines 'job { throttle_events = -1 }' 'job { throttle_events = "7" }' 'job { time = "1999-01-01T00:00:00Z" }' \
				'job { time = "yesterday" }' 'job { id = "xyz" }' 'job { job = { id = "4711; DROP TABLE run" } }' \
				'job { delta = { disk = { busy_ms = 1e300 } } }' 'job { elapsed_s = 1e12 }' 'job { node = "" }' 'job { delta = 5 }' \
				'job { kind = "other" }' 'job { class = ("x"):rep(10000) }' 'job { job = { id = 4711.5 } }'
			lines 'job { job = { name = ("n"):rep(10000), user = "\0x\x01" }, time = at(10), elapsed_s = 3 }'
			printf '{"v":1,"kind":"job"'
		} >"$D/records-1.jsonl"
		ingest "$D"
		[ "$status" -eq 0 ]
		[[ $output == *" 1 records: 1 new, 0 known; 18 bad lines;"* ]]
		[ "$(wc -l <"$BAD")" -eq 18 ]
		for want in '"line":1[,}]' '"line":19[,}]' 'version 2, this syscheck reads 1' 'longer than 1 MiB' 'throttle_events is out of range: -1' \
			'throttle_events is not a number' 'time is out of range' 'time is not a time' 'id is not 32' 'job.id is not a number' \
			'delta.disk.busy_ms is out of range' 'elapsed_s is out of range' 'node is not a name' 'delta.* is not an object' \
			'neither job, check, fabric nor loss' 'class is longer' 'half a line'; do
			grep -q "$want" "$BAD" || { echo "not told: $want"; cat "$BAD"; return 1; }
		done
		[ "$(q "SELECT LENGTH(w.text) FROM run r JOIN word w ON w.id = r.name")" = 1024 ]
		# What was told is not told again.
		ingest "$D"
		[ -z "$stderr" ]
		[ "$(wc -l <"$BAD")" -eq 18 ]
	}
	everywhere bad_lines
}

@test "ingest: a first line with an endless id does not stop the rest" {
	long_id() {
		{
			printf '{"v":1,"id":"%s","kind":"job"}\n' "$(head -c 20000 /dev/urandom | od -An -tx1 | tr -d ' \n')"
			lines 'job { time = at(5) }'
		} >"$D/records.jsonl"
		ingest "$D"
		[ "$status" -eq 0 ]
		[[ $output == *" 1 records: 1 new, 0 known; 1 bad lines;"* ]]
		ingest "$D"
		[[ $output == *" 0 records: 0 new, 0 known; 0 bad lines;"* ]]
	}
	everywhere long_id
}

@test "ingest: the next open file may begin as the one before did" {
	fresh sqlite
	lines 'job { id = ("ab"):rep(16), time = at(5), problems = { ("x"):rep(400) } }' >"$D/records.jsonl"
	ingest "$D"
	# Closed, with this record only; its epilog ran again, and others came.
	mv "$D/records.jsonl" "$D/records-20261120T100000Z-0123456789abcdef.jsonl"
	lines 'job { id = ("ab"):rep(16), time = at(5), problems = { ("x"):rep(390) } }' 'job { time = at(6) }' \
		>"$D/records.jsonl"
	ingest "$D"
	[[ $output == *" 1 new, "*" 0 bad lines;"* ]]
	[ "$(q 'SELECT COUNT(*) FROM job_node')" = 2 ]
}

@test "ingest: another segment with an inode that comes again is read from its start" {
	fresh sqlite
	local check=abababababababababababababababab one=records-20261120T100000Z-0123456789abcdef.jsonl
	lines "check { id = '$check', time = at(5) }" | sed 's/^{/{"id":"'$check'",/' >"$D/$one"
	ingest "$D"
	# The job's record names the check before it names itself.
	mv "$D/$one" "$D/records-20261120T100001Z-0123456789abcdef.jsonl"
	lines 'job { time = at(6), problems = { ("x"):rep(900) } }' 'job { time = at(7) }' |
		sed "s/^{/{\"check\":{\"id\":\"$check\"},/" >"$D/records-20261120T100001Z-0123456789abcdef.jsonl"
	ingest "$D"
	[[ $output == *" 2 new, 0 known; 0 bad lines;"* ]]
	# Shipped meanwhile, it is known.
	mv "$D/records-20261120T100001Z-0123456789abcdef.jsonl" "$D/records-20261120T100001Z-0123456789abcdef.shipped.jsonl"
	ingest "$D"
	[[ $output == *" 0 records: 0 new, 0 known; 0 bad lines;"* ]]
}

@test "ingest: of a file that is no segment, made anew, no record is passed over" {
	fresh sqlite
	lines 'for i = 1, 4 do check { time = at(i) } end' >"$BATS_TEST_TMPDIR/all"
	sed -n '1p;3p' "$BATS_TEST_TMPDIR/all" >"$D/all.jsonl"
	ingest "$D/all.jsonl"
	# What two spools held, and each has one more: the second begins where the first ended.
	cp "$BATS_TEST_TMPDIR/all" "$D/all.jsonl"
	ingest "$D/all.jsonl"
	[[ $output == *" 4 records: 2 new, 2 known; 0 bad lines;"* ]]
}

@test "ingest: a file that begins with an empty line is not another one" {
	fresh sqlite
	{ echo; lines 'check { time = at(1) }'; } >"$D/records.jsonl"
	ingest "$D"
	# The same inode.
	{ echo; lines 'check { time = at(2) }' 'check { time = at(3) }'; } >"$D/records.jsonl"
	ingest "$D"
	[[ $output == *" 2 records: 2 new, 0 known; 0 bad lines;"* ]]
}

@test "ingest: long lines, good and bad, in bounded memory" {
	fresh sqlite
	lines 'for i = 1, 300 do job { time = at(i), problems = { ("x"):rep(900000) } } end' >"$D/records-1.jsonl"
	lines 'for i = 1, 1500 do print(("\1"):rep(20000)) end' >"$D/records-2.jsonl"
	for file in "$D"/records-[12].jsonl; do
		run -0 bash -c 'ulimit -v 400000 && exec "$@"' - syscheck ingest --store "$STORE" --bad "$BAD" "$file"
	done
	[ "$(q 'SELECT COUNT(*) FROM job_node')" = 300 ]
	[ "$(wc -l <"$BAD")" -eq 1500 ]
}

@test "ingest: a file that grows, a torn end, rotation, removal" {
	two_nodes "$BATS_TEST_TMPDIR/all"
	fresh sqlite
	head -n 1 "$BATS_TEST_TMPDIR/all" >"$D/records.jsonl"
	sed -n 2p "$BATS_TEST_TMPDIR/all" | head -c 300 >>"$D/records.jsonl"
	ingest "$D"
	[[ $output == *" 1 records: 1 new, 0 known; 0 bad lines"* ]]
	sed -n 2p "$BATS_TEST_TMPDIR/all" | tail -c +301 >>"$D/records.jsonl"
	ingest "$D"
	[[ $output == *" 1 records: 1 new, 0 known; 0 bad lines"* ]]
	# Closed meanwhile: it is known by its content, and read on.
	tail -n 2 "$BATS_TEST_TMPDIR/all" >>"$D/records.jsonl"
	mv "$D/records.jsonl" "$D/records-20261120T100000Z-0123456789abcdef.jsonl"
	two_nodes "$D/records.jsonl"
	ingest --remove "$D"
	[[ $output == "2 files, 6 records: 6 new, 0 known; 0 bad lines; 1 files removed"* ]]
	[ "$(ls "$D")" = records.jsonl ]
	[ "$(q 'SELECT COUNT(*) FROM file')" = 1 ]
	# One with a bad line stays.
	echo junk >"$D/records-2.jsonl"
	ingest --remove "$D"
	[ -e "$D/records-2.jsonl" ]
	# A pipe, a link, a directory that is not there: one line, the rest is read.
	mkfifo "$D/records-3.jsonl"
	ln -s /etc/passwd "$D/records-4.jsonl"
	lines 'loss { lost_records = 12, lost_bytes = 4096, reason = "disk full" }' >"$D/records-5.jsonl"
	ingest --json "$D"
	[ "$status" -eq 1 ]
	[ "$(wc -l <<<"$stderr")" -eq 2 ]
	[[ $output == *'"new":1'* && $output == *'"unreadable":2'* ]]
	[ "$(q 'SELECT records, bytes FROM loss')" = '12.0|4096.0' ]
	ingest "$D/nowhere"
	[ "$status" -eq 1 ]
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
}

@test "runs: requeued, skewed clocks, joined when a record spans them" {
	several_runs() {
		# Without a restart count: two runs, one after the other.
		lines 'check { time = at(0) }' 'job { time = at(5), elapsed_s = 5 }' 'check { time = at(90) }' 'job { time = at(3690), elapsed_s = 3600 }' \
			'job { node = "n2", time = at(3990), elapsed_s = 3600 }' >"$D/records.jsonl" # five minutes off
		# With it: two, although they overlap.
		lines 'job { job = { id = 5, restart = 0 }, time = at(100), elapsed_s = 90 }' 'job { job = { id = 5, restart = 1 }, time = at(120), elapsed_s = 60 }' \
			'job { node = "n2", job = { id = 5, restart = 1 }, time = at(9120), elapsed_s = 60 }' >>"$D/records.jsonl"
		# Two that turn out to be one.
		lines 'check { node = "n1", job = { id = 6 }, time = at(0) }' 'check { node = "n2", job = { id = 6 }, time = at(600) }' >>"$D/records.jsonl"
		ingest "$D"
		[ "$(q 'SELECT job_id, COUNT(*) FROM run GROUP BY job_id ORDER BY job_id' | sed 's/\.0//')" = $'5|2\n6|2\n4711|2' ]
		lines 'job { node = "n1", job = { id = 6 }, time = at(4000), elapsed_s = 4000 }' >>"$D/records.jsonl"
		ingest "$D"
		[ "$(q 'SELECT job_id, seen, begin_s, end_s FROM run WHERE job_id = 6' | sed 's/\.0//g')" = '6|1|1795161600|1795165600' ]
		[ "$(q 'SELECT COUNT(DISTINCT run) FROM check_node WHERE run IN (SELECT id FROM run WHERE job_id = 6)')" = 1 ]
		[ "$(q 'SELECT seen FROM run WHERE job_id = 4711 ORDER BY begin_s' | sed 's/\.0//')" = $'1\n2' ]
		# A node reboots in a prolog: its epilog knows of no run, and the next begins seconds later. A run has one record
		# of a node; read again, nothing changes.
		lines 'job { job = { id = 7 }, time = at(100) }' 'check { job = { id = 7, restart = 1 }, time = at(104) }' 'job { job = { id = 7, restart = 1 }, time = at(112), elapsed_s = 8 }' \
			'job { node = "n2", job = { id = 7, restart = 1 }, time = at(113), elapsed_s = 10 }' >"$D/records-7.jsonl"
		ingest "$D"
		cp "$D/records-7.jsonl" "$D/records-8.jsonl"
		ingest "$D"
		[ "$(q 'SELECT COALESCE(restart, -1), seen FROM run WHERE job_id = 7 ORDER BY seen' | sed 's/\.0//g')" = $'-1|1\n1|2' ]
		[ "$(q 'SELECT r.seen FROM run r, check_node c WHERE r.job_id = 7 AND c.run = r.id' | sed 's/\.0//g')" = 2 ]
		rm "$D"/records-[78].jsonl
	}
	everywhere several_runs
}

# took JOB: how long its runs took, in order of time
took() {
	q "SELECT elapsed_s FROM run WHERE job_id = $1 ORDER BY begin_s" | sed 's/\.0$//' | tr '\n' ' '
}

@test "runs: how long one took, whatever comes late, is joined, or goes" {
	takes() {
		# An epilog that came late, and one who was suspended for a while.
		lines 'job { node = "n1", time = at(100), elapsed_s = 100 }' 'job { node = "n3", time = at(500), elapsed_s = 500 }' \
			'job { node = "n2", time = at(120), elapsed_s = 120, cgroup = { suspended_ms = 22000 } }' >"$D/records.jsonl"
		ingest "$D"
		[ "$(took 4711)" = "100 " ]
		# Later, one without a begin among them; read again, nothing changes.
		lines 'job { node = "n4", time = at(99), elapsed_s = 90 }' 'job { node = "n5", time = at(100) }' >>"$D/records.jsonl"
		ingest "$D"
		[ "$(took 4711)" = "99 " ]
		cp "$D/records.jsonl" "$BATS_TEST_TMPDIR/again.jsonl"
		ingest "$BATS_TEST_TMPDIR/again.jsonl"
		[ "$(took 4711)" = "99 " ]
		# Two that turn out to be one.
		lines 'job { node = "n1", job = { id = 6 }, time = at(10), elapsed_s = 10 }' \
			'job { node = "n2", job = { id = 6 }, time = at(3000), elapsed_s = 30 }' >>"$D/records.jsonl"
		ingest "$D"
		[ "$(took 6)" = "10 30 " ]
		lines 'job { node = "n3", job = { id = 6 }, time = at(3100), elapsed_s = 3100 }' >>"$D/records.jsonl"
		ingest "$D"
		[ "$(took 6)" = "30 " ]
		# A share of its nodes is read.
		lines 'for n = 1, 200 do job { node = "n" .. n, job = { id = 7, nodes = 200 }, time = at(1000), elapsed_s = 1000 } end' \
			>>"$D/records.jsonl"
		ingest "$D"
		[ "$(took 7)" = "1000 " ]
		# Of a run that is cut the rest.
		lines 'job { node = "n1", job = { id = 8 }, time = ago(500), elapsed_s = 60 }' \
			'job { node = "n2", job = { id = 8 }, time = ago(3), elapsed_s = 497 * 86400 + 30 }' >>"$D/records.jsonl"
		ingest "$D"
		[ "$(took 8)" = "21470445 " ]
		run syscheck store prune --older 400d --store "$STORE"
		[ "$status" -eq 0 ]
		[ "$(took 8)" = "42940830 " ]
	}
	everywhere takes
}

@test "ingest: nodes' leaf switches, from a file or as Slurm has them, of the right cluster" {
	leaves_of() {
		q "SELECT n.name, COALESCE(n.leaf, '-') FROM node n JOIN word w ON w.id = n.cluster WHERE w.text = '$1' ORDER BY n.name" | tr '\n' ' '
	}
	refused() {
		[ "$status" -eq 1 ]
		[ "$(wc -l <<<"$stderr")" -eq 1 ]
		# shellcheck disable=SC2053
		[[ $stderr == "syscheck: "$1 ]]
	}
	leaves() {
		local file=$BATS_TEST_TMPDIR/topology
		lines 'for n = 1, 3 do job { node = "n" .. n, elapsed_s = 5 } end' >"$D/records.jsonl"
		printf '%s\n' 'SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[1-2]' 'SwitchName=s1 Level=1 LinkSpeed=1 Nodes=n[1-2] Switches=s0' >"$file"
		ingest --topology "$file" "$D"
		[ "$status" -eq 0 ]
		[[ $output == "1 files, 3 records: 3 new, 0 known; 0 bad lines; 2 leaves changed; "* ]]
		[ "$(leaves_of c)" = "n1|s0 n2|s0 n3|- " ]
		ingest --topology "$file" "$D"
		[[ $output == *"; 0 leaves changed; "* ]]
		# What cannot be used is said; records are stored all the same.
		lines 'job { node = "n4", elapsed_s = 5 }' >>"$D/records.jsonl"
		echo 'SwitchName=s0 Nodes=n[1-4]' >"$file"
		ingest --topology "$file" "$D"
		refused "$file: no leaf switch, block or ring with nodes in it; it should be what scontrol show topology prints"
		[[ $output == *" 1 new, "* ]]
		ingest --topology "$BATS_TEST_TMPDIR/nowhere" "$D"
		refused "$BATS_TEST_TMPDIR/nowhere: *"
		# Slurm's own: asked where it is the store's cluster, once an hour; its silence is no error.
		scontrol 'echo "BlockName=b1 BlockIndex=0 Nodes=n[2-3] BlockSize=2"'
		rm -f "$P/calls"
		SLURM_CLUSTER_NAME=other ingest "$D"
		[ ! -e "$P/calls" ]
		SLURM_CLUSTER_NAME=c ingest --json "$D"
		[ "$status" -eq 0 ]
		[[ $output == *'"leaves":2'* ]]
		SLURM_CLUSTER_NAME=c ingest "$D"
		[ "$(<"$P/calls")" = "show topology" ]
		[ "$(leaves_of c)" = "n1|s0 n2|b1 n3|b1 n4|- " ]
		q "UPDATE meta SET value = '1' WHERE name = 'topology c'"
		scontrol 'echo no >&2; exit 1'
		SLURM_CLUSTER_NAME=c ingest "$D"
		[ "$status" -eq 0 ]
		[ -z "$stderr" ]
		[ "$(wc -l <"$P/calls")" -eq 2 ]
		# Another cluster's nodes have the same names.
		lines 'job { node = "n1", cluster = "d", elapsed_s = 5 }' >>"$D/records.jsonl"
		echo 'RingName=r1 Nodes=n[1-2] RingSize=2' >"$file"
		ingest --topology "$file" "$D"
		refused "--topology: the store has clusters c, d: say --cluster"
		ingest --topology "$file" --cluster e "$D"
		refused 'the store has no nodes of cluster "e"'
		ingest --topology <(cat "$file") --cluster d "$D"
		[ "$status" -eq 0 ]
		[ "$(leaves_of c) $(leaves_of d)" = "n1|s0 n2|b1 n3|b1 n4|-  n1|r1 " ]
	}
	everywhere leaves
}

@test "several at a time, killed at random: every record once" {
	compete() {
		local i pids
		for i in 1 2 3 4; do
			lines "for k = 1, 3000 do job { node = 'n' .. $i * 9 + k % 9, job = { id = k // 9 + 1 }, time = at(k), elapsed_s = 5 } end" >"$D/records-$i.jsonl"
		done
		[ "$(cat "$D"/*.jsonl | grep -o '"id":"[0-9a-f]*"' | sort -u | wc -l)" = 12000 ]
		for i in {1..12}; do
			pids=()
			for _ in 1 2 3; do
				syscheck ingest --store "$STORE" --bad "$BAD" "$D" >/dev/null 2>>"$BATS_TEST_TMPDIR/err" 3>&- &
				pids+=($!)
			done
			sleep "0.$((RANDOM % 9 + 1))"
			kill -9 "${pids[0]}" "${pids[1]}" 2>/dev/null || true
			wait "${pids[@]}" || true
		done
		ingest "$D"
		[ "$status" -eq 0 ]
		cat "$BATS_TEST_TMPDIR/err"
		[ ! -s "$BATS_TEST_TMPDIR/err" ]
		echo "$(q "SELECT COUNT(*) FROM job_node") of 12000"
		[ "$(q 'SELECT COUNT(*) FROM job_node')" = 12000 ]
		q 'SELECT SUM(seen), COUNT(*) FROM run'
		[ "$(q 'SELECT SUM(seen) FROM run' | sed 's/\.0//')" = 12000 ]
		[ "$(q 'SELECT COUNT(*) FROM run WHERE elapsed_s = 5')" = 334 ]
		[ "$(q 'SELECT COUNT(*) FROM (SELECT text FROM word GROUP BY text HAVING COUNT(*) > 1) x')" = 0 ]
	}
	everywhere compete
}

@test "prune: what is old goes, with its runs and names; what is new stays" {
	prunes() {
		lines 'job { time = ago(500), job = { id = 1, name = "gone" }, elapsed_s = 60 }' 'check { time = ago(500), job = { id = 1, name = "gone" } }' \
			'job { time = ago(3), job = { id = 2, name = "kept" }, elapsed_s = 60 }' 'fabric { time = ago(500) } fabric { time = ago(3) }' >"$D/records.jsonl"
		ingest "$D"
		run --separate-stderr syscheck store info --json --store "$STORE"
		[[ $output == *'"jobs":2'* && $output == *'"fabric":2'* && $output == *'"version":3'* && $output == *"\"kind\":\"$KIND\""* ]]
		# Longer ago than there is a time for: nothing is that old.
		run --separate-stderr syscheck store prune --older 900y --store "$STORE"
		[[ $output == *": 0 job records, 0 checks, 0 fabric records, 0 runs removed" ]]
		run --separate-stderr syscheck store prune --older 400d --store "$STORE"
		echo "$output$stderr"
		[ "$status" -eq 0 ]
		[[ $output == *": 1 job records, 1 checks, 1 fabric records, 1 runs removed" ]]
		[ "$(q 'SELECT job_id FROM run' | sed 's/\.0//')" = 2 ]
		[ "$(q "SELECT COUNT(*) FROM word WHERE text = 'gone'")" = 0 ]
		[ "$(q "SELECT COUNT(*) FROM word WHERE text IN ('kept', 'alice')")" = 2 ]
		# Nothing comes back, and what comes next is whole.
		lines 'job { time = ago(0), job = { id = 3, name = "gone" }, elapsed_s = 60 }' >>"$D/records.jsonl"
		ingest "$D"
		[ "$(q 'SELECT COUNT(*) FROM job_node')" = 2 ]
	}
	everywhere prunes
	for age in 400 d -1d 0d 1000000d 4OOd ''; do
		run --separate-stderr syscheck store prune --older "$age" --store "$STORE"
		[ "$status" -eq 2 ]
		[ "$(wc -l <<<"$stderr")" -eq 1 ]
	done
}

@test "prune: an ingest that runs meanwhile uses no run and no name that went" {
	meanwhile() {
		lines 'job { time = ago(500), job = { id = 1, name = "gone" }, elapsed_s = 60 }' >"$D/1"
		lines 'job { time = ago(500), job = { id = 1, name = "gone" }, elapsed_s = 60, node = "n2" }' >"$D/2"
		lua5.4 "$FIXTURES/prune_beside.lua" "$STORE" "$D/1" "$D/2"
		[ "$(q 'SELECT COUNT(*) FROM job_node')" = 1 ]
		[ "$(q 'SELECT COUNT(*) FROM job_node j JOIN run r ON r.id = j.run JOIN word w ON w.id = r.name')" = 1 ]
	}
	everywhere meanwhile
}

@test "versions: an older store is brought up to date, a newer one is refused" {
	migrates() {
		q 'CREATE TABLE meta (name VARCHAR(100) PRIMARY KEY, value VARCHAR(100))'
		q "INSERT INTO meta VALUES ('schema_version', '0')"
		run --separate-stderr syscheck store info --store "$STORE"
		echo "$output$stderr"
		[ "$status" -eq 3 ]
		[[ $stderr == *"version 0, this syscheck reads 3; syscheck ingest brings it up to date" ]]
		two_nodes "$D/records.jsonl"
		ingest "$D"
		[ "$status" -eq 0 ]
		[ "$(q "SELECT value FROM meta WHERE name = 'schema_version'")" = 3 ]
		# One from before syscheck knew what lies between nodes.
		q 'DROP TABLE fabric_node'
		q "UPDATE meta SET value = '1' WHERE name = 'schema_version'"
		run --separate-stderr syscheck node n1 --store "$STORE"
		[ "$status" -eq 3 ]
		[[ $stderr == *"version 1, this syscheck reads 3; syscheck ingest brings it up to date" ]]
		lines 'fabric { metrics = { { name = "fabric_in_ratio", status = "warn", value = 0.62 } } }' >>"$D/records.jsonl"
		ingest "$D"
		[ "$status" -eq 0 ]
		[ "$(q 'SELECT COUNT(*) FROM fabric_node WHERE fabric_in_ratio > 0.6')" = 1 ]
		[ "$(q 'SELECT COUNT(*) FROM job_node')" = 2 ]
		q "UPDATE meta SET value = '9' WHERE name = 'schema_version'"
		for command in "ingest $D" "store info" "store prune --older 1d"; do
			# shellcheck disable=SC2086
			run --separate-stderr syscheck $command --store "$STORE"
			echo "$output$stderr"
			[ "$status" -eq 3 ]
			[[ $stderr == "syscheck: store "*"version 9, made by a newer syscheck; this one reads 3" ]]
		done
	}
	mkdir -p "$BATS_TEST_TMPDIR/store"
	migrate_all() {
		mkdir -p "$BATS_TEST_TMPDIR/store"
		migrates
	}
	everywhere migrate_all
}

# where EXPRESSION: node names with their cluster, and how many checks they have
where() {
	q "SELECT '(' || w.text || ')' || n.name, (SELECT COUNT(*) FROM check_node c WHERE c.node = n.id), (SELECT COUNT(*) FROM job_node j WHERE j.node = n.id) FROM node n JOIN word w ON w.id = n.cluster ORDER BY 1" | tr '\n' ' '
}

@test "records without a cluster are their node's, where one is known; of two, by the boot" {
	united() {
		# A store as it was: health checks made nodes of their own.
		lines 'local function node(name, cluster, boot)
			   job { node = name, cluster = cluster, boot_id = boot, time = at(100), elapsed_s = 50 }
			end
			local function health(name, boot, t, more)
			   check { node = name, cluster = "", boot_id = boot, time = at(t or 200), trigger = "health",
			      job = json.null, class = "newest", status = "fail", action = "resume" }
			end
			node("n1", "a", "b1") health("n1", "b1") health("n1", "b9", 300)
			node("n2", "a", "b2") node("n2", "b", "b3") health("n2", "b2") health("n2", "b3") health("n2", "b3", 300) health("n2", "b4")
			health("n3", "b5")
			-- Both clusters have it by the same boot: nobody knows.
			node("n4", "a", "b6") node("n4", "b", "b6") health("n4", "b6")
			-- A run without a cluster goes along; not where its job has one there.
			node("n5", "a", "b7") check { node = "n5", cluster = "", job = { id = 99 } }
			loss { node = "n5", cluster = "", lost_records = 3, lost_bytes = 9, reason = "x" }' >"$D/records.jsonl"
		ingest "$D"
		[ "$status" -eq 0 ]
		where
		[ "$(where)" = "()n2|1|0 ()n3|1|0 ()n4|1|0 (a)n1|2|1 (a)n2|1|1 (a)n4|0|1 (a)n5|1|1 (b)n2|2|1 (b)n4|0|1 " ]
		[ "$(q "SELECT COUNT(*) FROM loss l JOIN node n ON n.id = l.node JOIN word w ON w.id = n.cluster WHERE n.name = 'n5' AND w.text = 'a'")" = 1 ]
		[ "$(q "SELECT w.text FROM run r JOIN word w ON w.id = r.cluster WHERE r.job_id = 99")" = a ]
		[ "$(q "SELECT w.text FROM node n JOIN word w ON w.id = n.class JOIN word c ON c.id = n.cluster WHERE n.name = 'n1' AND c.text = 'a'")" = newest ]
		run syscheck node n1 --since 2026-01-01 --store "$STORE"
		echo "$output"
		[ "$status" -eq 0 ]
		[[ $output == "node n1  cluster a "* && $output == *resume* ]]
		# The other boot of n2 becomes known later, and an ingest that runs at the time knows the node.
		lines 'job { node = "n2", cluster = "b", boot_id = "b4", time = at(5000), elapsed_s = 50, job = { id = 7 } }
			job { node = "n3", cluster = "c", time = at(5000), elapsed_s = 50, job = { id = 7 } }' >>"$D/records.jsonl"
		ingest "$D"
		where
		[ "$(where)" = "()n4|1|0 (a)n1|2|1 (a)n2|1|1 (a)n4|0|1 (a)n5|1|1 (b)n2|3|2 (b)n4|0|1 (c)n3|1|1 " ]
		run syscheck node n4 --store "$STORE"
		[ "$status" -eq 1 ]
		echo "$output"
		[[ $output == *'n4 is in clusters a, b, "" (not known): say --cluster' ]]
		run syscheck node n4 --since 2026-01-01 --cluster '' --store "$STORE"
		[ "$status" -eq 0 ]
	}
	everywhere united
}

@test "a question before ingest has moved them: a node without a cluster is the one that has one" {
	asked() {
		lines 'job { node = "n1", time = at(100), elapsed_s = 50 }
			check { node = "n2", time = at(100) } check { node = "n1", job = json.null, time = at(200), trigger = "health",
			   level = "quick", status = "pass", metrics = { { name = "triad_gbs", value = 77, status = "pass" } } }' >"$D/records.jsonl"
		ingest "$D"
		# As if it had come without.
		q "INSERT INTO word (id, text, private) VALUES (900, '', 0)"
		q "INSERT INTO node (id, cluster, name, class, seen_s) SELECT 900, 900, n.name, n.class, n.seen_s FROM node n WHERE n.name = 'n1'"
		q "UPDATE check_node SET node = 900 WHERE run IS NULL"
		run syscheck node n1 --since 2026-01-01 --store "$STORE" --json
		echo "$output"
		[ "$status" -eq 0 ]
		[[ $output == *'"checks":1,'*'"cluster":"c"'*'"job_id":4711'* ]]
		run syscheck node n1 --since 2026-01-01 --store "$STORE" --cluster c
		[ "$status" -eq 0 ]
		run syscheck fleet --since 2026-01-01 --store "$STORE" --json
		echo "$output"
		[[ $output == *'"n1"'* && $output != *'/n1'* ]]
	}
	everywhere asked
}

@test "runs: the batch node's name and array win over what another node's step says" {
	identity() {
		local k=0 order first last
		for order in "n2 n1" "n1 n2"; do
			: >"$D/records.jsonl"
			k=$((k + 1))
			# Job 1x: one by one, joined at once; 2x: apart, joined by a record that spans both.
			read -r first last <<<"$order"
			for node in $first $last; do
				lines "local mine = '$node' == 'n1'
				   local job_of = mine and { name = 'honest', batch = true }
				      or { name = 'forged', array_job_id = 66, array_task_id = 6 }
				   for i, id in ipairs({ 10 + $k, 20 + $k }) do
				      job_of.id = id
				      job { node = '$node', job = job_of, time = at((i == 2 and mine) and 9000 or 100), elapsed_s = 90 }
				   end" >>"$D/records.jsonl"
				ingest "$D"
			done
			lines "job { node = 'n3', job = { id = 20 + $k, name = 'forged' }, time = at(9050), elapsed_s = 9040 }" >>"$D/records.jsonl"
			ingest "$D"
			[ "$status" -eq 0 ]
			for id in $((10 + k)) $((20 + k)); do
				[ "$(q "SELECT w.text, r.array_job_id IS NULL, r.array_task_id IS NULL FROM run r JOIN word w ON w.id = r.name WHERE r.job_id = $id" | tr tf 10)" = "hones1|1|1" ]
			done
		done
	}
	everywhere identity
}

@test "a store that is older than a field: ingest adds its column, several at a time as well" {
	younger() {
		two_nodes "$D/records.jsonl"
		ingest "$D"
		[ "$status" -eq 0 ]
		# Of a time that had no views either.
		for view in node check job run; do
			q "DROP VIEW syscheck_$view"
		done
		q "DELETE FROM meta WHERE name = 'views'"
		q 'ALTER TABLE job_node DROP COLUMN oom_kills'
		q 'ALTER TABLE check_node DROP COLUMN best_gbs'
		q 'ALTER TABLE run DROP COLUMN batch'
		q 'ALTER TABLE run DROP COLUMN elapsed_s'
		q 'ALTER TABLE node DROP COLUMN leaf'
		q 'ALTER TABLE loss DROP COLUMN boot'
		q 'ALTER TABLE check_node DROP COLUMN boot'
		q 'ALTER TABLE fabric_node DROP COLUMN fabric_lat_us'
		run --separate-stderr syscheck store info --store "$STORE"
		echo "$output$stderr"
		[ "$status" -eq 3 ]
		[[ $stderr == "syscheck: store "*"has no column "@(oom_kills|best_gbs|batch|elapsed_s|leaf|boot|fabric_lat_us)" yet; syscheck ingest brings it up to date" ]]
		lines "job { job = { id = 99 }, delta = { oom = { kills = 7 } } }" >>"$D/records.jsonl"
		local pids=() pid
		for _ in 1 2 3; do
			syscheck ingest --store "$STORE" "$D" 3>&- &
			pids+=($!)
		done
		ingest "$D"
		[ "$status" -eq 0 ]
		for pid in "${pids[@]}"; do
			wait "$pid"
		done
		[ "$(q 'SELECT COUNT(*) FROM job_node WHERE oom_kills = 7')" = 1 ]
		[ "$(q 'SELECT SUM(oom_kills) FROM syscheck_job' | sed 's/\.0//')" = 7 ]
		[ "$(q "SELECT COUNT(*) FROM meta WHERE name = 'views'")" = 1 ]
		[ "$(q 'SELECT COUNT(*) FROM check_node WHERE best_gbs IS NULL')" -gt 0 ]
		# Questions read the nodes of a run that has none, until another record of it comes.
		[ "$(q 'SELECT COUNT(*) FROM run WHERE job_id = 4711 AND elapsed_s IS NULL')" = 1 ]
		lines 'job { node = "n3", time = at(3600), elapsed_s = 3500 }' >>"$D/records.jsonl"
		ingest "$D"
		[ "$(q 'SELECT elapsed_s FROM run WHERE job_id = 4711' | sed 's/\.0//')" = 3600 ]
		syscheck store info --store "$STORE"
	}
	everywhere younger
}

@test "a server that goes away: one line, exit 3, nothing lost" {
	for kind in postgresql mariadb; do
		fresh "$kind"
		two_nodes "$D/records.jsonl"
		ingest "$D"
		local dir=$PG
		[ "$kind" = postgresql ] || dir=$MY
		lines "for k = 1, 60000 do job { node = 'n' .. k % 7, job = { id = k // 9 + 1 }, time = at(k), elapsed_s = 5 } end" >"$D/records-1.jsonl"
		syscheck ingest --store "$STORE" --bad "$BAD" "$D" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
		local pid=$! code=0
		sleep 1.5
		stop_server "$dir" KILL
		wait "$pid" || code=$?
		cat "$BATS_TEST_TMPDIR/err"
		echo "code $code, $(<"$BATS_TEST_TMPDIR/out")"
		[ "$code" -eq 3 ]
		# libpq may print the server's own last words before ours.
		[ "$(grep -vc '^FATAL: \|^WARNING: \|^DETAIL: \|^HINT: ' "$BATS_TEST_TMPDIR/err")" -eq 1 ]
		[[ $(tail -n 1 "$BATS_TEST_TMPDIR/err") == "syscheck: store $kind://"*": the server went away" ]]
		ingest "$D"
		[ "$status" -eq 3 ]
		[ "$(wc -l <<<"$stderr")" -eq 1 ]
		[[ $stderr == "syscheck: store $kind://"* ]]
		"restart_$kind" "$dir"
		ingest "$D"
		[ "$status" -eq 0 ]
		[ "$(q 'SELECT COUNT(*) FROM job_node')" = 60002 ]
		rm "$D"/*
	done
}

@test "SQLite: read-only, damaged, locked, not there, full: one line each, exit 3" {
	fresh sqlite
	two_nodes "$D/records.jsonl"
	trouble() {
		echo "status $status; $stderr"
		[ "$status" -eq 3 ]
		[ "$(wc -l <<<"$stderr")" -eq 1 ]
		[ "$stderr" = "syscheck: store $STORE: $1" ]
	}
	# ingest_beside_writer SECONDS: while another process writes to the store for so long
	ingest_beside_writer() {
		(echo 'BEGIN IMMEDIATE;'; sleep "$1") | sqlite3 "$STORE" 3>&- &
		local writer=$!
		sleep 0.5
		ingest "$D"
		wait "$writer"
	}
	run --separate-stderr syscheck store info --store "$STORE"
	trouble "no such file or directory; syscheck ingest makes it, on the host that collects records"
	ingest "$D"
	[ "$status" -eq 0 ]
	[ "$(stat -c %a "$STORE")" = 640 ]
	[ "$(stat -c %a "${STORE%/*}")" = 750 ]
	STORE=${STORE%/*}
	run --separate-stderr syscheck store info --store "$STORE"
	trouble "not a file"
	STORE=$BATS_TEST_TMPDIR/damaged.db
	head -c 8192 /dev/urandom >"$STORE"
	ingest "$D"
	trouble "not an SQLite file"
	sqlite3 "$BATS_TEST_TMPDIR/other.db" 'CREATE TABLE x (y)'
	STORE=$BATS_TEST_TMPDIR/other.db
	run --separate-stderr syscheck store info --store "$STORE"
	trouble "not a store of syscheck; syscheck ingest makes one"
	STORE=$BATS_TEST_TMPDIR/store/s.db
	cp "$STORE" "$BATS_TEST_TMPDIR/damaged.db"
	STORE=$BATS_TEST_TMPDIR/damaged.db
	rm -f "$STORE"-*
	dd if=/dev/urandom of="$STORE" bs=4096 seek=1 count=30 conv=notrunc status=none
	ingest "$D"
	trouble "damaged; restore it, or move it away and ingest again"
	STORE=$BATS_TEST_TMPDIR/store/s.db
	mkfifo "$BATS_TEST_TMPDIR/hold"
	sqlite3 "$STORE" <"$BATS_TEST_TMPDIR/hold" 3>&- &
	local pid=$!
	exec 9>"$BATS_TEST_TMPDIR/hold"
	echo 'BEGIN IMMEDIATE;' >&9
	sleep 0.5
	cp "$D/records.jsonl" "$D/records-0.jsonl"
	ingest "$D"
	exec 9>&-
	wait "$pid"
	trouble "locked: another process writes to it for more than 10 s"
	# One that ends while we wait for the second time is no trouble.
	ingest_beside_writer 11
	[ "$status" -eq 0 ]
	# So it is while another one makes the store.
	mkdir "$BATS_TEST_TMPDIR/new"
	STORE=$BATS_TEST_TMPDIR/new/s.db
	(umask 027; : >"$STORE")
	ingest_beside_writer 2
	[ "$status" -eq 0 ]
	# A disk of 400 kB.
	mkdir "$BATS_TEST_TMPDIR/small"
	mount -t tmpfs -o size=400k none "$BATS_TEST_TMPDIR/small"
	lines "for k = 1, 9000 do job { job = { id = k, name = ('x'):rep(99) .. k }, time = at(k), elapsed_s = 5 } end" >"$D/records-1.jsonl"
	STORE=$BATS_TEST_TMPDIR/small/s.db
	ingest "$D"
	umount "$BATS_TEST_TMPDIR/small"
	trouble "no space left on its disk"
}

@test "SQLite: the group reads, others do not; a reader needs to write nothing" {
	[ "$(id -u)" = 0 ] || skip "not root"
	local dir
	dir=$(for_all)
	printf 'return { store = "%s/s/s.db", store_group = "games" }\n' "$dir" >"$dir/p/etc/syscheck/policy.lua"
	two_nodes "$D/records.jsonl"
	run --separate-stderr "$dir/p/bin/syscheck" ingest "$D"
	echo "$stderr"
	[ "$status" -eq 0 ]
	[ "$(stat -c '%a %U %G' "$dir/s")" = "750 root games" ]
	[ "$(stat -c '%a %U %G' "$dir/s/s.db")" = "640 root games" ]
	run --separate-stderr setpriv --reuid=65534 --regid=games --clear-groups "$dir/p/bin/syscheck" store info
	echo "$output$stderr"
	[ "$status" -eq 0 ]
	[[ $output == *"2 job records of 1 runs"* ]]
	# After an ingest that was killed, too: what it had committed.
	lines 'job { job = { id = 9 }, time = at(7), elapsed_s = 1 }' >>"$D/records.jsonl"
	"$dir/p/bin/syscheck" ingest "$D"
	run --separate-stderr setpriv --reuid=65534 --regid=games --clear-groups "$dir/p/bin/syscheck" store info
	[[ $output == *"3 job records of 2 runs"* ]]
	# A copy as docs/store.md says leaves readers what they need; another takes it away, and they are told.
	sqlite3 -readonly "$dir/s/s.db" ".backup $dir/copy.db"
	run --separate-stderr setpriv --reuid=65534 --regid=games --clear-groups "$dir/p/bin/syscheck" store info
	[ "$status" -eq 0 ]
	sqlite3 "$dir/s/s.db" ".backup $dir/copy.db"
	run --separate-stderr setpriv --reuid=65534 --regid=games --clear-groups "$dir/p/bin/syscheck" store info
	[ "$status" -eq 3 ]
	[ "$stderr" = "syscheck: store $dir/s/s.db: its -wal and -shm are gone, and this user cannot make them; the next syscheck ingest does" ]
	"$dir/p/bin/syscheck" ingest "$D"
	cp "$D/records.jsonl" "$dir/again.jsonl"
	run --separate-stderr setpriv --reuid=65534 --regid=games --clear-groups "$dir/p/bin/syscheck" ingest "$dir/again.jsonl"
	echo "$stderr"
	[ "$status" -eq 3 ]
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
	run --separate-stderr setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/p/bin/syscheck" store info
	rm -r "$dir"
	[ "$status" -eq 3 ]
	[[ $stderr == "syscheck: store $dir/s/s.db: "* ]]
}

@test "PostgreSQL: a user sees his own jobs, an admin all, by the server's rules" {
	fresh postgresql
	lines 'job { job = { id = 1, user = "alice", name = "hers" }, elapsed_s = 5 }' 'check { job = { id = 1, user = "alice" } }' \
		'job { job = { id = 2, user = "bob", name = "his" }, elapsed_s = 5 }' 'check { job = { id = 2, user = "bob" } }' 'fabric {}' >"$D/records.jsonl"
	ingest "$D"
	psql -h "$PG" -U admin -d syscheck -Xq -v ON_ERROR_STOP=1 -f "$ROOT/etc/store/postgresql-users.sql"
	psql -h "$PG" -U admin -d syscheck -Xq -v ON_ERROR_STOP=1 -f "$ROOT/etc/store/postgresql-users.sql" # again
	psql -h "$PG" -U admin -d syscheck -Xqc 'CREATE ROLE alice LOGIN IN ROLE syscheck_user; CREATE ROLE mallory LOGIN IN ROLE syscheck_user;
		CREATE ROLE boss LOGIN IN ROLE syscheck_admin; CREATE ROLE stranger LOGIN'
	as() {
		psql -h "$PG" -U "$1" -d syscheck -XAtqc "$2" 2>&1
	}
	[ "$(as alice 'SELECT job_id FROM run')" = 1 ]
	[ "$(as alice 'SELECT COUNT(*) FROM job_node')" = 1 ]
	[ "$(as alice 'SELECT COUNT(*) FROM check_node')" = 1 ]
	[ "$(as alice "SELECT COUNT(*) FROM word WHERE text IN ('his', 'bob')")" = 0 ]
	[ "$(as alice "SELECT COUNT(*) FROM word WHERE text IN ('hers', 'alice', 'epyc')")" = 3 ]
	# Of nodes, and nobody's: his own questions read it.
	[ "$(as alice 'SELECT COUNT(*) FROM fabric_node')" = 1 ]
	[[ $(as stranger 'SELECT * FROM fabric_node') == *"permission denied"* ]]
	[ "$(as mallory 'SELECT COUNT(*) FROM run')" = 0 ]
	[ "$(as boss 'SELECT COUNT(*) FROM run')" = 2 ]
	[ "$(as boss 'SELECT COUNT(*) FROM job_node')" = 2 ]
	[[ $(as stranger 'SELECT * FROM run') == *"permission denied"* ]]
	[[ $(as alice 'UPDATE run SET seen = 0') == *"permission denied"* ]]
	[[ $(as boss 'DELETE FROM run') == *"permission denied"* ]]
	[[ $(as alice 'SELECT * FROM file') == *"permission denied"* ]]
	# Ingest goes on.
	lines 'job { job = { id = 3, user = "bob", name = "next" }, elapsed_s = 5 }' >>"$D/records.jsonl"
	ingest "$D"
	[ "$status" -eq 0 ]
	[ "$(as boss 'SELECT COUNT(*) FROM run')" = 3 ]
}

@test "MariaDB: by the grants that docs/store.md gives who runs ask reads, and writes nothing; others are kept out" {
	[ "$(id -u)" = 0 ] || skip "not root"
	fresh mariadb
	local dir
	dir=$(for_all)
	chmod 755 "$MY"
	local PATH=$dir/p/bin:$PATH
	# The user whom the page names is made by the page about sudo.
	local grants reader=(setpriv --reuid=games --regid=games --clear-groups)
	grants=$(sed -n '/^    CREATE USER/,/^    GRANT SELECT/s/syscheck@/games@/p' "$ROOT/docs/store.md")
	[ "$(wc -l <<<"$grants")" = 2 ]
	mariadb --no-defaults -S "$MY/s" -u root -e "DROP USER IF EXISTS games@localhost; $grants"
	STORE="mariadb://localhost/syscheck?socket=$MY/s"
	lines 'job { job = { id = 9 }, time = at(7), elapsed_s = 1 }' >"$D/records.jsonl"
	ingest "$D"
	[ "$status" -eq 0 ]
	run --separate-stderr "${reader[@]}" syscheck job 9 --store "$STORE"
	echo "$output$stderr"
	[ "$status" -eq 0 ]
	[[ $output == "job 9  "* ]]
	lines 'job { job = { id = 10 }, time = at(8), elapsed_s = 1 }' >"$dir/more.jsonl"
	run --separate-stderr "${reader[@]}" syscheck ingest --store "$STORE" --bad "$dir/bad" "$dir/more.jsonl"
	[ "$status" -eq 3 ]
	[[ $stderr == *"command denied to user 'games'@'localhost'"* ]]
	run --separate-stderr setpriv --reuid=65534 --regid=65534 --clear-groups syscheck job 9 --store "$STORE"
	rm -r "$dir"
	[ "$status" -eq 3 ]
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
	[[ $stderr == *": Access denied: root and who may read it may ask about every job"* ]]
}

@test "names of stores: one line for what is none; no password is taken, or shown" {
	two_nodes "$D/records.jsonl"
	for STORE in relative.db http://x/y postgresql://x sqlite://host/x 'postgresql://u:secret@h/d' 'mariadb://u@h/d?password=secret' 'postgresql://u@h/a b'; do
		ingest "$D"
		[ "$status" -eq 3 ]
		[ "$(wc -l <<<"$stderr")" -eq 1 ]
		[[ $stderr == "syscheck: "* && $stderr != *secret* ]]
	done
	STORE=postgresql://nobody@localhost:1/x
	ingest "$D"
	[ "$status" -eq 3 ]
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
	fresh sqlite
	SYSCHECK_STORE=sqlite://$STORE run syscheck ingest "$D"
	[ "$status" -eq 0 ]
	policy "store = '$STORE'"
	run syscheck store info
	[ "$status" -eq 0 ]
	policy 'store_group = "no/such"'
	run syscheck config check
	[ "$status" -eq 1 ]
	# 60 is the number of games: a name is what is wanted.
	for group in nosuchgroup 60; do
		policy "store_group = '$group'"
		ingest "$D"
		[ "$status" -eq 2 ]
		[ "$stderr" = "syscheck: no such group: $group" ]
	done
}

@test "a store in a killed ingest's wake, a driver that is missing" {
	fresh sqlite
	two_nodes "$D/records.jsonl"
	ingest "$D"
	mkdir "$BATS_TEST_TMPDIR/l"
	printf 'error("no")' >"$BATS_TEST_TMPDIR/l/none.lua"
	# LuaDBI without its driver: a package.cpath in which it is not.
	sed "s|^local argparse|package.preload['dbd.sqlite3'] = function() error('none') end local argparse|" "$P/bin/syscheck" >"$BATS_TEST_TMPDIR/syscheck"
	run --separate-stderr lua5.4 -E "$BATS_TEST_TMPDIR/syscheck" store info --store "$STORE"
	[ "$status" -eq 3 ]
	[ "$stderr" = "syscheck: store $STORE: the driver is missing: install lua-dbi-sqlite3 (LuaDBI for Lua 5.4)" ]
}

# Without the ages, which grow.
export_prometheus() {
	syscheck export prometheus --store "$STORE" --since 60d | grep -v '^syscheck_ingest_lag\|_window_seconds'
}

exports() {
	lua5.4 "$FIXTURES/ten_days.lua" >"$D/records.jsonl"
	lines 'loss { cluster = "c1", lost_records = 7, lost_bytes = 9, reason = "disk full" }' >>"$D/records.jsonl"
	ingest "$D"
	[ "$status" -eq 0 ]
	export_prometheus >"$BATS_TEST_TMPDIR/$KIND.prom"
	run promtool check metrics <"$BATS_TEST_TMPDIR/$KIND.prom"
	[ "$status" -eq 0 ] && [ -z "$output" ]
	grep -q '^syscheck_slow_jobs{cause="clock",cluster="c1"} 15$' "$BATS_TEST_TMPDIR/$KIND.prom"
	grep -q '^syscheck_records_lost_total{cluster="c1"} 7$' "$BATS_TEST_TMPDIR/$KIND.prom"
	# The same of each kind of store, as they hold the same.
	[ -e "$BATS_TEST_TMPDIR/first.prom" ] || cp "$BATS_TEST_TMPDIR/$KIND.prom" "$BATS_TEST_TMPDIR/first.prom"
	diff "$BATS_TEST_TMPDIR/first.prom" "$BATS_TEST_TMPDIR/$KIND.prom"
	syscheck store prune --older 1h --store "$STORE" >/dev/null
	[ "$(export_prometheus | grep '^syscheck_records_lost_total')" = 'syscheck_records_lost_total{cluster="c1"} 7' ]
}

@test "export prometheus: the same from each kind of store, good, and no count goes back" {
	everywhere exports
}

@test "export prometheus: a file as a whole or not at all; one line for what cannot be written or read" {
	local out=$BATS_TEST_TMPDIR/out
	fresh sqlite
	two_nodes "$D/records.jsonl"
	ingest "$D"
	mkdir "$out"
	touch -d '-2 minutes' "$out/f.prom.0123456789abcdef"
	run syscheck export prometheus --store "$STORE" --output "$out/f.prom"
	[ "$status" -eq 0 ] && [ -z "$output" ]
	[ "$(ls -A "$out")" = f.prom ]
	[ "$(stat -c %a "$out/f.prom")" = 644 ]
	promtool check metrics <"$out/f.prom"
	ln -sf "$D/records.jsonl" "$out/f.prom"
	# Neither a link, nor another file, nor a device is replaced: root's might be one that the host needs.
	mkfifo "$out/pipe"
	echo keep >"$out/other"
	for bad in "$out/f.prom" "$out/pipe" "$out/other" "$out/none/f.prom" "$out" "$out/other/x"; do
		run --separate-stderr syscheck export prometheus --store "$STORE" --output "$bad"
		[ "$status" -eq 1 ]
		[ -z "$output" ]
		[ "$(wc -l <<<"$stderr")" -eq 1 ]
		[[ $stderr == "syscheck: --output: "* ]]
	done
	[ -L "$out/f.prom" ]
	[ -p "$out/pipe" ]
	[ "$(cat "$out/other")" = keep ]
	[ "$(wc -l <"$D/records.jsonl")" -eq 4 ]
	run --separate-stderr syscheck export prometheus --store "$BATS_TEST_TMPDIR/none.db" --output "$out/g.prom"
	[ "$status" -eq 3 ] && [ ! -e "$out/g.prom" ]
	run --separate-stderr syscheck export
	[ "$status" -eq 2 ]
	grep -q "^ExecStart=$P/bin/syscheck export prometheus --output " "$P/lib/systemd/system/syscheck-export.service"
}
