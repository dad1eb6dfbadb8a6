/*
 * At a step's end: runs the agent, which says in the job's output what was out of line
 * on this node. No Slurm.
 */
#ifndef SYSCHECK_TELL_H
#define SYSCHECK_TELL_H

#include <stdint.h>

/*
 * Runs `agent` as "agent stepend" with `out` as its output, and waits for it, TELL_MS at
 * most; then it is ended. What reads `out` may be stopped or slow: nothing is begun where
 * it takes no output now. 0, or a negative errno: -EAGAIN where it does not, -ETIMEDOUT
 * where the agent was ended, -ECHILD where it failed.
 */
int tell(const char *agent, const char *node, uint32_t job, int out);

#define TELL_MS 1000

/* In a child: becomes "agent stage" with `out` as its output, in a process group of its own. Never returns. */
void tell_exec(const char *agent, const char *stage, char *const *env, int out) __attribute__((noreturn));

#endif
