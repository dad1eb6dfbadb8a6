#!/usr/bin/env bats
# One node: each run of a job has one record, that says whose it was, what its
# steps used and who shared the node. Bad files, epilogs that come twice or alone.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load helpers

setup() {
	agent_reset
	STATE=$P/var/lib/syscheck
}

# job_records [EXPRESSION]: of each job record r in the spool; default: how many there are
job_records() {
	lua5.4 "$FIXTURES/job_records.lua" "$SPOOL" "${1:-}"
}

# others JOB: IDs in its last record, and how many more
others() {
	lua5.4 "$FIXTURES/job_others.lua" "$SPOOL" "$1"
}

# steps JOB LINE...: what the plugin leaves
steps() {
	local job=$1 size
	shift
	mkdir -p "$P/run"
	(
		umask 077
		printf '%s\n' "syscheck-steps 1" "$@" >"$P/run/$job.steps"
		size=$(stat -c %s "$P/run/$job.steps")
		head -c $((4092 - size)) /dev/zero | tr '\0' '\n' >>"$P/run/$job.steps"
		echo end >>"$P/run/$job.steps"
	)
}

@test "a job without a begin snapshot: its record, without deltas, and why" {
	run epilog
	[ "$status" -eq 0 ]
	[ "$(job_records)" = 1 ]
	[ "$(record job 'r.problems[1]')" = "no deltas: no begin snapshot" ]
	[ "$(record job 'tostring(r.delta) .. tostring(r.begin) .. tostring(r.others)')" = nilnilnil ]
}

@test "an epilog that runs twice: one record" {
	run prolog
	run epilog
	run epilog
	[ "$status" -eq 0 ]
	[ "$(job_records)" = 1 ]
	[ "$(record job 'r.delta ~= nil')" = true ]
	grep -q "job 4711: info: ran again; the job's record is written" "$LOG"
	[ -z "$(ls "$STATE/begin")" ]
	# Also of a job whose prolog never ran.
	run epilog SLURM_JOB_ID=4712
	run epilog SLURM_JOB_ID=4712
	[ "$(job_records)" = 2 ]
}

@test "an epilog that was killed before it had cleaned up, and runs again: one record in the store" {
	run prolog
	cp -r "$STATE/begin" "$P/begin.keep"
	run epilog
	# After it had noted that the record is written:
	cp -r "$P/begin.keep/." "$STATE/begin"
	run epilog
	[ "$(job_records)" = 1 ]
	# Before: the line is there twice, of one record.
	cp -r "$P/begin.keep/." "$STATE/begin"
	rm -r "$STATE/ended"
	run epilog
	[ "$(job_records r.id | uniq | wc -l)" = 1 ]
	[ "$(job_records)" = 2 ]
	rm -r "$P/begin.keep"
}

@test "an epilog whose prolog never ran, killed when its record was written, and tried again: one record" {
	local module=$P/share/syscheck/lua/syscheck/node/runs.lua
	cp "$module" "$P/runs.keep"
	sed -i '$d' "$module"
	echo 'function runs.recorded() uv.kill(uv.os_getpid(), "sigkill") end return runs' >>"$module"
	run epilog
	mv "$P/runs.keep" "$module"
	[ "$(job_records)" = 2 ]
	[ "$(job_records r.id | uniq | wc -l)" = 1 ]
	run epilog
	[ "$(job_records r.id | uniq | wc -l)" = 1 ]
	[ -z "$(ls "$STATE/begin")" ]
}

@test "a requeued job: each run has its record, what the first one left is not the second one's" {
	run prolog SLURM_JOB_RESTART_COUNT=0
	steps 4711 "steps 1" "step cpu_us 5"
	# As Slurm does it: the count is the next run's.
	run epilog SLURM_JOB_RESTART_COUNT=1
	[ ! -e "$P/run/4711.steps" ]
	# One of a slurmstepd that came late, or whose epilog never ran.
	steps 4711 "steps 9" "step cpu_us 999"
	run prolog SLURM_JOB_RESTART_COUNT=1
	[ ! -e "$P/run/4711.steps" ]
	run epilog SLURM_JOB_RESTART_COUNT=1
	[ "$(job_records r.job.restart)" = $'0\n1' ]
	[ "$(job_records r.id | sort -u | wc -l)" = 2 ]
	[ "$(job_records 'r.cgroup and r.cgroup.steps')" = $'1\nnil' ]
	# Without a prolog: that there were steps, or some time, tells them apart.
	steps 4711 "steps 1"
	run epilog
	run epilog
	[ "$(job_records)" = 3 ]
	sed -i -E "s/[0-9]+$/$(($(cut -d. -f1 /proc/uptime) - 700))/" "$STATE/ended/$((4711 % 256))"
	run epilog
	run epilog
	[ "$(job_records)" = 4 ]
}

