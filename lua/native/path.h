/* One path looked at by a process of its own: where its server is away, only that process hangs. */
#ifndef SYSCHECK_NATIVE_PATH_H
#define SYSCHECK_NATIVE_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "apart.h"

struct path {
	const char *path;
	const char *locks; /* a directory, NULL: none */
	double seconds;    /* that it has to answer */
	bool write;        /* whether a file can be made there, too */
	struct apart apart;
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
 * Starts its process; apart_collect waits for it. With `locks` that one holds a lock there for as long as it lives, and
 * an earlier one that has waited for `seconds` is found by it: a mount that hangs has one process that waits, however
 * many checks look, until it is back. Without, one that hangs is killed. False: errno.
 */
bool path_start(struct path *p);

/* What came of it: "answered", "hangs", "hung before", "failed". */
const char *path_state(const struct path *p);

#endif
