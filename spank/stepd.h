/*
 * slurmstepd, one per step and node: shows the job what the prolog found on
 * its node. Never fails a step.
 */
#ifndef SYSCHECK_STEPD_H
#define SYSCHECK_STEPD_H

#include <slurm/spank.h>

#include "args.h"

int stepd_init(spank_t sp);
int stepd_post_opt(spank_t sp, struct args args);
int stepd_task_privileged(spank_t sp, struct args args);
int stepd_task_init(spank_t sp);

#endif
