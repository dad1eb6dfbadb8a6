/* The bounded store of detours, their histogram, and quanta that become detours. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/stats.h"
#include "noise/detours.h"
#include "noise/quanta.h"

/* The same numbers every time. */
static uint64_t seed = 4711;

static double uniform(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

/* FTQ's quanta of 100 us: in the first `lost` of every 100 no work was done; time lost, in %. */
static double starved(size_t lost)
{
	const struct quanta q = { .quantum_us = 100, .threshold_us = 1, .ticks_per_us = 1000, .from = 5 };
	static double quanta[1000], sorted[1000];
	static struct detours d;
	double pct;

	for (size_t i = 0; i < 1000; i++)
		quanta[i] = i % 100 < lost ? 0 : 50;
	memcpy(sorted, quanta, sizeof(sorted));
	stats_sort(sorted, 1000);
	assert_true(detours_init(&d, 4096));
	quanta_to_detours(&q, quanta, sorted, 1000, &d);
	for (size_t i = 0; i < d.n; i++) {
		assert_true(d.kept[i].ticks[0] >= 5);
		assert_true(d.kept[i].ticks[0] + d.kept[i].ticks[1] <= 5 + 100000000);
	}
	pct = 100 * (double)d.lost / 1e8;
	detours_free(&d);
	return pct;
}

static void starved_core(void **state)
{
	static const double best[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7 };

	(void)state;
	for (size_t lost = 0; lost <= 100; lost++)
		assert_true(fabs(starved(lost) - (double)lost) < 1e-6);
	assert_true(quanta_best(best, 12, false) == 7);
	assert_true(quanta_best(best, 11, false) > 0);
}

static void histogram(void **state)
{
	static struct loghist h, other;

	(void)state;
	assert_true(isnan(loghist_quantile(&h, 0.5)));
	for (uint64_t i = 0; i < 63; i++)
		assert_int_equal(loghist_bucket(i), i);
	assert_int_equal(loghist_bucket(UINT64_MAX), LOGHIST_BUCKETS - 1);
	for (uint64_t i = 1; i <= 100000; i++)
		loghist_add(i % 2 ? &h : &other, i);
	loghist_merge(&h, &other);
	assert_int_equal(h.total, 100000);
	for (double q = 0.01; q < 1; q += 0.01)
		assert_true(fabs(loghist_quantile(&h, q) / (q * 1e5) - 1) < 0.017);
}

static void bounded(void **state)
{
	static struct detours d;
	struct ticks_mark mark = { .ticks = 1000, .raw = 5 };
	const struct periodic_event *e;
	size_t longer = 0;

	(void)state;
	assert_true(detours_init(&d, 1024));
	for (uint64_t i = 0; i < 100000; i++) {
		uint64_t length = (uint64_t)(1000 * exp(normal()));

		longer += length >= 100000;
		detours_add(&d, i * 1000, i % 1000 == 0 ? 1000000 : length);
	}
	assert_int_equal(longer, 0);
	assert_int_equal(d.lengths.total, 100000);
	assert_int_equal(d.longest, 1000000);
	assert_true(d.n < d.room);
	for (size_t i = 0; i < d.n; i++) {
		assert_true(d.kept[i].ticks[1] >= d.keep_from);
		longer += d.kept[i].ticks[1] == 1000000;
	}
	assert_int_equal(longer, 100); /* every long one is there */
	e = detours_to_seconds(&d, &mark, 1e9);
	assert_true(fabs(e[0].start - (5 - 1e-6)) < 1e-12 || e[0].start > 5 - 1e-6);
	for (size_t i = 1; i < d.n; i++)
		assert_true(e[i].start > e[i - 1].start);
	detours_free(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starved_core),
		cmocka_unit_test(histogram),
		cmocka_unit_test(bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
