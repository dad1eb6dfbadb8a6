/*
 * Memory of one NUMA node for many threads. In blocks of three arrays a, b, c: the
 * threads at work, however many and of whichever node, share out all blocks among them,
 * so that every rate is from the same memory.
 */
#ifndef SYSCHECK_POOL_H
#define SYSCHECK_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ops.h"
#include "opts.h"
#include "tally.h"

/*
 * For pool_triad: three arrays of 256 KiB. Each triad starts anew: the prefetchers' first
 * lines and the fence at the end are 0.3 us against 80 us at 10 GB/s, under 0.5 %.
 */
#define POOL_ELEMENTS ((size_t)32768)
#define POOL_BLOCK (3 * POOL_ELEMENTS * sizeof(double))

enum { POOL_A, POOL_B, POOL_C, POOL_ARRAYS };

struct pool {
	char *memory;
	size_t bytes;           /* mapped */
	bool apart;             /* each array of all blocks is in one piece, not each block */
	size_t elements;        /* of an array in a block */
	size_t blocks;          /* > 0; after pool_touched: those that were touched */
	uint32_t *triads;       /* done on each block by pool_triad */
	atomic_size_t claimed;  /* blocks, by the threads that touch or verify */
	atomic_size_t turn;     /* where in its part each thread goes on, past what its caches hold */
	atomic_bool wrong;      /* one was found: */
	struct pool_wrong {
		size_t element;
		double got[POOL_ARRAYS], want[POOL_ARRAYS];
		int cpu;        /* that read it */
	} found;                /* kept when it is found: what comes later uses the memory for other things */
};

/* Maps blocks of arrays of `elements` (a multiple of 1024), untouched. False (errno). */
bool pool_map(struct pool *p, size_t blocks, size_t elements, bool apart);

/* Thread `member` of `members` gives its share of the memory back, when no thread needs any of it. */
void pool_unmap(struct pool *p, int member, int members);

/*
 * One of the threads that touch: `least` blocks whatever time it takes, then up to `most`
 * while it is not `until` (clock_now). a becomes 1 + (i mod 1024), a value that shows where
 * it came to a wrong place; b and c are zeros.
 */
void pool_touch(struct pool *p, size_t least, size_t most, double until);

/* One thread, when the others have ended: leaves the pool with the touched blocks only. */
void pool_touched(struct pool *p);

/* Bytes of all blocks. */
size_t pool_bytes(const struct pool *p);

/* One of a block's arrays: POOL_A, POOL_B, POOL_C. If they are apart, the next block's follows. */
double *pool_array(const struct pool *p, size_t block, int which);

/* One thread's triads: bytes, as STREAM counts them, in seconds. */
struct pool_work {
	double bytes, seconds;
};

/* Thread `member` of `members`: triads on its part until `until`; none if there are fewer blocks than members. */
struct pool_work pool_triad(struct pool *p, const struct ops *ops, int member, int members, double until);

/* What n threads did at the same time, those without work left out: all bytes in their mean time. */
void pool_tally(struct tally *t, const struct pool_work *work, int n);

/* One of the threads that verify what pool_triad left, all elements of the blocks, on `cpu`. */
void pool_verify(struct pool *p, int cpu);

/* Verifies blocks from .. to - 1 on `cpu`: each array has to be `want` times what a was in the beginning. */
void pool_verify_blocks(struct pool *p, size_t from, size_t to, const double want[POOL_ARRAYS], int cpu);

/* After the verification: true, and "cpu ...: memory of node ...: element ... is ..., expected ..." in `text`, if one is wrong. */
bool pool_wrong(const struct pool *p, int node, char text[ERROR_SIZE]);

#endif
