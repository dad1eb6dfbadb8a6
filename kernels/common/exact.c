#include "exact.h"

#include <math.h>
#include <string.h>

#define VECTORS 2
#define VECTOR_BITS 20

uint64_t exact_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

void exact_fill(double *m, size_t elements, uint64_t *state)
{
	for (size_t i = 0; i < elements; i++) {
		uint64_t r = exact_random(state);
		double size = 1 + (double)(r & 7);

		m[i] = r & 8 ? size : -size;
	}
}

int64_t exact_element(const double *a, const double *b, size_t n, size_t k, size_t row, size_t column)
{
	int64_t sum = 0;

	for (size_t i = 0; i < k; i++)
		sum += (int64_t)a[row * k + i] * (int64_t)b[i * n + column];
	return sum;
}

/* Bits, not values: -0 for 0 is corruption, too. */
static bool differ(const double *a, const double *b, size_t n)
{
	return memcmp(a, b, n * sizeof(double)) != 0;
}

static bool is_wrong(const double *a, const double *b, const double *c, size_t n, size_t k, size_t row, size_t column)
{
	double right = (double)exact_element(a, b, n, k, row, column);

	return differ(&c[row * n + column], &right, 1);
}

/* A wrong element may be anything, NaN too: a look before the cast. */
static bool is_plausible(double v)
{
	return fabs(v) <= 64.0 * EXACT_MAX_N && v == rint(v) && !(v == 0 && signbit(v));
}

/*
 * c x = a (b x) over the integers. Bounds at n = k = 4096: b x < 2^12 2^3 2^20 = 2^35,
 * a (b x) < 2^50, c x < 2^12 2^18 2^20 = 2^50.
 */
static size_t wrong_by_vector(const double *a, const double *b, const double *c, size_t n, size_t k, uint64_t *state)
{
	int64_t x[EXACT_MAX_N], bx[EXACT_MAX_N];

	for (size_t i = 0; i < n; i++)
		x[i] = (int64_t)(exact_random(state) >> (64 - VECTOR_BITS));
	for (size_t i = 0; i < k; i++) {
		bx[i] = 0;
		for (size_t j = 0; j < n; j++)
			bx[i] += (int64_t)b[i * n + j] * x[j];
	}
	for (size_t i = 0; i < n; i++) {
		int64_t abx = 0, cx = 0;
		bool plausible = true;

		for (size_t j = 0; j < k; j++)
			abx += (int64_t)a[i * k + j] * bx[j];
		for (size_t j = 0; j < n; j++) {
			double v = c[i * n + j];

			plausible = plausible && is_plausible(v);
			cx += plausible ? (int64_t)v * x[j] : 0;
		}
		if (plausible && abx == cx)
			continue;
		for (size_t j = 0; j < n; j++)
			if (is_wrong(a, b, c, n, k, i, j))
				return i * n + j;
	}
	return n * n;
}

size_t exact_verify(const double *a, const double *b, const double *c, size_t n, size_t k, uint64_t *state)
{
	size_t wrong = n * n;

	for (int v = 0; v < VECTORS && wrong == n * n; v++)
		wrong = wrong_by_vector(a, b, c, n, k, state);
	return wrong;
}

size_t exact_compare(const double *a, const double *b, const double *c, const double *reference, size_t n, size_t k)
{
	if (!differ(c, reference, n * n))
		return n * n;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			if (differ(&c[i * n + j], &reference[i * n + j], 1) && is_wrong(a, b, c, n, k, i, j))
				return i * n + j;
	return n * n;
}
