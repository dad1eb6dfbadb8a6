/* The NUMA kernels' pure units: division of time, sizes, thread counts, matrices; and triads verified. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/pool.h"
#include "common/stats.h"
#include "numa/matrix.h"
#include "numa/plan.h"
#include "scaling/plan.h"
#include "stream/windows.h"

static void time_is_kept(void **state)
{
	static const double boxes[] = { 0.05, 0.3, 1, 5, 60, 600 };

	(void)state;
	for (size_t b = 0; b < sizeof(boxes) / sizeof(boxes[0]); b++)
		for (int cells = 1; cells <= 64 * 64; cells *= 2) {
			struct plan_numa n = plan_numa(boxes[b], cells);
			struct plan_scaling s = plan_scaling(boxes[b], cells);
			double used = n.touch + cells * n.rounds * (n.bandwidth + n.latency) + n.caches;

			/* A fifth is left for verifying and giving back, whatever the machine. */
			assert_true(used <= 0.8 * boxes[b]);
			assert_true(used >= 0.7 * boxes[b]);
			assert_true(n.rounds == 1 || n.rounds == 3);
			assert_true(n.lines >= 16384);
			assert_true(n.lines <= 4194304);
			used = s.touch + cells * s.rounds * s.point;
			assert_true(used <= 0.8 * boxes[b]);
			assert_true(used >= 0.7 * boxes[b]);
		}
	/* On time: as planned. Late: less. Beyond the end: nothing but the least. */
	assert_true(plan_bandwidth_now(0.25, 0.79, 1) == 0.25);
	assert_true(plan_latency_now(0.2, 0.37, 1) == 0.2);
	assert_true(plan_bandwidth_now(0.25, 0.5, 1) < 0.2);
	assert_true(plan_latency_now(0.2, 0.2, 1) < 0.15);
	assert_true(plan_bandwidth_now(0.25, -1, 4) == 0);
	assert_true(plan_latency_now(0.2, -1, 4) == 0);
	assert_true(plan_point_now(0.1, 10, 5) == 0.1);
	assert_true(plan_point_now(0.1, 0.5, 5) < 0.1);
	assert_true(plan_point_now(0.1, -1, 5) == 0);
	/* 8 nodes in the default box: three rounds of 5 ms and more. */
	assert_int_equal(plan_numa(5, 64).rounds, 3);
	assert_true(plan_numa(5, 64).latency > 0.005);
	assert_int_equal(plan_numa(5, 1024).rounds, 1);
}

/* Every operation has its windows in any box, the triad half of all; a time is in the window that holds it. */
static void windows(void **state)
{
	static const double boxes[] = { -1, 0, 0.001, 0.05, 0.3, 1.2, 5, 600 };

	(void)state;
	for (size_t b = 0; b < sizeof(boxes) / sizeof(boxes[0]); b++) {
		const struct windows w = windows_divide(100, 100 + boxes[b]);
		int seen[STREAM_OPS] = { 0 };

		assert_true(w.n >= WINDOWS_TURN);
		assert_true(w.n <= WINDOWS_MOST);
		for (int i = 0; i < w.n; i++)
			seen[windows_op(i)]++;
		for (int op = 0; op < STREAM_OPS; op++)
			assert_true(seen[op] >= 1);
		assert_true(2 * seen[STREAM_TRIAD] >= w.n - 1 && 2 * seen[STREAM_TRIAD] <= w.n + 1);
		assert_int_equal(windows_at(&w, 1e9), w.n - 1);
		if (boxes[b] <= 0)
			continue;
		assert_int_equal(windows_at(&w, 99), 0);
		/* One window's time is before the first, at most one is left at the end. */
		assert_true(fabs(w.from - 100 - w.length) < 1e-9);
		assert_true(w.from + w.n * w.length <= 100 + boxes[b] + w.length);
		assert_true(w.from + w.n * w.length >= 100 + boxes[b] - w.length);
		assert_int_equal(windows_at(&w, w.from + 2.5 * w.length), 2);
	}
}

static void sizes(void **state)
{
	const size_t mib = (size_t)1 << 20;
	static const struct {
		size_t llc_mib, room_mib, mib;
		enum stream_limit limit;
	} cases[] = {
		{ 32, 8192, 128, STREAM_LIMIT_LLC },
		{ 1, 8192, 64, STREAM_LIMIT_LLC },
		{ 0, 8192, 1024, STREAM_LIMIT_LLC },
		{ 480, 8192, 1920, STREAM_LIMIT_LLC },
		{ 480, 100, 100, STREAM_LIMIT_MEMORY },
		{ 480, 0, 0, STREAM_LIMIT_MEMORY },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct plan_size s = plan_size(cases[i].llc_mib * mib, cases[i].room_mib * mib, 3 * mib);

		assert_int_equal(s.limit, cases[i].limit);
		assert_int_equal(s.bytes, cases[i].mib / 3 * 3 * mib);
	}
}

