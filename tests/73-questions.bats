#!/usr/bin/env bats
# Questions to the store: job, node, fleet; who may ask; a store that does not answer.
# shellcheck disable=SC2016,SC2030,SC2031,SC2089,SC2090,SC2154

bats_require_minimum_version 1.5.0
load helpers
load servers

# What a terminal, a spreadsheet, a shell, a database and a browser would take for orders.
NASTY=$'=a\033[31m\007"\'; DROP TABLE run;--<script>\tx'
GROUP_ID=4 # adm: a group that every Debian has

setup_file() {
	# Where user nobody can get at it, which Bats' own directory is not.
	Q=$(mktemp -d /tmp/questions.XXXXXX)
	chmod 755 "$Q"
	export Q P=$Q/p NASTY GROUP_ID
	make -s -C "$ROOT" install PREFIX="$P" SYSCONFDIR="$P/etc" LOCALSTATEDIR="$P/var" RUNDIR="$P/run" DESTDIR= >/dev/null
	mkdir "$Q/spool"
	history >"$Q/spool/records.jsonl"
	"$P/bin/syscheck" ingest --store "$Q/store.db" "$Q/spool" | grep -q ' 810 new, 0 known; 0 bad lines'
}

teardown_file() {
	rm -rf "${Q:?}"
}

setup() {
	PATH=$P/bin:$PATH
	STORE=$Q/store.db
	DIRS=()
	export LC_ALL=C
	unset SYSCHECK_STORE NO_COLOR
	rm -rf "$P/var/lib/syscheck-store"
	printf 'return { store = "%s", store_group = "adm" }\n' "$STORE" >"$P/etc/syscheck/policy.lua"
}

# A week of four nodes: hourly jobs from 4001 on, of nobody (odd) and alice (even).
#   n3 throttles in job 4010, n2 is drained by job 4020's check and comes back, n4 has memory
#   errors in 4015; 4007 is array task 4000_4, 4009 is 4008+1, 4030 was requeued; n1 lost records.
history() {
	lua5.4 "$FIXTURES/week.lua"
}

# of EXPRESSION: of a, the JSON that `run` left in $output
of() {
	lua5.4 /dev/fd/3 "$1" 3<<-'LUA' <<<"$output"
	local function whole(t)
		for k, v in pairs(t) do
			t[k] = type(v) == "table" and whole(v) or math.type(v) == "float" and math.tointeger(v) or v
		end
		return t
	end
	local a = whole(require("cjson").decode(io.read("a")))
	print((load("local a = ... return " .. arg[1])(a)))
	LUA
}

# fails CODE WHAT COMMAND...: one line on standard error that holds WHAT, nothing else
fails() {
	local code=$1 what=$2
	shift 2
	run --separate-stderr "$@"
	echo "$*: exit $status: $stderr"
	[ "$status" -eq "$code" ] && [ -z "$output" ] && [ "$(wc -l <<<"$stderr")" -eq 1 ] &&
		[[ $stderr == "syscheck: "*"$what"* && ! $stderr =~ [^[:print:]] ]]
}

unprivileged() {
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$@"
}

# as_asker COMMAND...: what sudo makes of user nobody: an account that may read the store
as_asker() {
	env -i PATH="$PATH" SUDO_UID=65534 SUDO_USER=nobody SYSCHECK_STORE=/nonexistent \
		setpriv --reuid=64998 --regid=64998 --groups="$GROUP_ID" --inh-caps=-all "$@"
}

@test "job: nodes against their peers" {
	run --separate-stderr syscheck job 4010
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	[[ ${lines[0]} == "job 4010  name job0  user alice  account physics  partition main  cluster c1  nodes 4" ]]
	[[ $output =~ n3\ .*\ quick\ +pass\ +86\.3\ +4003\ .*\ 1800\ +1204\*\ +3612\* ]]
	[[ $output == *"n3: throttled 1204 times during the job (3.61 s); 3 peers: median 0, worst 0"* ]]
	[[ $output != *"n1: "* ]]
	run syscheck job 4020
	[[ $output == *"n2: drained, the job did not start there"* ]]
	[[ $output == *"n2: unlike its peers: triad 61.3 GB/s; 3 peers: median 86.3 GB/s, worst 86.1 GB/s"* ]]
	run syscheck job 4015
	[[ $output == *"n4: mc0 CPU0_DIMM_A1: corrected 12"* ]]
	run syscheck job 4011
	[[ $output == *"n1: shared with jobs 9001, 9002"* ]]
}

@test "job: array tasks, components, runs of a requeued job" {
	run syscheck job 4000_4
	[[ $output == "job 4000_4 (job 4007)  "* ]]
	run syscheck job 4008+1
	[[ $output == "job 4008+1 (job 4009)  "* ]]
	fails 1 "it is an array with tasks from 4000_4 to 4000_4" syscheck job 4000
	run --separate-stderr syscheck job 4030
	[ "$(grep -c '^ *1  n' <<<"$output")" = 4 ]
	[ "$(grep -c '^ *2  n' <<<"$output")" = 4 ]
	run --separate-stderr syscheck job 4030 --json
	[ "$(of '#a.runs .. " " .. a.runs[2].restart .. " " .. #a.runs[2].rows')" = "2 1 4" ]
}

@test "job: JSON and CSV have every number" {
	run --separate-stderr syscheck job 4010 --json
	[ "$(of 'a.kind .. a.id .. a.runs[1].rows[3].values.throttle_events')" = job40101204 ]
	[ "$(of 'a.runs[1].rows[3].out[1].name .. a.runs[1].rows[3].check.metrics.gflops')" = throttle_events4003 ]
	[ "$(of '#a.runs[1].rows[1].out')" = 0 ]
	run --separate-stderr syscheck job 4010 --csv
	[ "${#lines[@]}" -eq 5 ]
	[[ ${lines[3]} == *,n3,*,throttle_events\ throttle_package_ms,* ]]
	[ "$(awk -F, '{ print NF }' <<<"$output" | sort -u | wc -l)" = 1 ]
	fails 2 "can not be used together" syscheck job 4010 --json --csv
}

