/* A data file in a directory that others may write to, without a name where that can be. */
#ifndef SYSCHECK_FILE_H
#define SYSCHECK_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "janitor.h"

#define ZFS_MAGIC 0x2fc12fc1 /* of no kernel header */

/* The file system's name as mount(8) knows it ("ext4", "nfs4"); "unknown" where /proc does not say. */
void file_system_name(int dir, char *type, size_t size);

/*
 * Opens a new file for reading and writing that has no name: O_TMPFILE, or where the
 * file system has none, a name that is unlinked at once. -1: errno, EMLINK as below.
 */
int file_open(int dir, struct janitor *j);

/* The same with a name, which the janitor knows, until file_unlink. -1: errno. */
int file_open_named(int dir, struct janitor *j);

/*
 * Unlinks it. False: errno; EMLINK: somebody gave it another name meanwhile, under
 * which it stays, empty. NFS and others keep a name of their own until the file is closed.
 */
bool file_unlink(int dir, int fd, struct janitor *j);

/*
 * True where fsync of a file without a name does nothing, since no crash could bring it
 * back: ZFS, btrfs.
 */
bool file_needs_name(int dir);

#endif
