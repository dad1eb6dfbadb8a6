/* One path looked at by a process of its own: where its server is away, only that process hangs. */
#ifndef SYSCHECK_STATE_PATH_H
#define SYSCHECK_STATE_PATH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/result.h"

/* Of one call at most. */
#define PATHS_MOST 128

struct path {
	const char *path;
	bool write; /* whether a file can be made there, too */
	int fd;     /* of the pipe from its process; -1: answered, or given up */
	pid_t pid;
	enum { PATH_WAITS, PATH_ANSWERED, PATH_HANGS, PATH_HUNG_BEFORE, PATH_FAILED } state;
	struct path_answer {
		int error;       /* errno of stat, 0 */
		int lock_error;  /* of its lock, 0: our own trouble, which says nothing of the path */
		int write_error; /* of making a file, 0 */
		bool held;       /* an earlier one still hangs there */
		double held_s;   /* for so long */
		uint32_t mode, uid, gid;
		uint64_t size;
		int64_t modified; /* seconds since the epoch */
		bool has_fs, read_only;
		double total, available;         /* bytes */
		double inodes, inodes_available; /* 0: the file system has no fixed number */
	} answer;
};

/*
 * Starts its process. With `locks`, a directory, that one holds a lock there for as long as it lives, and an earlier
 * one that has waited for `seconds` is found by it: a mount that hangs has one process that waits, however many checks
 * look. False: errno.
 */
bool path_start(struct path *p, const char *locks, double seconds);

/*
 * Waits for all of them until `end` (clock_now). One that does not answer stays where it has a lock and waits on: when
 * its mount comes back, it ends. Without one it is killed.
 */
void path_collect(struct path *list, int n, double end, bool locks);

/* An object for each: what is known of it, and its line of `mounts` (of /proc/self/mountinfo), where it is a mount. */
void path_report(struct result *r, const struct path *list, int n, const char *mounts);

#endif