@test "a job's name is shown, never obeyed" {
	local format
	for format in "" --csv --json; do
		# shellcheck disable=SC2086
		run --separate-stderr syscheck job 4003 $format
		[ "$status" -eq 0 ]
		[ "$(tr -d '\r\n' <<<"$output" | LC_ALL=C tr -d ' -~' | wc -c)" = 0 ]
	done
	[ "$(of 'a.runs[1].name == os.getenv("NASTY")')" = true ]
	run syscheck job 4003 --csv
	[[ $output == *",\"'=a\\x1b[31m\\x07\"\"'; DROP TABLE run;'--<script>\\x09x\","* ]]
	run syscheck job 4005
	[[ ${lines[0]} == *"xxx...  user"* ]]
	run syscheck job 4005 --json
	[ "$(of '#a.runs[1].name <= 1024')" = true ]
	run syscheck node n1 --limit 100
	[[ $output == *"=a\\x1b[31m"* ]]
	# The tables are all there.
	run syscheck job 4010
	[ "$status" -eq 0 ]
}

@test "job: the spool where there is no store, or when it is named" {
	run syscheck job 4010 --spool "$Q/spool"
	[[ $output =~ n3\ .*\ 1204\* ]]
	run syscheck job 4000_4 --spool "$Q/spool"
	[[ $output == "job 4000_4 (job 4007)  "* ]]
	run syscheck job 4010 --spool "$Q/spool" --json
	[ "$(of '#a .. a[1].kind')" = 8check ]
	run syscheck job 4010 --spool "$Q/spool" --csv
	[ "${#lines[@]}" -eq 5 ]
	fails 2 "exclude each other" syscheck job 4010 --spool "$Q/spool" --store "$STORE"
	echo 'return {}' >"$P/etc/syscheck/policy.lua"
	fails 1 "job 4010: no record in " syscheck job 4010
	mkdir -p "$P/var/lib/syscheck-store"
	cp "$STORE" "$P/var/lib/syscheck-store/syscheck.db"
	run syscheck job 4010
	[[ $output =~ n3\ .*\ 1204\* ]]
	SYSCHECK_STORE=$Q/none.db fails 3 "$Q/none.db: no such file" syscheck job 4010
}

@test "node: checks over time, events, jobs" {
	run --separate-stderr syscheck node n2 --limit 3
	[ "$status" -eq 0 ]
	[[ ${lines[0]} == "node n2  cluster c1  class epyc-9654-2s192c-768g  since "* ]]
	[[ ${lines[1]} == "checks 102 (101 pass, 1 fail)  jobs 101" ]]
	[[ $output =~ triad\ +GB/s\ +86\.2\ +86\.2\ +61\.3\ +86\.2\ +102\ +\|.*_.*\| ]]
	[[ $output == *" drain "*"4020  syscheck: triad 61.3 < 77.4 GB/s"* ]]
	[[ $output == *" resume "*"-  back in service"* ]]
	[[ $output == *" config "*"cafebabe -> deadbeef: kernel 6.1 -> 6.2"* ]]
	[[ $output == *"jobs (last 3 of 101; --limit)"* ]]
	[[ $output =~ \ 4100\ +alice\ +job0\ +4\ +1800 ]]
	run syscheck node n3
	[[ $output == *" throttle "*"4010  1204 throttle events, 3612 ms"* ]]
	run syscheck node n4
	[[ $output == *" memory "*"4015  12 corrected memory errors (mc0 CPU0_DIMM_A1: corrected 12)"* ]]
	run syscheck node n1
	[[ $output == *" loss "*"3 records lost (4000 bytes): disk full"* ]]
	run syscheck node n2 --since 1m
	[[ ${lines[1]} == "checks 0  jobs 0" ]]
	run --separate-stderr syscheck node n2 --json
	[ "$(of 'a.checks .. " " .. a.jobs_total .. " " .. #a.jobs .. " " .. #a.metrics[1].series')" = "102 101 20 48" ]
	run --separate-stderr syscheck node n2 --csv
	[[ $output == *",drain,4020,alice,job0,4,,syscheck: triad 61.3 < 77.4 GB/s,,,"* ]]
}

@test "node: bars in the reader's own characters, colours on a terminal only" {
	run syscheck node n2
	[[ $(tr -d '\n' <<<"$output") =~ ^[[:print:]]+$ ]]
	LC_ALL=C.UTF-8 run syscheck node n2
	[[ $output == *█* ]]
	run env TERM=xterm script -qec "syscheck node n2" /dev/null
	[[ $output == *$'\033[31mdrain'* ]]
	run env TERM=xterm NO_COLOR=1 script -qec "syscheck node n2" /dev/null
	[[ $output == *drain* && $output != *$'\033'* ]]
	run env TERM=dumb script -qec "syscheck job 4010" /dev/null
	[[ $output == *1204* && $output != *$'\033'* ]]
}

# on_terminal COLUMNS COMMAND: what a terminal so wide is shown
on_terminal() {
	env TERM="${TERM_IS:-dumb}" script -qec "stty cols $1 rows 50; $2" /dev/null | tr -d '\r'
}

# longest: columns of the longest line of $output that could be broken
longest() {
	grep -E '^.{2,}[^ ] +[^ ]' <<<"$output" | awk '{ if (length($0) > n) n = length($0) } END { print n + 0 }'
}

@test "answers are as wide as the terminal; what is no terminal gets a line each" {
	local columns question
	for columns in 40 80 132; do
		for question in "job 4010" "job 4003" "job 4005" "job 4030" "why 4010 --explain" "why 4020" "node n2" "fleet" "suspects"; do
			run on_terminal "$columns" "syscheck $question"
			[ "$status" -eq 0 ] || { echo "$question"; return 1; }
			[ "$(longest)" -le "$columns" ] || { echo "$question at $columns: $(longest): $output"; return 1; }
		done
	done
	run on_terminal 40 "syscheck job 4010"
	[[ $output == *"1204*"* && $output == *"only - or 0: "* ]]
	run on_terminal 400 "syscheck job 4010"
	diff <(echo "$output") <(syscheck job 4010)
	TERM_IS=xterm run on_terminal 40 "syscheck job 4010"
	[[ $output == *$'\033[31m1204*\033[0m'* ]]
	# A serial line has no size.
	run on_terminal 0 "syscheck job 4010"
	[ "$(longest)" -le 80 ]
}

