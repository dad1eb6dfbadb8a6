/* Work and the time that it took: one rate over all of it, and how rates differed. Pure. */
#ifndef SYSCHECK_TALLY_H
#define SYSCHECK_TALLY_H

#include <stddef.h>

/* Rates that are kept: the latest. */
#define TALLY_MOST 4096

struct tally {
	double work, seconds;
	double *rates; /* room for TALLY_MOST, or NULL: none are kept */
	size_t n;      /* how often something was added */
};

void tally_add(struct tally *t, double work, double seconds);

/*
 * All work over all time. The median of short pieces would hide a core that is stopped
 * for a part of every 100 ms (a CFS quota, duty-cycle throttling): most pieces miss the
 * stop, and the job's do not. 0 if nothing was added.
 */
double tally_rate(const struct tally *t);

struct tally_spread {
	double median, best, p10, p90;
};

/* Of the rates kept, at least one; sorts them. */
struct tally_spread tally_spread(struct tally *t);

#endif
