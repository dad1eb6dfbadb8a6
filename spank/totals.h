/*
 * What the steps of one job left on this node, added up: <status_dir>/<job>.steps. One
 * small file however many steps there were; each step's slurmstepd adds its own under a
 * lock, and the epilog (lua/syscheck/node/steps.lua) reads it.
 *
 * Pure but for totals_add(), totals_file.c.
 */
#ifndef SYSCHECK_TOTALS_H
#define SYSCHECK_TOTALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cgroup.h"

/* One page: one write of it is never seen half, whenever its writer is killed. */
#define TOTALS_FILE_SIZE 4096
/* As long a name as slurmctld takes (slurm: _copy_job_desc_to_job_record). */
#define TOTALS_NAME_MAX 1024

/* A counter that began anew when its group did: the group's inode number shows it. */
struct cg_cell {
	uint64_t past; /* sum over the groups before; 0 */
	uint64_t group;
	uint64_t value; /* CG_UNKNOWN: never seen */
};

struct totals {
	int version;    /* of cgroups, 0: none seen */
	uint32_t steps; /* that were added */

	struct cg_values step;  /* the steps' own groups: sums, of the peak the maximum */
	struct cg_values tasks; /* by the tasks' own accounting: CPU time, bytes */
	struct cg_cell job[CG_FIELDS]; /* the job's group, whatever ran in it */

	/* Time that a quota above the job's groups took, and where that counter began. */
	struct cg_cell outer;
	uint64_t outer_begin;

	uint64_t stopped_ms; /* all tasks were: of the batch step, else of the one that was for longest; CG_UNKNOWN */
	uint64_t energy_uj; /* of the node's packages, from the extern step; CG_UNKNOWN */

	/* Who it was. */
	bool sure; /* from the batch step, where slurmctld has set it */
	char name[TOTALS_NAME_MAX];
	size_t name_len;
	uint32_t array_job, array_task, restart; /* TOTALS_NONE: not known */
};

#define TOTALS_NONE UINT32_MAX

/* Nothing seen. */
void totals_clear(struct totals *totals);

/* The job's name, cut at TOTALS_NAME_MAX bytes; NULL: not known. */
void totals_name(struct totals *totals, const char *name);

/*
 * Adds what one step has: `more` has one reading in `job` and `outer`. Of the identity
 * the batch step's counts, else the first that is known.
 */
void totals_merge(struct totals *sum, const struct totals *more);

/* Exactly TOTALS_FILE_SIZE bytes into `out`; no NUL. */
void totals_format(char out[TOTALS_FILE_SIZE], const struct totals *totals);

/* 0 or -EINVAL: not a whole file of this version. `text` may hold anything. */
int totals_parse(struct totals *totals, const char *text, size_t len);

/*
 * Adds to the file `name` in `dir`, which only `owner` may write to; makes the file if
 * there is none. A damaged one begins anew. 0 or a negative errno: -EPERM when
 * somebody else could have written any of it, -ELOOP for a link, -EAGAIN when the lock
 * is not to be had.
 */
int totals_add(const char *dir, const char *name, uid_t owner, const struct totals *more);

#endif
