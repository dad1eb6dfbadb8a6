/* The levels of a check, as a user writes them. Pure: no Slurm, no I/O. */
#ifndef SYSCHECK_LEVEL_H
#define SYSCHECK_LEVEL_H

#include <stdbool.h>
#include <stddef.h>

enum level {
	LEVEL_INVALID = -1,
	LEVEL_NONE,
	LEVEL_PASSIVE,
	LEVEL_QUICK,
	LEVEL_FULL,
	LEVEL_COUNT
};

/* Room for any refusal, its terminating NUL included. */
#define LEVEL_REFUSAL_SIZE 192

/* The name of a valid level. */
const char *level_name(enum level level);

/* Exact, as level_name() says it. LEVEL_INVALID for anything else, NULL too. */
enum level level_from_name(const char *name);

/*
 * A request: a level, or one with ",verbose" behind it for a line of each node;
 * "verbose" alone means quick. FULL is full: ASCII letters of either case, whatever
 * the locale. LEVEL_INVALID for anything else, NULL too; then `verbose` is false.
 */
enum level level_from_request(const char *text, bool *verbose);

/*
 * The argument of --syscheck, a request. A missing one means quick; it arrives
 * as NULL, "" or "(null)", by the way it took through Slurm.
 */
enum level level_from_option(const char *arg, bool *verbose);

/* A request as text: the reverse of level_from_request(). */
const char *level_request(enum level level, bool verbose);

/*
 * The level that was probably meant (of a request: before its ",verbose"), NULL if none is near: ignoring case, at
 * most two edits away and fewer than the word has letters. An edit inserts,
 * drops or replaces a character or swaps two neighbours (optimal string
 * alignment). The first in order wins a tie.
 */
const char *level_suggest(const char *word);

/*
 * One line, without a newline, that refuses `value`, which came from `source`
 * ("--syscheck"). The value may hold any bytes and have any length: what is
 * shown is printable ASCII and short.
 */
void level_refusal(char *out, size_t size, const char *source, const char *value);

#endif
