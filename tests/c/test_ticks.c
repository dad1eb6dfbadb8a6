/* The counter's rate: found while no CPU is used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "noise/ticks.h"

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/* A quota may leave 5 ms of every 100: what calibration used of it, the samples lack. */
static void calibration_sleeps(void **state)
{
	struct ticks_mark from, to;
	double used, took, rate;

	(void)state;
	if (!ticks_constant())
		skip(); /* as on such a machine the clock is taken, which needs no calibration */
	from = ticks_mark(true);
	used = cpu_s();
	rate = ticks_calibrate(true);
	used = cpu_s() - used;
	to = ticks_mark(true);
	took = to.raw - from.raw;
	assert_true(used < took / 2);
	assert_true(rate > 0.99 * ticks_rate(&from, &to));
	assert_true(rate < 1.01 * ticks_rate(&from, &to));
}

static void system_clock_is_ns(void **state)
{
	(void)state;
	assert_true(ticks_calibrate(false) == 1e9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calibration_sleeps),
		cmocka_unit_test(system_clock_is_ns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