@test "job: what a full check measured" {
	local r=$BATS_TEST_TMPDIR/records.jsonl
	python3 - "$ROOT/tests/fixtures/full_check.json" >"$r" <<-'PY'
		import json, sys
		r = json.load(open(sys.argv[1]))
		for n in range(1, 5):
		    r.update(id="%032x" % n, node="n%d" % n, job={"id": 77, "nodes": 4, "user": "alice", "name": "a"})
		    print(json.dumps(r))
	PY
	syscheck ingest --store "$BATS_TEST_TMPDIR/s.db" "$r" | grep -q ' 4 new'
	run --separate-stderr syscheck job 77 --store "$BATS_TEST_TMPDIR/s.db"
	diff <(tr -s ' ' <<<"$output" | grep -vE '^n[234]') - <<-'SHOWN'
		job 77 name a user alice cluster c1 nodes 4 (records of 0)

		NODE CHECKED LEVEL STATUS TRIAD_GB/s DGEMM_GF/s NOISE_% CLOCK_MHz LATENCY_ns SCALING_GB/s KNEE ELAPSED_s THROTTLE THROTTLE_ms IO_STALL_s IOWAIT_s DISK_BUSY_s NFS_s MB_READ MB_WRITTEN
		n1 2026-11-26T03:09:29Z full unrated 28.9 71.5 21.9 3693 145 41.0 2 - - - - - - - - -

		NODE DIRECTORY ON WRITE_GB/s READ_GB/s FSYNC_us CREATES/s
		n1 /tmp ext4 2.66 1.36 194 27465

		n1: no job record yet: the job still runs there, or its epilog did not
		n1: noise before the job: 65.7 us every 4 ms on all cores (1 %)
	SHOWN
}

