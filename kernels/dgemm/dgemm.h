/* What dgemm's cores share and find out. */
#ifndef SYSCHECK_DGEMM_H
#define SYSCHECK_DGEMM_H

#include <stdatomic.h>
#include <stdbool.h>

#include "common/topo.h"
#include "exact.h"
#include "rate.h"

#define DGEMM_SAMPLES 1024 /* of the clock, on each core: the latest */

/* What all cores of a NUMA node share: the inputs and the one right result. */
struct dgemm_shared {
	struct exact inputs;
	double *reference;
};

struct dgemm_core {
	struct dgemm_shared *shared;
	double *c;
	double touch;        /* of the probe; s/byte */
	double busy;         /* seconds in counted calls */
	long calls;
	double mhz[DGEMM_SAMPLES]; /* after each of them */
	struct exact_fault fault; /* the first */
	bool leads; /* is its NUMA node's first core, which prepares what the others share */
	/* What another thread may read while this one is at work. */
	struct {
		atomic_long begun;     /* calls, the warm-up included */
		_Atomic double seconds; /* in those that ended */
		_Atomic double since;  /* clock_now when the one at work began; 0: none is */
		atomic_int thread;     /* that works on it */
		_Atomic double flops;  /* of the probe, FLOP/s; 0: it has not ended */
		atomic_bool faulty;    /* `fault` is there */
	} live;
} __attribute__((aligned(128)));

/* What is reported; `time.late`: cores are still at work. */
struct dgemm_run {
	const struct topo *topo;
	struct dgemm_core *cores;
	struct dgemm_size size;
	double started, now; /* clock_now */
	struct dgemm_time time;
};

/* Prints what the cores found: first of all whether something is wrong. Returns the exit code. */
int dgemm_report(const struct dgemm_run *run);

#endif
