/* All ranks meet before each phase, or go on without those that do not come. */
#ifndef SYSCHECK_FABRIC_MEET_H
#define SYSCHECK_FABRIC_MEET_H

#include <stdbool.h>

#include "common/opts.h"

/*
 * Not before `from`. False: not all came until `deadline`, or "MPI_Ibarrier: ..." in `error`. Who has no part in the
 * round is `idle` and sleeps between looks.
 */
bool meet(double from, double deadline, bool idle, char error[ERROR_SIZE]);

/* Some never came: MPI_Finalize might wait for them for ever. */
bool meet_pending(void);

#endif
