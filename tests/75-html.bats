#!/usr/bin/env bats
# Pages: --html of each question. What a browser would load or obey, hostile names, the file, sizes.
# shellcheck disable=SC2016,SC2030,SC2031,SC2089,SC2090,SC2154

bats_require_minimum_version 1.5.0
load helpers

# What a browser, an XML parser, a terminal and a reader would take for something else.
NASTY=$'a"><script>alert(1)</script><img src=x onerror=alert(1)> \' onload="x ]]> <!-- & &lt; \033[31m\xe2\x80\xaegnp.\xe2\x80\x8b</title></style>'

setup_file() {
	Q=$(mktemp -d /tmp/pages.XXXXXX)
	chmod 755 "$Q"
	export Q P=$Q/p NASTY
	make -s -C "$ROOT" install PREFIX="$P" SYSCONFDIR="$P/etc" LOCALSTATEDIR="$P/var" RUNDIR="$P/run" DESTDIR= >/dev/null
	mkdir "$Q/week" "$Q/ten_days" "$Q/fleet"
	lua5.4 "$FIXTURES/week.lua" >"$Q/week/records.jsonl"
	lua5.4 "$FIXTURES/ten_days.lua" >"$Q/ten_days/records.jsonl"
	lua5.4 "$FIXTURES/pages.lua" 1000 64 >"$Q/fleet/records.jsonl"
	local name
	for name in week ten_days fleet; do
		"$P/bin/syscheck" ingest --store "$Q/$name.db" "$Q/$name" | grep ' 0 known; 0 bad lines'
	done
}

teardown_file() {
	rm -rf "${Q:?}"
}

setup() {
	PATH=$P/bin:$PATH
	OUT=$BATS_TEST_TMPDIR
	export LC_ALL=C
	unset SYSCHECK_STORE
}

# page NAME ARGS...: writes it, and holds it to what every page has to be
page() {
	local file=$OUT/$1.html
	run --separate-stderr syscheck "${@:2}" --html "$file"
	[ "$status" -eq 0 ] && [ -z "$output$stderr" ] && good "$file" || { echo "$1: exit $status: $stderr"; return 1; }
}

# good FILE: well-formed, valid, and of nothing but these elements and attributes
good() {
	local odd
	xmllint --noout "$1" || return 1
	odd=$(tidy -e -q "$1" 2>&1) || true
	[ -z "$odd" ] || { echo "tidy: $odd"; return 1; }
	[ "$(iconv -f UTF-8 -t UTF-8 <"$1" | tr -d '\n' | LC_ALL=C tr -d '\40-\377' | wc -c)" = 0 ] || { echo "control characters"; return 1; }
	odd=$(grep -oE '<[a-zA-Z!?][a-zA-Z0-9-]*' "$1" | sort -u | grep -vxE '<(!DOCTYPE|html|head|meta|title|style|body|main|h1|h2|p|ul|li|i|b|section|figure|div|svg|path|text|rect|details|summary|table|thead|tbody|tr|th|td|footer)') || true
	[ -z "$odd" ] || { echo "elements: $odd"; return 1; }
	# An escaped text has no quote: what looks like an attribute is one.
	odd=$(grep -oE ' [a-zA-Z:-]+="' "$1" | sort -u | grep -vxE ' (lang|charset|http-equiv|content|name|class|viewBox|role|aria-label|d|x|y|width|height|scope)="') || true
	[ -z "$odd" ] || { echo "attributes: $odd"; return 1; }
	! grep -oiE '(https?:)?//[a-z].{20}|url\(|@import|javascript:' "$1" | grep . || return 1
	[ "$(grep -c "http-equiv=\"Content-Security-Policy\"" "$1")" = 1 ] || return 1
	grep -q "content=\"default-src 'none'; style-src 'unsafe-inline'\"" "$1"
}

# says FILE TEXT: among what a reader is shown
says() {
	xmllint --xpath 'string(/html/body)' "$1" | grep -qF -- "$2" || { echo "$1 does not say: $2"; return 1; }
}

