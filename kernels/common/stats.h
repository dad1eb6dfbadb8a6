/* Order statistics. Pure. */
#ifndef SYSCHECK_STATS_H
#define SYSCHECK_STATS_H

#include <stddef.h>

/* Sorts ascending. */
void stats_sort(double *values, size_t n);

/*
 * Quantile q (0 to 1) of n > 0 sorted values, linear between neighbours
 * (Hyndman and Fan 1996, type 7: the default of R and NumPy).
 */
double stats_quantile(const double *sorted, size_t n, double q);

/* values[n][rounds] becomes values[n], the median of each row, in place. */
void stats_medians(double *values, size_t n, size_t rounds);

#endif
