/* Random numbers that are the same everywhere for the same seed: xoshiro256**, seeded by splitmix64. */
#ifndef NOISE_WORLD_RNG_H
#define NOISE_WORLD_RNG_H

#include <math.h>
#include <stdint.h>

struct rng {
	uint64_t s[4];
};

static inline uint64_t rng_mix(uint64_t *x)
{
	uint64_t z = (*x += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* A stream of its own for each pair (a, b) of one seed: one more node changes no other node. */
static inline struct rng rng_make(uint64_t seed, uint64_t a, uint64_t b)
{
	struct rng r;
	uint64_t x = seed;

	x = rng_mix(&x) ^ a;
	x = rng_mix(&x) ^ b;
	for (int i = 0; i < 4; i++)
		r.s[i] = rng_mix(&x);
	return r;
}

static inline uint64_t rng_next(struct rng *r)
{
	uint64_t *s = r->s, out = s[1] * 5, t = s[1] << 17;

	out = ((out << 7) | (out >> 57)) * 9;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = (s[3] << 45) | (s[3] >> 19);
	return out;
}

/* [0, 1) */
static inline double rng_unit(struct rng *r)
{
	return (double)(rng_next(r) >> 11) * 0x1p-53;
}

/* 0 .. n-1; n far below 2^32 */
static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
	return (uint32_t)(((rng_next(r) >> 32) * n) >> 32);
}

static inline double rng_uniform(struct rng *r, double lo, double hi)
{
	return lo + (hi - lo) * rng_unit(r);
}

/* Uniform in the logarithm: each decade alike. */
static inline double rng_decades(struct rng *r, double lo, double hi)
{
	return lo * pow(hi / lo, rng_unit(r));
}

static inline double rng_exp(struct rng *r, double mean)
{
	return -mean * log(1 - rng_unit(r));
}

static inline double rng_normal(struct rng *r)
{
	double u = 1 - rng_unit(r);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * rng_unit(r));
}

#endif
