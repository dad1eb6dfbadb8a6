#include "exact.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/random.h"

#define VECTORS 2
#define VECTOR_BITS 20

/* Element i of a, then of b: any can be had alone. */
static int64_t input(const struct exact *x, size_t i)
{
	uint64_t r = random_mix(x->seed + ((uint64_t)i + 1) * RANDOM_GAMMA);
	int64_t size = 1 + (int64_t)(r & 7);

	return r & 8 ? size : -size;
}

static int64_t input_a(const struct exact *x, size_t row, size_t column)
{
	return input(x, row * x->k + column);
}

static int64_t input_b(const struct exact *x, size_t row, size_t column)
{
	return input(x, x->n * x->k + row * x->n + column);
}

void exact_inputs(const struct exact *x)
{
	const size_t elements = x->n * x->k;

	for (size_t i = 0; i < elements; i++)
		x->a[i] = (double)input(x, i);
	for (size_t i = 0; i < elements; i++)
		x->b[i] = (double)input(x, elements + i);
}

int64_t exact_element(const struct exact *x, size_t row, size_t column)
{
	int64_t sum = 0;

	for (size_t i = 0; i < x->k; i++)
		sum += input_a(x, row, i) * input_b(x, i, column);
	return sum;
}

/* Bits, not values: -0 for 0 is corruption, too. */
static bool differ(const double *a, const double *b, size_t n)
{
	return memcmp(a, b, n * sizeof(double)) != 0;
}

/* Notes an element that is not `expected`. */
static bool is_wrong(struct exact_fault *f, enum exact_what what, size_t row, size_t column, double got,
		     int64_t expected)
{
	double right = (double)expected;

	if (!differ(&got, &right, 1))
		return false;
	*f = (struct exact_fault){ what, row, column, got, expected };
	return true;
}

static bool wrong_a(const struct exact *x, struct exact_fault *f, size_t row)
{
	for (size_t i = 0; i < x->k; i++)
		if (is_wrong(f, EXACT_INPUT_A, row, i, x->a[row * x->k + i], input_a(x, row, i)))
			return true;
	return false;
}

static bool wrong_b(const struct exact *x, struct exact_fault *f, size_t row, size_t from, size_t to)
{
	for (size_t j = from; j < to; j++)
		if (is_wrong(f, EXACT_INPUT_B, row, j, x->b[row * x->n + j], input_b(x, row, j)))
			return true;
	return false;
}

static bool wrong_inputs(const struct exact *x, struct exact_fault *f)
{
	for (size_t i = 0; i < x->n; i++)
		if (wrong_a(x, f, i))
			return true;
	for (size_t i = 0; i < x->k; i++)
		if (wrong_b(x, f, i, 0, x->n))
			return true;
	return false;
}

/* An element of c is wrong: computed wrong, or from inputs that changed. */
static void blame(const struct exact *x, struct exact_fault *f)
{
	size_t row = f->row, column = f->column;

	if (wrong_a(x, f, row))
		return;
	for (size_t i = 0; i < x->k; i++)
		if (wrong_b(x, f, i, column, column + 1))
			return;
}

/* A wrong element may be anything, NaN too: checked before the cast. */
static bool is_plausible(double v)
{
	return fabs(v) <= 64.0 * EXACT_MAX_N && v == rint(v) && !(v == 0 && signbit(v));
}

/*
 * c x = a (b x) over the integers: the first row where it is not, or n. Bounds at n =
 * k = 4096: b x < 2^12 2^3 2^20 = 2^35, a (b x) < 2^50, c x < 2^12 2^18 2^20 = 2^50.
 */
static size_t wrong_row(const struct exact *m, const double *c, uint64_t *random)
{
	const size_t n = m->n, k = m->k;
	int64_t x[EXACT_MAX_N], bx[EXACT_MAX_N];

	for (size_t i = 0; i < n; i++)
		x[i] = (int64_t)(random_next(random) >> (64 - VECTOR_BITS));
	for (size_t i = 0; i < k; i++) {
		bx[i] = 0;
		for (size_t j = 0; j < n; j++)
			bx[i] += (int64_t)m->b[i * n + j] * x[j];
	}
	for (size_t i = 0; i < n; i++) {
		int64_t abx = 0, cx = 0;
		bool plausible = true;

		for (size_t j = 0; j < k; j++)
			abx += (int64_t)m->a[i * k + j] * bx[j];
		for (size_t j = 0; j < n; j++) {
			double v = c[i * n + j];

			plausible = plausible && is_plausible(v);
			cx += plausible ? (int64_t)v * x[j] : 0;
		}
		if (!plausible || abx != cx)
			return i;
	}
	return n;
}

struct exact_fault exact_verify(const struct exact *x, const double *c, uint64_t *random)
{
	struct exact_fault f = { .what = EXACT_RIGHT };
	size_t row = x->n;

	if (wrong_inputs(x, &f))
		return f;
	for (int v = 0; v < VECTORS && row == x->n; v++)
		row = wrong_row(x, c, random);
	if (row == x->n)
		return f;
	for (size_t j = 0; j < x->n; j++)
		if (is_wrong(&f, EXACT_RESULT, row, j, c[row * x->n + j], exact_element(x, row, j))) {
			blame(x, &f);
			return f;
		}
	return (struct exact_fault){ .what = EXACT_VANISHED, .row = row };
}

struct exact_fault exact_compare(const struct exact *x, const double *c, const double *reference)
{
	const size_t n = x->n;
	struct exact_fault f = { .what = EXACT_RIGHT };
	size_t at = 0;

	if (!differ(c, reference, n * n))
		return f;
	f.what = EXACT_VANISHED;
	while (at < n * n && !differ(&c[at], &reference[at], 1))
		at++;
	if (at < n * n) {
		size_t row = at / n, column = at % n;
		int64_t expected = exact_element(x, row, column);

		if (is_wrong(&f, EXACT_RESULT, row, column, c[at], expected))
			blame(x, &f);
		else if (!is_wrong(&f, EXACT_REFERENCE, row, column, reference[at], expected))
			f.row = row;
	}
	return f;
}

void exact_describe(const struct exact_fault *f, char *text, size_t size)
{
	static const char *const prefix[] = {
		[EXACT_RESULT] = "",
		[EXACT_REFERENCE] = "the reference changed in memory: ",
		[EXACT_INPUT_A] = "an input changed in memory: ",
		[EXACT_INPUT_B] = "an input changed in memory: ",
	};
	char name = 'C';

	if (f->what == EXACT_VANISHED) {
		snprintf(text, size, "a difference in C was seen, and was gone when looked at again");
		return;
	}
	if (f->what == EXACT_INPUT_A || f->what == EXACT_INPUT_B)
		name = f->what == EXACT_INPUT_A ? 'A' : 'B';
	snprintf(text, size, "%s%c[%zu][%zu] is %.17g, expected %" PRId64, prefix[f->what], name, f->row, f->column, f->got,
		 f->expected);
}
