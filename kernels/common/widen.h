/*
 * Out of a set of CPUs that is smaller than what jobs get: slurmd's, where cores are reserved
 * for it (CoreSpecCount, AllowedCPUs=). Only this process moves, and nothing is left behind when
 * it ends. What is refused (not root, a container) stays as it is: the result's `cpus` and `mems`
 * say what was measured.
 */
#ifndef SYSCHECK_WIDEN_H
#define SYSCHECK_WIDEN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Allows this process the CPUs of `list` and the memory of all nodes; NULL: stays. Joins the cgroup at `cgroup`
 * (NULL: none) where a cpuset keeps it from these. To be called before there is a second thread.
 */
void widen(const char *list, const char *cgroup);

/* The NUMA nodes whose memory this process may use, as the kernel lists them. False: not known. */
bool widen_mems(char *list, size_t size);

#endif
