/*
 * Arrays a, b, c of all cores: on each of their NUMA nodes a pool, bound to it and touched
 * by its own cores; that its pages are there is checked. The arrays are apart: with them
 * block by block triads were 1 % slower. Sizes by stream_size.
 */
#ifndef SYSCHECK_POOLS_H
#define SYSCHECK_POOLS_H

#include <stdbool.h>
#include <stddef.h>

#include "pool.h"
#include "stream_size.h"
#include "team.h"

struct pools {
	struct pool *of;         /* of each node, as in topo->nodes */
	double *misplaced;       /* of each member: % of its share on another node, or NaN */
	size_t share;            /* after pools_touch: blocks for each member, in its node's pool: see pools_first */
	struct stream_size size;
	double until, latest;    /* of touching, clock_now; the latter where all together would fit the caches */
};

/* Maps all, memory_most at most, in blocks of arrays of `elements`. False, and one line in `error`. */
bool pools_map(struct pools *p, const struct topo *topo, size_t elements, char error[ERROR_SIZE]);

/*
 * Every member: touches until all is, or the time is over; what is touched then is used.
 * At least a block for each. False: too much of it lies on another node.
 */
bool pools_touch(struct pools *p, struct team *team, int member);

/* The member's first block in its node's pool. */
size_t pools_first(const struct pools *p, const struct topo *topo, int member);

/* After that: the largest misplaced share in % of a member's; NaN where it cannot be read. */
double pools_misplaced(const struct pools *p, const struct topo *topo);

/* False, and one line in `error`, where that is more than NODES_MISPLACED_MOST. */
bool pools_placed(const struct pools *p, const struct topo *topo, char error[ERROR_SIZE]);

/* After the verification: as pool_wrong, of the first pool in which something is. */
bool pools_wrong(const struct pools *p, const struct topo *topo, char error[ERROR_SIZE]);

/* Every member, when none needs any of them. All at once: the end of the process would take longer. */
void pools_unmap(struct pools *p, const struct topo *topo, int member);

#endif
