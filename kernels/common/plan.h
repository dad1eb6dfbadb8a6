/* How the NUMA kernels divide their time box, and what a scaling curve says. Pure. */
#ifndef SYSCHECK_PLAN_H
#define SYSCHECK_PLAN_H

#include <stddef.h>

#include "stream_size.h"

/* All in seconds. Rounds go over the whole matrix, so that a disturbance hits one value of each cell. */
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

/*
 * The seconds of a cell when its phase begins, `left` before the end: as `planned`, or
 * less where the phases before took longer (a busy machine, slow pages).
 */
double plan_bandwidth_now(double planned, double left, int cells);
double plan_latency_now(double planned, double left, int cells);

/* The same for scaling's points; `points` with all rounds. */
double plan_point_now(double planned, double left, int points);

struct plan_size {
	size_t bytes; /* a multiple of `block`; 0: no room */
	enum stream_limit limit;
};

/*
 * Memory of one node: 4 x `llc`, the last-level cache that one node's cores can fill
 * (0: not known), at least 64 MiB; less where that is more than `room`.
 */
struct plan_size plan_size(size_t llc, size_t room, size_t block);

struct plan_scaling {
	double touch;
	double point; /* for one thread count in one round */
	int rounds;
};

/* For `points` on all curves together (>= 1). */
struct plan_scaling plan_scaling(double seconds, int points);

/* At most this many thread counts: two for each power of two, and two more. */
#define PLAN_COUNTS 68

/*
 * 1, 2, 3, 4, 6, 8, 12, 16, ... below n, and n; and `node`, where a NUMA node is full.
 * Ascending; returns how many.
 */
int plan_counts(int n, int node, int counts[PLAN_COUNTS]);

/* The first of n > 0 values that is at least `share` of the largest: an index. */
int plan_reaches(const double *values, int n, double share);

/*
 * Threads by core: order[0 .. n-1], given each core's node (an index below n_nodes).
 * Compact fills the first node, then the next; spread takes one of each node in turn.
 */
void plan_compact(const int *node_of, int n, int n_nodes, int *order);
void plan_spread(const int *node_of, int n, int n_nodes, int *order);

#endif
