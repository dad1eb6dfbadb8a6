/*
 * How much later than on a quiet node a quantum of work ends that is begun at any time: what a
 * bulk-synchronous job waits for. Pure but for the clock that limits it.
 *
 * On a core W(t) = t - lost(t) is the work done until t. A quantum g begun at t ends at
 * W^-1(W(t) + g), so its delay is d(t; g) = W^-1(W(t) + g) - t - g: what is lost between. The
 * node's delay is the most of its cores' at the same t, as all of them meet before they go on.
 *
 * Of a detour that goes on at t nothing counts: a job's next quantum does not begin before the one
 * is over for which it waited. Within a detour that is long beside the quantum no begin is counted at
 * all: work goes on outside of it only. What others had begun meanwhile, while they waited, follows from
 * the rate of detours by length, which is in d: see lua/syscheck/questions/noise/chain.lua.
 */
#ifndef SYSCHECK_NOISE_DELAYS_H
#define SYSCHECK_NOISE_DELAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/topo.h"
#include "periodic.h"

#define DELAYS_WORKS 4
/* The shortest is the grain of fine-grained codes, the longest that of most. */
static const double delays_works[DELAYS_WORKS] = { 0.1e-3, 1e-3, 10e-3, 100e-3 };

#define DELAYS_KNOTS 24
/* Of what is only compared with it: without a component, without cores. */
#define DELAYS_KNOTS_LESS 12
#define DELAYS_LARGEST 16
#define DELAYS_WITHOUT 4 /* components, those that take most */
#define DELAYS_SETS (2 + DELAYS_WITHOUT)

/* The delay as a quantile function, linear between its knots: `above`, the part of begins with more, from 1 to 0. */
struct delays_knot {
	double above, delay; /* s */
};

struct delays {
	struct delays_knot knots[DELAYS_KNOTS];
	size_t n_knots; /* 0: not known */
	/* Descending, s: of begins so far apart that no two of them met the same detour. */
	double largest[DELAYS_LARGEST];
	size_t n_largest;
};

/* Of one quantum. */
struct delays_of_work {
	double window;  /* s, of begins; 0: what was sampled is too short */
	struct delays all;
	struct delays spared;                  /* without the noisiest cores */
	struct delays without[DELAYS_WITHOUT]; /* without a component */
};

/* All, spared, then without each component. */
static inline struct delays *delays_set(struct delays_of_work *w, size_t set)
{
	return set == 0 ? &w->all : set == 1 ? &w->spared : &w->without[set - 2];
}

struct delays_node {
	const struct topo *topo;
	const struct periodic_place *places;
	const struct periodic_component *components;
	size_t n_components;
	double from, to; /* when all cores were sampled, s on the events' clock */
	double end;      /* clock_now: what is not done by then is left out */
};

/* So many cores are left out of `spared`: one in 32, what sites set apart for the system; 0: it has one core. */
int delays_spared(int cores);

/*
 * All of a node, by a team of a thread on each core. `works` has DELAYS_WORKS. False: no memory or
 * no threads, nothing is known. Begins are tried on a grid, `*samples` of them, so that each detour
 * meets at least one of the shortest quanta.
 */
bool delays_of_node(const struct delays_node *n, struct delays_of_work *works, size_t *samples);

/* Of a core: the latest begin of a quantum that ends until `to`. Below all begins if none does. */
double delays_last_begin(const struct periodic_event *events, size_t n, double to, double work);

/*
 * Calls each(data, k, delay, within) of the begins from + k * step, k < samples, that have a delay or are within a
 * detour, of that length; without the events whose owner is `skip`. O(n + samples).
 */
void delays_of_core(const struct periodic_place *p, signed char skip, double from, double step, size_t samples,
		    double work, void (*each)(void *data, size_t k, double delay, double within), void *data);

/*
 * At most `most` knots of n > 0 delays in ascending order, where leaving them out would change most of what the
 * slowest of N nodes is expected to lose, at any N.
 */
size_t delays_knots(const double *sorted, size_t n, size_t most, struct delays_knot *knots);

/* The largest of delays at begins `step` apart. `scratch`: n bytes. */
size_t delays_largest(const float *delays, size_t n, double step, double work, unsigned char *scratch, double *largest);

#endif