@test "every question has a page that needs nothing else" {
	local week=$Q/week.db days=$Q/ten_days.db
	page job job 4010 --store "$week"
	says "$OUT/job.html" "n3 stands out"
	page again job 4030 --store "$week"
	says "$OUT/again.html" "All 2 runs of the job"
	page spool job 4010 --spool "$Q/week"
	page node node n2 --store "$week" --limit 500
	says "$OUT/node.html" "102 checks (101 pass, 1 fail), 101 jobs; drained once"
	page why why 5102 --store "$days"
	says "$OUT/why.html" "very likely n7: package throttled 620 s"
	says "$OUT/why.html" "like runs suggest"
	page suspects suspects --store "$days"
	says "$OUT/suspects.html" "n7"
	page fleet fleet --store "$Q/fleet.db"
	says "$OUT/fleet.html" "2 of 1000 nodes are worse than their class: n0005 (triad"
	# Each picture has its table behind it, and says what it shows to who does not see it.
	[ "$(grep -o '<svg' "$OUT/why.html" | wc -l)" = "$(grep -o '<svg[^>]* aria-label=".' "$OUT/why.html" | wc -l)" ]
	[ "$(grep -o '<details>' "$OUT/why.html" | wc -l)" = 4 ]
}

@test "a run's page: matrix, curves, detours; the trace is gone" {
	mkdir "$OUT/tmp"
	export TMPDIR=$OUT/tmp
	run --separate-stderr syscheck run --level full --html "$OUT/run.html"
	[ "$status" -le 3 ] && [ -z "$output" ]
	good "$OUT/run.html"
	says "$OUT/run.html" "Memory from NUMA node to NUMA node"
	says "$OUT/run.html" "Latency of caches and memory"
	says "$OUT/run.html" "What took the cores away from the loop"
	[ -z "$(ls "$TMPDIR")" ]
	page passive run --level passive
}

@test "names that are markup, 10 kB long, or no UTF-8 are text" {
	page week job 4003 --store "$Q/week.db"
	says "$OUT/week.html" '<script>alert(1)</script><img src=x onerror=alert(1)>'
	says "$OUT/week.html" '\x1b[31m\u{202e}gnp.\u{200b}'
	page long job 4005 --store "$Q/week.db"
	[ "$(stat -c %s "$OUT/long.html")" -lt 40000 ]
	page why why 5070 --store "$Q/ten_days.db"
	page node node n1 --store "$Q/week.db" --limit 500
	says "$OUT/node.html" 'a"><script>alert(1)'
	page many job 7003 --store "$Q/fleet.db"
	# Names of nodes, classes, metrics' texts and reasons as an attacker who writes records would have them.
	mkdir "$OUT/evil"
	NASTY=$NASTY$'\xff\xfe' lua5.4 "$FIXTURES/lines.lua" 'local bad = os.getenv("NASTY")
	for i = 1, 6 do
		local node = (i == 3 and bad or "n") .. i
		check({ node = node, class = bad, time = ago(1), level = bad, status = i == 3 and "fail" or "pass", action = "drain",
			text = bad, reason = bad, note = bad, drain = { done = true, reason = bad }, problems = { bad },
			metrics = { { name = "triad_gbs", value = i == 3 and 50 or 90 + i / 10, status = "pass", text = bad } } })
		job({ node = node, class = bad, time = ago(0.9), elapsed_s = 600, begin = { time = ago(1) }, problems = { bad },
			["end"] = { time = ago(0.9) }, errors = { { kind = "dimm", unit = bad, corrected = 12 } }, throttle_events = 5,
			delta = { throttle = { package_count = i, package_ms = i * 100 }, memory_errors = { corrected = 12 } },
			job = { name = bad, user = bad, partition = bad, account = bad } })
	end' >"$OUT/evil/records.jsonl"
	syscheck ingest --store "$OUT/evil.db" "$OUT/evil"
	page evil_job job 4711 --store "$OUT/evil.db"
	page evil_spool job 4711 --spool "$OUT/evil"
	page evil_why why 4711 --store "$OUT/evil.db"
	page evil_fleet fleet --store "$OUT/evil.db"
	page evil_node node n1 --store "$OUT/evil.db"
}

@test "a store with one record, and numbers that are none" {
	mkdir "$OUT/one" "$OUT/odd"
	lua5.4 "$FIXTURES/lines.lua" 'job({ time = ago(1), elapsed_s = 600, begin = { time = ago(1.1) } })' >"$OUT/one/records.jsonl"
	syscheck ingest --store "$OUT/one.db" "$OUT/one"
	page job job 4711 --store "$OUT/one.db"
	says "$OUT/job.html" "one node, which has no peers"
	page why why 4711 --store "$OUT/one.db"
	page node node n1 --store "$OUT/one.db"
	lua5.4 "$FIXTURES/lines.lua" 'check({ time = ago(1), status = "pass", level = "quick",
		metrics = { { name = "triad_gbs", value = 90, status = "pass" } } })' >"$OUT/one/records.jsonl"
	syscheck ingest --store "$OUT/check.db" "$OUT/one"
	page fleet fleet --store "$OUT/check.db"
	page check job 4711 --store "$OUT/check.db"
	page alone node n1 --store "$OUT/check.db"
	lua5.4 "$FIXTURES/lines.lua" 'for i, v in ipairs({ 1e14, 0, 1e-300, 0.5, 90 }) do
		check({ node = "n" .. i, time = ago(1), status = "pass", metrics = { { name = "triad_gbs", value = v, status = "pass" },
			{ name = "noise_pct", value = 0, status = "pass" } } })
		job({ node = "n" .. i, time = ago(0.9), elapsed_s = i == 1 and 0 or v, begin = { time = ago(1) },
			delta = { pressure = { io_some_us = v }, throttle = { package_ms = v } } })
	end' >"$OUT/odd/records.jsonl"
	syscheck ingest --store "$OUT/odd.db" "$OUT/odd"
	page odd job 4711 --store "$OUT/odd.db"
	page odd_fleet fleet --store "$OUT/odd.db"
	page odd_node node n1 --store "$OUT/odd.db"
}

