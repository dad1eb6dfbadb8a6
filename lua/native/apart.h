/* Work in a process of its own: where it hangs (a server that is away), only that process does. */
#ifndef SYSCHECK_NATIVE_APART_H
#define SYSCHECK_NATIVE_APART_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct apart {
	const char *name;         /* of the process, in ps */
	void (*work)(void *what); /* fills `answer`, in that process */
	void *what, *answer;
	size_t size; /* of `answer` */
	bool stays;  /* one that hangs waits on; else it is killed, and ends with its parent */
	/* What has become of it. */
	pid_t pid;
	int fd;     /* of the pipe from it; -1: it is over */
	size_t got; /* of the answer; it counts when it is whole */
	bool hangs; /* it has neither answered nor ended */
};

/*
 * Starts it: leader of a session of its own, as it may outlive its parent, with no descriptor of that one's (which may
 * be a lock), and signals as they are by default. False: errno.
 */
bool apart_start(struct apart *a);

/* Does it in this process, as it cannot hang: a fork costs more. True. */
bool apart_here(struct apart *a);

/* Waits for all that were started until `end` (clock_now), and takes what has answered by then. n: APART_MOST at most. */
#define APART_MOST 129
void apart_collect(struct apart *const *list, int n, double end);

bool apart_answered(const struct apart *a);

/* Closes all descriptors from this one on. */
void apart_close_from(unsigned first);

#endif
