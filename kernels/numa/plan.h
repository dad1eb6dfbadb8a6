/* How numa divides its time box and sizes its memory. Pure. */
#ifndef SYSCHECK_NUMA_PLAN_H
#define SYSCHECK_NUMA_PLAN_H

#include <stddef.h>

#include "common/stream_size.h"

/* All in seconds. */
struct plan_numa {
	double touch;     /* for touching all memory, from now */
	double bandwidth; /* for one cell in one round */
	double latency;   /* the same */
	double caches;    /* for all cache levels */
	int rounds;
	size_t lines;     /* of the chase: writing their pointers costs time, too */
};

/* For the time that is left; `cells` of the matrix (>= 1). */
struct plan_numa plan_numa(double seconds, int cells);

/* As plan_now, for the phases with a cell of the matrix each. */
double plan_bandwidth_now(double planned, double left, int cells);
double plan_latency_now(double planned, double left, int cells);

struct plan_size {
	size_t bytes; /* a multiple of `block`; 0: no room */
	enum stream_limit limit;
};

/*
 * Memory of one node: 4 x `llc`, the last-level cache that one node's cores can fill
 * (0: not known), at least 64 MiB; less where that is more than `room`.
 */
struct plan_size plan_size(size_t llc, size_t room, size_t block);

#endif
