/*
 * The monitoring group of a job on a shared node, resctrl's: the kernel then counts the memory traffic of its
 * tasks, and of all that they start. The prolog makes the group and says so in <status_dir>/<job>.group; each
 * task joins before it is its user's; the epilog reads the counters and removes it. No Slurm.
 */
#ifndef SYSCHECK_GROUP_H
#define SYSCHECK_GROUP_H

#include <stddef.h>
#include <sys/types.h>

/*
 * The directory that a file names: as trusted_line; -ENOENT: no group is wanted; -EINVAL: no absolute path that ends in
 * syscheck_NUMBER.
 */
int group_path(char *out, size_t size, const char *file, uid_t owner);

/* Puts a process into the group. 0 or a negative errno; of the kernel's: -EINVAL, -ENOSPC, -ESRCH. */
int group_join(const char *group, pid_t pid);

/* Leaves an empty file of root's, so that the epilog knows what became of the job's tasks. It may be there. */
int group_mark(const char *path);

#endif
