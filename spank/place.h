/*
 * Where the cgroups of a job's step are, from the kernel's own text. Pure: no Slurm, no
 * I/O.
 */
#ifndef SYSCHECK_PLACE_H
#define SYSCHECK_PLACE_H

#include <stddef.h>
#include <stdint.h>

#include "cgroup.h"

#define CG_PATH_MAX 4096

struct cg_place {
	char step[CG_PATH_MAX]; /* the step's directory, "" if it has none here */
	size_t job;             /* its first so many characters are the job's */
	size_t mount;           /* and so many of those the mount point */
	char own[CG_PATH_MAX];  /* CG_CPU: where the process is, "" if not known */
	size_t own_mount;       /* its first so many characters are the mount point */
};

struct cg_places {
	int version; /* of the job's groups: 1, 2; 0: it has none */
	struct cg_place at[CG_HIERARCHIES];
};

/*
 * Finds the groups of one step of `job`, by Slurm's names: .../job_JOB/step_NAME, or a
 * SLUID instead of job_JOB.
 * `cgroup` is /proc/PID/cgroup of a task, or of slurmstepd; `mounts` /proc/self/mountinfo.
 * In v1 a controller that the process is not in by such a path may have the same path
 * all the same: it is given, and need not exist.
 */
void cg_locate(struct cg_places *places, const char *cgroup, const char *mounts, uint32_t job);

/* Files that take a process out of a job: of the group above all jobs, and of the hierarchy's top. */
struct cg_exit {
	char above[CG_PATH_MAX];
	char top[CG_PATH_MAX];
};

/*
 * One for each hierarchy in which `cgroup` is in a step of the job; how many, 0: in none. -1: in one that is not
 * mounted, more than `most`, or no such text. The arguments are those of cg_locate.
 */
int cg_exits(struct cg_exit *exits, int most, const char *cgroup, const char *mounts, uint32_t job);

#endif