@test "fleet and node: checks that found out nothing, and why" {
	local i
	lua5.4 "$FIXTURES/fleet_newest.lua" >"$BATS_TEST_TMPDIR/records.jsonl"
	# f3 found out nothing since, f4 did and is well again; g1 never measured anything.
	for i in 'f3 120 unknown' 'f3 30 unknown' 'f4 30 unknown' 'f4 20 pass' 'g1 30 unknown'; do
		# shellcheck disable=SC2086
		set -- $i
		printf '{"v":1,"kind":"check","id":"%032x","cluster":"c1","node":"%s","time":"%s","class":"epyc","level":"none",' \
			"$((0x7000 + RANDOM))" "$1" "$(date -u -d "-$2 seconds" +%FT%TZ)"
		printf '"status":"%s","action":"none","text":"the agent was killed, %s"}\n' "$3" "$2"
	done >>"$BATS_TEST_TMPDIR/records.jsonl"
	STORE=$BATS_TEST_TMPDIR/blind.db
	syscheck ingest --store "$STORE" "$BATS_TEST_TMPDIR"
	run --separate-stderr syscheck fleet --store "$STORE"
	[ "$status" -eq 0 ]
	[ "$(sed -n '/^NEWEST_CHECK_UNKNOWN/,$p' <<<"$output" | awk '{ print $1, $NF }')" = "NEWEST_CHECK_UNKNOWN WHY
f3 30
g1 30" ]
	run --separate-stderr syscheck fleet --store "$STORE" --csv
	[ "$(grep -c '^unknown,epyc,' <<<"$output")" = 2 ]
	run --separate-stderr syscheck fleet --store "$STORE" --json
	[ "$(lua5.4 -e 'local a = require("cjson").decode(io.read("a")) print(#a.unknown, a.unknown[1].node, a.unknown[2].text)' \
		<<<"$output")" = $'2\tf3\tthe agent was killed, 30' ]
	run --separate-stderr syscheck node g1 --store "$STORE"
	[[ $output == *"unknown: the agent was killed, 30"* ]]
	run --separate-stderr syscheck fleet --store "$STORE" --class xeon
	[[ $output != *NEWEST_CHECK_UNKNOWN* ]]
}

@test "fleet: slowest, fastest, spread, who is out" {
	lua5.4 "$FIXTURES/fleet_newest.lua" >"$BATS_TEST_TMPDIR/records.jsonl"
	STORE=$BATS_TEST_TMPDIR/fleet.db
	syscheck ingest --store "$STORE" "$BATS_TEST_TMPDIR/records.jsonl"
	run --separate-stderr syscheck fleet --store "$STORE"
	[ "$status" -eq 0 ]
	[[ $output =~ epyc\ +triad\ +GB/s\ +19\ +87\.0\ +61\.3\ +f7\ +88\.0\ +f[0-9]+\ +30\.3\ +2\.3\ +1 ]]
	[[ $output =~ f7\ +epyc\ +triad\ +61\.3\ +87\.0\ +-29\.5\ +fail\ +[0-9TZ:-]+\ +- ]]
	[[ $output =~ xeon\ +triad\ +GB/s\ +1\ .*\ - ]]
	run --separate-stderr syscheck fleet --store "$STORE" --class xeon --json
	[ "$(of '#a.classes .. a.classes[1].class .. a.classes[1].nodes .. tostring(a.classes[1].metrics[1].judged)')" = 1xeon1false ]
	run --separate-stderr syscheck fleet --store "$STORE" --csv
	[[ $output == *"out,epyc,triad_gbs,GB/s,19,87,f7,61.3,-29."* ]]
	# Its jobs of these days took longer than elsewhere.
	lua5.4 "$FIXTURES/lines.lua" 'for i = 1, 64 do
		local n, t = i % 8 + 1, 64 * 1000 - i * 1000
		local s = (n == 7 and 850 or 600) + i % 5
		job({ cluster = "c1", node = "f" .. n, time = ago((t - 900) / 86400), elapsed_s = s,
			begin = { time = ago(t / 86400) }, ["end"] = { time = ago((t - s) / 86400) },
			job = { id = 100 + i, name = "x", nodes = 1 } })
	end' >"$BATS_TEST_TMPDIR/records.jsonl"
	syscheck ingest --store "$STORE" "$BATS_TEST_TMPDIR/records.jsonl"
	run --separate-stderr syscheck fleet --store "$STORE"
	[[ $output =~ f7\ +epyc\ +triad\ .*\ 8\ took\ 1\.4[0-9]x:\ slow ]]
	run --separate-stderr syscheck fleet --store "$STORE" --json
	[ "$(of 'a.classes[1].metrics[1].out[1].jobs.runs .. tostring(a.classes[1].metrics[1].out[1].jobs.slow)')" = 8true ]
	run --separate-stderr syscheck fleet --store "$STORE" --csv
	[[ $output =~ "out,epyc,triad_gbs,GB/s,19,87,f7,61.3,-29."[^$'\n']*,8,1.4 ]]
	fails 1 'no node of class "epy" measured' syscheck fleet --store "$STORE" --class epy
	fails 1 "no node measured anything since" syscheck fleet --store "$STORE" --since 10m
}

@test "fleet: clock, what noise is made of, directories, links; of a partition" {
	STORE=$BATS_TEST_TMPDIR/fleet.db
	# f3: 2,100 MHz, a daemon, and one of its two links; f1 to f4 are of partition debug, of another record each.
	python3 - "$FIXTURES/full_check.json" >"$BATS_TEST_TMPDIR/records.jsonl" <<-'PY'
		import json, sys, time
		r = json.load(open(sys.argv[1]))
		def now(ago):
		    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - ago))
		of = {run["kernel"]: run["result"] for run in r["runs"]}
		for n in range(1, 13):
		    bad = n == 3
		    r.update(id="%032x" % n, node="f%d" % n, time=now(5000), job={"id": 100 + n, "nodes": 1})
		    of["dgemm"].update(clock_mhz=2100 if bad else 3600 + n, clock_mhz_min=3500)
		    of["noise"].update(components=[{"text": "9 ms every 1 s on cpu 3", "lost_pct": 8.5}] if bad else [])
		    for m in r["metrics"]:
		        m.update(value=9.5 if bad else 0.5) if m["name"] == "noise_pct" else None
		    print(json.dumps(r))
		    job = {"id": 100 + n, "partition": "debug" if n < 5 else "x" * 1024, "nodes": 1, "user": "a", "name": "b"}
		    print(json.dumps({"v": 1, "kind": "job", "id": "f%031x" % n, "cluster": "c1", "node": "f%d" % n,
		        "class": r["class"], "time": now(100), "job": job, "elapsed_s": 60,
		        "end": {"link": {"rate_gbps": 100 if bad else 200, "active_ports": 1 if bad else 2}}}))
	PY
	syscheck ingest --store "$STORE" "$BATS_TEST_TMPDIR/records.jsonl"
	run --separate-stderr syscheck fleet --store "$STORE"
	[ "$status" -eq 0 ]
	[[ $output =~ clock\ +MHz\ +12\ +3606\ +2100\ +f3\ +3612\ +f12\ .*\ 1 ]]
	[[ $output =~ "I/O write"\ +GB/s\ +12\ +2.66 ]]
	[[ $output =~ "link rate"\ +Gbit/s\ +12\ +200\ +100\ +f3 ]]
	[[ $output =~ f3\ +epyc[^$'\n']*"link ports"\ +1\ +2\ +-50.0 ]]
	[[ $output =~ f3\ +epyc[^$'\n']*noise[^$'\n']*"9 ms every 1 s on cpu 3 (8.5 %)" ]]
	run --separate-stderr syscheck fleet --store "$STORE" --partition debug
	[[ $output == *": most noise is on f3: 9 ms every 1 s on cpu 3 (8.5 %)"* ]]
	run --separate-stderr syscheck fleet --store "$STORE" --partition debug --json
	[ "$(of 'a.classes[1].nodes')" = 4 ]
	fails 1 'no node of partition "debgu" measured anything since' syscheck fleet --store "$STORE" --partition debgu
	[[ $stderr == *'did you mean "debug"?' ]]
	fails 1 'no node of class "y" of partition "=a' syscheck fleet --store "$STORE" --class y --partition "$NASTY"
	run on_terminal 40 "syscheck fleet --store $STORE"
	[ "$(longest)" -le 40 ]
	[[ $output == *"METRIC         clock"* ]]
	run -0 on_terminal 132 "syscheck node f3 --store $STORE"
	[[ $output == *"slowest core's clock"* ]]
}

@test "fleet --over: which day, how much, which nodes, with which setting" {
	STORE=$BATS_TEST_TMPDIR/drift.db
	lua5.4 "$FIXTURES/drift.lua" >"$BATS_TEST_TMPDIR/records.jsonl"
	syscheck ingest --store "$STORE" "$BATS_TEST_TMPDIR/records.jsonl"
	local day week
	day=$(date -u -d '14 days ago' +%F) week=$(date -u -d '7 days ago' +%F)
	run --separate-stderr syscheck fleet --over 30d --store "$STORE"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output =~ triad\ +$day\ +-3\.[01]\ %\ .*"22 of 24 nodes  kernel 6.1.0-37 -> 6.1.0-38 on all of them; not on d[003,008]" ]]
	[[ $output =~ dgemm\ +$week\ +-1[12]\.[0-9]\ %\ .*"d[005,009]"\ +"no setting that is recorded" ]]
	[[ $output == *"no change of noise beyond 0.5 points"* ]]
	[[ $output == *"xeon: too little to say of triad (1 day, 1 node), "*"it takes 8 days and 3 nodes"* ]]
	run --separate-stderr syscheck fleet --over 30d --store "$STORE" --json
	[ "$(of 'a.classes[1].metrics[1].changes[1].day')" = "$day" ]
	[ "$(of 'table.concat(a.classes[1].metrics[1].changes[1].unmoved, " ")')" = "d003 d008" ]
	run --separate-stderr syscheck fleet --over 30d --store "$STORE" --csv
	[ "$(grep -c ",$week," <<<"$output")" = 3 ]
	# Before the last one there is one change only.
	run --separate-stderr syscheck fleet --over 12d --store "$STORE" --class epyc-9654-2s192c-768g
	[[ $output == *"no change of triad beyond "* && $output != *xeon* ]]
	run on_terminal 40 "syscheck fleet --over 30d --store $STORE"
	[ "$(longest)" -le 40 ]
	fails 1 'no node of class "x" measured anything in 30 days' syscheck fleet --over 4w --over 30d --class x --store "$STORE"
	fails 2 "--over must be a time from 8d to 800d" syscheck fleet --over 3d --store "$STORE"
	# A store of one record.
	head -1 "$BATS_TEST_TMPDIR/records.jsonl" >"$BATS_TEST_TMPDIR/one.jsonl"
	syscheck ingest --store "$BATS_TEST_TMPDIR/one.db" "$BATS_TEST_TMPDIR/one.jsonl"
	run --separate-stderr syscheck fleet --over 1y --store "$BATS_TEST_TMPDIR/one.db"
	[[ $status -eq 0 && $output == *"too little to say of triad (1 day, 1 node)"* ]]
	run --separate-stderr syscheck fleet --since 100d --store "$BATS_TEST_TMPDIR/one.db"
	[[ $status -eq 0 && $output =~ triad\ +GB/s\ +1\  ]]
}

