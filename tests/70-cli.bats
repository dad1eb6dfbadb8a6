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
	# Below what the untouched node does here and now, beside whatever else runs.
	policy 'kernels = { stream = { quick = 1 } }'
	run --separate-stderr syscheck run --json
	local limit percent
	limit=$(get 'r.metrics[2].value / 2')
	policy "kernels = { stream = { quick = 1 } }, limits = { gflops = { min = $limit } }"
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

@test "install: over another version, none of its modules stay" {
	local to=$BATS_TEST_TMPDIR/p
	make -s -C "$ROOT" install PREFIX="$to" DESTDIR=
	mkdir "$to/share/syscheck/lua/syscheck/gone"
	echo 'error("of another version")' | tee "$to/share/syscheck/lua/syscheck/old.lua" >"$to/share/syscheck/lua/syscheck/gone/old.lua"
	make -s -C "$ROOT" install PREFIX="$to" DESTDIR=
	[ "$(ls "$to/share/syscheck/lua")" = syscheck ]
	[ ! -e "$to/share/syscheck/lua/syscheck/old.lua" ]
	[ ! -e "$to/share/syscheck/lua/syscheck/gone" ]
	[ "$(ls "$to/share/syscheck")" = $'examples\njob_submit.lua\nlua' ]
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

@test "baseline learn: few nodes are refused without --force; show; bad file" {
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
	[[ $stderr == *"1 nodes, 3 checks; want 5 and 20 (or --force)"* ]]
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
	[ "$output" = "$P/etc/syscheck/policy.lua: good" ]
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
	[ "$output" = "$f: can be used, 1 warning" ]
	[[ $stderr == "syscheck: warn: $f:2: ship: "* ]]
}

@test "config check: what can be done and was hardly meant" {
	local f=$BATS_TEST_TMPDIR/p.lua
	printf 'return {\nlimits = {\ntriad_gbs = { max = 15 }, gflops = { min = 50 },\nlatency_ns = { min = 90 } },\ntolerance = 0.4 }\n' >"$f"
	run -0 --separate-stderr syscheck config check --policy "$f"
	[ "$output" = "$f: can be used, 3 warnings" ]
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
	[[ $output == *run*job*node*fleet*baseline*config* ]]
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
