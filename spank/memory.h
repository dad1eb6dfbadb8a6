/*
 * The memory traffic of a whole job by the memory controllers' counters (common/uncore.h), which count only while they
 * are open: the slurmstepd of the extern step (PrologFlags=Contain) holds them, from right after the prolog to right
 * before the epilog. Nothing of ours runs meanwhile. No Slurm.
 */
#ifndef SYSCHECK_MEMORY_H
#define SYSCHECK_MEMORY_H

#include <sys/types.h>

#include "common/uncore.h"

/*
 * Opens the counters below the directory that `file` names, which the prolog leaves where they are wanted. 0 or a
 * negative errno: -ENOENT: there is no such file.
 */
int memory_begin(struct uncore *uncore, const char *file, uid_t owner);

/*
 * Reads and closes them, and writes to `file`, 0600: "ns N", for how long they counted, and a line "CPU BYTES" of each
 * domain; or "error N", an errno: of uncore_read, or of memory_begin (`rc`). 0 or a negative errno of writing.
 */
int memory_end(struct uncore *uncore, int rc, const char *file);

#endif