@test "an epilog after a prolog that failed: a record that names the check" {
	kernel stream "$(says stream '"triad_gbs":61.3')"
	run prolog
	[ "$status" -eq 1 ]
	run epilog
	[ "$status" -eq 0 ]
	[ "$(job_records)" = 1 ]
	[ "$(record job 'r.check.action')" = drain ]
	[ "$(record job 'r.check.id')" = "$(record check 'r.id')" ]
	[ "$(record job 'tostring(r.cgroup)')" = nil ]
}

@test "jobs that share the node name each other, also those that came and went meanwhile" {
	run unasked_prolog
	run unasked_prolog SLURM_JOB_ID=12
	run epilog SLURM_JOB_ID=12
	run unasked_prolog SLURM_JOB_ID=13
	run unasked_prolog SLURM_JOB_ID=14
	run epilog SLURM_JOB_ID=13
	# The second run of one of them is not another job.
	run unasked_prolog SLURM_JOB_ID=13
	run epilog SLURM_JOB_ID=13
	run epilog
	run epilog SLURM_JOB_ID=14
	[ "$(others 4711)" = "12 13 14" ]
	[ "$(others 12)" = 4711 ]
	[ "$(others 13)" = "14 4711" ]
	[ "$(others 14)" = "13 4711" ]
	# One that is alone afterwards has none.
	run unasked_prolog SLURM_JOB_ID=15
	run epilog SLURM_JOB_ID=15
	[ "$(others 15)" = "" ]
	[ -z "$(ls "$STATE/begin")" ]
}

@test "more jobs than a record names are counted" {
	run unasked_prolog
	seq 10 90 >>"$STATE/begin/4711.run"
	seq 10 90 >>"$STATE/begin/4711.run"
	run epilog
	[ "$(others 4711)" = "$(seq -s ' ' 10 73) +17" ]
}

@test "jobs of an earlier boot, and those whose epilog never came, were not there" {
	mkdir -p "$STATE/begin"
	local boot id up
	boot=$(</proc/sys/kernel/random/boot_id)
	up=$(cut -d. -f1 /proc/uptime)
	id=$(printf '%032d' 0)
	echo "run $id 00000000-boot $(date +%s) 0" >"$STATE/begin/21.run"
	echo "run $id $boot $((up - 100000)) -" >"$STATE/begin/22.run"
	echo "run $id $boot $((up - 1000)) -" >"$STATE/begin/23.run"
	echo "garbage" >"$STATE/begin/24.run"
	head -c 100 /dev/urandom >"$STATE/begin/25.run"
	mkdir "$STATE/begin/26.run"
	: >"$STATE/begin/27.run"
	ln -s "$P/victim" "$STATE/begin/28.run"
	run unasked_prolog
	[ "$status" -eq 0 ]
	run epilog
	[ "$(others 4711)" = 23 ]
	[ ! -e "$P/victim" ]
}

# prolog_at|epilog_at OFFSET: with the wall clock set by so much; the kernel's own goes on
prolog_at() {
	at "$1" prolog
}

epilog_at() {
	at "$1" epilog
}

at() {
	"$2" "FAKETIME=$1" FAKETIME_DONT_FAKE_MONOTONIC=1 NO_FAKE_STAT=1 "LD_PRELOAD=$(faketime now printenv LD_PRELOAD)"
}

