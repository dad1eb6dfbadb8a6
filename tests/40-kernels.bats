#!/usr/bin/env bats
# alone: it measures
# The kernels as the agent sees them: one line of JSON or none, exit codes,
# bad input. Never a speed: this machine is shared.
# shellcheck disable=SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load kernels
load machine

K=$ROOT/build/kernels
ALL=(stream dgemm noise numa scaling)

@test "kernels: each measures, verifies and prints one object" {
	local k
	for k in "${ALL[@]}"; do
		run_in_time "$K/$k" --seconds 1
		[ "$status" -eq 0 ]
		[ -z "$stderr" ]
		[ "$(get 'r.kernel')" = "$k" ]
		[ "$(get 'r.verified')" = true ]
		[ "$(get 'r.v == 1')" = true ]
		[ "$(get 'r.threads >= 1 and #r.cpus > 0')" = true ]
	done
}

@test "stream: four operations, best at least the rate and the median, what limited the arrays" {
	run --separate-stderr "$K/stream" --seconds 0.5
	[ "$status" -eq 0 ]
	local op
	for op in copy scale add triad; do
		# All bytes over all time is no more than the best pass; printed with six digits.
		[ "$(get "r.${op}_gbs > 0 and r.${op}_best_gbs * 1.0001 >= r.${op}_gbs")" = true ]
		[ "$(get "r.${op}_median_gbs > 0 and r.${op}_best_gbs >= r.${op}_median_gbs and r.${op}_spread_pct >= 0")" = true ]
	done
	[ "$(get 'r.passes >= 1 and r.array_mb > 0')" = true ]
	[[ "$(get 'r.array_limit')" =~ ^(llc|memory|time)$ ]]
	[ "$(get 'r.variant')" = tuned ]
}

@test "stream: --max-memory is kept and named" {
	local box
	run --separate-stderr "$K/stream" --seconds 1 --max-memory 12
	[ "$(get 'r.array_limit')" = memory ]
	[ "$(get 'r.array_mb <= 4')" = true ]
	# Also where the time would have cut them further.
	# Beside others set-up may need all of that.
	for box in 0.1 0.4 1.6; do
		run --separate-stderr "$K/stream" --seconds "$box" --max-memory 3000
		[ "$status" -eq 2 ] || break
	done
	[ "$(get 'r.array_limit ~= "time" or 12 * r.llc_mb <= 3000')" = true ]
}

@test "stream: several passes fit a small memory limit, and the first one does not count" {
	run --separate-stderr "$K/stream" --seconds 1 --max-memory 50
	[ "$(get 'r.passes >= 2')" = true ]
}