@test "what does not exist, and what is no question: one line" {
	fails 1 "job 9: no record" syscheck job 9
	fails 1 "job 4000_5: no record" syscheck job 4000_5
	fails 1 'no record of a node "n22", did you mean "n2"?' syscheck node n22
	fails 1 'no record of a node "\x1b[2J"' syscheck node $'\033[2J'
	fails 1 'no record of a node "n2" of cluster "other"' syscheck node n2 --cluster other
	local args
	for args in "job x" "job 123_" "job 123+" "job 4711.batch" "job 99999999999" "node n1 --since" "node n1 --since soon" \
		"node n1 --since 0d" "node n1 --since 2999-01-01" "fleet --since 2026-02-30" "node n1 --limit 0" "node n1 --limit x" \
		"node" "fleet extra" "job 1 --store"; do
		# shellcheck disable=SC2086
		fails 2 "" syscheck $args
	done
	fails 2 "--since: must be a time like 7d, 12h" syscheck node n1 --since "x'; DROP TABLE node"
}

# answer NOW ARGS...: of syscheck at that time: a node's story ends now, and its bars depend on that
answer() {
	lua5.4 -E -e "local time = os.time; function os.time(t) return t and time(t) or $1 end" "$P/bin/syscheck" "${@:2}" 2>&1
}

# same URL: every question is answered as by SQLite
same() {
	local args now
	now=$(date +%s)
	"$P/bin/syscheck" ingest --store "$1" "$Q/spool" | grep ' 810 new, 0 known; 0 bad lines'
	"$P/bin/syscheck" ingest --store "$1" "$BATS_TEST_TMPDIR/fabric.jsonl" | grep ' 12 new, 0 known; 0 bad lines'
	"$P/bin/syscheck" ingest --store "$1" "$BATS_TEST_TMPDIR/drift.jsonl" | grep ' 361 new, 0 known; 0 bad lines'
	"$P/bin/syscheck" ingest --store "$1" "$BATS_TEST_TMPDIR/first.jsonl" | grep ' 33 new, 0 known; 0 bad lines'
	for args in "job 7001" "job 7001 --json" "node f7 --since 2026-01-01" "job 4010" "job 4003 --json" "job 4000_4 --csv" "job 4008+1" "job 4030" "job 4000" "job 9" \
		"node n2 --since 2026-01-01 --limit 50" "node n4 --since 2026-01-01 --json" "node n1 --since 2026-01-01 --csv" \
		"node n22" "fleet --since 2026-01-01" "fleet --since 2026-01-01 --json" "fleet --class x --since 2026-01-01" \
		"fleet --partition main --since 2026-01-01" "fleet --partition mian --since 2026-01-01" "fleet --over 30d" \
		"fleet --over 30d --json --class epyc-9654-2s192c-768g" "why 4010" "why 4003 --json" "why 4000_4 --csv"; do
		# shellcheck disable=SC2086
		diff <(answer "$now" $args --store "$STORE") <(answer "$now" $args --store "$1") || { echo "$args"; return 1; }
	done
	"$P/bin/syscheck" baseline learn --store "$1" --output "$BATS_TEST_TMPDIR/other.json" >/dev/null 2>&1
	cmp <("$P/bin/syscheck" baseline diff "$BATS_TEST_TMPDIR/first.json" "$BATS_TEST_TMPDIR/first.json") \
		<("$P/bin/syscheck" baseline diff "$BATS_TEST_TMPDIR/first.json" "$BATS_TEST_TMPDIR/other.json")
}

# first_days: 16 nodes in two jobs, without a baseline; f7 is slow, f3 has another policy
first_days() {
	lua5.4 "$FIXTURES/lines.lua" 'local function one(n, id, hash, days)
		local triad = (n == 7 and 276 or 400) + n % 5
		check { node = "f" .. n, cluster = "c1", class = "epyc-7763-2s128c-512g", time = ago(days), status = "unrated",
			action = "none", level = "quick", job = { id = id, nodes = 16, nodelist = "f[1-16]" }, policy = { hash = hash, version = "2026-11-20" },
			baseline = { hash = "none" }, cpus = { list = "0-127", count = 128, of = 128, left_out = "", jobs = true },
			runs = { { kernel = "stream", state = "ok", box_s = 2, result = { triad_gbs = triad } } },
			metrics = { { name = "triad_gbs", value = triad, status = "unrated" } } }
	end
	for n = 1, 16 do
		one(n, 7000, "3f2a91cc", 1.5)
		one(n, 7001, n == 3 and "91cc0a12" or "3f2a91cc", 0.5)
	end
	one(1, 7002, "3f2a91cc", 0.1)' >"$BATS_TEST_TMPDIR/first.jsonl"
}

