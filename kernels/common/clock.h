/* The one clock of all kernels: not slewed, not set, in seconds. */
#ifndef SYSCHECK_CLOCK_H
#define SYSCHECK_CLOCK_H

#include <time.h>

static inline double clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

#endif
