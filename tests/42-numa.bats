#!/usr/bin/env bats
# alone: it measures
# Numa and scaling as the agent sees them. No absolute time or speed: what is
# compared was measured in the same run.
# shellcheck disable=SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load kernels

K=$ROOT/build/kernels
BOTH=(numa scaling)

@test "numa, scaling: measure, verify and print one object" {
	local k
	for k in "${BOTH[@]}"; do
		run --separate-stderr "$K/$k" --seconds 1
		[ "$status" -eq 0 ]
		[ -z "$stderr" ]
		[ "$(get 'r.kernel')" = "$k" ]
		[ "$(get 'r.verified and r.v == 1 and r.threads >= 1 and #r.cpus > 0')" = true ]
		[[ "$(get 'r.limit')" =~ ^(llc|memory|time)$ ]]
	done
}

@test "numa: every node to every node, the worst local latency is the one that is rated" {
	run --separate-stderr "$K/numa" --seconds 1
	[ "$status" -eq 0 ]
	[ "$(get '#r.nodes >= 1 and #r.latency % #r.nodes == 0 and #r.latency == #r.bandwidth')" = true ]
	[ "$(get '(function() local worst = 0
		for i, c in ipairs(r.latency) do
			assert(c.ns > 0 and r.bandwidth[i].gbs > 0)
			assert(c.from == r.bandwidth[i].from and c.to == r.bandwidth[i].to)
			if c.from == c.to then worst = math.max(worst, c.ns) end
		end
		return worst == r.latency_ns and r.local_ns_median <= worst end)()')" = true ]
	# One node has nothing remote; several have.
	[ "$(get '(#r.latency > 1) == (r.numa_factor ~= nil)')" = true ] || [ "$(get '#r.nodes > 1')" = true ]
}

@test "numa: L1 is faster than L2, L2 than memory" {
	# The cores are shared with whatever else runs here: once in three is enough.
	for _ in 1 2 3; do
		run --separate-stderr "$K/numa" --seconds 1
		[ "$status" -eq 0 ]
		[ "$(get '#r.cache_latency >= 2')" = true ] || skip "this machine shows no caches"
		[ "$(get 'r.cache_latency[1].level == 1 and r.cache_latency[2].level == 2')" = true ]
		[ "$(get '2 * r.cache_latency[1].ns < r.cache_latency[2].ns and 2 * r.cache_latency[2].ns < r.latency_ns')" = true ] &&
			return 0
	done
	echo "$output"
	return 1
}

@test "scaling: thread counts ascend to all cores; knee and saturation are on the curve" {
	run --separate-stderr "$K/scaling" --seconds 1
	[ "$status" -eq 0 ]
	[ "$(get '(function() local best, last, on = 0, 0, {}
		for _, p in ipairs(r.compact) do
			assert(p.threads > last and p.triad_gbs > 0)
			last, best = p.threads, math.max(best, p.triad_gbs)
			on[p.threads] = p.triad_gbs
		end
		assert(last == r.threads and r.compact[1].threads == 1)
		assert(best == r.best_gbs and r.one_thread_gbs == on[1])
		assert(on[r.knee_threads] >= 0.8999 * best)
		return on[r.node_saturated_threads] >= 0.9499 * r.node_best_gbs end)()')" = true ]
}

@test "scaling: one core is a curve of one point" {
	run --separate-stderr "$K/scaling" --seconds 1 --cpus "$(allowed_cpu)"
	[ "$status" -eq 0 ]
	[ "$(get '#r.compact == 1 and r.knee_threads == 1 and r.spread == nil')" = true ]
}

@test "numa, scaling: --max-memory is kept and named; too little is refused" {
	run --separate-stderr "$K/numa" --seconds 1 --max-memory 12
	[ "$(get 'r.limit')" = memory ]
	[ "$(get 'r.memory_mb <= 12')" = true ]
	run --separate-stderr "$K/scaling" --seconds 1 --max-memory 12
	[ "$(get 'r.limit')" = memory ]
	[ "$(get '3 * r.array_mb <= 12')" = true ]
	run --separate-stderr "$K/scaling" --max-memory 1
	[ "$status" -eq 0 ] || quiet_failure scaling
	[ "$(nproc)" -lt 2 ] || [ "$status" -eq 2 ]
}

@test "numa, scaling: in a memory cgroup smaller than wanted they shrink and say so" {
	[ "$(id -u)" = 0 ] || skip "needs root to make a cgroup"
	local k
	for k in "${BOTH[@]}"; do
		in_memory 67108864 "$K/$k" --seconds 1
		[ "$status" -eq 0 ]
		[ "$(get 'r.limit')" = memory ]
		[ "$(get '(r.memory_mb or 3 * r.array_mb) <= 33.6')" = true ]
	done
}

