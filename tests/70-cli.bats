#!/usr/bin/env bats
# alone: its kernels measure
# The command line on one machine, without Slurm.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load helpers
load kernels
load machine

setup() {
	agent_reset
	PATH=$P/bin:$PATH
}

# one_line: what went wrong, once, from syscheck
one_line() {
	echo "stderr: $stderr"
	[ "$(wc -l <<<"$stderr")" -eq 1 ] && [[ $stderr == "syscheck: "* ]]
}

table_of_kernels() {
	run syscheck run
	echo "$output"
	[ "$status" -eq 0 ] && [[ $output == *"level quick: unrated"* ]]
}

@test "run: a table with the real kernels, nothing is written" {
	cp "$P"/kernels/* "$P/libexec/syscheck/"
	# Long enough to touch more memory than the caches hold.
	policy 'kernels = { stream = { quick = 6 }, dgemm = { quick = 0.2 }, noise = { quick = 0.1 } }'
	on_own_cpus table_of_kernels
	[[ $output =~ triad\ +[0-9.]+\ +GB/s ]]
	[[ $output =~ dgemm\ +[0-9.]+\ +GFLOP/s ]]
	[[ $output =~ noise\ +[0-9.]+\ +% ]]
	[ ! -e "$P/var/spool/syscheck/records.jsonl" ]
	[ ! -e "$P/var/lib/syscheck/last.json" ]
}

@test "run: exit codes pass 0, fail 1, unknown 3; --json is one object" {
	run --separate-stderr syscheck run --json
	[ "$status" -eq 0 ]
	[ "$(lua5.4 -e 'local r = require("cjson").decode(io.read("a")) print(r.status, r.kind, r.metrics[1].name)' <<<"$output")" = $'pass\tcheck\ttriad_gbs' ]
	kernel stream "$(says stream '"triad_gbs":61.3')"
	run syscheck run
	[ "$status" -eq 1 ]
	[[ $output == *"fail: triad 61.3 < 80.0 GB/s (policy)"* ]]
	[ ! -e "$P/calls" ]
	kernel stream 'exit 2'
	run syscheck run
	[ "$status" -eq 3 ]
	[[ $output == *"unknown: triad: not measured"* ]]
}

# fails_at PERCENT: a node with so much of one CPU
fails_at() {
	local since
	read -ra since < <(cpu_times)
	at_quota "$1" 100000 "$P/bin/syscheck" run --json
	if [ "$status" -eq 3 ] && [[ $output == *"busy, not rated: "* ]] && others_worked "${since[@]}"; then
		skip "others use this machine: what they did not leave is not rated"
	fi
	[ "$status" -eq 1 ] || { echo "$1 %: status $status: $output"; return 1; }
	[ "$(get 'r.metrics[2].name .. " " .. r.metrics[2].status')" = "gflops fail" ] || return 1
	# Three, and dgemm again.
	[ "$(get '(function() for _, one in ipairs(r.runs) do assert(one.state == "ok", one.reason) end return #r.runs end)()')" -ge 4 ]
}

@test "run: a node at 5 and 10 % of one CPU is measured, and fails; none of its kernels is killed" {
	[ "$(id -u)" = 0 ] || skip "needs root to make a cgroup"
	cp "$P"/kernels/* "$P/libexec/syscheck/"
	# Below what the untouched node does here and now, beside whatever else runs. Of half a second at 5 % the noise
	# kernel's set-up may leave too little to sample, which it says: it has one here.
	policy 'kernels = { stream = { quick = 1 }, noise = { quick = 1 } }'
	run --separate-stderr syscheck run --json
	local limit percent
	limit=$(get 'r.metrics[2].value / 2')
	policy "kernels = { stream = { quick = 1 }, noise = { quick = 1 } }, limits = { gflops = { min = $limit } }"
	for percent in 5 10; do
		on_own_cpus fails_at "$percent"
	done
}

@test "run: a normal user gets the same answer" {
	[ "$(id -u)" = 0 ] || skip "not root"
	local dir
	dir=$(mktemp -d /tmp/cli.XXXXXX)
	chmod 755 "$dir"
	make -s -C "$ROOT" install PREFIX="$dir/p" SYSCONFDIR="$dir/etc" LOCALSTATEDIR="$dir/var" RUNDIR="$dir/run" DESTDIR=
	# Time for arrays beyond large caches, also beside others.
	mkdir -p "$dir/etc/syscheck"
	echo 'return { kernels = { stream = { quick = 8 } } }' >"$dir/etc/syscheck/policy.lua"
	chmod 644 "$dir/etc/syscheck/policy.lua"
	run --separate-stderr setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/p/bin/syscheck" run --level quick
	rm -r "$dir"
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	[[ $output == *"level quick: unrated"* ]]
}

# on_terminal COLUMNS ROWS [--when TEXT DO] COMMAND...: with what a terminal's user has in his environment
on_terminal() {
	# Python would give its child a UTF-8 locale.
	env -u NO_COLOR -u LC_ALL -u LC_CTYPE -u PAGER PYTHONCOERCECLOCALE=0 TERM=xterm LANG=C.UTF-8 "${ENV[@]}" "$ROOT/tests/on_terminal.py" "$@"
}

# Kernels that measure what a node of two NUMA nodes has.
talking_kernels() {
	kernel stream "$(says stream '"triad_gbs":100,"copy_gbs":90,"scale_gbs":91,"add_gbs":99,"array_mb":134,"llc_mb":33,"numa":[{"node":0,"cores":4,"triad_gbs":60},{"node":1,"cores":4,"triad_gbs":40}]')"
	kernel dgemm "$(says dgemm '"gflops":400,"gflops_core_min":30,"slowest_cpu":7,"gflops_core_median":50,"clock_mhz":3000,"clock_mhz_min":2000,"lowest_clock_cpu":7,"clock_limit_mhz":null,"cores":[{"cpu":0,"gflops":50,"clock_mhz":3000},{"cpu":6,"gflops":51,"clock_mhz":3000},{"cpu":7,"gflops":30,"clock_mhz":2000}]')"
	kernel noise 'case "$*" in *--attribute*) ;; *) exit 2 ;; esac
'"$(says noise '"noise_pct":1,"noise_pct_max":2,"worst_cpu":7,"longest_us":7100,"p99_us":30,"seconds":2,"components":[{"duration_us":7100,"period_ms":1000,"lost_pct":0.7,"cpus":"0-7","source":"kipmi0\u001b[31m","source_pid":77}],"processes":[{"comm":"a\u0007b","pid":5,"cpu_ms":3}]')"
	kernel numa "$(says numa '"latency_ns":91,"numa_factor":1.5,"latency":[{"from":0,"to":0,"ns":90},{"from":0,"to":1,"ns":135},{"from":1,"to":0,"ns":136},{"from":1,"to":1,"ns":91}],"bandwidth":[],"cache_latency":[{"level":1,"kib":16,"ns":1}]')"
	kernel scaling "$(says scaling '"best_gbs":110,"knee_threads":4,"compact":[{"threads":1,"triad_gbs":30},{"threads":4,"triad_gbs":105},{"threads":8,"triad_gbs":110}]')"
	kernel io "$(says io '"filesystem":"xfs","direct":true,"write_gbs":1,"read_gbs":2,"fsync_us":800,"fsync_p99_us":2100,"creates_per_s":5300,"stats_per_s":400000,"unlinks_per_s":6100')"
	policy 'io_paths = { "/scratch" }'
}

@test "an answer of any length comes whole on a terminal that is slow" {
	local piped
	lua5.4 -e 'for i = 1, 600 do print(([[{"v":1,"kind":"job","id":"%032x","cluster":"c","node":"n%d","boot_id":"b","time":"2026-01-01T00:00:00Z","class":"x-1","job":{"id":7},"elapsed_s":60,"begin":{"time":"2026-01-01T00:00:00Z"},"end":{"time":"2026-01-01T00:01:00Z"},"throttle_events":%d}]]):format(i, i, i)) end' >"$BATS_TEST_TMPDIR/r.jsonl"
	syscheck ingest --store "$BATS_TEST_TMPDIR/s.db" "$BATS_TEST_TMPDIR/r.jsonl"
	piped=$(syscheck job 7 --store "$BATS_TEST_TMPDIR/s.db" --json | wc -c)
	[ "$piped" -gt 65536 ]
	ENV=(PAGER=)
	[ "$(on_terminal 80 24 syscheck job 7 --store "$BATS_TEST_TMPDIR/s.db" --json | wc -c)" = "$piped" ]
}

@test "long work says on a terminal how far it is, from its third second on, and elsewhere nothing" {
	local work='package.path = "'$ROOT'/lua/?.lua;" .. package.path
		local uv, meter = require("luv"), require("syscheck.lib.progress").amount("ingest")
		local from = uv.hrtime()
		for seconds = 0, 3, 0.1 do
			while uv.hrtime() - from < seconds * 1e9 do uv.sleep(10) end
			meter.to(seconds, 6)
		end
		meter.clear()
		print("over")'
	run -0 on_terminal 80 24 lua5.4 -e "$work"
	[[ $output == $'\r\e[Kingest  3'*"%, about "*" s left"*$'\r\e[Kover' ]]
	[[ $output != *"ingest  2"* ]]
	ENV=(TERM=dumb)
	run -0 on_terminal 80 24 lua5.4 -e "$work"
	[ "$output" = over ]
	run -0 lua5.4 -e "$work"
	[ "$output" = over ]
}

@test "run: on a terminal progress, then values, matrix, curves and sources, as wide as it" {
	talking_kernels
	ENV=()
	run -0 on_terminal 80 200 syscheck run --level full
	[[ $output == *$'\r\e[Kstream   1 of 6   about 18 s left\r\e[K'*$'\r\e[Kio       6 of 6   about 3 s left\r\e[K'* ]]
	[[ $output == *$'\e[1mLatency by working set'* ]]
	# Of what kernels say nothing that a terminal obeys comes through.
	[[ $output == *'kipmi0\x1b[31m (77)'*'a\x07b 3.00 ms'* ]]
	[[ $output == *"node 1       136  "*91.0* ]]
	[[ $output == *"Knee at 4 of 8 threads"* ]]
	[[ $output == *"Slowest core: CPU 7, 30.0 GFLOP/s, 60 % of the median 50.0."* ]]
	[[ $output == *"/scratch   xfs "*"1.00  2.00  800 us  2.10 ms    5300  400000    6100"* ]]
	[[ $output == *█*" knee"* ]]
	local columns shown
	for columns in 80 40; do
		ENV=(NO_COLOR=1)
		run -0 on_terminal "$columns" 200 syscheck run --level full
		# Behind the last erasure of what progress wrote.
		shown=${output##*$'\e[K'}
		[[ $shown != *$'\e'* ]]
		LC_ALL=C.UTF-8 run -1 grep -E ".{$((columns + 1))}" <<<"$shown"
	done
}

@test "run: no terminal, TERM=dumb, LANG=C: plain text, no progress" {
	talking_kernels
	LANG=C.UTF-8 run -0 --separate-stderr syscheck run --level full
	[ -z "$stderr" ]
	[[ $output != *[$'\e\r']* && $output == *"# knee"* && $output != *█* ]]
	ENV=(TERM=dumb)
	run -0 on_terminal 80 24 syscheck run --level full
	[[ $output != *[$'\e\r']* && $output == *█* ]]
	ENV=(LANG=C)
	run -0 on_terminal 80 200 syscheck run --level full
	[[ $output == *$'\e['* && $output != *█* && $output == *"# knee"* ]]
	# A program reads it: nothing but the object.
	ENV=()
	run -0 on_terminal 80 24 syscheck run --level full --json
	[ "${#lines[@]}" -eq 1 ]
	[ "$(lua5.4 -e 'local r = require("cjson").decode(io.read("a")) print(("%d"):format(r.runs[3].result.processes[1].pid))' <<<"$output")" = 5 ]
	echo "$output" >"$BATS_TEST_TMPDIR/run.jsonl"
	"$ROOT/tests/schema.py" "$BATS_TEST_TMPDIR/run.jsonl"
}

@test "run: what is longer than the terminal goes through the pager, which no shell starts" {
	talking_kernels
	ENV=("PAGER=sed s/^/pager:/" TERM=xterm)
	run -0 on_terminal 80 20 syscheck run --level full
	[[ $output == *pager:*CHECK* ]]
	run -0 on_terminal 80 200 syscheck run --level full
	[[ $output != *pager:* ]]
	# None, one that is not there, one that fails: the text all the same.
	local pager
	for pager in '' cat /no/such/pager false "false; touch $BATS_TEST_TMPDIR/x" '$(touch '"$BATS_TEST_TMPDIR/y)"; do
		ENV=("PAGER=$pager")
		run on_terminal 80 20 syscheck run --level full
		[[ $output == *CHECK*"I/O by directory"* ]] || { echo "$pager: $output"; return 1; }
	done
	[ ! -e "$BATS_TEST_TMPDIR/x" ]
	[ ! -e "$BATS_TEST_TMPDIR/y" ]
	# Through sudo the user's program would run as somebody else.
	ENV=("PAGER=sed s/^/pager:/" SUDO_UID=1000 TERM=dumb)
	run -0 on_terminal 80 20 syscheck run --level full
	[[ $output != *pager:* ]]
}

@test "run: ^C, SIGTERM, SIGHUP end the kernels and the run, and leave nothing behind" {
	local how code
	kernel dgemm 'echo $$ >"'"$P"'/dgemm.pid"; exec sleep 1000'
	policy 'lock = "'"$P"'/lock"'
	for how in "ctrl-c 130" "15 143" "1 129"; do
		read -r how code <<<"$how"
		rm -f "$P/dgemm.pid"
		run on_terminal 80 24 --when "dgemm " "$how" syscheck run
		[ "$status" -eq "$code" ] || { echo "$how: $status: $output"; return 1; }
		# The line is cleared, and one that says why follows.
		[[ $output == *$'\r\e[Ksyscheck: interrupted' ]] || { echo "$how: $output"; return 1; }
		[[ $output != *noise* && $output != *CHECK* ]]
		[ ! -e "$P/run/measure.json" ]
		if [ -s "$P/dgemm.pid" ]; then
			run -1 kill -0 "$(<"$P/dgemm.pid")"
		fi
		# Nobody holds it.
		flock --nonblock "$P/lock" true
	done
	# nohup stays nohup; in a script without a terminal, too.
	kernel dgemm 'kill -HUP $PPID; '"$(says dgemm '"gflops":50')"
	run -0 nohup syscheck run --json
	kernel dgemm 'kill -TERM $PPID; sleep 1000'
	run --separate-stderr syscheck run --json
	[ "$status" -eq 143 ]
	[ -z "$output" ]
	[ "$stderr" = "syscheck: interrupted" ]
}

# runs N FILE: that many runs
runs() {
	local i
	for ((i = 0; i < $1; i++)); do
		syscheck run --json
	done >"$2"
}

@test "compare: better, worse, same, what else differs; exit status; --json, --csv" {
	cd "$BATS_TEST_TMPDIR"
	runs 3 a.json
	kernel stream "$(says stream '"triad_gbs":85')"
	kernel dgemm "$(says dgemm '"gflops":60,"clock_mhz":3000')"
	runs 3 b.json
	run -1 syscheck compare a.json b.json
	[[ $output =~ triad\ +100\.0\ +85\.0\ +GB/s\ +-15\.0\ +[0-9.]+\ +worse ]]
	[[ $output =~ dgemm\ +50\.0\ +60\.0\ +GFLOP/s\ +\+20\.0\ +[0-9.]+\ +better ]]
	[[ $output =~ noise\ +1\.0\ +1\.0\ +%\ +\+0\.0\ +[0-9.]+\ +same ]]
	[[ $output == *"only in B: clock_mhz"*"same boot"*"1 better, 1 worse, of 3" ]]
	run -0 syscheck compare a.json a.json
	[[ $output == *"0 better, 0 worse, of 3" ]]
	run -1 syscheck compare a.json b.json --json
	[ "$(lua5.4 -e 'local r = require("cjson").decode(io.read("a")) print(("%d %s %s %d %d"):format(r.worse, r.rows[1].name, r.rows[1].verdict, r.rows[1].runs_a, r.a.runs))' <<<"$output")" = "1 triad_gbs worse 3 3" ]
	run -1 syscheck compare a.json b.json --csv
	[[ ${lines[0]} == name,label,unit,a,b,* && ${lines[1]} == triad_gbs,triad,GB/s,100,85,3,3,0,0,-15,-15,*,runs,worse,* ]]
	# Of one run each the noise is assumed, and marked.
	head -n 1 a.json >a1.json
	head -n 1 b.json >b1.json
	run -1 syscheck compare a1.json b1.json
	[[ $output =~ -15\.0\ +10\.0\*\ +worse ]]
	[[ $output == *"*: assumed"* ]]
	# A spool's records, and what jq has made of a run.
	prolog SLURM_JOB_ID=5
	epilog SLURM_JOB_ID=5
	python3 -c 'import json, sys; print(json.dumps(json.load(sys.stdin), indent=2))' <a1.json >pretty.json
	run -1 --separate-stderr syscheck compare pretty.json "$SPOOL"
	[ -z "$stderr" ]
	# As wide as the terminal.
	ENV=(NO_COLOR=1 PAGER=)
	run -1 on_terminal 40 24 syscheck compare a.json b.json
	run -1 grep -E '.{41}' <<<"$output"
}

@test "compare: bad input is one line, exit 3" {
	local file
	cd "$BATS_TEST_TMPDIR"
	runs 1 good.json
	: >empty
	echo hello >text
	head -c 200 good.json >begun
	sed 's/"value":[0-9.]*/"value":NaN/' good.json >nan
	echo '{"kind":"check","v":2,"node":"n","class":"c","time":"t"}' >version
	echo '{"kind":"check","v":1,"node":{},"class":[],"time":null}' >types
	echo '{"v":1,"kind":"job"}' >ofjob
	echo '[]' >list
	syscheck run --json --level passive >counters
	sed 's/"node":"[^"]*"/"node":"\xff\x1b[31m"/; s/"triad_gbs"/"other"/g; s/"gflops"/"other"/g; s/"noise_pct"/"other"/g' good.json >nothing
	truncate -s 100M big
	for file in /no/such/file . empty text begun nan version types ofjob list counters nothing big; do
		run --separate-stderr syscheck compare good.json "$file"
		[ "$status" -eq 3 ] && [ -z "$output" ] && one_line || { echo "$file: $status $output"; return 1; }
		[[ $stderr != *$'\e'* ]]
	done
	# What is good of a file is used.
	{ cat good.json; echo torn; } >torn
	run --separate-stderr syscheck compare good.json torn
	[ "$status" -eq 0 ]
	[ "$stderr" = "syscheck: compare: torn:2: not JSON, or cut off; left out" ]
	sed 's/"node":"[^"]*"/"node":"\xff\x1b[31m"/' good.json >hostile
	run -0 --separate-stderr syscheck compare good.json hostile
	[[ $output == *'\xff'* && $output != *$'\e'* ]]
	local args
	for args in "" good.json "good.json good.json good.json" "good.json good.json --json --csv"; do
		# shellcheck disable=SC2086
		run --separate-stderr syscheck compare $args
		[ "$status" -eq 2 ]
		one_line
	done
}

