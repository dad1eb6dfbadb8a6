/* The lines of a rank, each one write. False: stdout fails (errno). */
#ifndef SYSCHECK_FABRIC_REPORT_H
#define SYSCHECK_FABRIC_REPORT_H

#include <stdbool.h>

#include "pair.h"

struct place {
	int rank, ranks;
	const char *node;
};

struct round_line {
	int plan, round;
	bool late;          /* not all ranks came to each phase in time */
	const char *failed; /* the phase in which the pair failed, or NULL */
};

/* Before MPI_Init: who has no such line is not running. With the node's boot and the ports that it has in use. */
bool report_hello(const struct place *place);
bool report_ready(const struct place *place, double init_s, const char *mpi);
bool report_round(const struct round_line *line, const struct pair *p);
bool report_done(int plan, int rank);

#endif
