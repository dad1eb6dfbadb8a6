/* The time of one dependent load, measured with a chase. */
#ifndef SYSCHECK_LATENCY_H
#define SYSCHECK_LATENCY_H

#include <stdbool.h>

#include "chase.h"
#include "common/result.h"
#include "common/topo.h"

/*
 * Median ns of a load over batches, for `seconds` or until enough batches are done.
 * Cold: the lines come from memory, whatever the caches held. NaN if the chase did not end where it should.
 */
double latency_measure(struct chase *c, double seconds, bool cold);

struct latency_caches {
	double ns[TOPO_LEVELS];    /* 0: not measured; NaN: as latency_measure */
	size_t bytes[TOPO_LEVELS]; /* the set that was chased: half of the level, at most 32 MiB */
};

/*
 * Each cache level of this thread's core, `cache` as in topo.h, in `memory` of `bytes`,
 * in `seconds` together. A level whose set would not be at least twice the level below
 * it is left out. False: out of memory.
 */
bool latency_caches(struct latency_caches *l, const size_t *cache, void *memory, size_t bytes, double seconds);

/* A list of {"level", "kib", "ns"} called `key`. */
void latency_report(const struct latency_caches *l, struct result *r, const char *key);

#endif
