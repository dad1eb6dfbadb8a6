#include "pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "clock.h"
#include "memory.h"

/* At a time, by a thread: whole huge pages, so that two threads seldom fault the same one. */
#define CLAIM_BYTES ((size_t)6 << 20)

#define PATTERN 1024

/* The smallest page of any architecture that this runs on. */
#define PAGE_DOUBLES (4096 / sizeof(double))

static size_t block_bytes(const struct pool *p)
{
	return POOL_ARRAYS * p->elements * sizeof(double);
}

size_t pool_bytes(const struct pool *p)
{
	return p->blocks * block_bytes(p);
}

double *pool_array(const struct pool *p, size_t block, int which)
{
	return (double *)(void *)p->memory + (block * POOL_ARRAYS + (size_t)which) * p->elements;
}

static double pattern(size_t i)
{
	return 1.0 + (double)(i % PATTERN);
}

bool pool_map(struct pool *p, size_t blocks, size_t elements)
{
	*p = (struct pool){ .blocks = blocks, .elements = elements };
	p->bytes = pool_bytes(p);
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

/* The next blocks that no other thread has: from `*block` to the result; none if equal. */
static size_t claim(struct pool *p, size_t *block)
{
	const size_t step = CLAIM_BYTES / (block_bytes(p) + 1) + 1; /* rounded up */
	size_t end;

	*block = atomic_fetch_add(&p->claimed, step);
	if (*block > p->blocks)
		*block = p->blocks;
	end = *block + step;
	return end < p->blocks ? end : p->blocks;
}

/* The system has zeroed b and c: one write touches a page. */
static void touch_block(struct pool *p, size_t block)
{
	double *a = pool_array(p, block, POOL_A), *b = pool_array(p, block, POOL_B), *c = pool_array(p, block, POOL_C);

	for (size_t i = 0; i < p->elements; i++)
		a[i] = pattern(i);
	for (size_t i = 0; i < p->elements; i += PAGE_DOUBLES)
		b[i] = c[i] = 0;
}

/*
 * Threads claim blocks and own none: one slow core (a busy neighbour, a stopped one) would
 * otherwise shrink what all have.
 */
void pool_touch(struct pool *p, size_t least, size_t most, double until)
{
	for (;;) {
		const size_t claimed = atomic_load(&p->claimed);
		size_t block, end;

		if (claimed >= least && (claimed >= most || clock_now() >= until))
			return;
		end = claim(p, &block);
		if (block == end)
			return;
		for (; block < end; block++)
			touch_block(p, block);
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
 * b = c + a, then c = b + a, in turn: after k triads the newer of both is k a. Every
 * triad changes every element, so that a lost or wrong write is carried to the end.
 */
static void triad(struct pool *p, const struct ops *ops, size_t block)
{
	const bool even = p->triads[block]++ % 2 == 0;
	double *b = pool_array(p, block, POOL_B), *c = pool_array(p, block, POOL_C);

	ops->triad(even ? b : c, even ? c : b, pool_array(p, block, POOL_A), 1, p->elements);
}

struct pool_work pool_triad(struct pool *p, const struct ops *ops, int member, int members, double until)
{
	const size_t first = (size_t)member, step = (size_t)members, turn = p->turn;
	const double from = clock_now();
	size_t done = 0, part;
	double now;

	if (first >= p->blocks)
		return (struct pool_work){ 0 };
	part = (p->blocks - first + step - 1) / step;
	do {
		triad(p, ops, first + (turn + done) % part * step);
		done++;
		now = clock_now();
	} while (now < until);
	/* All do about the same number. */
	if (member == 0)
		p->turn += done;
	return (struct pool_work){ .bytes = (double)(done * block_bytes(p)), .seconds = now - from };
}

void pool_tally(struct tally *t, const struct pool_work *work, int n)
{
	double bytes = 0, seconds = 0;
	int at_work = 0;

	for (int i = 0; i < n; i++) {
		bytes += work[i].bytes;
		seconds += work[i].seconds;
		at_work += work[i].bytes > 0;
	}
	if (at_work > 0)
		tally_add(t, bytes, seconds / at_work);
}

static void verify_block(struct pool *p, size_t block, const double want[POOL_ARRAYS], int cpu)
{
	const double *a = pool_array(p, block, POOL_A), *b = pool_array(p, block, POOL_B), *c = pool_array(p, block, POOL_C);

	for (size_t i = 0; i < p->elements; i++) {
		const double one = pattern(i);

		if (a[i] == want[POOL_A] * one && b[i] == want[POOL_B] * one && c[i] == want[POOL_C] * one)
			continue;
		if (!atomic_exchange(&p->wrong, true))
			p->found = (struct pool_wrong){ .element = block * p->elements + i,
							.got = { a[i], b[i], c[i] },
							.want = { want[POOL_A] * one, want[POOL_B] * one, want[POOL_C] * one },
							.cpu = cpu };
		return;
	}
}

void pool_verify_blocks(struct pool *p, size_t from, size_t to, const double want[POOL_ARRAYS], int cpu)
{
	for (size_t block = from; block < to; block++)
		verify_block(p, block, want, cpu);
}

void pool_verify(struct pool *p, int cpu)
{
	size_t block, end;

	while ((end = claim(p, &block)) != block)
		for (; block < end; block++) {
			/* Of b and c one has the last triad's number, one that of the triad before. */
			const double newer = p->triads[block], older = newer > 0 ? newer - 1 : 0;
			const bool odd = p->triads[block] % 2 == 1;

			verify_block(p, block, (const double[]){ 1, odd ? newer : older, odd ? older : newer }, cpu);
		}
}

bool pool_wrong(const struct pool *p, int node, char text[ERROR_SIZE])
{
	const double *got = p->found.got, *want = p->found.want;

	if (!atomic_load(&p->wrong))
		return false;
	snprintf(text, ERROR_SIZE, "cpu %d: memory of node %d: element %zu is %.17g, %.17g, %.17g, expected %.17g, %.17g, %.17g",
		 p->found.cpu, node, p->found.element, got[POOL_A], got[POOL_B], got[POOL_C], want[POOL_A], want[POOL_B],
		 want[POOL_C]);
	return true;
}
