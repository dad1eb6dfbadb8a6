/*
 * peak SECONDS [avx2]: what one core's floating-point units can do: independent fused
 * multiply-adds of the widest kind, or of AVX2's, all in registers. Prints "GFLOP/s MHz".
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "dgemm/chain.h"

#define CHAINS 12 /* more than latency (4 to 5) times units (2), and with two factors fewer than 16 registers */
#define LOOPS 100000

/* Multiply-adds of LOOPS x CHAINS vectors; the sum, so that none is left out. */
struct peak {
	double lanes;
	double (*work)(void);
};

/*
 * By intrinsics and not by GCC's vectors: those are taken apart for the oldest CPU before a
 * function is made for a newer one.
 */
#define WORK(ISA, TARGET, V, LANES, SET, FMA, STORE)                    \
	TARGET static double work_##ISA(void)                           \
	{                                                               \
		const V x = SET(0.999), y = SET(1e-3);                  \
		double lanes[LANES], sum = 0;                           \
		V a[CHAINS];                                            \
                                                                        \
		for (int i = 0; i < CHAINS; i++)                        \
			a[i] = SET(i);                                  \
		for (long k = 0; k < LOOPS; k++)                        \
			_Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) a[i] = FMA(a[i], x, y); \
		for (int i = 0; i < CHAINS; i++) {                      \
			STORE(lanes, a[i]);                             \
			sum += lanes[0];                                \
		}                                                       \
		return sum;                                             \
	}                                                               \
	static const struct peak ISA = { LANES, work_##ISA };

#if defined(__x86_64__)
#include <immintrin.h>

WORK(avx512, __attribute__((target("avx512f"), noinline)), __m512d, 8, _mm512_set1_pd, _mm512_fmadd_pd, _mm512_storeu_pd)
WORK(avx2, __attribute__((target("avx2,fma"), noinline)), __m256d, 4, _mm256_set1_pd, _mm256_fmadd_pd, _mm256_storeu_pd)

#define sse2_fma(a, b, c) _mm_add_pd(_mm_mul_pd(a, b), c)
WORK(sse2, __attribute__((noinline)), __m128d, 2, _mm_set1_pd, sse2_fma, _mm_storeu_pd)

static const struct peak *choose(bool narrow)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx512f") && !narrow ? &avx512 : __builtin_cpu_supports("fma") ? &avx2 : &sse2;
}
#elif defined(__aarch64__)
#include <arm_neon.h>

#define neon_fma(a, b, c) vfmaq_f64(c, a, b)
WORK(neon, __attribute__((noinline)), float64x2_t, 2, vdupq_n_f64, neon_fma, vst1q_f64)

static const struct peak *choose(bool narrow)
{
	(void)narrow;
	return &neon;
}
#else
#define one(v) ((double)(v))
#define scalar_fma(a, b, c) ((a) * (b) + (c))
#define scalar_store(to, v) (*(to) = (v))
WORK(scalar, __attribute__((noinline)), double, 1, one, scalar_fma, scalar_store)

static const struct peak *choose(bool narrow)
{
	(void)narrow;
	return &scalar;
}
#endif

int main(int argc, char **argv)
{
	double end = clock_now() + (argc > 1 ? atof(argv[1]) : 0.5), best = 0, mhz = 0;
	const struct peak *p = choose(argc > 2 && strcmp(argv[2], "avx2") == 0);
	volatile double sink;

	do {
		double from = clock_now(), rate, now;

		sink = p->work();
		now = clock_now();
		rate = 2.0 * CHAINS * p->lanes * LOOPS / (now - from) * 1e-9;
		best = fmax(best, rate);
		/* What comes in between only lowers either. */
		mhz = fmax(mhz, chain_mhz());
	} while (clock_now() < end);
	(void)sink;
	printf("%.2f %.0f\n", best, mhz);
	return 0;
}