@test "install: over another version, none of its modules stay" {
	local to=$BATS_TEST_TMPDIR/p
	make -s -C "$ROOT" install PREFIX="$to" DESTDIR=
	mkdir "$to/share/syscheck/lua/syscheck/gone"
	echo 'error("of another version")' | tee "$to/share/syscheck/lua/syscheck/old.lua" >"$to/share/syscheck/lua/syscheck/gone/old.lua"
	make -s -C "$ROOT" install PREFIX="$to" DESTDIR=
	[ "$(ls "$to/share/syscheck/lua")" = syscheck ]
	[ ! -e "$to/share/syscheck/lua/syscheck/old.lua" ]
	[ ! -e "$to/share/syscheck/lua/syscheck/gone" ]
	[ "$(ls "$to/share/syscheck")" = $'examples\ninstalled\njob_submit.lua\nlua' ]
	run "$to/bin/syscheck" --version
	[ "$status" -eq 0 ]
}

@test "usage errors: one line, exit 2" {
	local args
	while read -r -a args; do
		run --separate-stderr syscheck "${args[@]}"
		[ "$status" -eq 2 ] || { echo "${args[*]}: $status"; return 1; }
		[ -z "$output" ]
		one_line || { echo "${args[*]}"; return 1; }
	done <<-'CASES'

		bogus
		run --level ful
		run --bogus
		run extra
		job
		job x
		job 12x
		job -5
		job 123_
		job 4711.batch
		job 1 --json --csv
		node
		node n1 --since soon
		fleet --since 0d
		job 99999999999999
		job 1 2
		job 1 --policy /nonexistent
		baseline
		config
	CASES
}

