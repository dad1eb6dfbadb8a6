/* A directory that others may write to, opened and used without trust. */
#ifndef SYSCHECK_DIR_H
#define SYSCHECK_DIR_H

#include <stddef.h>

#include "janitor.h"
#include "opts.h"

/*
 * Opens the directory (O_PATH) one part after the other and follows no link, neither
 * at the end nor on the way: whoever may write above it could lead root elsewhere.
 * -1, and one line in `error` that does not name the path.
 */
int dir_open(const char *path, char error[ERROR_SIZE]);

/* The file system's name as mount(8) knows it ("ext4", "nfs4"); "unknown" if not told. */
void dir_type(int dir, char *type, size_t size);

/*
 * Opens a new file for reading and writing that has no name: O_TMPFILE, or where the
 * file system has none, a name that is unlinked at once. -1: errno.
 */
int dir_file(int dir, struct janitor *j);

#endif