static void counts(void **state)
{
	static const struct {
		int n, node, want[20];
	} cases[] = {
		{ 1, 1, { 1 } },
		{ 2, 2, { 1, 2 } },
		{ 2, 1, { 1, 2 } },
		{ 16, 8, { 1, 2, 3, 4, 6, 8, 12, 16 } },
		{ 20, 10, { 1, 2, 3, 4, 6, 8, 10, 12, 16, 20 } },
		{ 104, 52, { 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 52, 64, 96, 104 } },
		{ 192, 24, { 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192 } },
		{ 5, 5, { 1, 2, 3, 4, 5 } },
		{ 7, 5, { 1, 2, 3, 4, 5, 6, 7 } },
	};
	int got[PLAN_COUNTS];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int k = plan_counts(cases[i].n, cases[i].node, got);

		for (int j = 0; j < k; j++)
			assert_int_equal(got[j], cases[i].want[j]);
		assert_int_equal(cases[i].want[k], 0);
	}
	for (int n = 1; n < 3000; n += 7)
		for (int node = 1; node <= n; node += 13) {
			int k = plan_counts(n, node, got), full = 0;

			assert_true(k < 30);
			assert_true(got[0] == 1);
			assert_true(got[k - 1] == n);
			for (int j = 0; j < k; j++) {
				assert_true(j == 0 || got[j] > got[j - 1]);
				full += got[j] == node;
			}
			assert_int_equal(full, 1);
		}
	assert_true(plan_counts(1 << 29, 1, got) <= PLAN_COUNTS);
}

static void knee(void **state)
{
	/* STREAM with 1, 2, 4 threads: saturated by one. And 3, 6, 21, 32, 40 GB/s. */
	static const double flat[] = { 7.8, 8.1, 7.8 }, long_one[] = { 3, 6, 21, 32, 40, 39 }, one[] = { 5 };

	(void)state;
	assert_int_equal(plan_reaches(flat, 3, 0.9), 0);
	assert_int_equal(plan_reaches(long_one, 6, 0.9), 4);
	assert_int_equal(plan_reaches(long_one, 6, 0.5), 2);
	assert_int_equal(plan_reaches(one, 1, 0.95), 0);
}

static void orders(void **state)
{
	static const int node_of[] = { 0, 1, 0, 1, 1, 2 }, compact[] = { 0, 2, 1, 3, 4, 5 }, spread[] = { 0, 1, 5, 2, 3, 4 };
	int order[6];

	(void)state;
	plan_compact(node_of, 6, 3, order);
	assert_memory_equal(order, compact, sizeof(order));
	plan_spread(node_of, 6, 3, order);
	assert_memory_equal(order, spread, sizeof(order));
}

static void matrices(void **state)
{
	/* The classic: 69.7 / 123.7 ns. Node 2 has memory only. */
	static const int rows[] = { 0, 1 }, columns[] = { 0, 1, 2 }, other[] = { 3 };
	static const double ns[] = { 69.7, 123.7, 300, 120, 70.7, 310 }, one[] = { 80 };
	struct matrix m = { 2, 3, rows, columns, ns };
	struct matrix_summary s;

	(void)state;
	assert_true(matrix_summarise(&m, &s));
	assert_true(s.local_min == 69.7);
	assert_true(s.local_max == 70.7);
	assert_true(fabs(s.local_median - 70.2) < 1e-9);
	assert_true(s.remote_min == 120);
	assert_true(s.remote_max == 123.7);
	assert_true(fabs(s.factor - 1.77) < 0.01);
	m = (struct matrix){ 1, 1, rows, columns, one };
	assert_true(matrix_summarise(&m, &s));
	assert_true(s.local_max == 80);
	assert_true(isnan(s.remote_max));
	assert_true(isnan(s.factor));
	/* The cores' own memory is not allowed. */
	m = (struct matrix){ 1, 1, rows, other, one };
	assert_true(matrix_summarise(&m, &s));
	assert_true(isnan(s.local_max));
	assert_true(isnan(s.remote_max));
	assert_true(isnan(s.factor));
	assert_int_equal(matrix_own(&m, 0), -1);
}

static void medians(void **state)
{
	double v[] = { 3, 1, 2, 9, 7, 8 }, w[] = { 4, 5 };

	(void)state;
	stats_medians(v, 2, 3);
	assert_true(v[0] == 2);
	assert_true(v[1] == 8);
	stats_medians(w, 2, 1);
	assert_true(w[0] == 4);
	assert_true(w[1] == 5);
}

