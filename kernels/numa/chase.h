/*
 * Pointer chase: every line of memory holds the address of the next, so that no load
 * can start before the one before it has ended. Pure, but for the memory given.
 */
#ifndef SYSCHECK_CHASE_H
#define SYSCHECK_CHASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct chase {
	char *base;
	size_t stride; /* bytes from line to line, a multiple of a pointer's size */
	size_t n;      /* lines, > 0 */
	const uint32_t *order;
	size_t at;     /* the walk stands on line order[at] */
};

/*
 * The order in which lines 0 .. n-1 are visited, the last leads back to the first: one
 * cycle over all, uniform among cycles like Sattolo's. A list of visits, and not of
 * successors, so that the end of a walk of any length is known. Random within each
 * `block` lines, the blocks in turn from a random one on; `block` >= n: random all over.
 */
void chase_order(uint32_t *order, size_t n, size_t block, uint64_t seed);

/* Writes the pointers. */
void chase_lay(const struct chase *c);

/* Whether a program can flush lines from the caches. */
#if defined(__x86_64__)
#define CHASE_FLUSHES true
#else
#define CHASE_FLUSHES false
#endif

/* Flushes the next `steps` lines from all caches. Does nothing where a program cannot (not x86-64). */
void chase_flush(const struct chase *c, size_t steps);

/* `steps` dependent loads. False if they did not end where the order says, or left the memory. */
bool chase_walk(struct chase *c, size_t steps);

#endif
