#include "pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "clock.h"
#include "memory.h"

/* 6 MiB: whole huge pages, so that two threads seldom fault the same one. */
#define CLAIM 8

/* c = 1 + (i mod 1024): a value that came to the wrong place shows. */
#define PATTERN 1024

enum { X, Y, C };

static double *array(const struct pool *p, size_t block, int which)
{
	return (double *)(void *)(p->memory + block * POOL_BLOCK) + (size_t)which * POOL_ELEMENTS;
}

static double pattern(size_t i)
{
	return 1.0 + (double)(i % PATTERN);
}

bool pool_map(struct pool *p, size_t blocks)
{
	*p = (struct pool){ .bytes = blocks * POOL_BLOCK, .blocks = blocks };
	p->triads = calloc(blocks, sizeof(*p->triads));
	p->memory = p->triads ? memory_map(p->bytes) : NULL;
	return p->memory != NULL;
}

void pool_unmap(struct pool *p, int member, int members)
{
	/* Whole huge pages for each: half of one would have to be split. */
	const size_t pages = (p->bytes + MEMORY_HUGE - 1) / MEMORY_HUGE;
	const size_t from = pages * (size_t)member / (size_t)members * MEMORY_HUGE;
	const size_t to = pages * ((size_t)member + 1) / (size_t)members * MEMORY_HUGE;

	if (from < to)
		munmap(p->memory + from, (to < p->bytes ? to : p->bytes) - from);
}

void pool_free(struct pool *p)
{
	free(p->triads);
	p->memory = NULL;
	p->triads = NULL;
}

/* The next blocks that no other thread has: from `*block` to the result; none if equal. */
static size_t claim(struct pool *p, size_t *block)
{
	size_t end;

	*block = atomic_fetch_add(&p->claimed, CLAIM);
	if (*block > p->blocks)
		*block = p->blocks;
	end = *block + CLAIM;
	return end < p->blocks ? end : p->blocks;
}

void pool_touch(struct pool *p, double until, size_t least, double latest)
{
	for (;;) {
		size_t claimed = atomic_load(&p->claimed), block, end;

		if (claimed > 0 && clock_now() >= (claimed < least ? latest : until))
			return;
		end = claim(p, &block);

		if (block == end)
			return;
		for (; block < end; block++) {
			double *x = array(p, block, X), *y = array(p, block, Y), *c = array(p, block, C);

			for (size_t i = 0; i < POOL_ELEMENTS; i++) {
				x[i] = 0;
				y[i] = 0;
				c[i] = pattern(i);
			}
		}
	}
}

void pool_touched(struct pool *p)
{
	size_t touched = atomic_load(&p->claimed);

	if (touched < p->blocks)
		p->blocks = touched;
	atomic_store(&p->claimed, 0);
}

/*
 * x = y + c, then y = x + c, in turn: after k triads the newer of both is k c. Every
 * triad changes every element, so that a lost or wrong write is carried to the end.
 */
static void triad(struct pool *p, const struct ops *ops, size_t block)
{
	bool even = p->triads[block]++ % 2 == 0;

	ops->triad(array(p, block, even ? X : Y), array(p, block, even ? Y : X), array(p, block, C), 1, POOL_ELEMENTS);
}

size_t pool_triad(struct pool *p, const struct ops *ops, int member, int members, double until, double *seconds)
{
	size_t first = (size_t)member, step = (size_t)members, done = 0, part;
	double from = clock_now(), now;

	*seconds = 0;
	if (first >= p->blocks)
		return 0;
	part = (p->blocks - first + step - 1) / step;
	do {
		triad(p, ops, first + (p->turn + done) % part * step);
		done++;
		now = clock_now();
	} while (now < until);
	*seconds = now - from;
	return done;
}

/* What x and y hold, in units of c: one the last triad's number, one that of the triad before. */
struct want {
	double x, y;
};

static struct want wanted(const struct pool *p, size_t block)
{
	const double newer = p->triads[block], older = newer > 0 ? newer - 1 : 0;

	return p->triads[block] % 2 == 1 ? (struct want){ newer, older } : (struct want){ older, newer };
}

static void verify_block(struct pool *p, size_t block, int cpu)
{
	const double *x = array(p, block, X), *y = array(p, block, Y), *c = array(p, block, C);
	const struct want want = wanted(p, block);

	for (size_t i = 0; i < POOL_ELEMENTS; i++) {
		const double one = pattern(i);

		if (c[i] == one && x[i] == want.x * one && y[i] == want.y * one)
			continue;
		if (!atomic_exchange(&p->wrong, true))
			p->found = (struct pool_wrong){ .element = block * POOL_ELEMENTS + i,
							.got = { x[i], y[i], c[i] },
							.want = { want.x * one, want.y * one, one },
							.cpu = cpu };
		return;
	}
}

void pool_verify(struct pool *p, int cpu)
{
	size_t block, end;

	while ((end = claim(p, &block)) != block)
		for (; block < end; block++)
			verify_block(p, block, cpu);
}

bool pool_wrong(const struct pool *p, int node, char text[ERROR_SIZE])
{
	const struct pool_wrong *f = &p->found;

	if (!atomic_load(&p->wrong))
		return false;
	snprintf(text, ERROR_SIZE, "cpu %d: memory of node %d: element %zu is %.17g, %.17g, %.17g, expected %.17g, %.17g, %.17g",
		 f->cpu, node, f->element, f->got[X], f->got[Y], f->got[C], f->want[X], f->want[Y], f->want[C]);
	return true;
}
