#!/usr/bin/env bats
# What only slurmstepd sees, on a real Slurm: a job's own cgroup, its name, its array. Each
# run has its record, and jobs that shared a node name each other.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load eventually
load minicluster
load pmu

MB=1048576

setup_file() {
	cluster_up --nodes 2 --accounting
}

setup() {
	cluster_enter
}

# submit [OPTION...] <<<SCRIPT: id of a new batch job
submit() {
	local script
	script=$(mktemp "$BASE/job.XXXXXX")
	{ echo '#!/bin/bash'; cat; } >"$script"
	sbatch --parsable -o "$BASE/out/%j" "$@" "$script"
}

# record JOB EXPRESSION: of each job record r of that job, on whatever node, in order
record() {
	cat "$MINICLUSTER_DIR"/var/spool/syscheck/*/records.jsonl 2>/dev/null | lua5.4 /dev/fd/3 "$1" "$2" 3<<-'LUA'
	for line in io.lines() do
		local r = require("cjson").decode(line)
		if r.kind == "job" and r.job.id == tonumber(arg[1]) then
			local value = load("local r = ... return " .. arg[2])(r)
			print(math.type(value) == "float" and math.tointeger(value) or value)
		end
	end
	LUA
}

# recorded JOB [COUNT]: it has that many records
recorded() {
	[ "$(record "$1" r.kind | wc -l)" = "${2:-1}" ]
}

# ended JOB [COUNT]: waits for its records
ended() {
	eventually 60 recorded "$@" || { cat "$MINICLUSTER_DIR"/var/log/syscheck.log; return 1; }
}

# between LOW VALUE HIGH
between() {
	[ "$1" -le "$2" ] && [ "$2" -le "$3" ] || { echo "$2 is not between $1 and $3"; return 1; }
}

@test "a job that writes, computes and fills memory is seen with what it used, over all its steps" {
	local job file=$BASE/out/written
	job=$(submit -w n1 <<-SCRIPT
		dd if=/dev/zero of=$file bs=1M count=50 conv=fsync 2>/dev/null
		srun -n2 -O bash -c 'x=\$(head -c 40000000 /dev/zero | tr "\0" a); for ((i = 0; i < 100000; i++)); do :; done'
		srun -n1 --overlap true & srun -n1 --overlap true & wait
		rm $file
	SCRIPT
	)
	ended "$job"
	[ "$(record "$job" r.cgroup.steps)" = 4 ]
	if [ "$(stat -f -c %T "$BASE")" = tmpfs ]; then
		echo "# $BASE is no disk: bytes are not looked at" >&3
	else
		between $((50 * MB)) "$(record "$job" r.cgroup.written_bytes)" $((70 * MB))
	fi
	between $((40 * MB)) "$(record "$job" r.cgroup.memory_peak_bytes)" $((1000 * MB))
	# Each of 2 tasks counts to 100,000: no time is asserted, but it is not none.
	between 10000 "$(record "$job" r.cgroup.cpu_us)" 100000000
	[ "$(record "$job" r.cgroup.oom_kills)" = 0 ]
	[[ "$(record "$job" r.cgroup.v)" =~ ^[12]$ ]]
	# Nothing of it is left.
	[ ! -e "$MINICLUSTER_DIR/run/syscheck/n1/$job.steps" ]
}

@test "cgroup version 2: what steps used is read from it" {
	local job
	[ ! -d /sys/fs/cgroup/memory ] ||
		skip "this machine's controllers are in version 1, which these tests are of; of 2 there are fixtures: test_cgroup.c, test_place.c"
	job=$(submit -w n1 <<-'SCRIPT'
		srun -n1 bash -c 'x=$(head -c 40000000 /dev/zero | tr "\0" a)'
	SCRIPT
	)
	ended "$job"
	[ "$(record "$job" r.cgroup.v)" = 2 ]
	between $((40 * MB)) "$(record "$job" r.cgroup.memory_peak_bytes)" $((1000 * MB))
}

@test "a process killed for memory, and a CPU quota, are in the record of the job that had them" {
	local bad good
	"$MC" slow n1 20
	bad=$(submit -w n1 <<-'SCRIPT'
		group=$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)
		if [ -n "$group" ]; then
			echo 40000000 >"/sys/fs/cgroup/memory$group/memory.limit_in_bytes"
		else
			group=$(sed -n 's/^0:://p' /proc/self/cgroup)
			echo 40000000 >"/sys/fs/cgroup$group/memory.max"
		fi
		bash -c 'x=$(head -c 300000000 /dev/zero | tr "\0" a)'
		for ((i = 0; i < 300000; i++)); do :; done
	SCRIPT
	)
	good=$(submit -w n2 <<<'for ((i = 0; i < 30000; i++)); do :; done')
	ended "$bad"
	ended "$good"
	"$MC" slow n1 100
	between 1 "$(record "$bad" r.cgroup.oom_kills)" 10
	between 10000 "$(record "$bad" r.cgroup.cpu_throttled_us)" 600000000
	[ "$(record "$good" r.cgroup.oom_kills)" = 0 ]
	[ "$(record "$good" r.cgroup.cpu_throttled_us)" = 0 ]
}

@test "the job's own output says at its end what was out of line, once, and not where it is captured" {
	local job
	job=$(submit -N2 <<-SCRIPT
		srun bash -c 'touch $BASE/out/\$SLURM_JOB_ID.\$SLURMD_NODENAME; sleep 7'
		x=\$(srun -N1 -n1 -w n2 sleep 6)
		echo "captured [\$x]"
		srun -N1 -n1 -w n2 true
	SCRIPT
	)
	eventually 60 test -e "$BASE/out/$job.n2"
	"$MC" throttle n2 1204
	ended "$job" 2
	[[ "$(<"$BASE/out/$job")" =~ ^"syscheck: n2 throttled 1,204 times (3.6 s of "[0-9.]+" s) during this job; ask: syscheck why $job"$'\n'"captured []"$ ]]
	[ ! -e "$MINICLUSTER_DIR/run/syscheck/n2/$job.told" ]
	# What there was before it is not the next one's; and what is short is not looked at.
	job=$(submit -w n2 <<<'sleep 6; srun true')
	ended "$job"
	[ "$(<"$BASE/out/$job")" = "" ]
	job=$(submit -w n2 <<<"touch $BASE/out/\$SLURM_JOB_ID.n2; sleep 2")
	eventually 60 test -e "$BASE/out/$job.n2"
	"$MC" throttle n2 2000
	ended "$job"
	[ "$(<"$BASE/out/$job")" = "" ]
}

@test "a job whose disk is slow says so at its end" {
	local job disk group=/sys/fs/cgroup/blkio/syscheck-test-$$
	[ -e /sys/fs/cgroup/blkio/blkio.throttle.write_bps_device ] || skip "no cgroup v1 that slows a disk"
	[ -e /proc/pressure/io ] || skip "this kernel does not say who waits for I/O"
	read -r disk < <(findmnt -no MAJ:MIN -T "$BASE")
	[ -e "/sys/dev/block/$disk/queue" ] || skip "$BASE is on no whole disk"
	mkdir "$group"
	echo "$disk 1000000" >"$group/blkio.throttle.write_bps_device"
	job=$(submit -w n1 --exclusive <<-SCRIPT
		echo \$\$ >$group/cgroup.procs
		dd if=/dev/zero of=$BASE/out/slow bs=1M count=10 oflag=direct status=none
		rm $BASE/out/slow
	SCRIPT
	)
	ended "$job"
	rmdir "$group"
	[[ "$(<"$BASE/out/$job")" =~ ^"syscheck: n1 waited for storage for "[0-9.]+" s of "[0-9.]+" s during this job; ask: syscheck why $job"$ ]] ||
		{ cat "$BASE/out/$job"; return 1; }
}

@test "an agent that hangs at a step's end holds nobody up, and nothing of it stays" {
	local job conf=$MINICLUSTER_DIR/etc/slurm/plugstack.conf.d/syscheck.conf
	printf '#!/bin/bash\ntrap "" TERM\necho "$SLURM_JOB_ID" >>%s\nsleep 1007 &\nsleep 1008\n' "$BASE/hung" >"$BASE/hang"
	chmod 755 "$BASE/hang"
	sed -i.keep "s,agent=.*,agent=$BASE/hang," "$conf"
	job=$(submit -w n1 <<<'sleep 6; srun -n1 sleep 6')
	ended "$job"
	mv "$conf.keep" "$conf"
	# By the step and by the script.
	[ "$(grep -cx "$job" "$BASE/hung")" = 2 ]
	[ "$(record "$job" r.cgroup.steps)" = 2 ]
	run ! pgrep -f "^sleep 100[78]$"
}

@test "a job's name, whatever bytes it has" {
	local job name=$'a"b\'c\\ $(touch pwned) \e[31m\nline two \xff <b>&amp;'
	job=$(submit -w n1 -J "$name" <<<true)
	ended "$job"
	[ "$(record "$job" 'r.job.name')" = "${name/$'\xff'/$'\xef\xbf\xbd'}" ]
	[ ! -e pwned ]
	# slurmctld takes 1024 bytes and no more; a step of no batch job has what its user sets.
	run sbatch -J "$(printf 'x%.0s' {1..10000})" --wrap true
	[ "$status" -ne 0 ]
	job=$(salloc -w n1 bash -c 'SLURM_JOB_NAME=$(printf "y%.0s" {1..10000}) srun bash -c "echo \$SLURM_JOB_ID"' 2>/dev/null)
	ended "$job"
	[ "$(record "$job" '#r.job.name')" = 1024 ]
}

@test "an array's tasks keep their identity, and a step cannot forge a batch job's" {
	local job task
	job=$(submit -p shared -a 3,7 -J honest <<-'SCRIPT'
		SLURM_JOB_NAME=forged SLURM_ARRAY_JOB_ID=1 SLURM_ARRAY_TASK_ID=2 SLURM_RESTART_COUNT=9 srun true
		echo "$SLURM_JOB_ID $SLURM_ARRAY_TASK_ID" >"task.$SLURM_ARRAY_TASK_ID"
	SCRIPT
	)
	for task in 3 7; do
		eventually 60 test -s "task.$task"
		ended "$(cut -d' ' -f1 "task.$task")"
		[ "$(record "$(cut -d' ' -f1 "task.$task")" '("%s %d %d %d"):format(r.job.name, r.job.array_job_id, r.job.array_task_id, r.job.restart)')" = "honest $job $task 0" ]
	done
}

@test "a heterogeneous job's components keep their identity" {
	local job
	job=$(sbatch --parsable -o /dev/null -w n1 : -w n2 --wrap 'srun --het-group=0,1 true')
	ended "$job"
	ended $((job + 1))
	[ "$(record "$job" '("%d %d %d"):format(r.job.het_job_id, r.job.het_offset, r.cgroup.steps)')" = "$job 0 2" ]
	[ "$(record $((job + 1)) '("%d %d %d"):format(r.job.het_job_id, r.job.het_offset, r.cgroup.steps)')" = "$job 1 1" ]
}

@test "a requeued job: each run has its record" {
	local job
	job=$(submit -w n1 --requeue <<-'SCRIPT'
		echo run >>"runs.$SLURM_JOB_ID"
		[ "$(wc -l <"runs.$SLURM_JOB_ID")" = 2 ] || exec sleep 300
	SCRIPT
	)
	eventually 30 test -s "runs.$job"
	scontrol requeue "$job"
	ended "$job" 2
	[ "$(record "$job" r.job.restart)" = $'0\n1' ]
	[ "$(record "$job" r.id | sort -u | wc -l)" = 2 ]
	[ "$(record "$job" r.cgroup.steps)" = $'1\n1' ]
}

@test "jobs that share a node name each other" {
	local long short later
	long=$(submit -p shared -w n1 -n1 <<<'until [ -e go ]; do sleep 0.2; done')
	eventually 30 test -e "$long"
	short=$(submit -p shared -w n1 -n1 <<<true)
	ended "$short"
	later=$(submit -p shared -w n1 -n1 <<<true)
	ended "$later"
	touch go
	ended "$long"
	[ "$(record "$long" '("%d "):rep(#r.others):format(table.unpack(r.others))')" = "$short $later " ]
	[ "$(record "$short" '#r.others .. " " .. math.tointeger(r.others[1])')" = "1 $long" ]
	[ "$(record "$later" '#r.others .. " " .. math.tointeger(r.others[1])')" = "1 $long" ]
}

@test "suspended time is known, and no run time" {
	local job from to
	job=$(submit -w n1 <<-'SCRIPT'
		echo $$ >"started.$SLURM_JOB_ID"
		until [ -e "go.$SLURM_JOB_ID" ]; do sleep 0.1; done
	SCRIPT
	)
	eventually 30 test -s "started.$job"
	scontrol suspend "$job"
	eventually 30 is_stopped "$(<"started.$job")"
	from=$(date +%s%3N)
	sleep 1
	to=$(date +%s%3N)
	scontrol resume "$job"
	touch "go.$job"
	ended "$job"
	[ "$(record "$job" "r.cgroup.suspended_ms >= $((to - from)) and r.cgroup.suspended_ms < 1000 * r.elapsed_s")" = true ]
	# One that was not.
	job=$(submit -w n1 <<<true)
	ended "$job"
	[ "$(record "$job" 'r.cgroup.suspended_ms')" = 0 ]
}

is_stopped() {
	grep -q '^State:.*stopped' "/proc/$1/status"
}

@test "a step whose slurmstepd is killed leaves nothing, the other steps' data stays" {
	local job dir pid=
	job=$(submit -w n1 <<-'SCRIPT'
		srun -n1 true
		srun -n1 bash -c 'touch "killme.$SLURM_JOB_ID"; exec sleep 300'
		srun -n1 true
		rm "killme.$SLURM_JOB_ID"
	SCRIPT
	)
	eventually 30 test -e "killme.$job"
	for dir in /proc/[0-9]*; do
		# Another cluster on this machine may have a job of the same ID.
		[[ "$(tr '\0' ' ' <"$dir/cmdline")" == "slurmstepd: [$job.1]"* ]] &&
			grep -q "/$(sed -n 's/^SLOT=/syscheck-minicluster-/p' "$MINICLUSTER_DIR/settings")/" "$dir/cgroup" &&
			pid=${dir#/proc/}
	done 2>/dev/null
	[ -n "$pid" ]
	kill -KILL "$pid"
	# Slurm waits for that step's end; a batch script goes on when srun gives up.
	scancel "$job"
	ended "$job"
	between 1 "$(record "$job" r.cgroup.steps)" 3
}

@test "a normal user's job is seen, too, and cannot touch what is kept of it" {
	local job
	job=$(setpriv --reuid=65534 --regid=65534 --clear-groups "$(command -v bash)" -c "cd $BASE/out && srun -w n1 bash -c '
		echo \$SLURM_JOB_ID
		echo forged 2>/dev/null >$MINICLUSTER_DIR/run/syscheck/n1/\$SLURM_JOB_ID.steps
		mkdir $MINICLUSTER_DIR/run/syscheck/n1/x 2>/dev/null
		true'" 2>/dev/null)
	ended "$job"
	[ "$(record "$job" r.cgroup.steps)" = 1 ]
	[ ! -e "$MINICLUSTER_DIR/run/syscheck/n1/x" ]
}

# The kernel's description of RAPL's event, of one that counts a CPU's time: a package of one watt.
describe_energy() {
	local dir=$BASE/events
	mkdir -p "$dir/power/events"
	echo 1 >"$dir/power/type"
	echo 0 >"$dir/power/cpumask"
	echo event=0x00 >"$dir/power/events/energy-pkg"
	echo 1e-9 >"$dir/power/events/energy-pkg.scale"
	echo Joules >"$dir/power/events/energy-pkg.unit"
	"$MC" run "$1" -- mount --bind "$dir" /sys/bus/event_source/devices
}

# Last: it changes the cluster.
@test "energy is counted from a job's begin to its end, however long, where it has an extern step" {
	local job
	perf_is_allowed || skip "no perf events here"
	describe_energy n1
	job=$(submit -w n1 <<<true)
	ended "$job"
	[ "$(record "$job" 'r.delta.energy')" = nil ]
	with_extern_step
	# More than one step, and none of them as long as the job.
	job=$(submit -w n1 -J named <<<'srun true; sleep 2; srun true')
	ended "$job"
	[ "$(record "$job" 'r.delta.energy.package_j >= 1 and r.delta.energy.package_j <= r.elapsed_s')" = true ]
	[ "$(record "$job" '("%d %s"):format(r.cgroup.steps, r.job.name)')" = "3 named" ]
	# A node of the job that had no step.
	job=$(submit -N2 <<<'sleep 1')
	ended "$job" 2
	[ "$(record "$job" '("%s %s %s"):format(r.node, r.delta.energy ~= nil, r.cgroup ~= nil)' | sort)" = $'n1 true true\nn2 false false' ]
	[ -z "$(ls "$MINICLUSTER_DIR"/run/syscheck/n1/*.steps 2>/dev/null)" ]
}

@test "the memory controllers' counters are held for a job beside its extern step" {
	local job rate policy=$MINICLUSTER_DIR/etc/syscheck/policy.lua
	perf_is_allowed || skip "no perf events here"
	[ -d "$BASE/events" ] || describe_energy n1
	with_extern_step
	pmu "$BASE/events"
	gcc -O2 -o "$BASE/traffic" "$BATS_TEST_DIRNAME/fixtures/traffic.c"
	job=$(submit -w n1 <<<true)
	ended "$job"
	ruler n1 "$(record "$job" r.class)" perf
	sed -i.keep 's/^   mode = .*/&\n   traffic = { perf = true },/' "$policy"
	job=$(submit -w n1 --exclusive <<<"srun $BASE/traffic --triad 1.3333333 --seconds 14 faults")
	ended "$job"
	mv "$policy.keep" "$policy"
	record "$job" 'require("cjson").encode(r.saturation)'
	rate=$(tail -n 1 "$BASE/out/$job")
	[ "$(record "$job" 'r.saturation.unknown')" = nil ]
	[ "$(record "$job" 'r.saturation.source')" = perf ]
	# The job's own begin and end have no traffic; others have page faults, too.
	[ "$(record "$job" "r.saturation.mem_gbs_mean > 0.8 * 4 / 3 * $rate and r.saturation.mem_gbs_mean < 1.1 * 4 / 3 * $rate")" = true ]
	[ "$(record "$job" 'r.saturation.covered_pct > 80')" = true ]
	[ -z "$(ls "$MINICLUSTER_DIR"/run/syscheck/n1/*.{uncore,traffic} 2>/dev/null)" ]
}