@test "before a baseline: a job's nodes against each other and their class; whose policy is another; a proposal" {
	first_days
	STORE=$BATS_TEST_TMPDIR/first.db
	run -0 syscheck ingest --store "$STORE" "$BATS_TEST_TMPDIR/first.jsonl"
	# The slow node is no part of it.
	[[ $output == *"enough for a baseline of epyc-7763-2s128c-512g (16 nodes, 31 checks): syscheck baseline apply $BATS_TEST_TMPDIR/baseline.proposed.json" ]]
	run -0 syscheck job 7001 --store "$STORE"
	[[ $output == *$'\n'"f7: warn: triad 31 % below the 15 others of this job (278.0 GB/s, their median 402.0 GB/s)"* ]]
	[ "$(grep -c 'warn:' <<<"$output")" -eq 1 ]
	run -0 syscheck job 7001 --store "$STORE" --json
	[ "$(of '#a.runs[1].warnings .. a.runs[1].warnings[1].node .. a.runs[1].warnings[1].status')" = 1f7warn ]
	mkdir "$BATS_TEST_TMPDIR/spool"
	cp "$BATS_TEST_TMPDIR/first.jsonl" "$BATS_TEST_TMPDIR/spool/records.jsonl"
	run -0 syscheck job 7001 --spool "$BATS_TEST_TMPDIR/spool"
	[[ $output == *"f7: warn: triad 31 % below the 15 others of this job"* ]]
	run -0 syscheck node f7 --store "$STORE"
	[[ $output == *"warn: newest measured check: triad 31 % below 15 other nodes of its class"* ]]
	run -0 syscheck node f8 --store "$STORE"
	[[ $output != *warn:* ]]
	run -0 syscheck fleet --store "$STORE"
	[[ $output == *"policy: 15 nodes have 3f2a91cc (2026-11-20), f3 has 91cc0a12 (2026-11-20)"*"baseline: 16 nodes have none"* ]]
	run -0 syscheck fleet --store "$STORE" --json
	[ "$(of 'a.files[1].file .. #a.files[1].groups .. a.files[1].groups[2].nodes[1]')" = policy2f3 ]
	run -0 syscheck fleet --store "$STORE" --csv
	[[ $output == *$'\n'"policy,,,,,,f3,"*"most have 3f2a91cc (2026-11-20)"* ]]
}

@test "PostgreSQL and MariaDB answer as SQLite does" {
	local dir
	# Three runs between the nodes, of which the last two found n3 slow.
	lua5.4 "$FIXTURES/lines.lua" 'for day = 1, 3 do for n = 1, 4 do
		local slow = n == 3 and day > 1
		fabric { cluster = "c1", node = "n" .. n, time = at(day * 86400 + n), status = slow and "warn" or "pass", action = "none",
			text = "n3 receives at 0.62 of its peers", metrics = { { name = "fabric_in_ratio", value = slow and 0.62 or 1,
			status = slow and "warn" or "pass" }, { name = "fabric_in_gbs", value = slow and 15 or 24, status = "unrated" } },
			findings = slow and { { kind = "nic", own = true, text = "n3 receives at 0.62 of its peers" } } or nil }
	end end' >"$BATS_TEST_TMPDIR/fabric.jsonl"
	cp "$STORE" "$BATS_TEST_TMPDIR/store.db"
	STORE=$BATS_TEST_TMPDIR/store.db
	"$P/bin/syscheck" ingest --store "$STORE" "$BATS_TEST_TMPDIR/fabric.jsonl" | grep ' 12 new, 0 known; 0 bad lines'
	lua5.4 "$FIXTURES/drift.lua" 30 12 1 >"$BATS_TEST_TMPDIR/drift.jsonl"
	"$P/bin/syscheck" ingest --store "$STORE" "$BATS_TEST_TMPDIR/drift.jsonl" | grep ' 361 new, 0 known; 0 bad lines'
	first_days
	"$P/bin/syscheck" ingest --store "$STORE" "$BATS_TEST_TMPDIR/first.jsonl" | grep ' 33 new, 0 known; 0 bad lines'
	"$P/bin/syscheck" baseline learn --store "$STORE" --output "$BATS_TEST_TMPDIR/first.json"
	run -0 syscheck fleet --over 30d --store "$STORE"
	[[ $output == *"10 of 12 nodes"* ]]
	run -0 syscheck fleet --since 2026-01-01 --store "$STORE"
	[[ $output == *"n3 receives at 0.62 of its peers"* ]]
	for dir in postgresql mariadb; do
		DIRS+=("$(server_dir "$dir")")
		"start_$dir" "${DIRS[-1]}"
	done
	same "$PGURL"
	same "$MYURL"
	# A database that is gone.
	stop_server "${DIRS[0]}"
	fails 3 "store postgresql://" syscheck job 4010 --store "$PGURL"
}

teardown() {
	local dir
	for dir in "${DIRS[@]}"; do
		stop_server "$dir" TERM || true
		rm -rf "$dir"
	done
}

@test "a store that does not answer: one line, exit 3" {
	local bad=$BATS_TEST_TMPDIR/bad.db
	fails 3 "no such file" syscheck job 1 --store "$bad"
	fails 3 "a store is an absolute path" syscheck job 1 --store relative.db
	fails 3 "not a file" syscheck node n1 --store "$BATS_TEST_TMPDIR"
	: >"$bad"
	fails 3 "not a store of syscheck" syscheck fleet --store "$bad"
	head -c 5000 /dev/urandom >"$bad"
	fails 3 "not an SQLite file" syscheck node n1 --store "$bad"
	cp "$STORE" "$bad"
	sqlite3 "$bad" "UPDATE meta SET value = '99' WHERE name = 'schema_version'"
	fails 3 "made by a newer syscheck" syscheck job 4010 --store "$bad"
	# Damage that shows only when its pages are read.
	cp "$STORE" "$bad"
	dd if=/dev/urandom of="$bad" bs=4096 seek=3 count=20 conv=notrunc status=none
	fails 3 "" syscheck node n2 --store "$bad"
	fails 3 "" syscheck job 4010 --store "postgresql://127.0.0.1:1/nothing"
	fails 3 "password" syscheck job 4010 --store "postgresql://u:secret@h/d"
	[[ $stderr != *secret* ]]
}

