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

struct status {
	enum level level;
	const char *name;               /* pass, warn, fail, ...: one of a fixed set */
	bool asked;                     /* by the user, who wants to see the line */
	char line[STATUS_LINE_MAX + 1]; /* printable ASCII, may be empty */
};

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
