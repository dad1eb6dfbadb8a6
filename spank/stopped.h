/*
 * For how long all tasks of this step were stopped: scontrol suspend, gang scheduling and preemption
 * send each SIGTSTP, before SIGSTOP or the freezer, and SIGCONT afterwards. Slurm leaves nothing else of
 * that on a node: no hook, no counter, and freezers count time on Linux 6.18 and newer only.
 *
 * A thread of slurmstepd waits for the kernel's news of its children. Slurm takes only those of tasks that
 * start below a debugger, which are left to it; the thread reaps nobody. It is asleep in the kernel all the
 * time, with all signals blocked, and allocates nothing. It ends with the last child, else with slurmstepd:
 * the plugin stays mapped (-z nodelete).
 */
#ifndef SYSCHECK_STOPPED_H
#define SYSCHECK_STOPPED_H

#include <stdint.h>

/* Begins, once, when there is a task. `tasks`: of this node. 0 or a negative errno. */
int stopped_watch(uint32_t tasks);

/* A task has ended. */
void stopped_ended(void);

/* Milliseconds until now; UINT64_MAX where nobody watched. */
uint64_t stopped_ms(void);

#endif
