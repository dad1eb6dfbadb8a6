/*
 * The SPANK plugin: which of Slurm's processes is this, and whose turn is it.
 *
 *	sbatch, salloc, srun   submit.c   --syscheck=LEVEL, to the prolog's environment
 *	slurmstepd             stepd.c    the prolog's findings, to the job; its tasks, to its group
 *	                       stepend.c  what a step used, to the epilog
 *
 * slurm_spank_job_prolog stays undefined: the prolog script does that work, and
 * slurmd need not start a process of its own for it.
 */

/* Not hidden like the rest: Slurm looks these up by name. */
#pragma GCC visibility push(default)
#include <slurm/spank.h>

SPANK_PLUGIN(syscheck, 1)
#pragma GCC visibility pop

#include "args.h"
#include "stepd.h"
#include "stepend.h"
#include "submit.h"

/* Logged by slurmd, once when it starts: elsewhere every user would see it. */
static int slurmd_init(int ac, char **av)
{
	struct args args = args_default();

	for (int i = 0; i < ac; i++) {
		if (!args_set(&args, av[i]))
			slurm_error("syscheck: plugstack.conf: argument \"%s\" ignored", av[i]);
	}
	return 0;
}

int slurm_spank_init(spank_t sp, int ac, char **av)
{
	switch (spank_context()) {
	case S_CTX_LOCAL:
	case S_CTX_ALLOCATOR:
		return submit_init(sp);
	case S_CTX_REMOTE:
		return stepd_init(sp);
	case S_CTX_SLURMD:
		return slurmd_init(ac, av);
	default:
		return 0;
	}
}

int slurm_spank_init_post_opt(spank_t sp, int ac, char **av)
{
	switch (spank_context()) {
	case S_CTX_LOCAL:
	case S_CTX_ALLOCATOR:
		return submit_post_opt(sp);
	case S_CTX_REMOTE:
		stepend_begin(sp, args_parse(ac, av));
		return stepd_post_opt(sp, args_parse(ac, av));
	default:
		return 0;
	}
}

/* In the task, still as root. */
int slurm_spank_task_init_privileged(spank_t sp, int ac, char **av)
{
	return stepd_task_privileged(sp, args_parse(ac, av));
}

/* Called in slurmstepd's tasks only. */
int slurm_spank_task_init(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	return stepd_task_init(sp);
}

int slurm_spank_task_post_fork(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	return stepend_task_forked(sp);
}

int slurm_spank_task_exit(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	return stepend_task_exit(sp);
}

int slurm_spank_exit(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	switch (spank_context()) {
	case S_CTX_REMOTE:
		return stepend_exit(sp);
	case S_CTX_ALLOCATOR:
		return submit_exit();
	default:
		return 0;
	}
}
