#include "ops.h"

#include <stdbool.h>
#include <string.h>

/* The compiler's own; the only one where the machine is no x86-64. */
static void copy_generic(double *restrict c, const double *restrict a, size_t n)
{
	for (size_t i = 0; i < n; i++)
		c[i] = a[i];
}

static void scale_generic(double *restrict b, const double *restrict c, double s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		b[i] = s * c[i];
}

static void add_generic(double *restrict c, const double *restrict a, const double *restrict b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		c[i] = a[i] + b[i];
}

static void triad_generic(double *restrict a, const double *restrict b, const double *restrict c, double s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		a[i] = b[i] + s * c[i];
}

static const struct ops generic = { "generic", "regular", copy_generic, scale_generic, add_generic, triad_generic };

#if defined(__x86_64__)
#include <immintrin.h>

/*
 * One text for three instruction sets: V is the vector, W its doubles. A whole cache
 * line per step, so that its write-combining buffer is full before it is left.
 * Prefetch instructions 2 to 32 KiB ahead made no measurable difference.
 */
/* A type and names of variables cannot be put in parentheses. NOLINTBEGIN(bugprone-macro-parentheses) */
#define OPS(ISA, TARGET, V, W, LOAD, STREAM, SET, ADD, MUL)                                                         \
	__attribute__((target(TARGET))) static void copy_##ISA(double *restrict c, const double *restrict a,        \
							       size_t n)                                            \
	{                                                                                                           \
		for (size_t i = 0; i < n; i += 8)                                                                   \
			for (size_t j = 0; j < 8; j += (W))                                                         \
				STREAM(c + i + j, LOAD(a + i + j));                                                 \
		_mm_sfence();                                                                                       \
	}                                                                                                           \
	__attribute__((target(TARGET))) static void scale_##ISA(double *restrict b, const double *restrict c,       \
								double s, size_t n)                                 \
	{                                                                                                           \
		const V factor = SET(s);                                                                            \
                                                                                                                    \
		for (size_t i = 0; i < n; i += 8)                                                                   \
			for (size_t j = 0; j < 8; j += (W))                                                         \
				STREAM(b + i + j, MUL(factor, LOAD(c + i + j)));                                    \
		_mm_sfence();                                                                                       \
	}                                                                                                           \
	__attribute__((target(TARGET))) static void add_##ISA(double *restrict c, const double *restrict a,         \
							      const double *restrict b, size_t n)                   \
	{                                                                                                           \
		for (size_t i = 0; i < n; i += 8)                                                                   \
			for (size_t j = 0; j < 8; j += (W))                                                         \
				STREAM(c + i + j, ADD(LOAD(a + i + j), LOAD(b + i + j)));                           \
		_mm_sfence();                                                                                       \
	}                                                                                                           \
	__attribute__((target(TARGET))) static void triad_##ISA(double *restrict a, const double *restrict b,       \
								const double *restrict c, double s, size_t n)       \
	{                                                                                                           \
		const V factor = SET(s);                                                                            \
                                                                                                                    \
		for (size_t i = 0; i < n; i += 8)                                                                   \
			for (size_t j = 0; j < 8; j += (W))                                                         \
				STREAM(a + i + j, ADD(LOAD(b + i + j), MUL(factor, LOAD(c + i + j))));              \
		_mm_sfence();                                                                                       \
	}                                                                                                           \
	static const struct ops ISA = { #ISA, "nt", copy_##ISA, scale_##ISA, add_##ISA, triad_##ISA };

/* NOLINTEND(bugprone-macro-parentheses) */
OPS(sse2, "sse2", __m128d, 2, _mm_load_pd, _mm_stream_pd, _mm_set1_pd, _mm_add_pd, _mm_mul_pd)
OPS(avx2, "avx2", __m256d, 4, _mm256_load_pd, _mm256_stream_pd, _mm256_set1_pd, _mm256_add_pd, _mm256_mul_pd)
OPS(avx512, "avx512f", __m512d, 8, _mm512_load_pd, _mm512_stream_pd, _mm512_set1_pd, _mm512_add_pd, _mm512_mul_pd)

const char *const ops_isas[] = { "auto", "generic", "sse2", "avx2", "avx512", NULL };

const struct ops *ops_choose(const char *isa)
{
	const bool any = isa == NULL || strcmp(isa, "auto") == 0;

	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f") && (any || strcmp(isa, "avx512") == 0))
		return &avx512;
	if (__builtin_cpu_supports("avx2") && (any || strcmp(isa, "avx2") == 0))
		return &avx2;
	if (any || strcmp(isa, "sse2") == 0)
		return &sse2;
	return strcmp(isa, "generic") == 0 ? &generic : NULL;
}

#else

const char *const ops_isas[] = { "auto", "generic", NULL };

const struct ops *ops_choose(const char *isa)
{
	return isa == NULL || strcmp(isa, "auto") == 0 || strcmp(isa, "generic") == 0 ? &generic : NULL;
}

#endif
