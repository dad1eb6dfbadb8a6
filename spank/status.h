/*
 * What the prolog found on this node, as it left it for the job's steps:
 * <status_dir>/<job id>, lines of key=value. Pure but for status_read().
 */
#ifndef SYSCHECK_STATUS_H
#define SYSCHECK_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "level.h"

#define STATUS_FILE_MAX 4096
#define STATUS_LINE_MAX 240
#define STATUS_BRIEF_MAX 120
#define STATUS_NOTE_MAX 160
#define STATUS_LIST_MAX 2048

struct status {
	enum level level;
	const char *name;               /* pass, warn, fail, ...: one of a fixed set */
	bool asked;                     /* by the user, who wants to be told */
	bool verbose;                   /* the user wants the line of each node */
	bool first;                     /* of the job's nodes */
	bool partly;                    /* passed, but not all that was measured has a limit */
	uint32_t restarts;              /* of the job, before this run */
	uint32_t nodes;                 /* of the job; 0: not known */
	uint32_t off;                   /* worse than its class, a tenth of a percent; 0: not, or no class */
	/* Printable ASCII, each may be empty. */
	char line[STATUS_LINE_MAX + 1];   /* the node's line, with all values */
	char brief[STATUS_BRIEF_MAX + 1]; /* what is unusual, else where it is furthest below its class */
	char note[STATUS_NOTE_MAX + 1];   /* why it is not what was asked */
	char list[STATUS_LIST_MAX + 1];   /* the job's nodes, Slurm's way */
};

/* Whether the node has something to be told of. */
bool status_is_unusual(const struct status *st);

/*
 * Parses `len` bytes, which may hold anything. Unknown keys are ignored, the
 * last of a repeated key counts. 0, or -EINVAL without a known level and
 * status.
 */
int status_parse(struct status *st, const char *text, size_t len);

/*
 * Reads a file that only `owner` can have written. 0 or a negative errno:
 * -ENOENT if there is none, -ELOOP for a link, -EPERM if it is not a regular
 * file, belongs to someone else or lets others write, -EFBIG, -EINVAL.
 */
int status_read(struct status *st, const char *path, uid_t owner);

/*
 * dir/job + suffix, each "%n" in dir replaced by the node's name. 0 or
 * -EINVAL: too long, or the name is needed and is none.
 */
int status_path(char *out, size_t size, const char *dir, const char *node, uint32_t job,
		const char *suffix);

#endif
