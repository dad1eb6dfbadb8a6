/* How large dgemm's matrices are: c (n x n) = a (n x k) b (k x n). Pure. */
#ifndef SYSCHECK_DGEMM_SIZE_H
#define SYSCHECK_DGEMM_SIZE_H

#include <stdbool.h>
#include <stddef.h>

struct dgemm_size {
	size_t n, k;
	bool short_of_memory; /* there is time for a larger one */
};

/* What the size has to fit into. */
struct dgemm_room {
	size_t bytes;  /* for all cores and nodes together */
	int cores, nodes;
	double flops;   /* FLOP/s of the slowest core */
	double touch;   /* seconds a byte that is touched for the first time, all cores at once */
	double seconds; /* set-up, warm-up and measurement */
};

double dgemm_flop(struct dgemm_size size);

/* Bytes of one result, and of one input. */
size_t dgemm_result(struct dgemm_size size);
size_t dgemm_input(struct dgemm_size size);

struct dgemm_size dgemm_least(void);

/* The largest size that fits; the smallest if none does. */
struct dgemm_size dgemm_size(const struct dgemm_room *room);

#endif