/* One thread as three in turn; then every kind of wrong element. */
static void triads(void **state)
{
	const struct ops *ops = ops_choose(NULL);
	char text[ERROR_SIZE];
	struct pool p;
	struct pool_work work;
	struct tally tally = { 0 };
	size_t which, done = 0;

	(void)state;
	assert_true(pool_map(&p, 7, POOL_ELEMENTS, false));
	pool_touch(&p, 1, 7, 0); /* no time: the least is touched all the same */
	pool_touched(&p);
	assert_int_equal(p.blocks, 7);
	for (int turn = 0; turn < 9; turn++) {
		work = pool_triad(&p, ops, turn % 3, 3, 0);
		assert_true(work.seconds > 0);
		done += (size_t)work.bytes / POOL_BLOCK;
	}
	assert_int_equal(done, 9);
	/* Counted on by the first of the three, each time that it ran. */
	assert_int_equal(p.turn, 3);
	work = pool_triad(&p, ops, 8, 9, 0);
	assert_true(work.bytes == 0);
	assert_true(work.seconds == 0);
	pool_tally(&tally, (struct pool_work[]){ { 30, 2 }, { 0, 0 }, { 50, 3 } }, 3);
	assert_true(tally_rate(&tally) == 80 / 2.5);
	for (size_t wrong = 0; wrong < 7 * 3 * POOL_ELEMENTS; wrong += 9973) {
		double *at = (double *)(void *)p.memory + wrong, old = *at;

		atomic_store(&p.claimed, 0);
		atomic_store(&p.wrong, false);
		pool_verify(&p, 5);
		assert_false(pool_wrong(&p, 2, text));
		*at += 1;
		atomic_store(&p.claimed, 0);
		pool_verify(&p, 5);
		/* What was found, not what is there later. */
		*at = old;
		assert_true(pool_wrong(&p, 2, text));
		assert_int_equal(p.found.element / POOL_ELEMENTS, wrong / (3 * POOL_ELEMENTS));
		assert_int_equal(p.found.element % POOL_ELEMENTS, wrong % POOL_ELEMENTS);
		assert_true(strncmp(text, "cpu 5: memory of node 2: element ", 33) == 0);
		which = wrong / POOL_ELEMENTS % 3;
		assert_true(p.found.got[which] == old + 1);
		assert_true(p.found.want[which] == old);
	}
	/* In shares of whole huge pages, also where there are more members than pages. */
	for (int member = 0; member < 5; member++)
		pool_unmap(&p, member, 5);
	free(p.triads);
}

static void arrays_apart(void **state)
{
	const double want[POOL_ARRAYS] = { 1, 0, 0 };
	struct pool p;

	(void)state;
	assert_true(pool_map(&p, 5, 8192, true));
	pool_touch(&p, 5, 5, 0);
	pool_touched(&p);
	for (int array = POOL_A; array < POOL_ARRAYS; array++) {
		double *first = pool_array(&p, 0, array), *at = pool_array(&p, 3, array) + 17, old = *at;

		assert_true(first == (double *)(void *)p.memory + (size_t)array * 5 * 8192);
		assert_true(at == first + 3 * 8192 + 17);
		atomic_store(&p.wrong, false);
		pool_verify_blocks(&p, 0, 5, want, 1);
		assert_false(p.wrong);
		*at += 1;
		pool_verify_blocks(&p, 0, 3, want, 1);
		assert_false(p.wrong);
		pool_verify_blocks(&p, 3, 4, want, 1);
		assert_true(p.wrong);
		assert_int_equal(p.found.element, 3 * 8192 + 17);
		*at = old;
	}
	pool_unmap(&p, 0, 1);
	free(p.triads);
}

/* Beyond the time only while too few blocks are touched; then until the latest. */
static void touching(void **state)
{
	const double never = 1e18;
	struct pool p;

	(void)state;
	assert_true(pool_map(&p, 40, POOL_ELEMENTS, false));
	pool_touch(&p, 1, SIZE_MAX, 0);
	pool_touch(&p, 1, 17, never);
	pool_touched(&p);
	assert_int_equal(p.blocks, 24);
	pool_unmap(&p, 0, 1);
	free(p.triads);
	assert_true(pool_map(&p, 40, POOL_ELEMENTS, false));
	pool_touch(&p, 1, SIZE_MAX, never);
	pool_touched(&p);
	assert_int_equal(p.blocks, 40);
	pool_unmap(&p, 0, 1);
	free(p.triads);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(time_is_kept), cmocka_unit_test(windows), cmocka_unit_test(sizes),
					    cmocka_unit_test(counts),       cmocka_unit_test(knee),
					    cmocka_unit_test(orders),       cmocka_unit_test(matrices),
					    cmocka_unit_test(medians),      cmocka_unit_test(triads),
					    cmocka_unit_test(touching),     cmocka_unit_test(arrays_apart) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
