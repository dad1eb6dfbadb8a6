/* Files and directories that root alone can have written. No Slurm. */
#ifndef SYSCHECK_TRUSTED_H
#define SYSCHECK_TRUSTED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Whether it is `owner`'s, and nobody else may write it. */
bool trusted_stat(const struct stat *sb, uid_t owner);

/*
 * A regular file for reading, not through a link: its descriptor, or a negative errno: -ENOENT: there is none, -ELOOP: a
 * link, -EPERM: no regular file, or one that others can have written.
 */
int trusted_open(const char *file, uid_t owner);

/* The first line of such a file, without its end: 0, or a negative errno; -EINVAL: no line that fits. */
int trusted_line(char *out, size_t size, const char *file, uid_t owner);

#endif
