/*
 * Memory of one NUMA node for many threads' triads. In blocks: the threads at work,
 * however many and of whichever node, share out all blocks among them, so that every
 * rate is from the same memory.
 */
#ifndef SYSCHECK_POOL_H
#define SYSCHECK_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ops.h"
#include "opts.h"

/*
 * A block is three arrays of 256 KiB. Each triad starts anew: the prefetchers' first
 * lines and the fence at the end are 0.3 us against 80 us at 10 GB/s, under 0.5 %.
 */
#define POOL_ELEMENTS ((size_t)32768)
#define POOL_BLOCK (3 * POOL_ELEMENTS * sizeof(double))

struct pool {
	char *memory;
	size_t bytes;           /* mapped */
	size_t blocks;          /* > 0; after pool_touched: those that were touched */
	uint32_t *triads;       /* done on each block */
	atomic_size_t claimed;  /* blocks, by the threads that touch or verify */
	size_t turn;            /* triads start here in each thread's part, so that caches do not help */
	atomic_size_t wrong;    /* the first wrong element found, or SIZE_MAX */
};

/* Maps, untouched. False (errno). */
bool pool_map(struct pool *p, size_t blocks);
void pool_free(struct pool *p);

/* One of the threads that touch: until all blocks are, or `until` (clock_now). At least one block is. */
void pool_touch(struct pool *p, double until);

/* One thread, when the others have ended: takes the touched blocks as all, and readies the verification. */
void pool_touched(struct pool *p);

/*
 * Thread `member` of `members`: triads on its part until `until`. Returns its rate in
 * GB/s; 0 if there are fewer blocks than members. `*most` becomes the number of its triads.
 */
double pool_triad(struct pool *p, const struct ops *ops, int member, int members, double until, size_t *most);

/* One of the threads that verify all elements of the blocks. */
void pool_verify(struct pool *p);

/* After the verification: true, and "element ... is ..., expected ..." in `text`, if one is wrong. */
bool pool_wrong(const struct pool *p, char text[ERROR_SIZE]);

#endif
