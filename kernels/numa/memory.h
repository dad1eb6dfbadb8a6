/* numa's memory: which nodes are columns of the matrices, and a pool on each. */
#ifndef SYSCHECK_NUMA_MEMORY_H
#define SYSCHECK_NUMA_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "common/nodes.h"
#include "common/opts.h"
#include "common/pool.h"
#include "common/stream_size.h"
#include "common/topo.h"

struct numa_memory {
	struct nodes nodes;  /* the columns */
	struct pool *pools;  /* of each */
	int *left_out;       /* OS index of each node that has too little free memory to be one */
	int n_left_out;
	size_t llc;          /* bytes of last-level cache that one node's cores can fill */
	enum stream_limit limit;
};

/* Maps and binds, memory_most at most. False, and one line in `error`. */
bool numa_memory_map(struct numa_memory *m, const struct topo *topo, char error[ERROR_SIZE]);

/* One thread, when all have touched: one line in `error` where a page is not on its node. */
void numa_memory_touched(struct numa_memory *m, char error[ERROR_SIZE]);

#endif
