/* splitmix64 (Steele, Lea, Flood 2014): every seed gives a full period. */
#ifndef SYSCHECK_RANDOM_H
#define SYSCHECK_RANDOM_H

#include <stdint.h>

#define RANDOM_GAMMA 0x9e3779b97f4a7c15u

static inline uint64_t random_mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* The state is a counter: number i of a seed is random_mix(seed + i RANDOM_GAMMA), i from 1 on. */
static inline uint64_t random_next(uint64_t *state)
{
	return random_mix(*state += RANDOM_GAMMA);
}

#endif