# with_extern_step: jobs have one
with_extern_step() {
	grep -q '^PrologFlags=.*Contain' "$MINICLUSTER_DIR/etc/slurm/syscheck.conf" || {
		sed -i 's/^PrologFlags=Alloc/&,Contain/' "$MINICLUSTER_DIR/etc/slurm/syscheck.conf"
		scontrol reconfigure
	}
}

perf_is_allowed() {
	make -s -C "$ROOT" build/tests/c/test_energy && "$ROOT/build/tests/c/test_energy" 2>&1 | grep -q 'OK.*counts_while'
}

teardown() {
	stop_counting
}

stop_counting() {
	local pid
	for pid in ${COUNTS:-}; do
		kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null || true
	done
	COUNTS=
}

# prepare_resctrl NODE: a tree of resctrl's over its own, with groups as the kernel makes them: their files are there at once
prepare_resctrl() {
	local fs=$BASE/fs
	mkdir -p "$fs"/{cgroup,resctrl/mon_data/mon_L3_00,resctrl/mon_groups}
	"$MC" run "$1" -- bash -c "mount --rbind /sys/fs/cgroup $fs/cgroup && mount --rbind $fs /sys/fs"
	gcc -O2 -o "$BASE/traffic" "$BATS_TEST_DIRNAME/fixtures/traffic.c"
	"$BASE/traffic" --seconds 180 "$fs/resctrl/mon_data" mon_L3_00=19:0.9 >/dev/null 2>&1 3>&- &
	COUNTS=$!
}

