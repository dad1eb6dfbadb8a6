/*
 * Files that all nodes of a group write at the same time, then read: one each, or one together by MPI-IO. A node reads
 * what another one wrote, which its own cache does not have.
 *
 * Root's safety: all is in a directory that the group's first rank makes, with a name that nobody can guess and mode
 * 0700, and that all open only if it is theirs alone. Whoever owns what is above may put another one of theirs in its
 * place: so files have names that nobody can guess, too, are new, and nothing but these is ever unlinked. Nothing is
 * left: names are unlinked before a byte is written, and a janitor (common/janitor.h) unlinks what was made before that.
 */
#ifndef SYSCHECK_FABRIC_STORAGE_H
#define SYSCHECK_FABRIC_STORAGE_H

#include <stdbool.h>

#include "plan.h"
#include "wire.h"

struct storage {
	struct wire wire;
	const struct fabric_turn *turn;
	const struct fabric_settings *set;
	char error[ERROR_SIZE]; /* of this rank itself; "": none, or another's: see wire.error */
	char wrong[ERROR_SIZE]; /* which byte that was read is not what was written */
	/* Results; NaN, 0: none. */
	double write, read;   /* bytes/s */
	double written, got;  /* bytes */
	bool direct;          /* past the page cache, both ways */
};

/* Before MPI_Init, which a fork is not to follow: opens `dir` and starts the janitor. What fails is said by runs. */
void storage_start(const char *dir);

/* How long a run may take, with a file system that is slow to answer. */
double storage_most(const struct fabric_settings *set);

/* For a turn with a group; false with an error, or wrong. */
bool storage_run(struct storage *p);

/* The file system's name as mount(8) knows it; "": no directory. */
const char *storage_type(void);

/* What still has a name is unlinked. */
void storage_end(void);

#endif
