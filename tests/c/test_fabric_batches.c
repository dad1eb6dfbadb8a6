/* The mean time of steps, and its standard error. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fabric/batches.h"

static void nothing(void **state)
{
	struct batches b;

	(void)state;
	batches_begin(&b, 5, 1);
	assert_true(isnan(batches_mean(&b)));
	assert_true(isnan(batches_error(&b)));
}

/* All steps alike: no doubt. The mean is from the first begin to the last end. */
static void alike(void **state)
{
	struct batches b;

	(void)state;
	batches_begin(&b, 100, 1);
	for (int i = 1; i <= 1000; i++)
		batches_add(&b, 100 + i * 0x1p-10);
	assert_int_equal(b.steps, 1000);
	assert_true(fabs(batches_mean(&b) - 0x1p-10) < 1e-12);
	assert_true(batches_error(&b) < 1e-12);
}

/* A slow half: batches differ by what halves do, which single steps, each as long as the next, would hide. */
static void halves(void **state)
{
	struct batches b;
	double now = 0;

	(void)state;
	batches_begin(&b, 0, 3);
	for (int i = 0; i < 2000; i++)
		batches_add(&b, now += i < 1000 ? 0.001 : 0.002);
	assert_true(fabs(batches_mean(&b) - 0.0015) < 1e-9);
	assert_true(b.n == 15 || b.n == 16);
	/* A third of the batches have 1 ms, two thirds 2 ms. */
	assert_true(fabs(batches_error(&b) - 0.000471 / sqrt(15)) < 0.00001);
}

/* Steps longer than a batch, and more of them than the time was for. */
static void few(void **state)
{
	struct batches b;

	(void)state;
	batches_begin(&b, 0, 1);
	batches_add(&b, 0.5);
	batches_add(&b, 1);
	batches_add(&b, 1.5);
	assert_true(fabs(batches_mean(&b) - 0.5) < 1e-12);
	assert_true(isnan(batches_error(&b)));
	for (int i = 0; i < 100; i++)
		batches_add(&b, 2 + i);
	assert_int_equal(b.n, BATCHES);
	assert_int_equal(b.steps, 103);
	assert_true(isfinite(batches_error(&b)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing), cmocka_unit_test(alike), cmocka_unit_test(halves), cmocka_unit_test(few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
