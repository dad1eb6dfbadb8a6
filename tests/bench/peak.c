/*
 * peak SECONDS: what one core's floating-point units can do: independent fused
 * multiply-adds of the widest kind, all in registers. Prints "GFLOP/s MHz".
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "dgemm/chain.h"

#define CHAINS 12 /* more than latency (4 to 5) times units (2) */
#define LOOPS 100000

#if defined(__x86_64__)
#define WIDEST __attribute__((target_clones("avx512f", "avx2,fma", "default"), noinline))
#else
#define WIDEST __attribute__((noinline))
#endif
#define LANES 8

typedef double vector __attribute__((vector_size(sizeof(double) * LANES)));

WIDEST static double work(long loops)
{
	vector a[CHAINS], x, y, sum = { 0 };

	for (int j = 0; j < LANES; j++) {
		x[j] = 0.999;
		y[j] = 1e-3;
	}
	for (int i = 0; i < CHAINS; i++)
		a[i] = y + i;
	for (long k = 0; k < loops; k++)
		for (int i = 0; i < CHAINS; i++)
			a[i] = a[i] * x + y;
	for (int i = 0; i < CHAINS; i++)
		sum += a[i];
	return sum[0];
}

int main(int argc, char **argv)
{
	double end = clock_now() + (argc == 2 ? atof(argv[1]) : 0.5), best = 0, mhz = 0;
	volatile double sink;

	do {
		double from = clock_now(), rate, now;

		sink = work(LOOPS);
		now = clock_now();
		rate = 2.0 * CHAINS * LANES * LOOPS / (now - from) * 1e-9;
		if (rate > best) {
			best = rate;
			mhz = chain_mhz();
		}
	} while (clock_now() < end);
	(void)sink;
	printf("%.2f %.0f\n", best, mhz);
	return 0;
}
