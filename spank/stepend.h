/*
 * slurmstepd, at the end of a step: what its cgroup counted, and of which job, for the
 * epilog. Never fails a step, never waits long.
 */
#ifndef SYSCHECK_STEPEND_H
#define SYSCHECK_STEPEND_H

#include <slurm/spank.h>

#include "args.h"

/* As root, before any task exists. */
int stepend_begin(spank_t sp, struct args args);
/* A task is there, and in its groups. */
int stepend_task_forked(spank_t sp);
/* A task has ended; the groups of its step are still there. */
int stepend_task_exit(spank_t sp);
/* All tasks have ended; the job's group is there while another step holds it. */
int stepend_exit(spank_t sp);

#endif
