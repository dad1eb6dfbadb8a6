/* What the calls of a core say of its rate. Pure. */
#ifndef SYSCHECK_DGEMM_RATE_H
#define SYSCHECK_DGEMM_RATE_H

#include <stdbool.h>

#include "size.h"

/* How the cores ended. */
struct dgemm_time {
	double box;  /* s */
	double all;  /* s since the process began */
	bool late;   /* cores were still at work long after the box; else all have ended */
};

/* What a core did. */
struct dgemm_done {
	long begun;     /* calls, the warm-up and, late, the one at work included */
	long counted;   /* of those: what the rate is of when it is not late */
	double seconds; /* in those counted; late in all so far */
	bool waits;     /* late: in a meeting for other cores */
	double probe;   /* FLOP/s of the probe; 0: it has not ended */
};

enum dgemm_basis {
	DGEMM_NOTHING, /* no rate is known */
	DGEMM_RATE,    /* all work over all time, no median: most short calls miss that a core is stopped for a part of every 10 ms */
	DGEMM_MOST,    /* late: the most that it can be, what was begun counts as done */
	DGEMM_SHORT,   /* the most that it can be if the core was stopped (kernel_stopped), else no rate is known */
};

/* FLOP/s into `rate`, with matrices of `size` (n = 0: it was not chosen yet). */
enum dgemm_basis dgemm_rate(const struct dgemm_done *done, struct dgemm_size size, struct dgemm_time time, double *rate);

#endif
