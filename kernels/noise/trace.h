/* The file of --trace: all detours that were kept. */
#ifndef SYSCHECK_NOISE_TRACE_H
#define SYSCHECK_NOISE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "common/opts.h"
#include "noise.h"

struct trace {
	FILE *file; /* until it is written */
	int dir;    /* -1: no trace */
	const char *name; /* in dir */
	dev_t device;
	ino_t inode;
};

/*
 * Makes the file, mode 0600: never over an existing one, and through no link, neither
 * at the end nor on the way: it may be root who asks. False, and one line in `error`.
 */
bool trace_open(struct trace *t, const char *path, char error[ERROR_SIZE]);

/*
 * Writes "cpu start length" lines, s on CLOCK_MONOTONIC_RAW, until `end` (clock_now) at the
 * latest, and closes the file; `written`: how many lines. False: errno.
 */
bool trace_write(struct trace *t, const struct noise *s, double end, size_t *written);

/* Closes what is open; removes the file unless it is to be kept. Nothing was opened: does nothing. */
void trace_end(struct trace *t, bool keep);

#endif
