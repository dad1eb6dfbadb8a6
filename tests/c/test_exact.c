/* dgemm's proof: any single flipped bit is found, and where it was flipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/random.h"
#include "dgemm/exact.h"

#define N 48
#define K 40
#define TRIALS 10000

static double a[N * K], b[K * N], right[N * N], c[N * N];
static const struct exact m = { .n = N, .k = K, .seed = 7, .a = a, .b = b };

static int set_up(void **state)
{
	(void)state;
	exact_inputs(&m);
	for (size_t i = 0; i < N * N; i++)
		right[i] = (double)exact_element(&m, i / N, i % N);
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

static bool is(struct exact_fault f, enum exact_what what, size_t row, size_t column)
{
	return f.what == what && f.row == row && f.column == column;
}

/* a b in floating point, as any DGEMM does it. */
static void multiply(double *result)
{
	for (size_t i = 0; i < N; i++)
		for (size_t j = 0; j < N; j++) {
			result[i * N + j] = 0;
			for (size_t l = 0; l < K; l++)
				result[i * N + j] += a[i * K + l] * b[l * N + j];
		}
}

static void right_is_right(void **state)
{
	(void)state;
	multiply(c);
	assert_memory_equal(c, right, sizeof(c));
	for (uint64_t seed = 0; seed < 100; seed++) {
		uint64_t random = seed;

		assert_int_equal(exact_verify(&m, right, &random).what, EXACT_RIGHT);
	}
	assert_int_equal(exact_compare(&m, c, right).what, EXACT_RIGHT);
	for (size_t i = 0; i < N * K; i++) {
		assert_true(a[i] == (double)(int)a[i]);
		assert_true(a[i] != 0);
		assert_true(a[i] >= -8);
		assert_true(a[i] <= 8);
		assert_true(b[i] == (double)(int)b[i]);
		assert_true(b[i] != 0);
		assert_true(b[i] >= -8);
		assert_true(b[i] <= 8);
	}
}

/* At a random place of a result, and of the reference: each is blamed for its own. */
static void every_flip_is_found(void **state)
{
	uint64_t random = 20261121;

	(void)state;
	for (int i = 0; i < TRIALS; i++) {
		uint64_t r = random_next(&random);
		size_t place = (size_t)(r >> 8) % (N * N), row = place / N, column = place % N;
		struct exact_fault f;

		flip(&c[place], r & 63);
		f = exact_compare(&m, c, right);
		if (!is(exact_verify(&m, c, &random), EXACT_RESULT, row, column) || !is(f, EXACT_RESULT, row, column))
			fail_msg("bit %d of element %zu was not found", (int)(r & 63), place);
		assert_memory_equal(&f.got, &c[place], sizeof(f.got));
		assert_true((double)f.expected == right[place]);
		if (!is(exact_compare(&m, right, c), EXACT_REFERENCE, row, column))
			fail_msg("bit %d of element %zu of the reference was not found", (int)(r & 63), place);
		flip(&c[place], r & 63);
	}
}

/* An input that changed: before the first result, and after it was verified. */
static void every_input_flip_is_found(void **state)
{
	uint64_t random = 20261122;

	(void)state;
	for (int i = 0; i < TRIALS / 10; i++) {
		uint64_t r = random_next(&random);
		bool in_a = r & 64;
		double *input = in_a ? a : b;
		enum exact_what what = in_a ? EXACT_INPUT_A : EXACT_INPUT_B;
		size_t place = (size_t)(r >> 8) % (N * K), row = place / (in_a ? K : N), column = place % (in_a ? K : N);

		flip(&input[place], r & 63);
		multiply(c);
		if (!is(exact_verify(&m, c, &random), what, row, column))
			fail_msg("bit %d of %c[%zu][%zu] was not found first", (int)(r & 63), in_a ? 'A' : 'B', row, column);
		/* A change below the result's last digit changes none: nothing is wrong then. */
		if (memcmp(c, right, sizeof(c)) != 0 && !is(exact_compare(&m, c, right), what, row, column))
			fail_msg("bit %d of %c[%zu][%zu] was not found", (int)(r & 63), in_a ? 'A' : 'B', row, column);
		flip(&input[place], r & 63);
	}
	memcpy(c, right, sizeof(c));
}

/* Half of all elements: the first is settled, no more. */
static void many_wrong(void **state)
{
	uint64_t random = 3;

	(void)state;
	for (size_t i = 1; i < N * N; i += 2)
		c[i] += 1;
	assert_true(is(exact_compare(&m, c, right), EXACT_RESULT, 0, 1));
	assert_true(is(exact_compare(&m, right, c), EXACT_REFERENCE, 0, 1));
	assert_true(is(exact_verify(&m, c, &random), EXACT_RESULT, 0, 1));
	memcpy(c, right, sizeof(c));
}

/* Both wrong, in the same place: the result is named. */
static void both_wrong(void **state)
{
	(void)state;
	c[100] += 1;
	right[100] -= 1;
	assert_true(is(exact_compare(&m, c, right), EXACT_RESULT, 100 / N, 100 % N));
	c[100] -= 1;
	right[100] += 1;
}

static void told(void **state)
{
	static const struct {
		enum exact_what what;
		const char *text;
	} rows[] = {
		{ EXACT_RESULT, "C[5][7] is 1.5, expected -2" },
		{ EXACT_REFERENCE, "the reference changed in memory: C[5][7] is 1.5, expected -2" },
		{ EXACT_INPUT_A, "an input changed in memory: A[5][7] is 1.5, expected -2" },
		{ EXACT_INPUT_B, "an input changed in memory: B[5][7] is 1.5, expected -2" },
		{ EXACT_VANISHED, "a difference in C was seen, and was gone when looked at again" },
	};
	char text[160];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct exact_fault f = { .what = rows[i].what, .row = 5, .column = 7, .got = 1.5, .expected = -2 };

		exact_describe(&f, text, sizeof(text));
		assert_string_equal(text, rows[i].text);
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
	assert_true(is(exact_verify(&m, c, &random), EXACT_RESULT, zero / N, zero % N));
	assert_true(is(exact_compare(&m, c, right), EXACT_RESULT, zero / N, zero % N));
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
		assert_true(is(exact_verify(&m, c, &random), EXACT_RESULT, 0, 17));
		assert_true(is(exact_compare(&m, c, right), EXACT_RESULT, 0, 17));
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
	assert_true(is(exact_verify(&m, c, &random), EXACT_RESULT, 0, 5));
	memcpy(c, right, sizeof(c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(right_is_right),
		cmocka_unit_test(every_flip_is_found),
		cmocka_unit_test(every_input_flip_is_found),
		cmocka_unit_test(many_wrong),
		cmocka_unit_test(both_wrong),
		cmocka_unit_test(told),
		cmocka_unit_test(minus_zero),
		cmocka_unit_test(wild_values),
		cmocka_unit_test(cancelling_pair),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
