#include "stats.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void stats_sort(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), ascending);
}

double stats_quantile(const double *sorted, size_t n, double q)
{
	double at = q * (double)(n - 1), below = floor(at);
	size_t i = (size_t)below;

	if (i + 1 >= n)
		return sorted[n - 1];
	return sorted[i] + (at - below) * (sorted[i + 1] - sorted[i]);
}

void stats_medians(double *values, size_t n, size_t rounds)
{
	for (size_t i = 0; i < n; i++) {
		stats_sort(values + i * rounds, rounds);
		values[i] = stats_quantile(values + i * rounds, rounds, 0.5);
	}
}
