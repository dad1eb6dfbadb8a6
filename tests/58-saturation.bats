#!/usr/bin/env bats
# alone: it measures
# A job's memory traffic: prolog and epilog on prepared counters that a real triad advances, by what it reports.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load helpers
load pmu

setup() {
	agent_reset
	policy 'partitions = { ["*"] = { default = "passive" } }'
	R=$BATS_TEST_TMPDIR/root
	mkdir -p "$R/proc/sys/kernel/random" "$R/sys/devices/system/cpu" "$R/sys/fs/resctrl/mon_data/mon_L3_00"
	ln -s /proc/stat "$R/proc/stat"
	cp /proc/sys/kernel/random/boot_id "$R/proc/sys/kernel/random/"
	cp /proc/cpuinfo "$R/proc/"
	cp -r --no-preserve=mode /sys/devices/system/cpu/{online,present,possible} "$R/sys/devices/system/cpu/"
	for cpu in /sys/devices/system/cpu/cpu[0-9]*; do
		mkdir -p "$R/$cpu"
		cp -r --no-preserve=mode "$cpu/topology" "$R/$cpu/"
	done
	gcc -O2 -o "$BATS_TEST_TMPDIR/traffic" "$FIXTURES/traffic.c"
}

# stage NAME: the prolog or the epilog of a job that has the whole node, below $R
stage() {
	SLURM_JOB_ID=4711 SLURMD_NODENAME=t1 SLURM_NODELIST=t1 SLURM_JOB_PARTITION=p SLURM_JOB_CPUS_PER_NODE="$(nproc --all)" \
		lua5.4 -e "package.path = '$P/share/syscheck/lua/?.lua'" -e "require('syscheck.$1').main(os.getenv, { root = '$R' })"
}

@test "a job's rate is a real triad's within 2 %, and its verdict by the ruler is right" {
	local out=$BATS_TEST_TMPDIR/out class rate
	# In 12 s a triad's rate is its own; the epilog is a moment later.
	"$BATS_TEST_TMPDIR/traffic" --triad 1.3333333 --seconds 12 "$R/sys/fs/resctrl/mon_data" mon_L3_00 >"$out" &
	until grep -q ready "$out"; do sleep 0.02; done
	stage prolog
	wait $!
	stage epilog
	rate=$(tail -n 1 "$out")
	[ "$(record job 'r.saturation.unknown')" = "no check in this boot has measured what the counter counts of a triad" ]
	lua5.4 - "$rate" "$(record job 'r.delta.memory_traffic.bytes / r.elapsed_s * 1e-9')" <<-'LUA'
	local want, got = 4 / 3 * tonumber(arg[1]), tonumber(arg[2])
	print(want, got)
	assert(math.abs(got / want - 1) < 0.02)
	LUA
	# With a ruler by which that is 90 %: what a check would have kept.
	class=$(record job 'r.class')
	lua5.4 - "$P/var/lib/syscheck" "$class" "$rate" "$(<"$R/proc/sys/kernel/random/boot_id")" <<-'LUA'
	local peak = 4 / 3 * tonumber(arg[3]) / 0.9
	local file = assert(io.open(arg[1] .. "/ruler.json", "w"))
	file:write(require("cjson").encode({ ruler = { source = "resctrl", class = arg[2], boot_id = arg[4], peak_gbs = peak,
	   ratio = 4 / 3, spread_pct = 1, caches = { ["0"] = peak } }, curve = { class = arg[2], compact = {
	   { threads = 1, triad_gbs = peak * 0.95 }, { threads = 2, triad_gbs = peak } } } }))
	file:close()
	LUA
	"$BATS_TEST_TMPDIR/traffic" --triad 1.3333333 --seconds 12 "$R/sys/fs/resctrl/mon_data" mon_L3_00 >"$out" &
	until grep -q ready "$out"; do sleep 0.02; done
	stage prolog
	wait $!
	stage epilog
	lua5.4 - "$rate" "$(tail -n 1 "$out")" "$(record job 'r.saturation.mem_gbs_mean')" "$(record job 'r.saturation.used_pct')" \
		"$(record job 'r.saturation.cores_needed')" <<-'LUA'
	local ruler, rate, mean, used, cores = table.unpack(arg)
	ruler, rate, mean, used, cores = tonumber(ruler), tonumber(rate), tonumber(mean), tonumber(used), tonumber(cores)
	print(ruler, rate, mean, used, cores)
	assert(math.abs(mean / (4 / 3 * rate) - 1) < 0.02)
	assert(math.abs(used / (90 * rate / ruler) - 1) < 0.02)
	-- Of the curve above: one core moves 95 % of the peak. Two runs of a triad differ by more than the 5 % between.
	assert(cores == (used <= 95 and 1 or 2))
	LUA
	[ "$(record job 'r.saturation.remote_pct == 0')" = true ]
}

