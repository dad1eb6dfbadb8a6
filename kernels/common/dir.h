/* A directory that others may write to, opened and used without trust. */
#ifndef SYSCHECK_DIR_H
#define SYSCHECK_DIR_H

#include <stdbool.h>
#include <stddef.h>

#include "janitor.h"
#include "opts.h"

#define ZFS_MAGIC 0x2fc12fc1 /* of no kernel header */

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
 * file system has none, a name that is unlinked at once. -1: errno, EMLINK as below.
 */
int dir_file(int dir, struct janitor *j);

/* The same with a name, which the janitor knows, until dir_unname. -1: errno. */
int dir_named_file(int dir, struct janitor *j);

/*
 * Unlinks it. False: errno; EMLINK: somebody gave it another name meanwhile, under
 * which it stays, empty. NFS and others keep a name of their own until the file is closed.
 */
bool dir_unname(int dir, int fd, struct janitor *j);

/*
 * True where fsync of a file without a name does nothing, since no crash could bring it
 * back: ZFS, btrfs.
 */
bool dir_logs_names(int dir);

#endif
