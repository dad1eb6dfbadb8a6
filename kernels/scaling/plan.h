/* How scaling divides its time box, its thread counts, and what a curve says. Pure. */
#ifndef SYSCHECK_SCALING_PLAN_H
#define SYSCHECK_SCALING_PLAN_H

/* In seconds. */
struct plan_scaling {
	double touch;
	double point; /* for one thread count in one round */
	int rounds;
};

/* For `points` on all curves together (>= 1). */
struct plan_scaling plan_scaling(double seconds, int points);

/* As plan_now, for a point; `points` with all rounds. */
double plan_point_now(double planned, double left, int points);

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
