/* What every kernel's main does, and main itself: options, topology, one line on what went wrong. */
#ifndef SYSCHECK_KERNEL_H
#define SYSCHECK_KERNEL_H

#include "opts.h"
#include "result.h"
#include "topo.h"

struct kernel {
	const char *name;
	const char *what; /* a sentence for --help */
	double seconds;   /* default time box */
	const struct opts_extra *extra;
	/* Measures until `end` (clock_now) at the latest. Returns an exit code of opts.h. */
	int (*run)(const struct topo *topo, double started, double end);
};

/* Each kernel's main file defines it. */
extern const struct kernel kernel;

/* When the process began, before its libraries were made ready: clock_now. The time box begins there. */
extern double kernel_started;

/*
 * From now on, ends the process with EXIT_COULD_NOT at twice the time box of `seconds`
 * and 3 s: something hangs, and nothing else may be there to end us. Main calls it.
 */
void kernel_watch(double seconds);

/* "name: ..." on stderr; returns EXIT_COULD_NOT. */
int kernel_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Opens the result: what all begin with; `error` says what is wrong, NULL: verified. */
void kernel_begin(struct result *r, const char *error);

/*
 * What the time box was too short for, so that every value is the best that it can be: a
 * rate is at most, a latency at least this. What was finished is verified.
 */
void kernel_unfinished(struct result *r, const char *what);

/*
 * Where set-up left less of the time box than this share, what was counted is a moment: a quota, some milliseconds
 * of every 100, may have let it run at full speed. Then the most that a rate can be is what was done in all of the
 * time, set-up too, over that time, but only if kernel_stopped: set-up may as well have been long.
 */
#define KERNEL_LEFT_LEAST 0.1
#define KERNEL_HARDLY_ANY "set-up left hardly any of the time box"

/*
 * The team was stopped for at least half of the time since its threads began: that made it late, more than anything
 * else. From now on the result says what was lost in all of that time, as the bound is of it: see team_lost_in_all.
 */
bool kernel_stopped(void);

/*
 * Adds what all results end with, writes it. Returns the exit code: EXIT_MEASURED or,
 * begun with an error, EXIT_WRONG; EXIT_COULD_NOT if stdout fails.
 */
int kernel_finish(struct result *r, const struct topo *topo, double started);

#endif