# ruler NODE CLASS [SOURCE]: that of a check whose triad was counted with 20 GB/s
ruler() {
	cat >"$MINICLUSTER_DIR/var/lib/syscheck/$1/ruler.json" <<-JSON
		{"ruler":{"source":"${3:-resctrl}","class":"$2","boot_id":"$(</proc/sys/kernel/random/boot_id)","peak_gbs":20,"ratio":1.33,
		"spread_pct":1,"caches":{"0":20}},"curve":{"class":"$2","compact":[{"threads":1,"triad_gbs":14},{"threads":2,"triad_gbs":15}]}}
	JSON
}

@test "a job that waits for memory: sampled beside its extern step, said at its end, in its record" {
	local job policy=$MINICLUSTER_DIR/etc/syscheck/policy.lua
	with_extern_step
	prepare_resctrl n1
	job=$(submit -w n1 <<<true)
	ended "$job"
	ruler n1 "$(record "$job" r.class)"
	sed -i.keep 's/^   mode = .*/&\n   traffic = { sample_s = 1, groups = true },/' "$policy"
	job=$(submit -w n1 --exclusive <<<'srun sleep 13')
	eventually 20 pgrep -f "^/usr/bin/lua5.4.* sample$"
	ended "$job"
	stop_counting
	mv "$policy.keep" "$policy"
	record "$job" 'require("cjson").encode(r.saturation)'
	[ "$(record "$job" 'r.saturation.unknown')" = nil ]
	# The helper that counts is one process among others' here.
	[ "$(record "$job" 'math.abs(r.saturation.mem_gbs_mean - 19) < 1')" = true ]
	[ "$(record "$job" 'r.saturation.saturated_pct > 80 and r.saturation.covered_pct > 60')" = true ]
	[ "$(record "$job" 'math.abs(r.saturation.remote_pct - 10) < 1')" = true ]
	grep -q "^syscheck: n1 \(.*; \)\?used 9[0-9] % of its memory bandwidth.* during this job; ask: syscheck why $job$" "$BASE/out/$job" ||
		{ cat "$BASE/out/$job"; return 1; }
	# Nothing of it stays.
	run ! pgrep -f "^/usr/bin/lua5.4.* sample$"
	[ -z "$(ls "$MINICLUSTER_DIR"/run/syscheck/n1/*.sample* 2>/dev/null)" ]
}

