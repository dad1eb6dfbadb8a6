/* From the trains of cores to the components of a node. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "loghist.h"
#include "periodic.h"

#define SAME_PERIOD 0.01
#define SAME_DURATION 2 /* cores of one node handle the same interrupt about as fast */
#define MOVING_MOST 4096

/* An event, and where it was. */
struct moved {
	struct periodic_event event;
	size_t place, at;
};

static bool same(const struct periodic_train *a, const struct periodic_train *b)
{
	double tolerance = SAME_PERIOD + a->jitter / sqrt((double)a->count) + b->jitter / sqrt((double)b->count);

	return fabs(a->period - b->period) <= tolerance * fmax(a->period, b->period) &&
	       a->duration <= SAME_DURATION * b->duration && b->duration <= SAME_DURATION * a->duration;
}

static void add(struct periodic_train *all, const struct periodic_train *one)
{
	double w = (double)one->count / (double)(all->count + one->count);

	all->period += w * (one->period - all->period);
	all->jitter += w * (one->jitter - all->jitter);
	all->duration += w * (one->duration - all->duration);
	all->duration_p90 += w * (one->duration_p90 - all->duration_p90);
	all->lost += one->lost;
	all->count += one->count;
}

/* Into the list, the largest loss first; the smallest falls off its end. Swaps, because its lists are the caller's. */
static size_t insert(struct periodic_component out[PERIODIC_MAX], size_t n, const struct periodic_train *all,
		     const bool *on, const signed char *owner, size_t places)
{
	struct periodic_component t;

	if (n == PERIODIC_MAX && out[n - 1].all.lost >= all->lost)
		return n;
	n = n == PERIODIC_MAX ? n : n + 1;
	out[n - 1].all = *all;
	memcpy(out[n - 1].on, on, places * sizeof(*on));
	memcpy(out[n - 1].owner, owner, places * sizeof(*owner));
	for (size_t i = n - 1; i > 0 && out[i - 1].all.lost < out[i].all.lost; i--) {
		t = out[i];
		out[i] = out[i - 1];
		out[i - 1] = t;
	}
	return n;
}

/* Trains of the same period and length, one a core at most. */
static size_t join(const struct periodic_place *p, size_t places, const struct periodic_limit *limit,
		   struct periodic_component out[PERIODIC_MAX], bool *on, signed char *owner, bool *taken, bool *complete)
{
	size_t n = 0;

	for (size_t leader = 0; leader < places * PERIODIC_MAX; leader++) {
		const struct periodic_place *of = &p[leader / PERIODIC_MAX];
		const struct periodic_train *first = &of->trains[leader % PERIODIC_MAX];
		struct periodic_train all;

		if (leader % PERIODIC_MAX >= of->n_trains || taken[leader])
			continue;
		if (periodic_over(limit)) {
			*complete = false;
			break;
		}
		all = *first;
		memset(on, 0, places * sizeof(*on));
		on[leader / PERIODIC_MAX] = true;
		owner[leader / PERIODIC_MAX] = (signed char)(leader % PERIODIC_MAX);
		for (size_t i = leader / PERIODIC_MAX + 1; i < places; i++) {
			for (size_t k = 0; k < p[i].n_trains && !on[i]; k++) {
				if (taken[i * PERIODIC_MAX + k] || !same(first, &p[i].trains[k]))
					continue;
				taken[i * PERIODIC_MAX + k] = on[i] = true;
				owner[i] = (signed char)k;
				add(&all, &p[i].trains[k]);
			}
		}
		n = insert(out, n, &all, on, owner, places);
	}
	return n;
}

static int by_start(const void *a, const void *b)
{
	double x = ((const struct moved *)a)->event.start, y = ((const struct moved *)b)->event.start;

	return (x > y) - (x < y);
}

static uint64_t ns(const struct periodic_event *e)
{
	return (uint64_t)(fmin(e->length, 1e9) * 1e9);
}

/* The bucket from which on at most MOVING_MOST events of no train are left. False at the limit. */
static bool longest(const struct periodic_place *p, size_t places, const struct periodic_limit *limit,
		    struct loghist *lengths, unsigned *from)
{
	size_t n = 0;

