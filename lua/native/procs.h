/* Processes by name, and those of users that are in no job. */
#ifndef SYSCHECK_NATIVE_PROCS_H
#define SYSCHECK_NATIVE_PROCS_H

#include <stdbool.h>
#include <stddef.h>

#include "apart.h"

#define PROCS_NAMES 64
#define PROCS_FOUND 128 /* pairs of name and user, and users: what is beyond is counted in none */

struct procs {
	const char *names[PROCS_NAMES];
	int n_names;
	bool users;       /* whether those of users are wanted */
	unsigned min_uid; /* of whom */
	const char *root; /* of a prepared /proc; "": the machine's */
	double end;       /* when all have to be read, by clock_now */
	struct apart apart;
	struct procs_answer {
		int error; /* errno of /proc, 0 */
		int n_found;
		struct procs_found {
			char name[64];
			int of; /* index in names; -1: what a user has outside of jobs */
			unsigned uid;
			int count;
			long pid; /* of the first */
		} found[PROCS_FOUND];
	} answer;
};

/* Reads `root`/proc, in a process of its own where a lock may be waited for; apart_collect waits for it. False: errno. */
bool procs_start(struct procs *p);

/* For tests. Reads it in this process. False: errno. */
bool procs_read(struct procs *p);
/* Whether a text of /proc/PID/stat is of one that has not ended. */
bool procs_alive(const char *text);
/*
 * Whether a process whose name, cut by the kernel, is how `wanted` begins is one of that name, by /proc/PID/cmdline: the
 * first word that begins so, too, has all of it. Where none does (a title, another name), the kernel's has to do.
 */
bool procs_is_long_name(const char *text, size_t length, const char *wanted);
/* Whether a text of /proc/PID/cgroup has a job's group. */
bool procs_in_job(const char *text);
/* Whether it has the group of a user's systemd itself, not of what that has started. */
bool procs_is_manager(const char *text);

#endif
