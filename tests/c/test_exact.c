/* dgemm's proof: any single flipped bit of a result is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/exact.h"

#define N 48
#define K 40
#define TRIALS 10000

static double a[N * K], b[K * N], right[N * N], c[N * N];

static int set_up(void **state)
{
	uint64_t random = 7;

	(void)state;
	exact_fill(a, N * K, &random);
	exact_fill(b, K * N, &random);
	for (size_t i = 0; i < N * N; i++)
		right[i] = (double)exact_element(a, b, N, K, i / N, i % N);
	memcpy(c, right, sizeof(c));
	return 0;
}

static void flip(double *v, unsigned bit)
{
	uint64_t bits;

	memcpy(&bits, v, sizeof(bits));
	bits ^= (uint64_t)1 << bit;
	memcpy(v, &bits, sizeof(bits));
}

static void right_is_right(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 100; seed++) {
		uint64_t random = seed;

		assert_int_equal(exact_verify(a, b, right, N, K, &random), N * N);
	}
	assert_int_equal(exact_compare(a, b, c, right, N, K), N * N);
}

/* At a random place of the result that the others are held to, and of the others. */
static void every_flip_is_found(void **state)
{
	uint64_t random = 20261121;

	(void)state;
	for (int i = 0; i < TRIALS; i++) {
		uint64_t r = exact_random(&random);
		size_t place = (size_t)(r >> 8) % (N * N);

		flip(&c[place], r & 63);
		if (exact_verify(a, b, c, N, K, &random) != place || exact_compare(a, b, c, right, N, K) != place)
			fail_msg("bit %d of element %zu was not found", (int)(r & 63), place);
		/* The reference is the wrong one: the core with the right result is not blamed. */
		assert_int_equal(exact_compare(a, b, right, c, N, K), N * N);
		flip(&c[place], r & 63);
	}
}

/* A zero and its sign: equal as numbers. */
static void minus_zero(void **state)
{
	uint64_t random = 1;
	size_t zero = N * N;

	(void)state;
	for (size_t i = 0; i < N * N; i++)
		zero = right[i] == 0 ? i : zero;
	assert_true(zero < N * N);
	flip(&c[zero], 63);
	assert_int_equal(exact_verify(a, b, c, N, K, &random), zero);
	assert_int_equal(exact_compare(a, b, c, right, N, K), zero);
	flip(&c[zero], 63);
}

/* Values of the kind that hardware makes: no cast may trap or be undefined. */
static void wild_values(void **state)
{
	const double wild[] = { 1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0, 1e300, 5e-324, 0.5 };
	uint64_t random = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(wild) / sizeof(wild[0]); i++) {
		c[17] = wild[i];
		assert_int_equal(exact_verify(a, b, c, N, K, &random), 17);
		c[17] = right[17];
	}
}

/* Two wrong elements in a row that cancel in a plain sum. */
static void cancelling_pair(void **state)
{
	uint64_t random = 1;

	(void)state;
	c[5] += 1;
	c[6] -= 1;
	assert_int_equal(exact_verify(a, b, c, N, K, &random), 5);
	memcpy(c, right, sizeof(c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(right_is_right), cmocka_unit_test(every_flip_is_found), cmocka_unit_test(minus_zero),
		cmocka_unit_test(wild_values),    cmocka_unit_test(cancelling_pair),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
