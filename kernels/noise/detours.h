/*
 * What one core lost: every detour is counted and its length goes into a histogram;
 * the longest ones are kept with their start, in a buffer of fixed size.
 */
#ifndef SYSCHECK_DETOURS_H
#define SYSCHECK_DETOURS_H

#include <stdbool.h>
#include <stddef.h>

#include "loghist.h"
#include "periodic.h"
#include "ticks.h"

/* At least 256 KiB a core, 64 MiB on 256 cores: several times what a noisy core has in 1 s. */
#define DETOURS_LEAST 16384
#define DETOURS_MOST 65536

struct detours {
	/* Ticks while the sampler runs, seconds after detours_to_seconds. */
	union {
		uint64_t ticks[2]; /* start, length */
		struct periodic_event event;
	} *kept;
	size_t n, room;
	uint64_t keep_from; /* shorter ones are not kept */
	uint64_t lost, longest;
	struct loghist lengths; /* its total is the number of detours */
};

/* Touches every page, so that no page fault is measured. False: no memory. */
bool detours_init(struct detours *d, size_t room);

void detours_free(struct detours *d);

/* When the buffer is full: drops the shorter half or more. What stays is every detour above keep_from. */
void detours_thin(struct detours *d);

/* True if the buffer was thinned, which takes as long as a detour itself. */
static inline bool detours_add(struct detours *d, uint64_t start, uint64_t length)
{
	d->lost += length;
	if (length > d->longest)
		d->longest = length;
	loghist_add(&d->lengths, length);
	if (length < d->keep_from)
		return false;
	d->kept[d->n].ticks[0] = start;
	d->kept[d->n].ticks[1] = length;
	if (++d->n < d->room)
		return false;
	detours_thin(d);
	return true;
}

/* The kept ones in seconds, starts on CLOCK_MONOTONIC_RAW. */
struct periodic_event *detours_to_seconds(struct detours *d, const struct ticks_mark *mark, double rate);

#endif