# as_kernel_makes DIR: what a new group there has: the file that tasks are written to, its counters
as_kernel_makes() {
	local group
	for _ in {1..3000}; do
		! group=$(compgen -G "$1/syscheck_*") || break
		sleep 0.01
	done
	mkdir -p "$group/mon_data/mon_L3_00"
	: >"$group/tasks"
	exec "$BASE/traffic" --seconds 60 "$group/mon_data" mon_L3_00=5:1
}

@test "a job that shares its node: its tasks join a group of its own, whose traffic is in its record" {
	local job policy=$MINICLUSTER_DIR/etc/syscheck/policy.lua groups=$BASE/fs/resctrl/mon_groups
	[ "$(nproc)" -gt 1 ] || skip "one CPU is a whole node"
	[ -d "$groups" ] || skip "the test before has not prepared it"
	"$BASE/traffic" --seconds 60 "$BASE/fs/resctrl/mon_data" mon_L3_00=10:0.9 >/dev/null 2>&1 3>&- &
	COUNTS=$!
	as_kernel_makes "$groups" >/dev/null 2>&1 3>&- &
	COUNTS="$COUNTS $!"
	sed -i.keep 's/^   mode = .*/&\n   traffic = { groups = true },/' "$policy"
	job=$(submit -p shared -w n1 -n1 <<<'echo $$; sleep 13')
	ended "$job"
	stop_counting
	mv "$policy.keep" "$policy"
	record "$job" 'require("cjson").encode(r.saturation)'
	# Both the script's shell, as the last that joined.
	[ "$(<"$groups/syscheck_$job/tasks")" = "$(head -n 1 "$BASE/out/$job")" ]
	[ "$(record "$job" 'r.saturation.unknown')" = nil ]
	[ "$(record "$job" 'r.saturation.cores == 1 and r.saturation.mem_gbs_mean > 4 and r.saturation.mem_gbs_mean < 6')" = true ]
	# What its domain has of all jobs.
	[ "$(record "$job" 'math.abs(r.saturation.worst_domain_pct - 50) < 5')" = true ]
	[ -z "$(ls "$MINICLUSTER_DIR"/run/syscheck/n1/*.{group,counted} 2>/dev/null)" ]
	# The kernel lets it go with what is in it; here that stays, and is logged.
	grep -q "epilog: job $job: error: group of resctrl: " "$MINICLUSTER_DIR/var/log/syscheck.log"
}