@test "job: not there, damaged lines, other spools" {
	# shellcheck disable=SC2034 # the teardown's
	KEEP_SPOOL=0
	run --separate-stderr syscheck job 1
	[ "$status" -eq 1 ]
	run prolog SLURM_JOB_ID=5
	run epilog SLURM_JOB_ID=5
	printf 'garbage 5\n{"v":1,"ki' >>"$SPOOL"
	run --separate-stderr syscheck job 5
	[ "$status" -eq 0 ]
	[[ $stderr == *"records.jsonl:3: not a record"* ]]
	[[ $output =~ t1\ .*\ quick\ +pass\ +100\.0\ +50\.0\ +1\.0 ]]
	run --separate-stderr syscheck job 5 --spool /nonexistent
	[ "$status" -eq 1 ]
	[[ $stderr == *"/nonexistent: no such directory"* ]]
	# A spool in which nothing was recorded yet is no trouble.
	mkdir "$BATS_TEST_TMPDIR/empty"
	run --separate-stderr syscheck job 5 --spool "$BATS_TEST_TMPDIR/empty"
	[ "$status" -eq 1 ]
	one_line
	run --separate-stderr syscheck job 5 --spool "$P/var/spool/syscheck" --json
	[ "$(lua5.4 -e 'print(#require("cjson").decode(io.read("a")))' <<<"$output")" = 2 ]
}