@test "a clock that is set while a job runs: it took as long as it did" {
	local by
	for by in +2d -1h; do
		run prolog
		run epilog_at "$by"
		[ "$(record job 'r.elapsed_s < 60 and r.elapsed_s > 0 and math.type(r.elapsed_s)')" = float ]
		# Slurm repeats its epilog.
		run epilog
		run epilog_at "$by"
	done
	[ "$(job_records)" = 2 ]
}

@test "a clock that is set while a job runs: the job on the same node is still seen" {
	run unasked_prolog SLURM_JOB_ID=12
	run prolog_at +2d
	[ "$(record check 'r.note')" = "quick needs the whole node; another job has not ended here" ]
	run epilog_at +2d
	[ "$(others 4711)" = 12 ]
}

@test "what the steps used joins the record, and is removed" {
	run prolog
	steps 4711 "version 1" "steps 2" "sure 1" "array 4700 11" "name $(printf 'a"b\n\e[31m\xff' | od -An -v -tx1 | tr -d ' \n')" \
		"step cpu_us 100" "step memory_peak_bytes 5" "tasks written_bytes 52428800" "job cpu_us 120 7 0"
	run epilog SLURM_HET_JOB_ID=4710
	[ "$(record job '("%d %d %d %d %d"):format(r.cgroup.v, r.cgroup.steps, r.cgroup.cpu_us, r.cgroup.memory_peak_bytes, r.cgroup.written_bytes)')" = "1 2 120 5 52428800" ]
	[ "$(record job 'r.cgroup.by_tasks[1]')" = written_bytes ]
	[ "$(record job '("%d %d %d %d"):format(r.job.array_job_id, r.job.array_task_id, r.job.het_job_id, r.job.het_offset)')" = "4700 11 4710 1" ]
	[ "$(record job 'r.job.name == "a\"b\n\27[31m\u{FFFD}"')" = true ]
	[ "$(iconv -f UTF-8 -t UTF-8 "$SPOOL" | wc -l)" = 2 ]
	[ ! -e "$P/run/4711.steps" ]
}

@test "energy of a long job is what the extern step has counted; no step of the user's, no cgroup" {
	run prolog
	steps 4711 "version 0" "steps 0" "sure 0" "energy 5400000123456"
	run epilog
	[ "$(record job 'r.delta.energy.package_j')" = 5400000.123 ]
	[ "$(record job 'tostring(r.cgroup) .. tostring(r.job.name)')" = nilnil ]
	# After a reboot there is no delta at all.
	run prolog
	sed -i -E 's/"boot_id":"[^"]*"/"boot_id":"before"/' "$STATE/begin/4711.json"
	steps 4711 "version 2" "steps 1" "energy 5400000123456"
	run epilog
	[ "$(record job '("%s %d"):format(r.delta, r.cgroup.steps)')" = "nil 1" ]
}

# up_for SECONDS STAGE VARIABLE...: as if the machine had been up for so long
up_for() {
	[ -e /proc/self/ns/time ] || skip "this kernel has no time namespaces"
	local UNDER=(unshare --time --monotonic "$(($1 - $(cut -d. -f1 /proc/uptime)))" --fork)
	slurmd_runs "${@:2}"
}

@test "the node reboots under a job: its late epilog is that of the run that began, not of the next one" {
	run prolog SLURM_JOB_RESTART_COUNT=0
	sed -i -E 's/"boot_id":"[^"]*"/"boot_id":"before"/' "$STATE/begin/4711.json"
	sed -i -E '1s/^(run [0-9a-f]+) [^ ]+/\1 before/' "$STATE/begin/4711.run"
	run up_for 3600 prolog SLURM_JOB_ID=4799
	[ "$status" -eq 0 ]
	run up_for 3600 epilog SLURM_JOB_ID=4799
	[ ! -e "$STATE/begin/4711.json" ]
	[ -e "$STATE/begin/4711.run" ]
	# Slurm counts a restart before it sends the epilog of what it ends.
	run epilog SLURM_JOB_RESTART_COUNT=1
	[ "$(record job 'r.job.restart')" = 0 ]
	run prolog SLURM_JOB_RESTART_COUNT=1
	run epilog SLURM_JOB_RESTART_COUNT=1
	[ "$(record job 'r.job.restart')" = 1 ]
	# A prolog that was ended at once left nothing: then it is not known which run ended.
	run epilog SLURM_JOB_ID=4712 SLURM_JOB_RESTART_COUNT=1
	[ "$(record job '("%d "):format(r.job.id) .. tostring(r.job.restart)')" = "4712 nil" ]
	# Nor does what nobody has written stop anything.
	: >"$STATE/begin/99999999999999999999.json"
	run prolog SLURM_JOB_ID=4799
	run epilog SLURM_JOB_ID=4799
	rm "$STATE/begin/99999999999999999999.json"
	[ "$(grep -c '"kind":"job"' "$SPOOL")" = 5 ]
	[ -z "$(ls "$STATE/begin")" ]
	# An epilog that has not come within a day of the boot does not come any more.
	echo "run $(printf '%032d' 0) before 5 0" >"$STATE/begin/4711.run"
	run up_for 90000 prolog SLURM_JOB_ID=4799
	[ "$status" -eq 0 ]
	[ ! -e "$STATE/begin/4711.run" ]
}

@test "a file of steps that root did not write, or that is damaged: logged, the record is written" {
	local bad
	while IFS='|' read -r bad _; do
		rm -rf "$P/run" "$P/var/spool"
		: >"$LOG"
		run prolog
		steps 4711 "steps 3"
		(
			cd "$P/run" && bash -c "$bad"
		)
		run epilog
		[ "$status" -eq 0 ]
		[ "$(job_records 'tostring(r.cgroup)')" = nil ] || { echo "$bad"; return 1; }
		grep -q 'what the steps used is not known: ' "$LOG" || { echo "$bad"; return 1; }
		[ ! -e "$P/run/4711.steps" ]
	done <<-'CASES'
		: >4711.steps
		truncate -s 100 4711.steps
		head -c 4096 /dev/urandom >4711.steps
		head -c 100000000 /dev/zero >4711.steps
		chmod 622 4711.steps
		mv 4711.steps x; ln -s x 4711.steps
		rm 4711.steps; mkfifo 4711.steps
	CASES
}

@test "state that cannot be written: the job starts and ends, the log says what is not known" {
	mkdir -p "$P/var/lib/syscheck"
	echo "a file" >"$P/var/lib/syscheck/begin"
	run prolog
	[ "$status" -eq 0 ]
	run epilog
	[ "$status" -eq 0 ]
	[ "$(job_records)" = 1 ]
	grep -q 'who shares the node will not be known' "$LOG"
}

# no_state prolog|epilog [NAME=VALUE...]: while the state directory cannot be written, or ($HIDDEN=1) seen
no_state() {
	# shellcheck disable=SC2034 # read by slurmd_runs
	local UNDER=(unshare -m --propagation private bash -c 'if [ "${HIDDEN:-}" ]; then mount -t tmpfs -o ro none "$1"
		else mount --bind "$1" "$1" && mount -o remount,bind,ro "$1"; fi || exit 9
		shift; "$@"' - "$STATE")
	"$@"
}

@test "an epilog that cannot say in its state that the job is over: the next job is measured all the same" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	local hidden
	export HIDDEN
	for hidden in "" 1; do
		HIDDEN=$hidden
		prolog
		no_state epilog || [ "$?" != 9 ]
		[ -e "$STATE/begin/4711.json" ]
		prolog SLURM_JOB_ID=4712
		[ "$(record check '("%d"):format(r.job.id) .. r.level')" = 4712quick ]
		epilog SLURM_JOB_ID=4712
		# It begins again: it runs.
		prolog SLURM_JOB_RESTART_COUNT=1
		prolog SLURM_JOB_ID=4713
		[ "$(record check '("%d"):format(r.job.id) .. r.level')" = 4713passive ]
		grep -q 'quick not measured: job 4711 began here, and its epilog has not' "$LOG"
		epilog SLURM_JOB_ID=4713
		epilog
		rm -f "$STATE/last_pass.json"
	done
	# No more of them than a page.
	seq 10000 10200 >"$P/run/over"
	prolog
	no_state epilog
	[ "$(wc -l <"$P/run/over")" = 64 ]
	[ "$(tail -n 1 "$P/run/over")" = 4711 ]
}