@test "64 nodes take 150 kB at most, a fleet of 1,000 1 MB" {
	page job job 7015 --store "$Q/fleet.db"
	page why why 7015 --store "$Q/fleet.db"
	page fleet fleet --store "$Q/fleet.db"
	page node node n0009 --since 30d --limit 10000 --store "$Q/fleet.db"
	ls -l "$OUT"/*.html
	[ "$(stat -c %s "$OUT/job.html")" -le 150000 ]
	[ "$(stat -c %s "$OUT/why.html")" -le 150000 ]
	[ "$(stat -c %s "$OUT/fleet.html")" -le 1000000 ]
	[ "$(stat -c %s "$OUT/node.html")" -le 150000 ]
	# Also where every node is out, or has failed a check.
	mkdir "$OUT/bad"
	lua5.4 "$FIXTURES/lines.lua" 'for i = 1, 1000 do
		for c = 1, 10 do
			check({ node = ("n%04d"):format(i), cluster = "c1", time = ago(c), status = c % 3 == 0 and "fail" or "unknown",
				text = ("x"):rep(200), metrics = { { name = "triad_gbs", value = i % 3 == 0 and 90 or i % 3 * 300, status = "fail" },
				{ name = "gflops", value = math.random(1, 9000), status = "fail" },
				{ name = "noise_pct", value = math.random() ^ 9 * 90, status = "fail" } } })
		end
	end' >"$OUT/bad/records.jsonl"
	syscheck ingest --store "$OUT/bad.db" "$OUT/bad"
	page bad fleet --store "$OUT/bad.db"
	[ "$(stat -c %s "$OUT/bad.html")" -le 1000000 ]
}

# What stands in the directory.
there() {
	find "$OUT" -mindepth 1 -printf '%p %i %s %T@\n' | sort
}

# refused CODE WHAT FILE: one line, and nothing is written
refused() {
	local before
	before=$(there)
	run --separate-stderr syscheck job 4010 --store "$Q/week.db" --html "$3"
	echo "$3: exit $status: $stderr"
	[ "$status" -eq "$1" ] && [ -z "$output" ] && [ "$(wc -l <<<"$stderr")" -eq 1 ] &&
		[[ $stderr == "syscheck: --html "*"$2"* && ! $stderr =~ [^[:print:]] ]] &&
		[ "$before" = "$(there)" ]
}

@test "the file: new by the umask, one's own anew, never through a link" {
	local store=(--store "$Q/week.db") before
	OUT=$OUT/files
	mkdir "$OUT"
	(umask 027 && syscheck job 4010 "${store[@]}" --html "$OUT/new.html")
	[ "$(stat -c %a "$OUT/new.html")" = 640 ]
	# It takes the place of an older page of one's own, and is no more open than that; not of another file, which
	# root's might be one that the host needs.
	cp "$OUT/new.html" "$OUT/own.html"
	chmod 600 "$OUT/own.html"
	echo keep >"$OUT/other"
	refused 2 "is no page of syscheck's" "$OUT/other"
	ln "$OUT/own.html" "$OUT/second"
	(cd "$OUT" && syscheck job 4010 "${store[@]}" --html own.html)
	good "$OUT/own.html"
	[ "$(stat -c %a "$OUT/own.html")" = 600 ]
	cmp "$OUT/second" "$OUT/new.html"
	echo keep >"$OUT/target"
	ln -s "$OUT/target" "$OUT/link.html"
	ln -s "$OUT/nowhere" "$OUT/dangling.html"
	mkfifo "$OUT/pipe.html"
	refused 2 "is a link" "$OUT/link.html"
	refused 2 "is a link" "$OUT/dangling.html"
	refused 2 "is a fifo" "$OUT/pipe.html"
	refused 2 "is a directory" "$OUT"
	refused 2 "is a char" /dev/full
	refused 2 "no such directory" "$OUT/none/x.html"
	refused 2 "no such directory" "$OUT/target/x.html"
	refused 2 "want the name of a file" "$OUT/"
	refused 2 "want the name of a file" ""
	refused 2 "name too long" "$OUT/$(printf '%0300d' 1)"
	[ "$(cat "$OUT/target")" = keep ]
	[ ! -e "$OUT/nowhere" ]
	# Standard output; and one form at a time.
	run --separate-stderr syscheck job 4010 "${store[@]}" --html -
	[ "${lines[0]}" = "<!DOCTYPE html>" ]
	for before in --json --csv; do
		run --separate-stderr syscheck job 4010 "${store[@]}" "$before" --html "$OUT/x.html"
		[ "$status" -eq 2 ] && [[ $stderr == *"can not be used together"* ]] && [ ! -e "$OUT/x.html" ]
	done
	run --separate-stderr syscheck run --json --html "$OUT/x.html"
	[ "$status" -eq 2 ] && [ ! -e "$OUT/x.html" ]
}

@test "the file in a directory that others can write, of another user, on a full disk" {
	[ "$(id -u)" = 0 ] || skip "not root"
	# Where user nobody can get at it, which Bats' own directory is not.
	OUT=$Q/files
	mkdir "$OUT"
	local dir=$OUT/public as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all)
	mkdir -m 1777 "$dir"
	cp "$Q/week.db" "$OUT/store.db"
	chmod 644 "$OUT/store.db"
	echo root >"$dir/root.html"
	run --separate-stderr "${as_nobody[@]}" "$P/bin/syscheck" job 4010 --store "$OUT/store.db" --html "$dir/root.html"
	[ "$status" -eq 2 ]
	[[ $stderr == "syscheck: --html $dir/root.html: exists, and is not yours "* ]]
	[ "$(cat "$dir/root.html")" = root ]
	# A link that another has put there; a file that another owns, for root.
	"${as_nobody[@]}" ln -s "$OUT/victim" "$dir/link.html"
	"${as_nobody[@]}" touch "$dir/theirs.html"
	local name
	for name in link theirs; do
		run --separate-stderr syscheck job 4010 --store "$Q/week.db" --html "$dir/$name.html"
		[ "$status" -eq 2 ]
	done
	[ ! -e "$OUT/victim" ]
	run --separate-stderr syscheck job 4010 --store "$Q/week.db" --html "$dir/new.html"
	[ "$status" -eq 0 ]
	good "$dir/new.html"
	[ "$(find "$dir" -type f | wc -l)" = 3 ]
	# Not allowed there: said before the store is read.
	run --separate-stderr "${as_nobody[@]}" "$P/bin/syscheck" job 4010 --store "$OUT/store.db" --html "$OUT/no.html"
	[ "$status" -eq 2 ]
	[[ $stderr == "syscheck: --html $OUT/no.html: permission denied"* ]] || { echo "$stderr"; return 1; }
	local old='<meta content="syscheck" name="generator"/>'
	mkdir "$OUT/full"
	mount -t tmpfs -o size=16k none "$OUT/full"
	echo "$old" >"$OUT/full/x.html"
	run --separate-stderr syscheck job 4010 --store "$Q/week.db" --html "$OUT/full/x.html"
	local text=$stderr code=$status left
	left=$(cat "$OUT/full"/*)
	umount "$OUT/full"
	[ "$code" -eq 1 ]
	[[ $text == *"x.html: no space left" ]]
	[ "$left" = "$old" ]
}

@test "ask writes no page: it runs as another user" {
	local ask=$P/libexec/syscheck/ask args
	for args in "job 4010 --html $OUT/x.html" "why 4010 --html=$OUT/x.html" "job 4010 --html -" "job --html $OUT/x.html"; do
		# shellcheck disable=SC2086
		run --separate-stderr env SUDO_UID=0 "$ask" $args
		[ "$status" -eq 2 ] && [[ $stderr == "syscheck: ask: want: ask job ID"* ]] && [ ! -e "$OUT/x.html" ]
	done
}

# at LOCALE ARGS...: the page at one moment
at() {
	LC_ALL=$1 lua5.4 -E -e "local time = os.time; function os.time(t) return t and time(t) or $NOW end" "$P/bin/syscheck" \
		"${@:2}" --html - 2>&1
}

@test "the same page in every locale, and each time" {
	export NOW
	NOW=$(date +%s)
	local args
	for args in "job 4003" "node n1 --since 2026-01-01 --limit 100" "fleet --since 2026-01-01" "why 4010"; do
		# shellcheck disable=SC2086
		cmp <(at C $args --store "$Q/week.db") <(at C.UTF-8 $args --store "$Q/week.db")
		# shellcheck disable=SC2086
		cmp <(at C $args --store "$Q/week.db") <(at POSIX $args --store "$Q/week.db")
	done
}