@test "job: a check without an epilog says so; an epilog without a prolog has no deltas" {
	run prolog SLURM_JOB_ID=5
	run syscheck job 5
	[[ $output == *"no job record yet"* ]]
	run epilog SLURM_JOB_ID=6
	run syscheck job 6
	[[ $output == *"no deltas: no begin snapshot"* ]]
}

@test "baseline learn: few checks are refused without --force; show; bad file" {
	local n
	run --separate-stderr syscheck baseline learn
	[ "$status" -eq 1 ]
	[[ $stderr == *"no check with measured values"* ]]
	for n in 1 2 3; do
		prolog SLURM_JOB_ID="$n"
		epilog SLURM_JOB_ID="$n"
	done
	run --separate-stderr syscheck baseline learn
	[ "$status" -eq 1 ]
	[[ $stderr == *"1 node, 3 checks; want 20 checks (or --force)"* ]]
	[ ! -e "$P/etc/syscheck/baseline.json" ]
	run --separate-stderr syscheck baseline learn --force
	[ "$status" -eq 0 ]
	[[ $output =~ triad_gbs\ +100\.0\ +0\.0\ +1\ +3 ]]
	run syscheck baseline show
	[ "$status" -eq 0 ]
	echo '{' >"$P/etc/syscheck/baseline.json"
	run --separate-stderr syscheck baseline show
	[ "$status" -eq 1 ]
	one_line
	run --separate-stderr syscheck baseline learn --force --output /nonexistent/b.json
	[ "$status" -eq 1 ]
}