@test "a store on a read-only file system: what is the matter, for root and by ask" {
	[ "$(id -u)" = 0 ] || skip "not root"
	local dir=$Q/readonly ask=$P/libexec/syscheck/ask
	mkdir "$dir"
	mount -t tmpfs none "$dir"
	syscheck ingest --store "$dir/s.db" "$Q/spool"
	printf 'return { store = "%s" }\n' "$dir/s.db" >"$P/etc/syscheck/policy.lua"
	mount -o remount,ro "$dir"
	run syscheck job 4010
	local code=$status
	run --separate-stderr syscheck ingest "$Q/spool"
	local text=$stderr
	mount -o remount,rw "$dir"
	rm "$dir"/s.db-*
	mount -o remount,ro "$dir"
	run --separate-stderr syscheck job 4010
	local gone=$stderr
	run --separate-stderr env -i PATH="$PATH" SUDO_UID=0 setpriv --reuid=64998 --regid=64998 --clear-groups "$ask" job 4010
	umount "$dir"
	[ "$code" -eq 0 ]
	[ "$text" = "syscheck: store $dir/s.db: its file system is read-only" ]
	[ "$gone" = "syscheck: store $dir/s.db: its file system is read-only and its -wal and -shm are gone; copy it to where they can be made" ]
	[[ $stderr == *"s.db: cannot be opened by this user: who runs ask may not read it, see Who may ask in docs/operate.md" ]]
}

@test "who may ask: the store's permissions decide, not this program" {
	[ "$(id -u)" = 0 ] || skip "not root"
	local dir=$Q/guarded
	printf 'return { store = "%s", store_group = "adm" }\n' "$dir/store.db" >"$P/etc/syscheck/policy.lua"
	syscheck ingest "$Q/spool"
	[ "$(stat -c '%a %g' "$dir/store.db")" = "640 $GROUP_ID" ]
	[ "$(stat -c '%a %g' "$dir")" = "750 $GROUP_ID" ]
	# By ask it would be, but here sudo has no rule for it.
	fails 3 "permission denied: root and group adm may ask about every job; ask, for jobs of your own: sudo does not let you run it" \
		unprivileged syscheck job 4010
	chmod 755 "$dir"
	fails 3 "may ask about every job" unprivileged syscheck node n1
	chmod 750 "$dir"
	# The admin group reads, and cannot change a thing.
	run setpriv --reuid=65534 --regid=65534 --groups="$GROUP_ID" "$P/bin/syscheck" job 4010
	[ "$status" -eq 0 ]
	run setpriv --reuid=65534 --regid=65534 --groups="$GROUP_ID" "$P/bin/syscheck" ingest "$Q/spool"
	[ "$status" -eq 3 ]
}

# with_sudo COMMAND...: in a mount namespace with the site's user and sudo rule; /etc itself
# stays as it is
with_sudo() {
	local etc=$Q/etc
	mkdir -p "$etc"
	cp /etc/passwd /etc/group "$etc"
	(umask 077 && cp /etc/shadow "$etc/shadow")
	echo 'syscheck:x:64998:64998::/nonexistent:/usr/sbin/nologin' >>"$etc/passwd"
	echo 'syscheck:!:19000::::::' >>"$etc/shadow"
	echo 'syscheck:x:64998:' >>"$etc/group"
	sed -i 's/^\(adm:.*\)$/\1,syscheck/; s/:,syscheck$/:syscheck/' "$etc/group"
	sed 's/^#\(Defaults\|ALL\)/\1/' "$P/share/syscheck/examples/sudoers.d/syscheck" >"$etc/sudoers"
	chmod 440 "$etc/sudoers"
	visudo -cqf "$etc/sudoers" || return 99
	unshare --mount bash -c '
		for f in passwd group shadow sudoers; do mount --bind "$1/$f" "/etc/$f" || exit 99; done
		shift
		exec "$@"' - "$etc" "$@"
}

@test "ask: by a real sudo" {
	[ "$(id -u)" = 0 ] || skip "not root"
	local dir=$Q/by_sudo ask=$P/libexec/syscheck/ask
	printf 'return { store = "%s", store_group = "adm" }\n' "$dir/store.db" >"$P/etc/syscheck/policy.lua"
	syscheck ingest "$Q/spool"
	user() {
		with_sudo setpriv --reuid=65534 --regid=65534 --clear-groups env "$@"
	}
	run --separate-stderr user sudo -n -u syscheck "$ask" job 4011
	echo "$output $stderr"
	[ "$status" -eq 0 ]
	[[ $output == "job 4011  name job1  user nobody  "* ]]
	fails 1 "no record of such a job of yours" user sudo -n -u syscheck "$ask" job 4010
	# What he says of himself is not believed.
	fails 1 "no record of such a job of yours" user SUDO_UID=0 SUDO_USER=alice SYSCHECK_STORE="$STORE" LUA_INIT='os.exit(0)' \
		sudo -n -u syscheck "$ask" job 4010
	fails 2 "" user sudo -n -u syscheck "$ask" job 4010 --store "$STORE"
	# syscheck itself goes that way where the store is not the user's to read, and its answer is the same.
	local question
	for question in "job 4011" "why 4011" "job 4011 --json" "why 4011 --csv" "job 4010" "job x"; do
		# shellcheck disable=SC2086
		run user sudo -n -u syscheck "$ask" $question
		local by_ask=$output code=$status
		# shellcheck disable=SC2086
		run user SUDO_UID=0 LUA_INIT='os.exit(0)' "$P/bin/syscheck" $question
		[ "$status" -eq "$code" ]
		[[ $question == "job x" || "$output" == "$by_ask" ]]
	done
	fails 2 "--explain: only for who may read the store" user "$P/bin/syscheck" why 4011 --explain
	fails 3 "about your own: syscheck job ID, syscheck why ID" user "$P/bin/syscheck" node n1
	# Not of a store that was named, and not by user syscheck: ask may not read it either.
	fails 3 "permission denied" user "$P/bin/syscheck" job 4011 --store "$dir/store.db"
	fails 3 "permission denied" with_sudo setpriv --reuid=64998 --regid=64998 --clear-groups "$P/bin/syscheck" job 4011
	# Nothing else as that user, and nothing as root.
	run user sudo -n -u syscheck SUDO_UID=0 "$ask" job 4010
	[ "$status" -ne 0 ] && [[ $output != *alice* ]]
	run user sudo -n -u syscheck "$P/bin/syscheck" job 4010
	[ "$status" -ne 0 ] && [[ $output != *alice* ]]
	run user sudo -n "$ask" job 4010
	[ "$status" -ne 0 ] && [[ $output != *alice* ]]
}

