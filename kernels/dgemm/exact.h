/*
 * Matrix products that are exact whatever the order of summation, the proof that a
 * product is right, by integers, and what went wrong where one is not. Pure. All
 * matrices are row-major: a is n x k, b k x n, c n x n; n, k <= EXACT_MAX_N.
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

struct exact {
	size_t n, k;
	uint64_t seed; /* of which exact_inputs() makes a and b: what they should be is always known */
	double *a, *b;
};

enum exact_what {
	EXACT_RIGHT,
	EXACT_RESULT,    /* c is not a b */
	EXACT_REFERENCE, /* c is, what it is compared with is not */
	EXACT_INPUT_A,   /* an input is no more what the seed made */
	EXACT_INPUT_B,
	EXACT_VANISHED, /* a difference was seen, and all was right when read again */
};

struct exact_fault {
	enum exact_what what;
	size_t row, column; /* of c, the reference (the same place), a or b; of VANISHED the row at best */
	double got;
	int64_t expected;
};

void exact_inputs(const struct exact *x);

/* The one right value of element (row, column) of a b, from the seed, not from memory. */
int64_t exact_element(const struct exact *x, size_t row, size_t column);

/*
 * Are the inputs what the seed made, and is c their product? Freivalds' check (1977)
 * with two random vectors of 20-bit integers: one wrong element escapes once in 2^40.
 * O(n (n + k)). `random`: the vectors' state.
 */
struct exact_fault exact_verify(const struct exact *x, const double *c, uint64_t *random);

/*
 * Compares c with `reference`, which was verified, bit by bit. Any difference is a
 * fault; the first differing element, computed in integers, shows of what. O(n^2 + k).
 */
struct exact_fault exact_compare(const struct exact *x, const double *c, const double *reference);

/* "C[5][7] is 3, expected 2"; not for EXACT_RIGHT. */
void exact_describe(const struct exact_fault *fault, char *text, size_t size);

#endif