@test "config check: good, bad with file and line" {
	run syscheck config check
	[ "$status" -eq 0 ]
	[[ $output =~ ^"$P/etc/syscheck/policy.lua: good; hash "[0-9a-f]{8}$ ]]
	policy $'mode = "enforce",\n\tlimts = {}'
	run --separate-stderr syscheck config check
	[ "$status" -eq 1 ]
	[ "$stderr" = "syscheck: $P/etc/syscheck/policy.lua:3: unknown key limts, did you mean \"limits\"?" ]
	run --separate-stderr syscheck config check --policy "$ROOT/etc/syscheck/policy.lua"
	[ "$status" -eq 0 ]
}

@test "config check: what the policy names and is not there, a line each" {
	local f=$P/etc/syscheck/policy.lua
	policy $'store = "postgre://head/syscheck",\nship = "/no/such/share",\nio_paths = { "/tmp", "/no/scratch", "/etc/passwd" },
store_group = "nosuchgroup",\nlock = "/no/dir/lock"'
	sed -i "s|scontrol = \"[^\"]*|scontrol = \"/no/scontrol|" "$f"
	run --separate-stderr syscheck config check
	[ "$status" -eq 1 ]
	[ "$output" = "" ]
	diff - <(echo "${stderr/a store is */a store is ...}") <<-LINES
		syscheck: warn: $f:3: ship: /no/such/share: there is no such directory on this host: a node's records stay on it
		syscheck: warn: $f:4: io_paths: /no/scratch: there is no such directory on this host: it is not measured
		syscheck: warn: $f:4: io_paths: /etc/passwd: is no directory: it is not measured
		syscheck: warn: $f:6: lock: /no/dir/: there is no such directory on this host: every check ends as unknown
		syscheck: warn: $f:5: store_group: nosuchgroup: no such group on this host: ingest does not run without it
		syscheck: warn: $f:1: scontrol: /no/scontrol: ENOENT: no such file or directory: a bad node is not drained
		syscheck: $f:2: store: a store is ...
	LINES
	# It can be used, and is not called good.
	policy 'ship = "/no/such/share", io_paths = { "/tmp" }, store = "postgresql://head/syscheck"'
	run --separate-stderr syscheck config check
	[ "$status" -eq 0 ]
	[[ $output == "$f: can be used, 1 warning; hash "* ]]
	[[ $stderr == "syscheck: warn: $f:2: ship: "* ]]
}