@test "numa, scaling: no huge pages, no NUMA calls: still measured" {
	cat >"$BATS_TEST_TMPDIR/without.c" <<-'C'
	#include <errno.h>
	#include <stddef.h>
	int madvise(void *p, size_t n, int advice) { (void)p; (void)n; (void)advice; errno = EINVAL; return -1; }
	int numa_available(void) { return -1; }
	C
	gcc -shared -fPIC -o "$BATS_TEST_TMPDIR/without.so" "$BATS_TEST_TMPDIR/without.c"
	local k
	for k in "${BOTH[@]}"; do
		run --separate-stderr env LD_PRELOAD="$BATS_TEST_TMPDIR/without.so" "$K/$k" --seconds 1
		[ "$status" -eq 0 ]
		[ -z "$stderr" ]
	done
	run --separate-stderr env LD_PRELOAD="$BATS_TEST_TMPDIR/without.so" "$K/numa" --seconds 1
	[ "$(get 'r.bound')" = false ]
	[ "$(get '#r.nodes >= 1 and r.latency_ns > 0')" = true ]
	grep -q '\[always\]' /sys/kernel/mm/transparent_hugepage/enabled || [ "$(get 'r.huge_pages_pct < 10')" = true ]
}

@test "numa: memory that cannot be bound, or that lies elsewhere, is exit 2" {
	run --separate-stderr "$K/numa" --seconds 0.1
	[ "$(get 'r.bound')" = true ] || skip "no NUMA here"
	gcc -shared -fPIC -o "$BATS_TEST_TMPDIR/lies.so" "$FIXTURES/lies.c"
	run --separate-stderr env LD_PRELOAD="$BATS_TEST_TMPDIR/lies.so" "$K/numa" --seconds 0.2
	quiet_failure numa
	[[ $stderr == *"lies on another"* ]]
	run --separate-stderr env LD_PRELOAD="$BATS_TEST_TMPDIR/lies.so" NO_BIND=1 "$K/numa" --seconds 0.2
	quiet_failure numa
	[[ $stderr == *"cannot be bound"* ]]
}

@test "numa: an allowed node without free memory is left out, the others are measured" {
	run --separate-stderr "$K/numa" --seconds 0.1
	[ "$(get 'r.bound and #r.left_out == 0')" = true ] || skip "no NUMA here"
	# A second node, full.
	gcc -shared -fPIC -D_GNU_SOURCE -o "$BATS_TEST_TMPDIR/full.so" "$FIXTURES/full_node.c" -ldl
	run --separate-stderr env LD_PRELOAD="$BATS_TEST_TMPDIR/full.so" "$K/numa" --seconds 1 --max-memory 100
	[ "$status" -eq 0 ] || { echo "$stderr"; return 1; }
	[ "$(get '#r.left_out == 1 and r.left_out[1] == 200 and #r.nodes == 1 and r.latency_ns > 0')" = true ]
}

# Flips one bit of anonymous memory of a kernel at work, as a failing DIMM would.
flip() {
	gcc -shared -fPIC -O1 -o "$BATS_TEST_TMPDIR/flip.so" "$FIXTURES/flip.c" -lpthread
}

@test "numa, scaling, stream: one flipped bit in memory is caught: exit 1, the place named" {
	flip
	local k
	# 64 MB are touched at once: a quarter of a second into the box the triads are at work.
	for k in "${BOTH[@]}" stream; do
		run --separate-stderr env LD_PRELOAD="$BATS_TEST_TMPDIR/flip.so" FLIP_US=250000 "$K/$k" --seconds 2 --max-memory 64
		[ "$status" -eq 1 ] || { echo "$k: status $status"; return 1; }
		[ "$(get 'r.verified')" = false ]
		# A bit of one element, as it was found: not what the chase has written there since.
		[[ "$(get 'r.error')" =~ ^cpu\ [0-9]+:\ memory\ of\ node\ [0-9]+:\ element\ [0-9]+\ is\ .*,\ expected\ -?[0-9] ]] || { get r.error; return 1; }
	done
}

@test "numa, scaling: bad options are one line on stderr, exit 2, nothing on stdout" {
	local k bad words
	for k in "${BOTH[@]}"; do
		for bad in "--seconds 0" "--seconds nan" "--cpus a" "--cpus 99999" "--max-memory 0" "--max-memory x" "--bogus"; do
			read -r -a words <<<"$bad"
			run --separate-stderr "$K/$k" "${words[@]}"
			quiet_failure "$k" || { echo "$k $bad"; return 1; }
		done
		run --separate-stderr bash -c "exec '$K/$k' --seconds 0.2 >/dev/full"
		quiet_failure "$k"
	done
}

@test "numa, scaling: SIGTERM leaves no half of a line" {
	local k pid out=$BATS_TEST_TMPDIR/out
	for k in "${BOTH[@]}"; do
		"$K/$k" --seconds 30 >"$out" &
		pid=$!
		sleep 0.3
		kill -TERM "$pid"
		run wait "$pid"
		[ ! -s "$out" ]
	done
}
