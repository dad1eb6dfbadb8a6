/* The rounds of a plan, as one rank goes through them. */
#ifndef SYSCHECK_FABRIC_ROUND_H
#define SYSCHECK_FABRIC_ROUND_H

#include "common/topo.h"
#include "plan.h"

/*
 * Runs all rounds and reports each. Returns EXIT_MEASURED, EXIT_WRONG if a message was wrong, EXIT_COULD_NOT (and
 * has said why) if stdout fails or `end` comes first. Work is done on the cores of `topo`.
 */
int rounds_run(const struct fabric_plan *plan, const struct topo *topo, double end);

#endif
