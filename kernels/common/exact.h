/*
 * Matrix products that are exact whatever the order of summation, and the proof that
 * a product is right, by integers. Pure. All matrices are row-major: a is n x k, b k x n, c n x n; n, k <=
 * EXACT_MAX_N.
 *
 * The inputs are integers from -8 to 8 without 0. A sum of k products is at most
 * 64 k <= 2^18 in size: every partial sum is exact in a double, with or without FMA.
 * So any differing bit is corruption.
 */
#ifndef SYSCHECK_EXACT_H
#define SYSCHECK_EXACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXACT_MAX_N 4096

/* splitmix64 (Steele, Lea, Flood 2014). */
uint64_t exact_random(uint64_t *state);

void exact_fill(double *m, size_t elements, uint64_t *state);

/* The one right value of element (row, column) of a b. */
int64_t exact_element(const double *a, const double *b, size_t n, size_t k, size_t row, size_t column);

/*
 * Index of a wrong element of c, which should be a b; n * n if all are right. Freivalds'
 * check (1977) with two random vectors of 20-bit integers: one wrong element escapes
 * once in 2^40. O(n (n + k)).
 */
size_t exact_verify(const double *a, const double *b, const double *c, size_t n, size_t k, uint64_t *state);

/*
 * Compares c with `reference`, another result of a b, bit by bit, and settles by
 * integers which of the two is wrong. Index of a wrong element of c; n * n if none is.
 */
size_t exact_compare(const double *a, const double *b, const double *c, const double *reference, size_t n, size_t k);

#endif
