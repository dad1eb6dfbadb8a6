/*
 * The lines of a rank, each one write, and below 1 kB: srun hands longer ones on in pieces, between which it puts those
 * of others. False: stdout fails (errno).
 */
#ifndef SYSCHECK_FABRIC_REPORT_H
#define SYSCHECK_FABRIC_REPORT_H

#include <stdbool.h>

#include "pair.h"
#include "collective.h"
#include "links.h"
#include "plan.h"
#include "storage.h"
#include "work.h"

struct place {
	int rank, ranks;
	const char *node;
};

struct round_line {
	int plan, round;
	bool late;          /* not all ranks came to each phase in time */
	double wait_pct;    /* of its time: it could run and had no CPU; NaN: not known */
	const char *failed; /* the phase in which the pair failed, or NULL */
};

/*
 * Before MPI_Init: who has no such line is not running. With the node's boot; a line for each port in use follows.
 * `rail` is the one of the n links that MPI is to use, or NULL: not asked.
 */
bool report_hello(const struct place *place, const struct link *links, int n, const struct link *rail);
bool report_ready(const struct place *place, double init_s, const char *mpi);
bool report_round(const struct round_line *line, const struct pair *p);
bool report_collective(const struct fabric_plan *plan, int round, const struct collective *p);
bool report_work(const struct fabric_plan *plan, int round, const struct work *p);
bool report_storage(const struct fabric_plan *plan, int round, const struct storage *p);
/*
 * Before it a line for each port that counted errors since the last one, or since the hello. Where MPI did not use the
 * rail, the port that received more is in it: "instead"; only if in this plan the rank had a pair's traffic (by_rail), as
 * files and others' work may go by another port.
 */
bool report_done(int plan, int rank, bool by_rail);

#endif
