/*
 * A job's samples: where its prolog wants them, the slurmstepd of the extern step (PrologFlags=Contain), which
 * lasts as long as the job on this node, runs the agent (epilog/sample.lua) beside it. It ends with that. No Slurm.
 */
#ifndef SYSCHECK_SAMPLER_H
#define SYSCHECK_SAMPLER_H

#include <stdint.h>
#include <sys/types.h>

/* Whether `owner` alone can have left this file. */
int sampler_wanted(const char *path, uid_t owner);

/* Runs `agent` as "agent sample". Its process, or a negative errno. */
pid_t sampler_start(const char *agent, const char *node, uint32_t job);

/* Ends it, and waits for that, briefly. What is no child of this process any more is left alone. */
void sampler_stop(pid_t pid);

#endif