# perf_ruler CLASS PEAK: that of a check whose triads these counters counted with so many GB/s
perf_ruler() {
	cat >"$P/var/lib/syscheck/ruler.json" <<-JSON
		{"ruler":{"source":"perf","class":"$1","boot_id":"$(<"$R/proc/sys/kernel/random/boot_id")","peak_gbs":$2,"ratio":1.33,
		"spread_pct":1,"caches":{"0":$2}}}
	JSON
}

@test "by the memory controllers' counters: a job's rate is a real triad's within 2 %" {
	local out=$BATS_TEST_TMPDIR/out run=$P/run class
	rm -r "$R/sys/fs/resctrl"
	pmu "$R/sys/bus/event_source/devices"
	gcc -O2 -I"$ROOT/spank" -I"$ROOT/kernels" -o "$BATS_TEST_TMPDIR/hold" "$FIXTURES/hold.c" "$ROOT"/spank/{memory,trusted}.c \
		"$ROOT/kernels/common/uncore.c"
	policy 'partitions = { ["*"] = { default = "passive" } }, traffic = { perf = true }'
	# Without a ruler they are not held.
	stage prolog
	[ ! -e "$run/4711.uncore" ]
	stage epilog
	[ "$(record job 'r.saturation')" = nil ]
	class=$(record job 'r.class')
	perf_ruler "$class" 20
	stage prolog
	[ "$(<"$run/4711.uncore")" = "$R/sys/bus/event_source/devices" ]
	"$BATS_TEST_TMPDIR/traffic" --triad 1.3333333 --seconds 12 faults |
		"$BATS_TEST_TMPDIR/hold" "$run/4711.uncore" "$run/4711.traffic" >"$out"
	! grep -qE '^error (1|13)$' "$run/4711.traffic" || skip "the kernel does not allow perf_event_open here"
	stage epilog
	record job 'require("cjson").encode(r.saturation)'
	[ "$(record job 'r.saturation.unknown')" = nil ]
	[ "$(record job 'r.saturation.source')" = perf ]
	lua5.4 - "$(tail -n 1 "$out")" "$(record job 'r.saturation.mem_gbs_mean')" "$(record job 'r.saturation.used_pct')" <<-'LUA'
	local rate, mean, used = tonumber(arg[1]), tonumber(arg[2]), tonumber(arg[3])
	print(rate, mean, used)
	assert(math.abs(mean / (4 / 3 * rate) - 1) < 0.02)
	assert(math.abs(used - 100 * mean / 20) < 0.1) -- both are rounded
	LUA
	[ -z "$(compgen -G "$run/4711.*")" ]
	# A job that nobody held them for.
	perf_ruler "$class" 20
	stage prolog
	sleep 1
	stage epilog
	[ "$(record job 'r.saturation.unknown')" = "nobody held the memory controllers' counters: it takes the plugin and PrologFlags=Contain" ]
}

@test "a real check reads the memory controllers' counters around its triads, and takes none that counts something else" {
	rm -r "$R/sys/fs/resctrl"
	pmu "$R/sys/bus/event_source/devices"
	cp "$P/kernels/stream" "$P/libexec/syscheck/stream"
	policy 'partitions = { ["*"] = { default = "quick" } }, traffic = { perf = true }, kernels = { stream = { quick = 3 } }'
	stage prolog
	record check 'require("cjson").encode(r.traffic)'
	# Page faults do not follow triads.
	[[ $(record check 'r.traffic.unknown') =~ ^(the counter counts 0\.0. times what a triad moves|the counter did not count|perf: not allowed: .*)$ ]]
	[ "$(record check 'r.status')" != fail ]
}

@test "without counters, or with none that can be read: nothing is said, or why not" {
	rm -r "$R/sys/fs/resctrl"
	stage prolog
	stage epilog
	[ "$(record job 'r.saturation')" = nil ]
	[ "$(record job '(r.delta or {}).memory_traffic')" = nil ]
	[ ! -e "$P/var/lib/syscheck/ruler.json" ]
}

@test "a check keeps the ruler, and says in its record why there is none" {
	mkdir -p "$R/sys/fs/resctrl/mon_data/mon_L3_00"
	policy 'mode = "enforce", partitions = { ["*"] = { default = "quick" } }'
	kernel stream "echo \"\$*\" >$P/var/args; $(says stream '"triad_gbs":75,"threads":2,"traffic_source":"resctrl","traffic_gbs":100,"traffic_ratio":1.3333,"traffic_ratio_spread_pct":1,"traffic":[{"cache":0,"gbs":100}]')"
	stage prolog
	grep -q -- "--traffic $R/sys/fs/resctrl" "$P/var/args"
	[ "$(record check 'r.traffic.peak_gbs == 100 and r.traffic.caches[1].gbs == 100')" = true ]
	grep -q '"peak_gbs":100' "$P/var/lib/syscheck/ruler.json"
	agent_reset
	policy 'mode = "enforce", partitions = { ["*"] = { default = "quick" } }'
	kernel stream "$(says stream '"triad_gbs":75,"traffic_error":"L3 cache 0: Unassigned"')"
	stage prolog
	[ "$(record check 'r.traffic.unknown')" = "L3 cache 0: Unassigned" ]
	[ "$(record check 'r.status')" != fail ]
}
