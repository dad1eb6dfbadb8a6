/* Statistics, stream's and dgemm's size, JSON: the kernels' pure units. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/memory.h"
#include "common/result.h"
#include "common/stats.h"
#include "common/stream_size.h"
#include "common/tally.h"
#include "dgemm/size.h"
#include "common/pattern.h"

static void quantiles(void **state)
{
	double v[] = { 4, 1, 3, 2 }, one[] = { 7 };

	(void)state;
	stats_sort(v, 4);
	/* R: quantile(1:4, c(0, .1, .5, .9, 1)) */
	assert_true(stats_quantile(v, 4, 0) == 1);
	assert_true(fabs(stats_quantile(v, 4, 0.1) - 1.3) < 1e-12);
	assert_true(stats_quantile(v, 4, 0.5) == 2.5);
	assert_true(fabs(stats_quantile(v, 4, 0.9) - 3.7) < 1e-12);
	assert_true(stats_quantile(v, 4, 1) == 4);
	assert_true(stats_quantile(one, 1, 0.5) == 7);
}

static void dgemm_sizes(void **state)
{
	const size_t gib = (size_t)1 << 30;
	static const struct {
		double gflops, gbs, seconds;
		size_t gib;
		int cores;
		size_t n, k;
		bool short_of_memory;
	} rows[] = {
		{ 84, 10, 0.85, 64, 64, 3072, 768, false },
		{ 50, 10, 0.85, 64, 64, 2304, 768, false }, /* three of the largest take 0.87 s */
		{ 50, 10, 0.3, 64, 64, 1152, 384, false }, /* three calls take 0.49 s */
		{ 5, 10, 1, 64, 64, 1152, 384, false }, /* the slowest core is slow */
		{ 0.1, 10, 0.1, 64, 64, 384, 384, false }, /* none fits: the smallest */
		{ 50, 10, 1, 10, 256, 1152, 384, true }, /* 256 results of 42 MB are 10.9 GB */
		{ 84, 10, 1, 11, 256, 2304, 768, true },
		{ 50, 10, 0.85, 11, 256, 2304, 768, false }, /* no time for the largest either */
		{ 50, 10, 0.3, 10, 256, 1152, 384, false },
		{ 50, 10, 0.3, 1, 256, 384, 384, true },
		{ 0.1, 10, 0.1, 0, 64, 384, 384, false },
		{ 84, 10, 1, 19, 256, 3072, 768, false },
		{ 50, 0.1, 1, 64, 64, 1152, 384, false }, /* pages come slowly: 1.1 s for the first core's 113 MB */
		{ 50, 10, 1, 0, 64, 384, 384, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct dgemm_room room = { .bytes = rows[i].gib * gib, .cores = rows[i].cores, .nodes = 1,
					   .flops = rows[i].gflops * 1e9, .touch = 1e-9 / rows[i].gbs,
					   .seconds = rows[i].seconds };
		struct dgemm_size size = dgemm_size(&room);

		if (size.n != rows[i].n || size.k != rows[i].k || size.short_of_memory != rows[i].short_of_memory)
			fail_msg("row %zu: n %zu, k %zu, short of memory: %d", i, size.n, size.k, size.short_of_memory);
	}
}

static void sizes(void **state)
{
	const size_t gib = (size_t)1 << 30, mib = (size_t)1 << 20;
	const size_t block = STREAM_BLOCK * sizeof(double);
	static const struct {
		size_t llc_mib, available_mib, max_mib;
		int threads;
		enum stream_limit limit;
		size_t array_mib; /* of all threads, rounded down */
	} cases[] = {
		{ 32, 64 * 1024, SIZE_MAX, 8, STREAM_LIMIT_LLC, 128 },
		{ 0, 64 * 1024, SIZE_MAX, 8, STREAM_LIMIT_LLC, 1024 },
		{ 1024, 768 * 1024, SIZE_MAX, 192, STREAM_LIMIT_LLC, 22 * 192 }, /* up to a huge page more on each thread */
		{ 512, 6 * 1024, SIZE_MAX, 2, STREAM_LIMIT_MEMORY, 1024 },
		{ 512, 6 * 1024, 48, 2, STREAM_LIMIT_MEMORY, 16 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t max = cases[i].max_mib == SIZE_MAX ? SIZE_MAX : cases[i].max_mib * mib;
		struct stream_size s = stream_size(cases[i].llc_mib * mib, cases[i].available_mib * mib, max,
						   cases[i].threads);
		size_t array = s.elements * sizeof(double) * (size_t)cases[i].threads;

		assert_int_equal(s.limit, cases[i].limit);
		assert_int_equal(s.elements % s.step, 0);
		assert_int_equal(s.step, s.elements >= STREAM_HUGE ? STREAM_HUGE : STREAM_BLOCK);
		assert_int_equal(s.least % s.step, 0);
		/* Larger than the caches, and by little more than that. */
		assert_true(3 * s.least * sizeof(double) * (size_t)cases[i].threads > cases[i].llc_mib * mib);
		assert_true(s.limit != STREAM_LIMIT_LLC || s.least < s.elements);
		assert_true(array / mib <= cases[i].array_mib);
		assert_true(array / mib + 12 >= cases[i].array_mib);
		assert_true(3 * array <= max);
		assert_true(3 * array <= cases[i].available_mib * mib / 2);
	}
	assert_int_equal(stream_size(32 * mib, 0, SIZE_MAX, 2).elements, 0);
	assert_int_equal(stream_size(32 * mib, 6 * block * 2, SIZE_MAX, 2).elements, STREAM_BLOCK);
	assert_int_equal(stream_size(32 * mib, 6 * block * 2 - 1, SIZE_MAX, 2).elements, 0);
	assert_int_equal(stream_size(32 * mib, 64 * gib, 1, 2).elements, 0);
}

static void limits(void **state)
{
	(void)state;
	assert_int_equal(stream_limit_time(STREAM_LIMIT_LLC), STREAM_LIMIT_TIME);
	assert_int_equal(stream_limit_time(STREAM_LIMIT_MEMORY), STREAM_LIMIT_MEMORY);
}

/* Stopped for 90 ms of every 100: nine of ten passes do not see it, the job does. */
static void tallies(void **state)
{
	double rates[TALLY_MOST];
	struct tally t = { .rates = rates }, plain = { 0 };
	struct tally_spread s;

	(void)state;
	assert_true(tally_rate(&t) == 0);
	for (int i = 0; i < 5000; i++)
		tally_add(&t, 1, i % 10 == 0 ? 0.091 : 0.001);
	s = tally_spread(&t);
	assert_int_equal(t.n, 5000);
	assert_true(fabs(tally_rate(&t) - 100) < 1e-6);
	assert_true(fabs(s.median - 1000) < 1e-6);
	assert_true(fabs(s.best - 1000) < 1e-6);
	assert_true(s.p10 <= s.p90);
	t = (struct tally){ .rates = rates };
	tally_add(&t, 6, 2);
	s = tally_spread(&t);
	assert_true(tally_rate(&t) == 3);
	assert_true(s.median == 3);
	assert_true(s.best == 3);
	assert_true(s.p10 == 3);
	assert_true(t.n == 1);
	tally_add(&plain, 6, 2);
	tally_add(&plain, 2, 6);
	assert_true(tally_rate(&plain) == 1);
}

/* From 2 MiB on aligned to huge pages, and nothing is left behind at the ends. */
static void mapping(void **state)
{
	static const size_t sizes_kib[] = { 64, 2048, 4096, 6144 + 64 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes_kib) / sizeof(sizes_kib[0]); i++) {
		const size_t bytes = sizes_kib[i] << 10;
		char *p = memory_map(bytes);

		assert_non_null(p);
		assert_true(bytes < MEMORY_HUGE || (uintptr_t)p % MEMORY_HUGE == 0);
		p[0] = p[bytes - 1] = 1;
		assert_int_equal(munmap(p, bytes), 0);
	}
}

static void json(void **state)
{
	struct result r;
	char text[512] = "";
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	result_begin(&r, "k");
	result_bool(&r, "verified", true);
	result_number(&r, "x", 0.1);
	result_number(&r, "nan", NAN);
	result_number(&r, "inf", INFINITY);
	result_integer(&r, "n", -3);
	result_string(&r, "s", "a\"b\\c\n\x7f\xff");
	result_string(&r, "null", NULL);
	result_list_begin(&r, "list");
	for (int i = 0; i < 2; i++) {
		result_object_begin(&r);
		result_integer(&r, "i", i);
		result_object_end(&r);
	}
	result_list_end(&r);
	result_integer(&r, "last", 1);
	assert_true(result_write(&r, fds[1]));
	assert_true(read(fds[0], text, sizeof(text) - 1) > 0);
	assert_string_equal(text, "{\"kernel\":\"k\",\"v\":1,\"version\":\"" SYSCHECK_VERSION "\",\"verified\":true,"
				  "\"x\":0.1,\"nan\":null,\"inf\":null,\"n\":-3,"
				  "\"s\":\"a\\\"b\\\\c\\u000a\\u007f\\u00ff\",\"null\":null,"
				  "\"list\":[{\"i\":0},{\"i\":1}],\"last\":1}\n");
	close(fds[0]);
	close(fds[1]);
	result_begin(&r, "k");
	assert_false(result_write(&r, fds[1]));
}

static void pattern(void **state)
{
	uint64_t words[512];
	const size_t size = sizeof(words), far = (size_t)7 << 40;
	unsigned char *bytes = (unsigned char *)words;

	(void)state;
	pattern_fill(words, size, far, 5);
	assert_int_equal(pattern_check(words, size, far, 5), size);
	/* The neighbouring word, another place, another run's file: wrong from the start. */
	assert_true(pattern_check(words, size, far + 8, 5) < 8);
	assert_true(pattern_check(words, size, far - size, 5) < 8);
	assert_true(pattern_check(words, size, far, 6) < 8);
	for (size_t i = 0; i < size; i += 577) {
		bytes[i] ^= 1;
		assert_int_equal(pattern_check(words, size, far, 5), i);
		bytes[i] ^= 1;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles), cmocka_unit_test(sizes),   cmocka_unit_test(dgemm_sizes),
		cmocka_unit_test(limits),    cmocka_unit_test(tallies), cmocka_unit_test(mapping),
		cmocka_unit_test(json),      cmocka_unit_test(pattern),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