@test "stream: one stopped core does not shrink everybody's arrays" {
	[ "$(nproc)" -ge 2 ] || skip "needs two CPUs"
	local other mb
	other=$(allowed_cpu 2)
	# Its thread sleeps at its first looks at the clock: one before each step of touching.
	# At most three steps of 6 MB would be its own until half of the box.
	shim stop '#include <dlfcn.h>
		#include <sched.h>
		#include <time.h>
		#include <unistd.h>
		static __thread int looks;
		int clock_gettime(clockid_t id, struct timespec *t)
		{
			if (getpid() != gettid() && sched_getcpu() == '"$other"' && looks++ < 4)
				usleep(200000);
			return ((int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime"))(id, t);
		}'
	run --separate-stderr taskset -c "$(allowed_cpu),$other" "$K/stream" --seconds 1 --max-memory 300
	[ "$status" -eq 0 ]
	mb=$(get 'r.array_mb')
	run --separate-stderr taskset -c "$(allowed_cpu),$other" env LD_PRELOAD="$SHIM" "$K/stream" --seconds 1 --max-memory 300
	[ "$status" -eq 0 ]
	# Where time limits both, one of two cores touches half; as equal parts of what the slow one
	# touches, 36 MB would be left of 300.
	[ "$(get "r.array_mb > 0.35 * $mb")" = true ] || { echo "$(get r.array_mb) MB of $mb"; return 1; }
}

@test "stream, scaling: memory that lies on another NUMA node is exit 2, never a rate" {
	shim elsewhere 'long move_pages(int pid, unsigned long n, void **pages, const int *nodes, int *status, int flags)
		{
			(void)pid; (void)pages; (void)nodes; (void)flags;
			for (unsigned long i = 0; i < n; i++)
				status[i] = i % 10 ? 0 : 63;
			return 0;
		}
		int numa_available(void) { return 0; }'
	local k
	run --separate-stderr "$K/stream" --seconds 1 --max-memory 50
	[ "$(get 'r.misplaced_pct == nil or r.misplaced_pct == require("cjson").null or r.misplaced_pct <= 3')" = true ]
	for k in stream scaling; do
		run --separate-stderr env LD_PRELOAD="$SHIM" "$K/$k" --seconds 1 --max-memory 50
		quiet_failure "$k"
		[[ $stderr =~ 10\ %\ of\ .*lies\ on\ another ]] || { echo "$stderr"; return 1; }
	done
}

@test "stream, scaling: where memory cannot be bound, or its place not be read, they measure" {
	shim denied '#include <errno.h>
		long mbind(void *p, unsigned long n, int mode, const unsigned long *mask, unsigned long max, unsigned flags)
		{
			(void)p; (void)n; (void)mode; (void)mask; (void)max; (void)flags;
			errno = EPERM;
			return -1;
		}
		long move_pages(int pid, unsigned long n, void **pages, const int *nodes, int *status, int flags)
		{
			(void)pid; (void)n; (void)pages; (void)nodes; (void)status; (void)flags;
			errno = EPERM;
			return -1;
		}'
	local k
	for k in stream scaling; do
		run --separate-stderr env LD_PRELOAD="$SHIM" "$K/$k" --seconds 1 --max-memory 50
		[ "$status" -eq 0 ]
		[ "$(get 'r.misplaced_pct == require("cjson").null')" = true ]
	done
}

@test "dgemm: every core has a rate, the slowest is named" {
	run --separate-stderr "$K/dgemm" --seconds 1
	[ "$(get '#r.cores == r.threads')" = true ]
	[ "$(get 'r.gflops_core_min <= r.gflops_core_median and r.gflops >= r.gflops_core_min * r.threads')" = true ]
	[ "$(get '(function() for _, c in ipairs(r.cores) do if c.cpu == r.slowest_cpu then return c.gflops == r.gflops_core_min end end end)()')" = true ]
}

# ended COMMAND... --seconds: once; where others took a tenth of a core and dgemm's calls did not end, in a larger time box
ended() {
	local box
	for box in 0.5 2 8; do
		run --separate-stderr "$@" "$box"
		[ "$(get 'r.unfinished ~= nil and r.lost_core_pct >= 10')" = true ] || return 0
	done
}

@test "dgemm: every core's clock under load, the lowest is named" {
	ended "$K/dgemm" --seconds
	[ "$(get 'r.clock_mhz_min <= r.clock_mhz and r.clock_mhz_min > 100 and r.clock_mhz < 10000')" = true ]
	[ "$(get '(function() for _, c in ipairs(r.cores) do if c.cpu == r.lowest_clock_cpu then return c.clock_mhz == r.clock_mhz_min end end end)()')" = true ]
}

@test "stream: each instruction set that this CPU has is right, any other is refused" {
	local isa
	for isa in generic sse2 avx2 avx512; do
		run --separate-stderr "$K/stream" --seconds 1 --max-memory 50 --isa "$isa"
		if [ "$status" -eq 0 ]; then
			[ "$(get r.isa)" = "$isa" ]
		else
			quiet_failure stream
			[[ $stderr =~ this\ CPU\ has\ no|want\ auto ]]
		fi
	done
	run --separate-stderr "$K/stream" --isa mmx
	quiet_failure stream
}

@test "stream: every NUMA node has rates of its own" {
	run --separate-stderr "$K/stream" --seconds 1
	[ "$(get '(function() local n = 0 for _, x in ipairs(r.numa) do n = n + x.cores assert(x.triad_gbs > 0 and x.copy_best_gbs > 0) end return n == r.threads end)()')" = true ]
}

# counters CACHE=GBS...: a prepared tree of resctrl's in $R whose counters advance until the test ends
counters() {
	local one
	R=$BATS_TEST_TMPDIR/resctrl
	for one in "$@"; do
		mkdir -p "$R/mon_data/${one%%=*}"
	done
	gcc -O2 -o "$BATS_TEST_TMPDIR/traffic" "$FIXTURES/traffic.c"
	"$BATS_TEST_TMPDIR/traffic" --seconds 60 "$R/mon_data" "$@" &
	COUNTERS=$!
	until [ -e "$R/mon_data/${1%%=*}/mbm_total_bytes" ]; do sleep 0.05; done
}

teardown() {
	[ -z "${COUNTERS:-}" ] || kill "$COUNTERS" 2>/dev/null || true
}

near() {
	[ "$(get 'r.traffic_gbs ~= nil and math.abs(r.traffic_gbs / 30 - 1) < 0.02')" = true ]
}

@test "stream: the counters of memory traffic are read around triads, of each cache and group" {
	counters mon_L3_00=20 mon_L3_12=10
	# Of a control group; what is no L3 cache's is left out.
	mkdir -p "$R/batch/mon_data/mon_L3_00" "$R/mon_groups/x/mon_data/mon_L3_00" "$R/mon_data/mon_sub_L3_00" "$R/info/mon_data/mon_L3_00"
	echo 5 >"$R/batch/mon_data/mon_L3_00/mbm_total_bytes"
	# The helper that counts has to get a CPU now and then.
	run_until near "$K/stream" --seconds 2 --traffic "$R"
	[ "$status" -eq 0 ]
	[ "$(get 'r.traffic_source')" = resctrl ]
	[ "$(get '#r.traffic')" = 2 ]
	[ "$(get 'r.traffic_triad_gbs > 0 and math.abs(r.traffic_ratio * r.traffic_triad_gbs / r.traffic_gbs - 1) < 0.001')" = true ]
	[ "$(get '(function() for _, x in ipairs(r.traffic) do if x.cache == 12 then return math.abs(x.gbs / 10 - 1) < 0.1 end end end)()')" = true ]
	[ "$(get 'r.verified and r.passes >= 1')" = true ]
}

@test "stream: counters that cannot be read are named, and the bandwidth is measured all the same" {
	local text
	R=$BATS_TEST_TMPDIR/resctrl
	mkdir -p "$R/mon_data/mon_L3_03"
	for text in Unavailable Unassigned Error "" -1 1x 99999999999999999999; do
		echo "$text" >"$R/mon_data/mon_L3_03/mbm_total_bytes"
		run_in_time "$K/stream" --seconds 0.5 --traffic "$R"
		[ "$status" -eq 0 ] || { echo "$stderr"; return 1; }
		[[ "$(get 'r.traffic_error')" == "L3 cache 3: "*"$text" ]] || { get 'r.traffic_error'; return 1; }
		[ "$(get 'r.triad_gbs > 0 and r.traffic_gbs == nil')" = true ]
	done
	rm "$R/mon_data/mon_L3_03/mbm_total_bytes" # mounted, without monitoring of memory bandwidth
	run_in_time "$K/stream" --seconds 0.5 --traffic "$R"
	[[ "$(get 'r.traffic_error')" == "L3 cache 3: No such file"* ]]
	rmdir "$R/mon_data/mon_L3_03"
	run_in_time "$K/stream" --seconds 0.5 --traffic "$R"
	[[ "$(get 'r.traffic_error')" == "resctrl: no monitoring"* ]]
	run_in_time "$K/stream" --seconds 0.5 --traffic "$R/nowhere"
	[[ "$(get 'r.traffic_error')" == "$R/nowhere: No such file"* ]]
	mkdir "$R/pmus"
	run_in_time "$K/stream" --seconds 0.5 --traffic "$R/pmus"
	[[ "$(get 'r.traffic_error')" == "perf: no counters of memory controllers here" ]]
	mkdir -p "$R"/mon_data/mon_L3_{000..299}
	run_in_time "$K/stream" --seconds 0.5 --traffic "$R"
	[[ "$(get 'r.traffic_error')" == "resctrl: more groups"* ]]
}

@test "noise: a busy neighbour on the same CPU is seen" {
	local busy quiet cpu
	cpu=$(allowed_cpu)
	run --separate-stderr "$K/noise" --seconds 0.3 --cpus "$cpu"
	quiet=$(get 'r.noise_pct')
	taskset -c "$cpu" timeout 5 bash -c 'while :; do :; done' &
	busy=$!
	run --separate-stderr "$K/noise" --seconds 0.5 --cpus "$cpu"
	kill "$busy"
	# Half of the CPU is taken: far more than the quiet run, whatever this machine does.
	[ "$(get "r.noise_pct > 25 and r.noise_pct > $quiet")" = true ]
	[ "$(get 'r.longest_us > 500')" = true ]
}

@test "kernels: bad options are one line on stderr, exit 2, nothing on stdout" {
	local k bad words
	for k in "${ALL[@]}"; do
		for bad in "--seconds 0" "--seconds -1" "--seconds 1e9" "--seconds two" "--seconds nan" "--seconds" \
			"--cpus a" "--cpus 0-" "--cpus 99999" "--cpus 3-1" "--bogus" "operand"; do
			read -r -a words <<<"$bad"
			run --separate-stderr "$K/$k" "${words[@]}"
			quiet_failure "$k" || { echo "$k $bad"; return 1; }
		done
		run --separate-stderr "$K/$k" --cpus ''
		quiet_failure "$k"
	done
}

@test "kernels: a CPU outside the cpuset is refused, the cpuset is kept" {
	[ "$(nproc)" -ge 2 ] || skip "needs two CPUs"
	local other
	other=$(allowed_cpu 2)
	run --separate-stderr taskset -c "$other" "$K/noise" --seconds 0.1 --cpus "$(allowed_cpu)"
	quiet_failure noise
	[[ $stderr == *"not among the allowed CPUs $other"* ]]
	run --separate-stderr taskset -c "$other" "$K/noise" --seconds 0.1
	[ "$(get 'r.cpus')" = "$other" ]
	[ "$(get 'r.threads == 1')" = true ]
}

@test "kernels: overlapping CPU lists count once" {
	local cpu
	cpu=$(allowed_cpu)
	run --separate-stderr "$K/noise" --seconds 0.1 --cpus "$cpu,$cpu,$cpu-$cpu"
	[ "$(get 'r.cpus')" = "$cpu" ]
}

@test "kernels: stdout closed or full is exit 2" {
	local k
	for k in "${ALL[@]}"; do
		run --separate-stderr bash -c "exec '$K/$k' --seconds 0.2 >&-"
		quiet_failure "$k"
		run --separate-stderr bash -c "exec '$K/$k' --seconds 0.2 >/dev/full"
		quiet_failure "$k"
	done
}

@test "kernels: SIGTERM leaves no half of a line" {
	local k pid out=$BATS_TEST_TMPDIR/out
	for k in "${ALL[@]}"; do
		"$K/$k" --seconds 30 >"$out" &
		pid=$!
		sleep 0.3
		kill -TERM "$pid"
		run wait "$pid"
		[ ! -s "$out" ]
	done
}

@test "kernels: one that hangs gives up by itself" {
	# OpenBLAS waits for ever for memory that it does not get.
	run --separate-stderr timeout -s KILL 60 bash -c "ulimit -v 150000; exec '$K/dgemm' --seconds 0.2"
	# Where others have the CPUs it may have been stopped for most of the time, and says that.
	if [ "$status" -eq 0 ]; then
		[ "$(get '#r.unfinished > 0 and r.lost_pct > 50')" = true ] || { echo "$output"; return 1; }
		return 0
	fi
	[ "$status" -eq 2 ]
	[ -z "$output" ]
	[[ $stderr == *"dgemm: "* ]]
}

# loading NAME CODE: a library that does CODE when it is loaded, as OpenBLAS makes itself ready
loading() {
	shim "$1" "#include <stdlib.h>
		#include <unistd.h>
		__attribute__((constructor)) static void load(void) { $2 }"
}

@test "dgemm: an OpenBLAS that hangs, or ends the process with 1, is exit 2" {
	# Without memory 0.3.29 (Debian 13) does the first and 0.3.34 the second, both when loaded.
	loading hangs 'for (;;) pause();'
	run --separate-stderr timeout -s KILL 60 env LD_PRELOAD="$SHIM" "$K/dgemm" --seconds 0.2
	quiet_failure dgemm
	loading ends 'exit(1);'
	run --separate-stderr env LD_PRELOAD="$SHIM" "$K/dgemm" --seconds 0.2
	quiet_failure dgemm
	[[ $stderr == *"exit code 1" ]]
	gemm_shim late 'if (call == 1)
			exit(1);
		right();'
	run --separate-stderr env LD_PRELOAD="$SHIM" "$K/dgemm" --seconds 0.2
	quiet_failure dgemm
	gemm_shim stuck 'if (!probe && call == 1)
			for (;;)
				pause();
		right();'
	run --separate-stderr timeout -s KILL 60 env LD_PRELOAD="$SHIM" "$K/dgemm" --seconds 0.2
	quiet_failure dgemm
}

@test "kernels: a normal user can run them" {
	[ "$(id -u)" = 0 ] || skip "not root, so the other tests have shown it"
	# The checkout may be out of a user's reach.
	local k dir
	dir=$(mktemp -d /tmp/kernels.XXXXXX)
	chmod 755 "$dir"
	for k in "${ALL[@]}"; do
		cp "$K/$k" "$dir/"
		run_in_time setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/$k" --seconds 1
		[ "$status" -eq 0 ]
	done
	rm -r "$dir"
}

@test "stream: in a memory cgroup smaller than its arrays it shrinks and says so" {
	[ "$(id -u)" = 0 ] || skip "needs root to make a cgroup"
	in_memory 134217728 "$K/stream" --seconds 1
	[ "$status" -eq 0 ]
	[ "$(get 'r.array_limit')" = memory ]
	[ "$(get '3 * r.array_mb <= 67.2')" = true ]
}

@test "dgemm: in a memory cgroup too small for its matrices they are smaller and it says so" {
	[ "$(id -u)" = 0 ] || skip "needs root to make a cgroup"
	local cpu seconds
	cpu=$(allowed_cpu)
	# One core needs 79 MB of results and inputs for n = 2304, and there is half of what is free. In less time than
	# that takes, as others have the core, too, time would cut them first.
	for seconds in 2 6 18; do
		in_memory 134217728 "$K/dgemm" --seconds "$seconds" --cpus "$cpu"
		[ "$status" -eq 0 ]
		[ "$(get 'r.verified and r.n <= 1152')" = true ]
		[ "$(get r.size_limit)" != memory ] || break
	done
	[ "$(get r.size_limit)" = memory ]
	# Cut by time alone.
	run --separate-stderr "$K/dgemm" --seconds 0.3 --cpus "$cpu"
	[ "$(get 'r.n <= 2304 and r.size_limit == nil')" = true ]
}

# shim NAME C: a library for LD_PRELOAD, into $SHIM
shim() {
	SHIM=$BATS_TEST_TMPDIR/$1.so
	printf '%s\n' "$2" >"$BATS_TEST_TMPDIR/$1.c"
	gcc -shared -fPIC -O1 -D_GNU_SOURCE -o "$SHIM" "$BATS_TEST_TMPDIR/$1.c" -ldl
}

@test "kernels: a system clock that jumps changes nothing" {
	shim jump '#include <dlfcn.h>
		#include <sys/time.h>
		#include <time.h>
		static long day(void) { static long n; return ++n % 2 ? 86400 : -86400; }
		int clock_gettime(clockid_t id, struct timespec *t)
		{
			int rc = ((int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime"))(id, t);
			if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)
				t->tv_sec += day();
			return rc;
		}
		int gettimeofday(struct timeval *restrict t, void *restrict z)
		{
			(void)z;
			t->tv_sec = 1700000000 + day();
			t->tv_usec = 0;
			return 0;
		}
		time_t time(time_t *t) { time_t now = 1700000000 + day(); if (t) *t = now; return now; }'
	local k
	for k in "${ALL[@]}"; do
		run_in_time env LD_PRELOAD="$SHIM" "$K/$k" --seconds 1
		[ "$status" -eq 0 ]
		[ "$(get 'r.verified and r.seconds > 0 and r.seconds < 3600')" = true ]
	done
}

@test "kernels: without huge pages they measure, and stream says so" {
	cat >"$BATS_TEST_TMPDIR/small.c" <<-'C'
	#include <sys/prctl.h>
	#include <unistd.h>
	int main(int argc, char **argv)
	{
		return argc > 1 && prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0 ? execv(argv[1], argv + 1) : 9;
	}
	C
	gcc -o "$BATS_TEST_TMPDIR/small" "$BATS_TEST_TMPDIR/small.c"
	local k
	for k in "${ALL[@]}"; do
		run_in_time "$BATS_TEST_TMPDIR/small" "$K/$k" --seconds 1
		[ "$status" -eq 0 ]
		[ "$k" != stream ] || [ "$(get 'r.huge_pages_pct == 0')" = true ]
	done
}

# gemm_shim NAME BODY: a BLAS whose cblas_dgemm does BODY around right(), the right one
gemm_shim() {
	shim "$1" "#include <dlfcn.h>
		#include <sched.h>
		#include <stdatomic.h>
		#include <stdint.h>
		#include <stdlib.h>
		#include <string.h>
		#include <time.h>
		#include <unistd.h>
		typedef void gemm(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *, int);
		static void flip(const double *place)
		{
			uint64_t bits;
			memcpy(&bits, place, 8);
			bits ^= 1ull << atoi(getenv(\"WRONG_BIT\"));
			memcpy((void *)place, &bits, 8);
		}
		void cblas_dgemm(int o, int ta, int tb, int m, int n, int k, double al, const double *a, int lda, const double *b,
				 int ldb, double be, double *c, int ldc)
		{
			/* Not the short ones by which a core's speed is probed: nothing is reported of them. */
			const int probe = m == 256;
			static atomic_int probes, calls;
			const int call = probe ? atomic_fetch_add(&probes, 1) : atomic_fetch_add(&calls, 1);
		#define right() ((gemm *)dlsym(RTLD_NEXT, \"cblas_dgemm\"))(o, ta, tb, m, n, k, al, a, lda, b, ldb, be, c, ldc)
			$2
		}"
}

# One call in one place goes wrong, by one bit.
wrong_blas() {
	gemm_shim wrong 'right();
		if (!probe && call == atoi(getenv("WRONG_CALL")))
			flip(&c[5 * ldc + 7]);'
}

@test "dgemm: one flipped bit in one call is caught: exit 1, core and element named" {
	wrong_blas
	local call bit calls=(0 1 2 3)
	# The first make the reference, later ones are compared with it; no more are sure to
	# be made, by one core alone one less. Low and high mantissa, exponent and sign.
	[ "$(nproc)" -ge 2 ] || calls=(0 1 2)
	for call in "${calls[@]}"; do
		for bit in 0 51 52 62 63; do
			ended env LD_PRELOAD="$SHIM" WRONG_CALL="$call" WRONG_BIT="$bit" "$K/dgemm" --seconds
			[ "$status" -eq 1 ] || { echo "call $call bit $bit: status $status"; return 1; }
			[ "$(get 'r.verified')" = false ]
			[[ "$(get 'r.error')" =~ ^cpu\ [0-9]+:\ C\[5\]\[7\]\ is\ .*,\ expected\ -?[0-9]+$ ]] || { get r.error; return 1; }
		done
	done
}

@test "dgemm: what changed in memory is named: the reference, or an input" {
	# Before call 0, which makes the reference, or call 1, which is held to it.
	gemm_shim flip 'static const double *reference;
		if (!probe && call == 0)
			reference = c;
		if (!probe && call == atoi(getenv("WRONG_CALL")))
			flip(strcmp(getenv("WRONG"), "A") == 0 ? &a[5 * lda + 7] :
			     strcmp(getenv("WRONG"), "B") == 0 ? &b[5 * ldb + 7] : &reference[5 * ldc + 7]);
		right();'
	local what call bit cpu
	cpu=$(allowed_cpu)
	for what in "A 0" "A 1" "B 0" "B 1" "C 1"; do
		read -r what call <<<"$what"
		for bit in 51 62 63; do
			ended env LD_PRELOAD="$SHIM" WRONG="$what" WRONG_CALL="$call" WRONG_BIT="$bit" \
				"$K/dgemm" --cpus "$cpu" --seconds
			[ "$status" -eq 1 ] || { echo "$what, call $call, bit $bit: status $status"; return 1; }
			[ "$(get 'r.verified')" = false ]
			[[ "$(get 'r.error')" =~ ^cpu\ $cpu:\ (an\ input|the\ reference)\ changed\ in\ memory:\ $what\[5\]\[7\]\ is\ .*,\ expected\ -?[0-9]+$ ]] ||
				{ get r.error; return 1; }
			[[ $what != C || "$(get 'r.error')" == *"the reference"* ]]
		done
	done
}

@test "dgemm: a corrupt core is reported within the box, as its node's first core or another" {
	gemm_shim core 'right();
		if (!probe && sched_getcpu() == atoi(getenv("WRONG_CPU")))
			for (int i = 0; i < m * n; i += 8)
				c[i] += 1;'
	local cpu
	# With its first core wrong there is nothing to hold the others to: none measures.
	cpu=$(allowed_cpu)
	run --separate-stderr env LD_PRELOAD="$SHIM" WRONG_CPU="$cpu" "$K/dgemm" --seconds 3
	[ "$status" -eq 1 ]
	[ "$(get 'r.calls == 0 and r.gflops == require("cjson").null and #r.cores == r.threads')" = true ]
	[ "$(get 'r.seconds < 3')" = true ]
	[[ "$(get 'r.error')" =~ ^cpu\ $cpu:\ C\[0\]\[0\]\ is\  ]]
	[ "$(get 'r.threads > 1')" = true ] || return 0
	cpu=$(get 'r.cores[r.threads].cpu')
	run --separate-stderr env LD_PRELOAD="$SHIM" WRONG_CPU="$cpu" "$K/dgemm" --seconds 1
	[ "$status" -eq 1 ]
	[ "$(get 'r.calls > 1 and r.gflops > 0')" = true ]
	[[ "$(get 'r.error')" =~ ^cpu\ [0-9]+:\ C\[0\]\[0\]\ is\  ]]
}

# in_a_box CONDITION COMMAND... --seconds: the first time box, as $box, in which CONDITION holds, whatever else this machine does
in_a_box() {
	for box in 1 2 4 8; do
		run --separate-stderr "${@:2}" "$box"
		! "$1" || return 0
	done
	echo "never $1: $output"
	return 1
}

# finished: it came to an end
finished() {
	[ "$(get 'r.unfinished == nil')" = true ]
}

# large: dgemm had time for more than the smallest matrices
large() {
	[ "$(get 'r.verified and r.n > 384')" = true ]
}

@test "dgemm: one detour while a core is probed does not make the matrices small" {
	gemm_shim slow 'right();
		if (probe && call == atoi(getenv("SLOW")))
			usleep(atoi(getenv("SLOW_US")));'
	local call try cpu box
	cpu=$(allowed_cpu)
	# In half of the time, too: a core without AVX has a tenth of another's rate.
	in_a_box large "$K/dgemm" --cpus "$cpu" --seconds
	box=$((box * 2))
	# 0 only makes OpenBLAS ready.
	for call in 0 1 2 3; do
		# Where others take most of the CPU they are small anyway, now and then.
		for try in 1 2 3 4 5; do
			run --separate-stderr env LD_PRELOAD="$SHIM" SLOW="$call" SLOW_US="$((box * 30000))" \
				"$K/dgemm" --seconds "$box" --cpus "$cpu"
			! large || break
			run --separate-stderr "$K/dgemm" --seconds "$box" --cpus "$cpu"
			large || break
			[ "$try" -lt 5 ] || { echo "always small after probe $call"; return 1; }
		done
	done
}

@test "kernels: what they lost is of the time that they worked, set-up left out" {
	local k
	for k in "${ALL[@]}"; do
		run --separate-stderr "$K/$k" --seconds 0.5
		[ "$(get 'r.worked_s > 0 and r.worked_s < r.seconds and r.lost_pct >= 0 and r.lost_pct <= 100')" = true ] ||
			{ echo "$k: $output $stderr"; return 1; }
	done
}

@test "kernels: --help and --version" {
	local k
	for k in "${ALL[@]}"; do
		run --separate-stderr "$K/$k" --help
		[ "$status" -eq 0 ]
		[[ $output == "usage: $k "*"--seconds"*"--cpus"*"Exit status"* ]]
		run --separate-stderr "$K/$k" --version
		[ "$status" -eq 0 ]
		[[ $output =~ ^syscheck\ $k\ [0-9] ]]
	done
}

# at_quota_in_box PERCENT PERIOD_US KERNEL BOX VALUE: it measures, within its time box
at_quota_in_box() {
	local since most=1.5
	since=$(cpu_times)
	at_quota "$1" "$2" "$K/$3" --seconds "$4"
	[ "$status" -eq 0 ] || { echo "$3 at $1 %: status $status, $stderr"; return 1; }
	# A value; of dgemm, where others use the machine, too, the most that it can be.
	[ "$(get "r.verified and r.$5 > 0")" = true ] || { echo "$3 at $1 %: $output"; return 1; }
	# Half of it more: what follows a box may need two turns of each core, and two cores share a quota. Beside others
	# each turn comes late.
	# shellcheck disable=SC2086 # three numbers
	! others_worked $since || most=3
	# A call that is at work at its end has a quarter of it more (LATE_SHARE): one of a core without AVX is, at 5 %.
	[[ "$(get 'r.unfinished or ""')" != *"at the end of the time box" ]] || most=$(awk "BEGIN { print $most + 0.25 }")
	[ "$(get "r.seconds < $most * $4")" = true ] || { echo "$3 at $1 %: $(get r.seconds) s"; return 1; }
}

@test "kernels: on a node at 5, 10 and 20 % of one CPU each measures, within its time box" {
	[ "$(id -u)" = 0 ] || skip "needs root to make a cgroup"
	local what kernel box value percent period
	# 100 ms is the usual period: whoever measures in the 5 ms before it is stopped sees a fast node.
	for what in "stream 2 triad_gbs" "dgemm 1 gflops" "noise 1 noise_pct" "numa 2 latency_ns" "scaling 2 best_gbs"; do
		read -r kernel box value <<<"$what"
		for percent in "5 100000" "5 20000" "10 100000" "20 10000"; do
			read -r percent period <<<"$percent"
			on_own_cpus at_quota_in_box "$percent" "$period" "$kernel" "$box" "$value"
		done
	done
}

# slower_at PERCENT SHARE KERNEL VALUE OPTION...: it measures, less than that share of what it does without a quota
slower_at() {
	local percent=$1 share=$2 kernel=$3 value=$4 free
	shift 4
	ended "$K/$kernel" "$@" --seconds
	free=$(get "r.$value")
	at_quota "$percent" 100000 "$K/$kernel" --seconds 1 "$@"
	[ "$status" -eq 0 ] || { echo "status $status, $stderr"; return 1; }
	[ "$(get "r.verified and r.$value > 0 and r.$value < $share * $free")" = true ] || { echo "free $free: $output"; return 1; }
}

@test "dgemm: a moment at full speed under a quota is not the rate of a node, nor is none at all" {
	[ "$(id -u)" = 0 ] || skip "needs root to make a cgroup"
	for _ in {1..8}; do
		# One of two cores may wait for the other, after a warm-up at full speed.
		on_own_cpus slower_at 5 0.6 dgemm gflops
	done
}

@test "stream: a moment at full speed under a quota is not the rate of a node" {
	[ "$(id -u)" = 0 ] || skip "needs root to make a cgroup"
	for _ in {1..4}; do
		on_own_cpus slower_at 2 0.5 stream triad_gbs --max-memory 50
	done
}

# delayed NAME CODE: a library that does CODE when a thread has touched its first memory
delayed() {
	shim "$1" '#include <dlfcn.h>
		#include <time.h>
		#include <unistd.h>
		static __thread int looks;
		static int look(clockid_t id, struct timespec *t)
		{
			return ((int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime"))(id, t);
		}
		static double used(void)
		{
			struct timespec t;
			look(CLOCK_THREAD_CPUTIME_ID, &t);
			return t.tv_sec + t.tv_nsec * 1e-9;
		}
		int clock_gettime(clockid_t id, struct timespec *t)
		{
			/* One before it touches. */
			if (id == CLOCK_MONOTONIC_RAW && getpid() != gettid() && looks++ == 1) {
				'"$2"'
			}
			return look(id, t);
		}'
}

# Set-up that needs most of a box needs all of it where others have the CPU, too.
left_no_time() {
	[[ $stderr == *"set-up left hardly any of the time box" || $stderr == *"nothing was measured within the time box" ]]
}

could_not() {
	[ "$status" -eq 2 ]
}

# Who was stopped for most of it, in each try, says what it did at most, as above.
not_stopped() {
	[ "$status" -ne 0 ] || [ "$(get 'r.unfinished ~= nil and r.lost_pct > 50')" != true ] ||
		skip "others have this CPU for most of the time, in each try"
}

@test "stream: what set-up leaves hardly any time for is not measured; stopped for most of it, at most what it did" {
	local cpu free box
	cpu=$(allowed_cpu)
	in_a_box finished "$K/stream" --max-memory 50 --cpus "$cpu" --seconds
	free=$(get r.triad_gbs)
	delayed slept 'usleep(950000);'
	run --separate-stderr env LD_PRELOAD="$SHIM" "$K/stream" --seconds 1 --max-memory 50 --cpus "$cpu"
	[ "$status" -eq 0 ] || { echo "status $status: $stderr"; return 1; }
	# 50 MB and little more in a second. All of them have it, and the loss is that of the same time.
	[ "$(get "r.verified and #r.unfinished > 0 and r.triad_gbs > 0 and r.triad_gbs < 0.1 * $free")" = true ] || { echo "free $free: $output"; return 1; }
	[ "$(get 'r.copy_best_gbs == r.triad_gbs and r.numa[1].triad_gbs == r.triad_gbs')" = true ]
	[ "$(get 'r.lost_pct > 50 and r.worked_s > 0.9')" = true ] || { echo "$output"; return 1; }
	delayed worked 'for (const double until = used() + 0.95; used() < until;);'
	# Where others take half of the CPU it is stopped, too.
	run_until could_not env LD_PRELOAD="$SHIM" "$K/stream" --seconds 1 --max-memory 50 --cpus "$cpu" || not_stopped
	quiet_failure stream
	left_no_time
}

# Set-up, in the first probe, takes most of the time box, by sleeping or at work.
late_blas() {
	gemm_shim "late_$1" 'if (probe && call == 0) {
			'"$2"'
		}
		right();'
}

@test "dgemm: what set-up leaves hardly any time for is not measured; stopped for most of it, at most what it did" {
	local cpu free box
	cpu=$(allowed_cpu)
	in_a_box finished "$K/dgemm" --cpus "$cpu" --seconds
	free=$(get r.gflops)
	# No time for more than the least size, on a fast core neither.
	late_blas sleep 'usleep(950000);'
	run --separate-stderr env LD_PRELOAD="$SHIM" "$K/dgemm" --seconds 1 --cpus "$cpu"
	[ "$status" -eq 0 ] || { echo "status $status: $stderr"; return 1; }
	[ "$(get "r.verified and #r.unfinished > 0 and r.gflops > 0 and r.gflops < 0.5 * $free")" = true ] || { echo "free $free: $output"; return 1; }
	# So that others who had these CPUs meanwhile, and not later, are seen to have.
	[ "$(get 'r.lost_pct > 50 and r.worked_s > 0.9')" = true ] || { echo "$output"; return 1; }
	late_blas work 'struct timespec t;
			do
				clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
			while (t.tv_sec + t.tv_nsec * 1e-9 < 0.95);'
	# Where others take half of the CPU it is stopped, too.
	run_until could_not env LD_PRELOAD="$SHIM" "$K/dgemm" --seconds 1 --cpus "$cpu" || not_stopped
	quiet_failure dgemm
	left_no_time
}

@test "noise: what set-up leaves hardly any time for is no sample" {
	local mode
	delayed slept 'usleep(950000);'
	for mode in detour fwq ftq; do
		run --separate-stderr env LD_PRELOAD="$SHIM" "$K/noise" --seconds 1 --mode "$mode"
		quiet_failure noise
		[[ $stderr == *"set-up left hardly any of the time box" ]]
	done
}

@test "dgemm: a wrong result is reported whatever another core does" {
	[ "$(nproc)" -ge 2 ] || skip "needs two CPUs"
	local other
	other=$(allowed_cpu 2)
	# The first core has made the reference, and waits for ever.
	gemm_shim stuck_wrong 'static __thread int here;
		if (!probe && sched_getcpu() == atoi(getenv("STUCK_CPU")) && here++ == 1)
			for (;;)
				pause();
		right();
		if (!probe && sched_getcpu() != atoi(getenv("STUCK_CPU")))
			c[5 * ldc + 7] += 1;'
	run --separate-stderr timeout -s KILL 60 taskset -c "$(allowed_cpu),$other" \
		env LD_PRELOAD="$SHIM" STUCK_CPU="$(allowed_cpu)" "$K/dgemm" --seconds 0.5
	[ "$status" -eq 1 ] || { echo "status $status: $stderr"; return 1; }
	[ "$(get 'r.verified')" = false ]
	[[ "$(get 'r.error')" =~ ^cpu\ $other:\ C\[5\]\[7\]\ is\  ]] || { get r.error; return 1; }
}

had_its_core() {
	[ "$(get 'r.lost_core_pct >= 10')" != true ]
}

@test "dgemm: a call that does not end in the time box is at most what was begun; what was wrong before is wrong" {
	# One call at full size takes for ever.
	gemm_shim endless 'if (!probe && call == atoi(getenv("ENDLESS")))
			for (volatile int on = 1; on;)
				;
		right();
		if (!probe && getenv("WRONG_CALL") && call == atoi(getenv("WRONG_CALL")))
			flip(&c[5 * ldc + 7]);'
	local cpu most lost=no
	cpu=$(allowed_cpu)
	run --separate-stderr env LD_PRELOAD="$SHIM" ENDLESS=1 "$K/dgemm" --seconds 1 --cpus "$cpu"
	[ "$status" -eq 0 ] || { echo "status $status: $stderr"; return 1; }
	[ "$(get 'r.verified and #r.unfinished > 0 and r.gflops > 0 and r.calls == 2')" = true ]
	[ "$(get 'r.seconds > 1 and r.seconds < 1.5')" = true ]
	most=$(get r.gflops)
	# Others may have this core for more of that time.
	run_until had_its_core "$K/dgemm" --seconds 1 --cpus "$cpu" || lost=yes
	[ "$lost" = yes ] || [ "$(get "r.unfinished == nil and r.gflops > $most")" = true ]
	run --separate-stderr env LD_PRELOAD="$SHIM" ENDLESS=2 WRONG_CALL=1 WRONG_BIT=52 "$K/dgemm" --seconds 1 --cpus "$cpu"
	[ "$status" -eq 1 ] || { echo "status $status: $stderr"; return 1; }
	# On a slow machine the box ends before a second call is begun.
	[ "$(get 'r.verified == false and (r.calls == 1 or #r.unfinished > 0)')" = true ]
	[ "$lost" = no ] || skip "others have this core, in each try: what it does alone is not known; the rest is shown"
}
