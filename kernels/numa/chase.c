#include "chase.h"

#include "common/random.h"

/* 0 .. n-1; n < 2^32, so that the bias of the multiplication is below 2^-32. */
static size_t below(uint64_t *state, size_t n)
{
	return (size_t)(((random_next(state) >> 32) * n) >> 32);
}

/* Fisher and Yates */
static void shuffle(uint32_t *v, size_t n, uint64_t *state)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = below(state, i);
		uint32_t t = v[i - 1];

		v[i - 1] = v[j];
		v[j] = t;
	}
}

void chase_order(uint32_t *order, size_t n, size_t block, uint64_t seed)
{
	size_t blocks = block == 0 || block >= n ? 1 : n / block;

	/* The last block takes what is left over. */
	for (size_t b = 0, at = 0, first = below(&seed, blocks); b < blocks; b++) {
		size_t which = (first + b) % blocks, from = blocks == 1 ? 0 : which * block;
		size_t size = which == blocks - 1 ? n - from : block;

		for (size_t i = 0; i < size; i++)
			order[at + i] = (uint32_t)(from + i);
		shuffle(order + at, size, &seed);
		at += size;
	}
}

static char *line(const struct chase *c, size_t visit)
{
	return c->base + (size_t)c->order[visit] * c->stride;
}

void chase_lay(const struct chase *c)
{
	for (size_t i = 0; i < c->n; i++)
		*(char **)line(c, i) = line(c, i + 1 < c->n ? i + 1 : 0);
}

#if defined(__x86_64__)
#include <immintrin.h>

void chase_flush(const struct chase *c, size_t steps)
{
	size_t at = c->at;

	for (size_t i = 0; i < steps && i < c->n; i++) {
		_mm_clflush(line(c, at));
		at = at + 1 < c->n ? at + 1 : 0;
	}
	_mm_mfence();
}

#else

void chase_flush(const struct chase *c, size_t steps)
{
	(void)c;
	(void)steps;
}

#endif

bool chase_walk(struct chase *c, size_t steps)
{
	const uintptr_t base = (uintptr_t)c->base;
	const size_t last = (c->n - 1) * c->stride;
	char *p = line(c, c->at);

	/*
	 * The comparison waits for the load, the next load does not wait for the comparison:
	 * it costs no latency, and a corrupt pointer ends the walk instead of the process.
	 */
	for (size_t i = 0; i < steps; i++) {
		p = *(char **)p;
		if ((uintptr_t)p - base > last)
			return false;
	}
	c->at = (c->at + steps) % c->n;
	return p == line(c, c->at);
}
