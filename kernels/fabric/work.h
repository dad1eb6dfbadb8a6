/*
 * What a bulk-synchronous application does: all cores of a node work for a fixed time, meet, and the nodes of a group
 * agree on a number, again and again. How much longer a step takes than it would undisturbed is what noise costs.
 */
#ifndef SYSCHECK_FABRIC_WORK_H
#define SYSCHECK_FABRIC_WORK_H

#include "common/topo.h"
#include "plan.h"
#include "wire.h"

struct work {
	struct wire wire; /* its partner is whom an allreduce is about */
	const struct fabric_turn *turn;
	const struct fabric_settings *set;
	const struct topo *topo; /* a thread on each of its cores; the caller's own on the first one */
	/* Results; NaN: none. */
	double step_us;    /* of work, meeting and allreduce: mean */
	double step_se_us; /* its standard error */
	double work_us;    /* the fixed work of the slowest core, undisturbed */
	double call_us;    /* of a step without work: median */
	double call_mean_us;
	long steps;
};

/* For how long it may go on, from when all came. */
double work_most(const struct fabric_settings *set);

/* For a turn with a group; false with an error. The calling thread alone calls MPI. */
bool work_run(struct work *p);

#endif
