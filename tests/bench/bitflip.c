/*
 * bitflip TRIALS: flips one random bit of a result of dgemm's, in the reference and in
 * what is compared with it, and counts how often the kernel's proof finds it at its
 * place. Prints "found trials".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "common/random.h"
#include "dgemm/exact.h"

#define N 384 /* dgemm's smallest size; the proof is the same for all */

int main(int argc, char **argv)
{
	const size_t bytes = sizeof(double) * N * N;
	double *c = malloc(bytes), *reference = malloc(bytes);
	struct exact m = { .n = N, .k = N, .seed = 20261121, .a = malloc(bytes), .b = malloc(bytes) };
	long trials = argc == 2 ? strtol(argv[1], NULL, 10) : 0, found = 0;
	uint64_t random = 20261121;

	if (trials < 1 || !m.a || !m.b || !c || !reference) {
		fprintf(stderr, "usage: bitflip TRIALS\n");
		return 2;
	}
	exact_inputs(&m);
	cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1.0, m.a, N, m.b, N, 0.0, reference, N);
	memcpy(c, reference, bytes);
	for (long i = 0; i < trials; i++) {
		uint64_t r = random_next(&random), bits;
		size_t place = (size_t)(r >> 8) % ((size_t)N * N);
		struct exact_fault f;

		memcpy(&bits, &c[place], sizeof(bits));
		bits ^= (uint64_t)1 << (r & 63);
		memcpy(&c[place], &bits, sizeof(bits));
		/* In turn: as the first result, and as a later one. */
		f = i % 2 ? exact_verify(&m, c, &random) : exact_compare(&m, c, reference);
		found += f.what == EXACT_RESULT && f.row * N + f.column == place;
		c[place] = reference[place];
	}
	printf("%ld %ld\n", found, trials);
	return 0;
}
