/*
 * Names that do not outlive their maker: a forked process that waits for this one's
 * end, whatever ends it, and unlinks the one name that may be left: of a file, or of a
 * directory with one file in it.
 *
 * Why a process: nothing inside this one runs after SIGKILL or the OOM killer, and a
 * later sweep would have to guess which names are ours in a directory where others
 * write. It has a session of its own, because the agent kills this process' group; it
 * holds no stdout or stderr, because the agent reads those to their end. It keeps other
 * inherited descriptors: the agent's lock on the directory lasts until the name is gone.
 *
 * Whoever owns the directory can put anything in the name's place: then that goes which
 * he could remove himself, a file or an empty directory, and in a directory nothing but
 * a file with a name that nobody could guess.
 *
 * What it cannot help against: a kill of both at the same time (a whole cgroup, the
 * power); then one file stays.
 */
#ifndef SYSCHECK_JANITOR_H
#define SYSCHECK_JANITOR_H

#include <stdbool.h>
#include <sys/types.h>

#define JANITOR_NAME_SIZE 64

struct janitor {
	pid_t pid;
	int life;   /* closed by this process' end: the janitor's signal */
	char *name; /* JANITOR_NAME_SIZE bytes that both see; empty: no name exists */
	char *inside; /* as many, of the file in a directory; empty: none */
	char *is_dir; /* the name is a directory's */
};

/* Starts it for names in the directory `dir`, and waits until it is ready. False: errno. */
bool janitor_start(struct janitor *j, int dir);

/* A new name that nobody can guess, known to the janitor from now on. NULL: errno. */
const char *janitor_name(struct janitor *j);

/* The same, for a directory to be made. */
const char *janitor_new_dir(struct janitor *j);

/* A directory that another process made: goes with a file of this one in it. */
void janitor_enter_dir(struct janitor *j, const char *name);

/* A new name for the file in the directory. NULL: errno. */
const char *janitor_inside(struct janitor *j);

/* The name was unlinked. */
void janitor_forget(struct janitor *j);

/* Ends it: what still has a name is unlinked. Does nothing if it was not started. */
void janitor_end(struct janitor *j);

#endif
