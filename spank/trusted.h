/* Files that the prolog leaves for the plugin. No Slurm. */
#ifndef SYSCHECK_TRUSTED_H
#define SYSCHECK_TRUSTED_H

#include <stddef.h>
#include <sys/types.h>

/*
 * The first line of a file, without its end: 0, or a negative errno. -ENOENT: no file. Only one that `owner` alone can
 * have written counts: -EPERM, -ELOOP for a link; -EINVAL: no line that fits.
 */
int trusted_line(char *out, size_t size, const char *file, uid_t owner);

#endif
