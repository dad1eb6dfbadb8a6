/*
 * sbatch, salloc and srun: take the user's request and hand it to the prolog.
 * A request that cannot be understood is refused, and "--syscheck full" gets a hint; whatever else goes wrong,
 * the job is submitted.
 */
#ifndef SYSCHECK_SUBMIT_H
#define SYSCHECK_SUBMIT_H

#include <slurm/spank.h>

#include "level.h"

/* Registered in the steps too, where Slurm looks for whoever takes a forwarded option. */
extern struct spank_option syscheck_option;

int submit_init(spank_t sp);
int submit_post_opt(spank_t sp);
/* sbatch and salloc only. */
int submit_exit(void);

/* In a step: the level of --syscheck as it was given; LEVEL_INVALID: it was not. */
enum level submit_forwarded(void);

#endif
