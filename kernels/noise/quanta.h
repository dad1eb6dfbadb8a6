/* From FWQ's and FTQ's quanta to detours. Pure. */
#ifndef SYSCHECK_QUANTA_H
#define SYSCHECK_QUANTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "detours.h"

struct quanta {
	bool fwq;           /* us that fixed work took; else FTQ: work done in a fixed time */
	double quantum_us;
	double threshold_us; /* a quantum that lost less is no detour */
	double ticks_per_us;
	uint64_t from;      /* ticks at the first one's start */
};

/* What a quantum without noise is, of the quanta sorted: > 0. */
double quanta_best(const double *sorted, size_t n, bool fwq);

/* Of n > 0 quanta in the order in which they came, `sorted` the same. */
void quanta_to_detours(const struct quanta *q, const double *quanta, const double *sorted, size_t n,
		       struct detours *detours);

#endif