# A site's machine: its own /etc, and nothing installed or stored yet.
site() {
	# shellcheck disable=SC2015
	unshare --mount bash -c '
		set -e
		cp -a /etc "$1"
		mount --bind "$1/etc" /etc
		for d in /usr/local /var/lib /var/spool /var/log; do mount -t tmpfs none "$d"; done
		shift
		exec "$@"' - "$BATS_TEST_TMPDIR" "$@"
}

@test "ask: by a set-up that is done word by word as docs/operate.md says" {
	[ "$(id -u)" = 0 ] || skip "not root"
	local order
	# The page leaves open which comes first: the policy, or the store.
	for order in policy store; do
		rm -rf "${BATS_TEST_TMPDIR:?}/etc"
		site "$BASH" -euc '
			order=$1 page=$2/docs/operate.md spool=$3
			say() { echo "FAILED: $*"; exit 1; }
			make -s -C "$2" install >/dev/null
			PATH=/usr/local/bin:$PATH
			[ "$(stat -c "%a %U %G" /var/lib/syscheck-store)" = "750 root root" ]
			groupadd hpcadmins
			# The page says vi.
			vi() { case $1 in *sudoers*) sed -i "s/^#\\([^ ]\\)/\\1/" "$1" ;; esac; }
			[ "$order" = policy ] || syscheck ingest "$spool" >/dev/null
			sed -i "s/-- store_group = /store_group = /" /etc/syscheck/policy.lua
			syscheck config check >/dev/null
			syscheck ingest "$spool" >/dev/null
			commands=$(sed -n "/^## Who may ask/,/^## When/s/^    //p" "$page" | grep -v "^sudo ")
			[ "$(wc -l <<<"$commands")" = 3 ] || say "commands: $commands"
			eval "$commands"
			[[ $(groups syscheck) == *hpcadmins ]]
			visudo -cq
			user() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
			question=$(sed -n "/^## Who may ask/,/^## When/s/^    \(sudo .*\) job .*/\1/p" "$page")
			[[ $(user $question job 4011) == "job 4011  name job1  user nobody  "* ]] || say "his own job"
			! user $question job 4010 || say "another user'\''s job"
			[[ $(user syscheck job 4011) == "job 4011  name job1  user nobody  "* ]] || say "by itself"
			! user syscheck job 4010 || say "another user'\''s job, by itself"
			! user syscheck node n1 || say "the store itself"
			[[ $(setpriv --reuid=65534 --regid=65534 --groups="$(getent group hpcadmins | cut -d: -f3)" \
				syscheck job 4010) == "job 4010 "* ]] || say "an admin"
			[ "$(stat -c "%a %U %G" /var/lib/syscheck-store)" = "750 root hpcadmins" ]
			# And later, when there is more.
			cp "$spool/records.jsonl" /var/spool/again.jsonl
			syscheck ingest /var/spool/again.jsonl >/dev/null
			user $question why 4011 >/dev/null || say "after another ingest"
		' - "$order" "$ROOT" "$Q/spool"
	done
}

@test "ask: a user about his own jobs, whatever he types" {
	[ "$(id -u)" = 0 ] || skip "not root"
	local dir=$Q/asked ask=$P/libexec/syscheck/ask words
	printf 'return { store = "%s", store_group = "adm" }\n' "$dir/store.db" >"$P/etc/syscheck/policy.lua"
	syscheck ingest "$Q/spool"
	run --separate-stderr as_asker "$ask" job 4011
	[ "$status" -eq 0 ]
	[[ $output == "job 4011  name job1  user nobody  "* ]]
	# Whose the other jobs on his nodes are is not his to know.
	[[ $output == *"shared with 2 other jobs"* && $output != *9001* ]]
	run --separate-stderr as_asker "$ask" job 4000_4 --json
	[ "$(of 'a.runs[1].user')" = nobody ]
	run as_asker "$ask" job 4008+1 --csv
	[ "$status" -eq 0 ]
	# Not those of alice, where somebody's name is his number.
	{ cat /etc/passwd && printf '%s:x:64996:64996::/:/bin/sh\n' alice 65534; } >"$Q/passwd"
	fails 1 "job 4010: no record of such a job of yours" unshare --mount bash -c 'mount --bind "$1" /etc/passwd && shift && "$@"' \
		- "$Q/passwd" env -i PATH="$PATH" SUDO_UID=65534 "$ask" job 4010
	# Another's job is like one that never was.
	fails 1 "job 4010: no record of such a job of yours" as_asker "$ask" job 4010
	fails 1 "job 77: no record of such a job of yours" as_asker "$ask" job 77
	while read -r -a words; do
		fails 2 "" as_asker "$ask" "${words[@]}"
	done <<-CASES

	job
	4011
	job 4010 --spool $Q/spool
	job 4010 --store=$STORE
	job --store $STORE
	job 4011 --policy=/tmp/p
	--policy /tmp/p job
	node n1
	fleet
	../cmd/ingest 1
	CASES
	# Who is not sent by sudo is nobody's user; who sends himself has only his own rights.
	fails 2 "runs by sudo only" env -u SUDO_UID "$ask" job 4011
	fails 3 "permission denied" env SUDO_UID=65534 setpriv --reuid=65534 --regid=65534 --clear-groups "$ask" job 4011
	# A user's modules and environment are not loaded.
	mkdir "$BATS_TEST_TMPDIR/cwd"
	cd "$BATS_TEST_TMPDIR/cwd"
	echo 'print("loaded") os.exit(0)' | tee luv.lua cjson.lua syscheck.lua >/dev/null
	run env LUA_INIT='print("loaded")' LUA_PATH=./?.lua SUDO_UID=65534 "$ask" job 4011
	[ "$status" -eq 0 ]
	[[ $output != *loaded* ]]
}
