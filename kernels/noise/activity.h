/*
 * What ran while noise was sampled: CPU time of every thread, interrupts and softirqs,
 * before and after, from /proc. Whatever cannot be read is left out; nothing fails.
 */
#ifndef SYSCHECK_NOISE_ACTIVITY_H
#define SYSCHECK_NOISE_ACTIVITY_H

#include <stdbool.h>

#include "common/result.h"
#include "common/topo.h"
#include "periodic.h"

struct activity;

/* Takes the first snapshot, until `deadline` (clock_now) at the latest. NULL: out of memory. */
struct activity *activity_begin(const struct topo *topo, double deadline);

/* Seconds that the first snapshot took: so will the second. */
double activity_cost(const struct activity *a);

void activity_end(struct activity *a, double deadline);

void activity_free(struct activity *a);

/* The keys processes, interrupts, softirqs, activity_complete. */
void activity_report(const struct activity *a, struct result *r);

struct activity_source {
	char name[64];
	int pid;       /* 0: an interrupt */
	char why[160];
};

/*
 * The source of a component; false: none fits. `window`: seconds that were sampled.
 * A thread, or all threads of a process: its CPU time is within 25 % of the time lost
 * (5 us a detour for the switches set aside), it got the CPU between 0.75 and 3 times
 * a detour, and it was last seen on one of the component's CPUs, or on one that was not
 * sampled. Otherwise an interrupt: detours below 1 ms, 20 or more, as many on the
 * component's CPUs within 15 %. Of several, the nearest.
 */
bool activity_match(const struct activity *a, const struct periodic_component *c, double window,
		    struct activity_source *source);

#endif
