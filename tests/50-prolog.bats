#!/usr/bin/env bats
# One node: the prolog with kernels that measure too little, hang,
# crash, lie; bad configuration; full disks. Whatever is the checker's own trouble
# starts the job and drains nothing.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load helpers
load eventually
load machine

gone() {
	! kill -0 "$1" 2>/dev/null
}

@test "pass: the job starts, no call to Slurm, a check record and the status for the plugin" {
	run prolog
	[ "$status" -eq 0 ]
	[ "$output" = "" ]
	[ "$(record check 'r.status')" = pass ]
	[ "$(record check '("%d %s %s %s"):format(r.job.id, r.job.user, r.node, r.level)')" = "4711 alice t1 quick" ]
	[ ! -e "$P/calls" ]
	[ "$(<"$P/run/4711")" = "nodes=1
first=1
level=quick
status=pass
asked=1
verbose=0
partly=1
restarts=0
off=0
brief=
note=
line=syscheck: t1 quick pass  triad 100.0 GB/s  dgemm 50.0 GFLOP/s  noise 1.0 %" ]
	[ "$(stat -c %a "$P/run/4711" "$SPOOL" "$LOG")" = $'644\n640\n640' ]
}

@test "fail, confirmed: drained with value and limit, exit 1, both runs recorded" {
	kernel stream "$(says stream '"triad_gbs":61.3')"
	run prolog
	[ "$status" -eq 1 ]
	[ "$(head -n 3 "$P/calls")" = "--all show nodes --oneliner
update nodename=t1 state=drain reason=syscheck: triad 61.3 < 80.0 GB/s (policy)
--all show nodes --oneliner" ]
	[ "$(record check 'r.status')" = fail ]
	[ "$(record check 'r.action')" = drain ]
	[ "$(record check 'r.drain.done')" = true ]
	[ "$(record check '#r.runs')" = 4 ]
	[ "$(record check '("%s %d"):format(r.runs[4].kernel, r.runs[4].attempt)')" = "stream 2" ]
}

@test "fail, not confirmed: the second run is good, so it is a warning" {
	kernel stream "[ -e '$P/var/once' ] && v=100 || v=60; touch '$P/var/once'
		echo '{\"kernel\":\"stream\",\"verified\":true,\"triad_gbs\":'\$v'}'"
	run prolog
	[ "$status" -eq 0 ]
	[ "$(record check 'r.status')" = warn ]
	[[ "$(record check 'r.metrics[1].text')" == "triad 60.0 < 80.0 GB/s (policy); not confirmed by a second run: 100.0 GB/s" ]]
	[ ! -e "$P/calls" ]
}

@test "fail, then the second run hangs: unknown" {
	policy 'mode = "enforce", limits = { triad_gbs = { min = 80 } }, kernels = { stream = { quick = 0.1 } }, partitions = { ["*"] = { default = "quick" } }'
	kernel stream "[ -e '$P/var/once' ] && exec sleep 60; touch '$P/var/once'
		echo '{\"kernel\":\"stream\",\"verified\":true,\"triad_gbs\":60}'"
	run prolog
	assert_unknown
	# What was found stays, logged and recorded, and is looked at again at once.
	[[ "$(record check 'r.text')" == "triad 60.0 < 80.0 GB/s (policy); not confirmed: triad: not measured: stream: killed after "* ]]
	grep -q "NOT CONFIRMED: triad 60.0 < 80.0 GB/s (policy); not confirmed: " "$LOG"
	kernel stream "$(says stream '"triad_gbs":100')"
	unasked_prolog
	[ "$(record check 'r.level .. r.status')" = quickpass ]
}

@test "too slow for a time box: at most what was begun, which fails below a limit, twice, and is unknown above" {
	policy 'mode = "enforce", limits = { gflops = { min = 80 } }'
	kernel dgemm "$(says dgemm '"unfinished":"calls","gflops":50')"
	run prolog
	[ "$status" -eq 1 ]
	[ "$(record check 'r.reason')" = "dgemm at most 50.0 < 80.0 GFLOP/s (policy)" ]
	[ "$(record check 'r.metrics[2].bound and r.metrics[2].value == 50')" = true ]
	agent_reset
	policy 'mode = "enforce", limits = { gflops = { min = 80 } }'
	kernel dgemm "$(says dgemm '"unfinished":"calls","gflops":90')"
	run prolog
	assert_unknown
	[ "$(record check 'r.text')" = "dgemm: not measured: dgemm: too slow for its time box" ]
}

@test "wrong result: drains at once, without a second run" {
	kernel dgemm "echo '{\"kernel\":\"dgemm\",\"verified\":false,\"error\":\"cpu 3: C[1][2] is 5, expected 4\",\"gflops\":50}'; exit 1"
	run prolog
	[ "$status" -eq 1 ]
	[ "$(grep state=drain "$P/calls")" = "update nodename=t1 state=drain reason=syscheck: dgemm: WRONG RESULT: cpu 3: C[1][2] is 5, expected 4" ]
	[ "$(record check 'r.corrupt')" = true ]
	[ "$(record check '#r.runs')" = 3 ]
}

@test "observe: the same fail drains nothing, is recorded and told" {
	policy 'limits = { triad_gbs = { min = 80 } }'
	kernel stream "$(says stream '"triad_gbs":61.3')"
	run prolog
	[ "$status" -eq 0 ]
	[ "$(record check 'r.status .. r.action')" = failobserved ]
	[ ! -e "$P/calls" ]
	grep -q 'would drain (mode is observe): triad 61.3 < 80.0' "$LOG"
	grep -q 'line=.*quick fail .*(observe: not drained)' "$P/run/4711"
}

@test "kernel trouble: each kind is unknown, with its reason in the record" {
	local name script why
	policy 'mode = "enforce", limits = { triad_gbs = { min = 80 } }, kernels = { stream = { quick = 0.1 } }'
	while IFS='|' read -r name script why; do
		rm -rf "$P/var/spool"
		kernel stream "$script"
		run prolog
		assert_unknown || { echo "$name"; return 1; }
		[[ "$(record check 'r.runs[1].reason')" == *"$why"* ]] || { echo "$name: $(record check 'r.runs[1].reason')"; return 1; }
		[ "$(record check 'r.runs[1].state')" = unknown ]
	done <<-'CASES'
		hangs|exec sleep 60|killed after
		ignores SIGTERM|trap "" TERM; while :; do :; done|killed after
		crashes|kill -SEGV $$|ended by signal 11
		prints nothing||printed nothing
		garbage|echo "segmentation fault"|printed no JSON: segmentation fault
		binary|head -c 200 /dev/urandom; echo|stream: printed
		two lines|echo "{}"; echo "{}"|several lines
		no newline|printf "{}"|unfinished line
		truncated|echo '{"kernel":"stream","triad'|printed no JSON
		exit 2|echo "stream: no CPU is left to run on" >&2; exit 2|stream: no CPU is left
		exit 2 without a word|echo >&2; exit 2|stream: could not run
		exit 3|exit 3|exit code 3
		exit 1 without witness|echo '{"kernel":"stream","verified":true,"triad_gbs":1}'; exit 1|its output does not
		another kernel's|echo '{"kernel":"dgemm","verified":true,"triad_gbs":1}'|names another kernel
		unverified|echo '{"kernel":"stream","triad_gbs":1}'|not verified
		endless|yes|too much output
		array|echo "[1]"|names another kernel
		nested|printf '[%.0s' {1..90000}; echo|printed no JSON
	CASES
}

@test "numbers that are none: unknown, whatever the kernel prints" {
	local value
	for value in '"61"' null -5 0 1e999 NaN Infinity '{}' true; do
		rm -rf "$P/var/spool"
		kernel stream "echo '{\"kernel\":\"stream\",\"verified\":true,\"triad_gbs\":$value}'"
		run prolog
		assert_unknown || { echo "$value"; return 1; }
	done
	kernel stream "echo '{\"kernel\":\"stream\",\"verified\":true}'"
	run prolog
	assert_unknown
}

@test "kernel missing or not executable: unknown" {
	rm "$P/libexec/syscheck/stream"
	run prolog
	assert_unknown
	[[ "$(record check 'r.runs[1].reason')" == *"no such file"* ]]
	install -m 644 /dev/null "$P/libexec/syscheck/stream"
	run prolog
	assert_unknown
}

@test "deadline: kernels that do not fit are not started, the check is unknown" {
	policy 'mode = "enforce", deadline = { quick = 1 }, kernels = { stream = { quick = 0.3 }, dgemm = { quick = 5 } }'
	run prolog
	assert_unknown
	[[ "$(record check 'r.runs[2].reason')" == *"the deadline is too near"* ]]
	[ "$(record check 'r.runs[1].box_s')" = 0.3 ]
	# Its box alone would fit, its start and end would not.
	policy 'mode = "enforce", deadline = { quick = 1 }, kernels = { stream = { quick = 0.7 }, dgemm = { quick = 0 } }'
	run prolog
	assert_unknown
	[[ "$(record check 'r.runs[1].reason')" == "stream: not started, the deadline is too near" ]]
	# Slurm drains a node whose prolog outlives its time-out.
	echo 'PrologEpilogTimeout=9' >"$P/slurm.conf"
	policy 'mode = "enforce", deadline = { quick = 30 }, kernels = { stream = { quick = 0.3 }, dgemm = { quick = 5 } }'
	run prolog SLURM_CONF="$P/slurm.conf"
	assert_unknown
	[[ "$(record check 'r.runs[2].reason')" == "dgemm: not started, the deadline is too near" ]]
}

@test "policy with a syntax error, an unknown key, wrong owner, a loop: unknown, file and line in the log" {
	local text why
	kernel stream "$(says stream '"triad_gbs":1')"
	while IFS='|' read -r text why; do
		rm -rf "$P/var/spool" "$LOG"
		printf '%b\n' "$text" >"$P/etc/syscheck/policy.lua"
		run prolog
		assert_unknown || { echo "$text"; return 1; }
		[[ "$(record check 'r.problems[1]')" == *"policy: $P/etc/syscheck/policy.lua$why"* ]] ||
			{ record check 'r.problems[1]'; return 1; }
		grep -qF "$P/etc/syscheck/policy.lua$why" "$LOG"
	done <<-'CASES'
		return {\n  mode = enforce"\n}|:2: 
		return {\n  mode = "enforce",\n  limts = {}\n}|:3: unknown key limts, did you mean "limits"?
		return { mode = "enforce" } x|:1: 
		while true do end|:1: "while": a policy has tables and values only
	CASES
	policy 'mode = "enforce", limits = { triad_gbs = { min = 80 } }'
	chmod 666 "$P/etc/syscheck/policy.lua"
	run prolog
	assert_unknown
	[[ "$(record check 'r.problems[1]')" == *"writable by group or others"* ]]
	rm "$P/etc/syscheck/policy.lua"
	run prolog
	assert_unknown
}

@test "a wrong result does not spare another kernel its second run: what drains was confirmed" {
	policy 'limits = { triad_gbs = { min = 80, mode = "enforce" } }'
	kernel dgemm "echo '{\"kernel\":\"dgemm\",\"verified\":false,\"error\":\"bad\",\"gflops\":50}'; exit 1"
	kernel stream "[ -e $P/again ] && exec $P/libexec/syscheck/good; touch $P/again; $(says stream '"triad_gbs":61.3')"
	kernel good "$(says stream '"triad_gbs":100')"
	run prolog
	rm "$P/again" "$P/libexec/syscheck/good"
	[ "$status" -eq 0 ]
	[ "$(record check 'r.status .. r.action')" = failobserved ]
	[ ! -e "$P/calls" ]
}

@test "baseline: below the class median drains; truncated, negative, foreign version is unknown" {
	local class text
	policy 'mode = "enforce"'
	run prolog
	[ "$(record check 'r.status')" = unrated ]
	class=$(record check 'r.class')
	kernel stream "$(says stream '"triad_gbs":61.3')"
	echo "{\"v\":1,\"classes\":{\"$class\":{\"triad_gbs\":{\"median\":86,\"mad_pct\":1}}}}" >"$P/etc/syscheck/baseline.json"
	run prolog
	[ "$status" -eq 1 ]
	[ "$(grep state=drain "$P/calls")" = "update nodename=t1 state=drain reason=syscheck: triad 61.3 < 77.4 GB/s (class $class, median 86.0)" ]
	rm "$P/calls"
	# In another time box it is another quantity.
	echo "{\"v\":1,\"classes\":{\"$class\":{\"triad_gbs\":{\"median\":86,\"mad_pct\":1,\"box_s\":7}}}}" >"$P/etc/syscheck/baseline.json"
	run prolog
	[ "$(record check 'r.status')" = unrated ]
	[ ! -e "$P/calls" ]
	for text in '{"v":1,"classes":' '{"v":3,"classes":{}}' "{\"v\":1,\"classes\":{\"$class\":{\"triad_gbs\":{\"median\":86,\"mad_pct\":1,\"box_s\":\"x\"}}}}" "{\"v\":1,\"classes\":{\"$class\":{\"triad_gbs\":{\"median\":-86,\"mad_pct\":1}}}}"; do
		echo "$text" >"$P/etc/syscheck/baseline.json"
		run prolog
		assert_unknown
		[[ "$(record check 'r.problems[1]')" == "baseline: "* ]]
	done
	# Nothing of it is left, or it cannot be read: that is not the same as none.
	: >"$P/etc/syscheck/baseline.json"
	run prolog
	assert_unknown
	rm "$P/etc/syscheck/baseline.json"
	mkdir "$P/etc/syscheck/baseline.json"
	run prolog
	rmdir "$P/etc/syscheck/baseline.json"
	assert_unknown
	echo '{"v":1,"classes":{"other":{"triad_gbs":{"median":500,"mad_pct":1}}}}' >"$P/etc/syscheck/baseline.json"
	run prolog
	[ "$status" -eq 0 ]
	[ "$(record check 'r.status')" = unrated ]
}

@test "hostile SPANK_SYSCHECK: not a level, not a command; the partition's default holds" {
	local value
	for value in "\$(touch $P/pwned)" "; touch $P/pwned" "\`touch $P/pwned\`" $'quick\nfull' QUICKLY '../../x' '%n%s' \
		"$(head -c 100000 /dev/zero | tr '\0' a)"; do
		rm -rf "$P/var/spool" "$LOG"
		run prolog "SPANK_SYSCHECK=$value"
		[ "$status" -eq 0 ]
		[ "$(record check 'r.level')" = passive ]
		[ "$(record check 'r.asked')" = nil ]
		[[ "$(record check 'r.note')" == "SPANK_SYSCHECK is not a level"* ]]
		[ "$(wc -l <"$LOG")" -eq 1 ]
		[ "$(wc -c <"$LOG")" -lt 400 ]
	done
	[ ! -e "$P/pwned" ]
}

@test "hostile environment: LUA_INIT, LD-free names, job fields end as data" {
	run prolog LUA_INIT="os.execute('touch $P/pwned')" LUA_PATH="$P/?.lua" SLURM_JOB_USER=$'a"\e[2J\n' \
		SLURM_JOB_PARTITION='$(touch x)' SLURMD_NODENAME='../../evil'
	[ "$status" -eq 0 ]
	[ ! -e "$P/pwned" ]
	[ "$(record check 'r.job.user == "a\"\27[2J\n"')" = true ]
	[[ "$(record check 'r.node')" != *evil* ]]
	run "$P/bin/syscheck" job 4711
	[[ $output != *$'\e'* ]]
	[[ $output == *'a\x22\x1b[2J\x0a'* ]]
}

@test "no job ID: logged, exit 0" {
	run prolog SLURM_JOB_ID='1; reboot'
	[ "$status" -eq 0 ]
	grep -q 'no SLURM_JOB_ID' "$LOG"
}

@test "levels: floor, ceiling, shared node, none" {
	policy 'partitions = { main = { floor = "quick", default = "quick", ceiling = "quick" } }'
	run prolog SPANK_SYSCHECK=none
	[ "$(record check 'r.level')" = quick ]
	[[ "$(record check 'r.note')" == "none asked, the partition's floor is quick" ]]
	run prolog SPANK_SYSCHECK=full
	[ "$(record check 'r.level')" = quick ]
	run prolog SLURM_JOB_CPUS_PER_NODE=0
	[ "$(record check 'r.level')" = passive ]
	[[ "$(record check 'r.note')" == *"other jobs may run here"* ]]
	policy ''
	rm -rf "$P/var/spool"
	run prolog SPANK_SYSCHECK=none
	[ "$status" -eq 0 ]
	[ ! -e "$SPOOL" ]
	run epilog SPANK_SYSCHECK=none
	[ "$(record job 'r.check.level')" = none ]
	[ "$(record job 'r.delta.cpu ~= nil')" = true ]
}

@test "two jobs on one node: the second finds the first and does not measure" {
	run prolog SLURM_JOB_ID=1
	[ "$(record check 'r.level')" = quick ]
	run prolog SLURM_JOB_ID=2
	[ "$(record check 'r.level')" = passive ]
	run epilog SLURM_JOB_ID=1
	run epilog SLURM_JOB_ID=2
	run prolog SLURM_JOB_ID=3
	[ "$(record check 'r.level')" = quick ]
	# Without a step for hours: its first one may start any moment. The health program's rule, too.
	begun() { # begun SECONDS: so long ago
		lua5.4 - "$P/var/lib/syscheck/begin/3.json" "$1" <<-'LUA'
		local json = require("cjson")
		local f = assert(io.open(arg[1]))
		local s = json.decode(f:read("a"))
		s.snapshot.uptime_s = require("luv").hrtime() / 1e9 - arg[2]
		assert(io.open(arg[1], "w")):write(json.encode(s)):close()
		LUA
	}
	begun 3600
	run prolog SLURM_JOB_ID=4
	[ "$(record check 'r.level')" = passive ]
	run epilog SLURM_JOB_ID=4
	# Of a day ago: its epilog never ran.
	begun 90000
	run prolog SLURM_JOB_ID=4
	[ "$(record check 'r.level')" = quick ]
	run epilog SLURM_JOB_ID=4
	begun 0
	# One from before a reboot is no neighbour.
	sed -i 's/"boot_id":"[^"]*"/"boot_id":"other"/' "$P/var/lib/syscheck/begin/3.json"
	run prolog SLURM_JOB_ID=4
	[ "$(record check 'r.level')" = quick ]
}

@test "the class at the last check is known after a job, too" {
	run prolog
	sed -i 's/"class":"[^"]*"/"class":"epyc-9-1s2c-4g"/' "$P/var/lib/syscheck/last.json"
	run epilog
	# Not the epilog's: what became another node during the job is the next check's to report.
	run prolog
	[ "$(record check 'r.metrics[#r.metrics].text:match("was epyc%-9%-1s2c%-4g at the last check")')" != nil ]
	run epilog
	run prolog
	[ "$(record check 'r.metrics[#r.metrics].text:find("at the last check")')" = nil ]
}

# What the kernel says that it lost, and processes that really run on every CPU meanwhile.
@test "a good node that others keep busy is not drained; one that is slower than they explain is" {
	local thieves=() cpu
	cp "$(command -v bash)" "$BATS_TEST_TMPDIR/thief"
	for ((cpu = 0; cpu < $(nproc); cpu++)); do
		timeout 60 "$BATS_TEST_TMPDIR/thief" -c 'while :; do :; done' 3>&- &
		thieves+=("$!")
	done
	busy_stream() { # busy_stream RATE
		kernel stream "sleep 0.5; $(says stream "\"triad_gbs\":$1,\"lost_pct\":50,\"lost_core_pct\":50,\"lost_cpu\":0,\"cpus\":\"0-$(($(nproc --all) - 1))\"")"
	}
	busy_stream 70
	run prolog
	[ "$status" -eq 0 ]
	[ "$(record check 'r.status .. r.action .. tostring(r.metrics[1].busy) .. r.metrics[1].status')" = unknownnonetrueunknown ]
	# A hypervisor that had most of these CPUs is named instead.
	[[ "$(record check 'r.metrics[1].text')" =~ ^"busy, not rated:"\ $WHO_HAD_CPUS\ .*"triad 70.0 < 80.0 GB/s (policy)" ]]
	[ "$(record check '#r.runs .. tostring(r.runs[1].others.loss_pct >= 50)')" = 4true ]
	grep -qE "busy, not rated: $WHO_HAD_CPUS" "$LOG"
	grep -q '^line=syscheck: t1 quick unknown .*triad 70.0 GB/s (busy, not rated)' "$P/run/4711"
	run epilog
	# Others explain a twentieth of the limit at most.
	busy_stream 3
	run prolog
	[ "$status" -eq 1 ]
	[[ "$(record check 'r.reason')" =~ ^"triad 3.0".*"< 80.0 GB/s (policy);"\ $WHO_HAD_CPUS\ .* ]]
	kill "${thieves[@]}"
}

@test "two prologs at the same time: two whole records" {
	prolog SLURM_JOB_ID=1 &
	prolog SLURM_JOB_ID=2 &
	wait
	[ "$(wc -l <"$SPOOL")" = 2 ]
	run "$P/bin/syscheck" job 1 --json
	[ "$status" -eq 0 ]
	run "$P/bin/syscheck" job 2 --json
	[ "$status" -eq 0 ]
}

@test "budget: an unasked check is skipped while the last pass is fresh; not after throttling" {
	policy 'partitions = { main = { default = "quick" } }, limits = { triad_gbs = { min = 80 } }, budget = 0.0001'
	run prolog SPANK_SYSCHECK=quick
	run epilog
	run unasked_prolog
	[ "$(record check 'r.level')" = passive ]
	[ "$(record check 'r.note')" = "the last pass is fresh" ]
	run epilog
	run prolog SPANK_SYSCHECK=quick
	[ "$(record check 'r.level')" = quick ]
	run epilog
	rm "$P/var/lib/syscheck/last_pass.json"
	run unasked_prolog
	[ "$(record check 'r.level')" = quick ]
}

@test "spool directory cannot be made, disk full: the job starts and ends, the loss is logged" {
	mkdir -p "$P/var/spool"
	echo "a file" >"$P/var/spool/syscheck"
	run prolog
	[ "$status" -eq 0 ]
	grep -q 'check record lost: ' "$LOG"
	run epilog
	[ "$status" -eq 0 ]
	grep -q 'job record lost: ' "$LOG"
	rm "$P/var/spool/syscheck"

	[ "$(id -u)" = 0 ] || skip "a full disk needs root"
	mkdir -p "$P/var/spool/syscheck"
	mount -t tmpfs -o size=4k tmpfs "$P/var/spool/syscheck" || skip "no mount here"
	head -c 4096 /dev/zero >"$P/var/spool/syscheck/filler"
	: >"$LOG"
	run prolog
	run epilog
	umount "$P/var/spool/syscheck"
	[ "$status" -eq 0 ]
	grep -q 'check record lost: .*ENOSPC' "$LOG"
	grep -q 'job record lost: .*ENOSPC' "$LOG"
}

@test "state, run and log directories missing or files: the job starts and ends" {
	local dir
	for dir in var/lib/syscheck run var/log; do
		agent_reset
		rm -rf "${P:?}/$dir"
		mkdir -p "$(dirname "$P/$dir")"
		echo "a file" >"$P/$dir"
		run prolog
		[ "$status" -eq 0 ]
		run epilog
		[ "$status" -eq 0 ]
		[ -s "$SPOOL" ]
		rm -f "${P:?}/$dir"
	done
}

@test "a link where a record or status goes is not followed" {
	mkdir -p "$P/var/spool/syscheck" "$P/run"
	echo precious >"$P/victim"
	ln -s "$P/victim" "$SPOOL"
	ln -s "$P/victim" "$P/run/4711"
	run prolog
	[ "$status" -eq 0 ]
	[ "$(<"$P/victim")" = precious ]
	[ ! -L "$P/run/4711" ]
	grep -q 'check record lost' "$LOG"
	rm "$SPOOL"
}

@test "the agent is killed, broken or missing: the job starts" {
	local agent=$P/libexec/syscheck/agent.lua
	cp "$agent" "$P/agent.keep"
	echo 'error("broken")' >"$agent"
	run prolog
	[ "$status" -eq 0 ]
	echo 'os.exit(98)' >"$agent"
	run prolog
	[ "$status" -eq 0 ]
	echo 'require("luv").kill(require("luv").os_getpid(), "sigkill")' >"$agent"
	run prolog
	[ "$status" -eq 0 ]
	rm "$agent"
	run prolog
	[ "$status" -eq 0 ]
	run epilog
	[ "$status" -eq 0 ]
	echo 'os.exit(99)' >"$agent"
	run prolog
	[ "$status" -eq 1 ]
	run epilog
	[ "$status" -eq 0 ]
	cp "$P/agent.keep" "$agent"
}

@test "an agent that cannot be killed holds nobody up past the limit" {
	# LIMIT 1, and an agent that holds the pipe and survives SIGTERM and the shell's wait.
	limited 1
	cp "$P/libexec/syscheck/agent.lua" "$P/agent.keep"
	echo 'local uv = require("luv") uv.spawn("setsid", { args = { "sleep", "20" }, stdio = { nil, 1, 2 } })
		uv.new_signal():start("sigterm", function() end) uv.new_timer():start(20000, 0, function() end) uv.run()' \
		>"$P/libexec/syscheck/agent.lua"
	local began=$SECONDS
	run slurmd_runs prolog.short
	cp "$P/agent.keep" "$P/libexec/syscheck/agent.lua"
	[ "$status" -eq 0 ]
	# Not a speed: the agent would take 20 s, the limit is 2 s.
	[ "$((SECONDS - began))" -lt 15 ]
}

# stand_in LUA: copies of the entries with LIMIT 1 and this script for Lua; into $STAND_IN
stand_in() {
	local stage
	STAND_IN=$BATS_TEST_TMPDIR/stand_in
	mkdir "$STAND_IN"
	printf '#!/bin/bash\n%s\n' "$1" >"$STAND_IN/lua"
	chmod 755 "$STAND_IN/lua"
	for stage in prolog epilog; do
		sed -E "s/LIMIT=[0-9]+/LIMIT=1/; s|'[^']*/lua[0-9.]*' -E|'$STAND_IN/lua'|" "$P/libexec/syscheck/$stage" >"$STAND_IN/$stage"
		grep -q "$STAND_IN/lua" "$STAND_IN/$stage"
	done
}

@test "an agent that cannot be ended: the entry returns, and holds no pipe of slurmd's" {
	# What bounds the agent is itself stopped: as if it were stuck in the kernel.
	stand_in 'echo $$ >>"${0%/*}/pids"; kill -STOP $$; exec sleep 300'
	local stage
	for stage in prolog epilog; do
		# slurmd reads both to their end; so does cat.
		timeout 60 bash -c "bash '$STAND_IN/$stage' 2>&1 | cat; exit \${PIPESTATUS[0]}"
	done
	# Stopped or not: nothing of them is left. What would hang again is not run again for the record.
	local pid pids
	read -r -d '' -a pids <"$STAND_IN/pids" || true
	[ "${#pids[@]}" = 2 ]
	for pid in "${pids[@]}"; do
		eventually 20 gone "$pid"
	done
	[ "$(grep -c 'agent did not end within 1 s and was killed' "$LOG")" = 2 ]
}

@test "a log that is a FIFO holds nothing up" {
	rm -f "$P/var/log/syscheck.log"
	mkfifo "$P/var/log/syscheck.log"
	local began=$SECONDS
	run prolog
	[ "$status" -eq 0 ]
	run epilog
	[ "$status" -eq 0 ]
	# The entries' own bounds are 80 s and 15 s.
	[ "$((SECONDS - began))" -lt 15 ]
}

@test "stream from the caches, for want of memory, is no memory bandwidth: unknown" {
	kernel stream "$(says stream '"triad_gbs":900,"array_limit":"memory","array_mb":2,"llc_mb":500')"
	run prolog
	assert_unknown
	[[ "$(record check 'r.metrics[1].text')" == *"memory for 6 MB of arrays only, caches hold 500 MB"* ]]
	# Whatever cut them.
	kernel stream "$(says stream '"triad_gbs":900,"array_limit":"time","array_mb":2,"llc_mb":500')"
	run prolog
	assert_unknown
	[[ "$(record check 'r.metrics[1].text')" == *"stream: time for 6 MB of arrays only, caches hold 500 MB"* ]]
	kernel stream "$(says stream '"triad_gbs":100,"array_limit":"time","array_mb":167,"llc_mb":500')"
	run prolog
	[ "$(record check 'r.status')" = pass ]
	# Larger than the caches: a value.
	kernel stream "$(says stream '"triad_gbs":100,"array_limit":"memory","array_mb":200,"llc_mb":500')"
	run prolog
	[ "$(record check 'r.status')" = pass ]
}

@test "dgemm of small matrices, for want of memory, neither passes nor fails: unknown" {
	local gflops
	policy 'mode = "enforce", limits = { gflops = { min = 80 } }'
	for gflops in 79 90; do
		kernel dgemm "$(says dgemm "\"gflops\":$gflops,\"n\":384,\"size_limit\":\"memory\"")"
		run prolog
		assert_unknown
		[ "$(record check 'r.text')" = "dgemm: not measured: dgemm: memory for n = 384 only" ]
	done
}

@test "scaling from the caches, and latency where lines cannot be flushed from them: unknown" {
	local text
	policy 'mode = "enforce", limits = { best_gbs = { min = 80, action = "fail" }, latency_ns = { max = 200 } }'
	# text_of METRIC
	text_of() {
		record check "(function() for _, m in ipairs(r.metrics) do if m.name == '$1' then return m.status .. ': ' .. tostring(m.text) end end end)()"
	}
	kernel scaling "$(says scaling '"best_gbs":900,"limit":"time","array_mb":2,"llc_mb":500')"
	kernel numa "$(says numa '"latency_ns":9,"limit":"memory","flushed":false,"chase_mb":60,"llc_mb":500')"
	run prolog SPANK_SYSCHECK=full
	text=$(text_of best_gbs)
	[[ $text == "unknown: "*"scaling: time for 6 MB of arrays only, caches hold 500 MB"* ]] || { echo "$text"; return 1; }
	text=$(text_of latency_ns)
	[[ $text == "unknown: "*"numa: memory for 60 MB"* ]] || { echo "$text"; return 1; }
	# Flushed: it is memory's, whatever was visited.
	kernel scaling "$(says scaling '"best_gbs":90,"limit":"time","array_mb":200,"llc_mb":500')"
	kernel numa "$(says numa '"latency_ns":100,"limit":"memory","flushed":true,"chase_mb":60,"llc_mb":500')"
	run prolog SPANK_SYSCHECK=full
	text="$(text_of best_gbs) $(text_of latency_ns)"
	[[ $text == "pass: "*" pass: "* ]] || { echo "$text"; return 1; }
}

@test "a baseline that others can write to is not believed" {
	printf '{"v":1,"classes":{}}' >"$P/etc/syscheck/baseline.json"
	chmod 666 "$P/etc/syscheck/baseline.json"
	run prolog
	assert_unknown
	[[ "$(record check 'r.problems[1]')" == *"baseline.json: writable by group or others"* ]]
}

@test "a lock file of a normal user's is refused at once: unknown" {
	[ "$(id -u)" = 0 ] || skip "needs root to make another user's file"
	local lock=$BATS_TEST_TMPDIR/lock
	: >"$lock"
	chown 65534 "$lock"
	policy "mode = 'enforce', limits = { triad_gbs = { min = 80 } }, lock = '$lock'"
	run prolog
	assert_unknown
	[[ "$(record check 'r.metrics[1].text')" == *"not a file that root alone can write to"* ]]
}

@test "a damaged last.json is no reason to crash" {
	run prolog
	local boot
	boot=$(</proc/sys/kernel/random/boot_id)
	printf '{"boot_id":"%s"}' "$boot" >"$P/var/lib/syscheck/last.json"
	run prolog
	[ "$(record check 'r.status')" = pass ]
}

@test "a node that lacks what the policy expects: a warning, or a drain where it says so" {
	policy 'mode = "enforce", expect = { ["*"] = { threads = 99999 } }'
	run prolog SPANK_SYSCHECK=passive
	[ "$status" -eq 0 ]
	[ "$(record check 'r.status')" = warn ]
	[[ "$(record check 'r.metrics[#r.metrics].text')" =~ ^"threads "[0-9]+", expected 99999"$ ]]
	[ ! -e "$P/calls" ]
	policy 'mode = "enforce", expect = { ["*"] = { threads = 99999, action = "fail" } }'
	run prolog SPANK_SYSCHECK=passive
	[ "$status" -eq 1 ]
	[[ "$(grep state=drain "$P/calls")" =~ "state=drain reason=syscheck: threads "[0-9]+", expected 99999"$ ]]
}

@test "the record names the configuration, and an id for it that stays" {
	prolog
	local id
	id=$(record check 'r.config_id')
	[[ $id =~ ^[0-9a-f]{8}$ ]]
	[ "$(record check 'r.config.kernel')" = "$(uname -r)" ]
	epilog
	[ "$(record job 'r.config_id')" = "$id" ]
}

@test "asked for help, prolog, epilog and health say how they are run, and do nothing" {
	local stage
	for stage in prolog epilog health; do
		run -0 env -i SLURM_JOB_ID=4711 SLURMD_NODENAME=t1 "$P/libexec/syscheck/$stage" --help
		[[ $output == "usage: Slurm runs this ($stage) without arguments; see man syscheck-"* ]]
		[ "${#lines[@]}" = 1 ]
	done
	[ ! -e "$SPOOL" ]
	[ ! -e "$LOG" ]
}