	for (size_t i = 0; i < places; i++) {
		if (periodic_over(limit))
			return false;
		for (size_t k = 0; k < p[i].n && !p[i].failed; k++)
			if (p[i].owner[k] < 0)
				loghist_add(lengths, ns(&p[i].events[k]));
	}
	/* A bucket goes as a whole or stays as a whole: a part of a source would be none. */
	for (*from = LOGHIST_BUCKETS; *from > 0; (*from)--) {
		n += lengths->counts[*from - 1];
		if (n > MOVING_MOST)
			break;
	}
	return true;
}

/* The longest events of no train, ascending by start, those at the same time once. False at the limit. */
static bool rest(const struct periodic_place *p, size_t places, const struct periodic_limit *limit,
		 struct loghist *lengths, struct moved *m, size_t *kept)
{
	unsigned from;
	size_t n = 0;

	if (!longest(p, places, limit, lengths, &from))
		return false;
	for (size_t i = 0; i < places; i++) {
		if (periodic_over(limit))
			return false;
		for (size_t k = 0; k < p[i].n && !p[i].failed; k++)
			if (p[i].owner[k] < 0 && loghist_bucket(ns(&p[i].events[k])) >= from)
				m[n++] = (struct moved){ .event = p[i].events[k], .place = i, .at = k };
	}
	qsort(m, n, sizeof(*m), by_start);
	*kept = 0;
	for (size_t i = 0; i < n; i++)
		if (*kept == 0 || m[i].event.start > m[*kept - 1].event.start + m[*kept - 1].event.length)
			m[(*kept)++] = m[i];
	return true;
}

/* Sources that are now on this core, now on that. */
static size_t moving(const struct periodic_place *p, size_t places, double from, double to,
		     const struct periodic_limit *limit, size_t n, struct periodic_component out[PERIODIC_MAX],
		     bool *on, signed char *mine, bool *complete)
{
	struct moved *m = malloc(MOVING_MOST * sizeof(*m));
	struct periodic_event *events = malloc(MOVING_MOST * sizeof(*events));
	struct loghist *lengths = calloc(1, sizeof(*lengths));
	signed char *owner = malloc(MOVING_MOST);
	struct periodic_place all = { .events = events, .owner = owner, .failed = true };

	if (m && events && owner && lengths) {
		all.cut = !rest(p, places, limit, lengths, m, &all.n);
		all.failed = false;
		for (size_t i = 0; i < all.n; i++)
			events[i] = m[i].event;
		if (!all.cut)
			periodic_find(&all, from, to, 1, limit);
	}
	*complete = *complete && !all.cut && !all.failed;
	for (size_t k = 0; k < all.n_trains; k++) {
		memset(on, 0, places * sizeof(*on));
		memset(mine, (int)(PERIODIC_MAX + k), places);
		for (size_t i = 0; i < all.n; i++) {
			if (owner[i] != (signed char)k)
				continue;
			on[m[i].place] = true;
			p[m[i].place].owner[m[i].at] = (signed char)(PERIODIC_MAX + k);
		}
		n = insert(out, n, &all.trains[k], on, mine, places);
	}
	free(m);
	free(events);
	free(lengths);
	free(owner);
	return n;
}

size_t periodic_components(const struct periodic_place *p, size_t places, double from, double to,
			   const struct periodic_limit *limit, struct periodic_component out[PERIODIC_MAX],
			   bool *complete)
{
	bool *on = calloc(places, sizeof(*on)), *taken = calloc(places * PERIODIC_MAX, sizeof(*taken));
	signed char *owner = calloc(places, sizeof(*owner));
	size_t n = 0;

	*complete = on && owner && taken;
	/* What an earlier call found to move. */
	for (size_t i = 0; i < places; i++)
		for (size_t k = 0; k < p[i].n && !p[i].failed; k++)
			if (p[i].owner[k] >= PERIODIC_MAX)
				p[i].owner[k] = -1;
	for (size_t i = 0; i < places; i++)
		*complete = *complete && !p[i].failed && !p[i].cut;
	if (on && owner && taken) {
		n = join(p, places, limit, out, on, owner, taken, complete);
		if (places > 1)
			n = moving(p, places, from, to, limit, n, out, on, owner, complete);
	}
	free(on);
	free(owner);
	free(taken);
	return n;
}
