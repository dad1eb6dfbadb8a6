/* What every kernel's main does: options, topology, one line on what went wrong. */
#ifndef SYSCHECK_KERNEL_H
#define SYSCHECK_KERNEL_H

#include <stddef.h>

#include "opts.h"
#include "result.h"
#include "topo.h"

struct kernel {
	const char *name;
	const char *what; /* a sentence for --help */
	double seconds;   /* default time box */
	const struct opts_extra *extra;
	size_t n_extra;
	/* Measures until `end` (clock_now) at the latest. Returns an exit code of opts.h. */
	int (*run)(const struct topo *topo, double started, double end);
};

/* Returns the exit code. */
int kernel_main(const struct kernel *k, int argc, char **argv);

/*
 * From now on, ends the process with EXIT_COULD_NOT at twice the time box of `seconds`
 * and 3 s: something hangs. kernel_main does it; nothing else may be there to wait for us.
 */
void kernel_watch(const char *name, double seconds);

/* "name: ..." on stderr; returns EXIT_COULD_NOT. */
int kernel_fail(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds what all results end with, writes it; returns `code`, or EXIT_COULD_NOT if stdout fails. */
int kernel_finish(const char *name, struct result *r, const struct topo *topo, double started, int code);

#endif
