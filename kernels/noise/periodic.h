/*
 * Periodic sources among detours: pulse trains are separated by their time-difference
 * histogram (SDIF: Milojevic and Popovic 1992, "Improved algorithm for the
 * deinterleaving of radar pulses", after Mardia 1989), followed beat by beat, and
 * believed only where Poisson noise of the same rate would hardly look the same. Pure.
 *
 * In: what each core lost, start by start. Out: <frequency, duration, distribution,
 * placement> of each source, after Ferreira, Bridges and Brightwell 2008.
 *
 * A train is accepted when
 * - at least 60 % of its beats are there, over at least the last 60 % of the window
 *   (a burst is no train, one that is missed at times is; beats that a longer detour
 *   hides do not count), within 4x of their median length;
 * - n beats, h of them hit, with a chance p = 1 - exp(-2 w rate) that noise hits one
 *   (w: half the width of the window around a beat), satisfy
 *   (n-1) KL((h-1)/(n-1), p) >= ln(trials) + ln(1000): by Chernoff's bound less than
 *   one run in 1,000 of pure Poisson noise shows anything. Two beats are not counted,
 *   because they set phase and period. Trials: all starts, periods, widths, classes of
 *   length and cores that were tried.
 * With hardly any jitter that takes 7 beats, with 10 % of the period 15.
 */
#ifndef SYSCHECK_PERIODIC_H
#define SYSCHECK_PERIODIC_H

#include <stdbool.h>
#include <stddef.h>

#define PERIODIC_MAX 8 /* trains of a core, components of a node */
#define PERIODIC_NONE (-2) /* no event's owner */

/* When to stop: `over` is asked every few ms at most. NULL instead of one: never. */
struct periodic_limit {
	bool (*over)(void *data);
	void *data;
};

/* One detour, in s. */
struct periodic_event {
	double start, length;
};

struct periodic_train {
	double period;       /* s */
	double jitter;       /* standard deviation of the interval between beats, in periods */
	double duration, duration_p90; /* s: median, 90th percentile */
	double lost;         /* s, all beats together */
	double beat;         /* when its first began; of several places: of one of them */
	size_t count;        /* beats that were seen */
};

/* A core. */
struct periodic_place {
	const struct periodic_event *events; /* ascending by start, not overlapping */
	size_t n;
	signed char *owner;                  /* out, of each event: its train, or -1; PERIODIC_MAX + k: one that moves */
	struct periodic_train trains[PERIODIC_MAX];
	size_t n_trains;
	bool failed;                         /* out of memory: nothing found */
	bool cut;                            /* over before all was sought: trains[] may lack some */
};

struct periodic_component {
	struct periodic_train all; /* its numbers over all places: sums, or means by count */
	bool *on;                  /* of each place: it is there (the caller's, `places` long) */
	signed char *owner;        /* and who its events belong to there (the same) */
};

/* Finds the trains of one core, in a window [from, to] s; `places`: how many cores are asked. */
void periodic_find(struct periodic_place *p, double from, double to, size_t places, const struct periodic_limit *limit);

/*
 * Joins trains of the same period and length on several cores, and looks in what is
 * left for one that moves between cores. At most PERIODIC_MAX, the largest loss
 * first. Returns their number; `complete`: neither the limit nor memory kept anything
 * from being found, here or in a place.
 */
size_t periodic_components(const struct periodic_place *p, size_t places, double from, double to,
			   const struct periodic_limit *limit, struct periodic_component out[PERIODIC_MAX],
			   bool *complete);

static inline bool periodic_over(const struct periodic_limit *limit)
{
	return limit && limit->over(limit->data);
}

#endif