@test "config check: what can be done and was hardly meant" {
	local f=$BATS_TEST_TMPDIR/p.lua
	printf 'return {\nlimits = {\ntriad_gbs = { max = 15 }, gflops = { min = 50 },\nlatency_ns = { min = 90 } },\ntolerance = 0.4 }\n' >"$f"
	run -0 --separate-stderr syscheck config check --policy "$f"
	[[ $output == "$f: can be used, 3 warnings; hash "* ]]
	[ "${stderr_lines[0]}" = "syscheck: warn: $f:3: limits.triad_gbs.max = 15: it fails nodes that are better than that; what is bad has a min" ]
	[ "${stderr_lines[1]}" = "syscheck: warn: $f:4: limits.latency_ns.min = 90: it fails nodes that are better than that; what is bad has a max" ]
	[[ ${stderr_lines[2]} == "syscheck: warn: $f:5: tolerance = 0.4: "*"there is no limit; 0.3 at most" ]]
	printf 'return {\ndeadline = { quick = 1 } }\n' >"$f"
	run -1 --separate-stderr syscheck config check --policy "$f"
	[[ ${stderr_lines[0]} == "syscheck: $f:2: level quick: kernels take 3.5 s"*"every check is unknown; add: "* ]]
	printf 'return {\nship = "syslog:nosuch" }\n' >"$f"
	run -1 --separate-stderr syscheck config check --policy "$f"
	[[ ${stderr_lines[0]} == "syscheck: $f:2: ship must be an absolute path or \"syslog:FACILITY\""*'got "syslog:nosuch"' ]]
}

@test "help and version name every subcommand" {
	run syscheck --help
	[ "$status" -eq 0 ]
	[[ $output == *run*compare*job*node*fleet*baseline*config* ]]
	run syscheck --version
	[[ $output =~ ^syscheck\ [0-9.]+$ ]]
	run syscheck job --help
	[[ $output == *--json*--spool* ]]
}

@test "the current directory is nobody's to load code from" {
	local module
	mkdir "$BATS_TEST_TMPDIR/cwd"
	cd "$BATS_TEST_TMPDIR/cwd"
	for module in luv cjson argparse syscheck; do
		echo 'io.stderr:write("from the current directory") os.exit(0)' >"$module.lua"
	done
	local command
	for command in "job 1" "config check" "run --level none" "baseline show"; do
		# shellcheck disable=SC2086
		run syscheck $command
		[[ $output != *"from the current directory"* ]]
	done
	run env -i SLURM_JOB_ID=1 SLURMD_NODENAME=t1 "$P/libexec/syscheck/prolog"
	[[ "$(<"$P/var/log/syscheck.log")" != *"from the current directory"* ]]
}
