#include "periodic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/stats.h"
#include "periodic_fit.h"

#define CLASSES 100    /* more than there are between 1 us and 1 s */
#define MASK_S 100e-6  /* shorter ones hide too little to be worth following */

static bool alike(double length, double duration)
{
	return length <= 4 * duration && duration <= 4 * length;
}

/* An event of no train nearest to `t` within w, of a length within 4x; n: none. */
static size_t nearest(const struct periodic_place *p, double t, double w, double duration)
{
	size_t low = 0, high = p->n, best = p->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->events[middle].start < t - w)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < p->n && p->events[low].start <= t + w; low++) {
		if (p->owner[low] < 0 && alike(p->events[low].length, duration) &&
		    (best == p->n || fabs(p->events[low].start - t) < fabs(p->events[best].start - t)))
			best = low;
	}
	return best;
}

static double median_length(const struct periodic_place *p, signed char train, double *lengths, double *p90)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		if (p->owner[i] == train)
			lengths[n++] = p->events[i].length;
	stats_sort(lengths, n);
	if (p90)
		*p90 = stats_quantile(lengths, n, 0.9);
	return stats_quantile(lengths, n, 0.5);
}

/*
 * Beats of one source are alike in length: enough must be there without the others. Long and
 * short ones in turn are two sources, each of twice the period. The class' t is scratch.
 */
static bool one_source(const struct periodic_place *p, struct fit_class *c, const struct fit *best)
{
	struct fit f = *best;
	size_t like = 0;
	double median;

	if (!fit_follow(c, c->n, c->to, &f))
		return false;
	for (size_t i = 0; i < f.hits; i++)
		c->t[i] = p->events[c->at[c->hit[i]]].length;
	stats_sort(c->t, f.hits);
	median = stats_quantile(c->t, f.hits, 0.5);
	for (size_t i = 0; i < f.hits; i++)
		like += alike(c->t[i], median);
	return (double)like / (double)f.hits * (double)f.seen >= FIT_COVERAGE * (double)f.beats;
}

/*
 * Takes a train's events out of the search. The width that noise explains least is
 * about a standard deviation: the next one takes the tails in.
 * Its class' t, no longer needed, is scratch.
 */
static void claim(struct periodic_place *p, struct fit_class *c, const struct fit *best)
{
	signed char id = (signed char)p->n_trains;
	struct periodic_train *train = &p->trains[p->n_trains++];
	struct fit f = *best;
	double squares = 0, duration;
	size_t intervals = 0;

	for (size_t w = 1; w < FIT_WIDTHS; w++)
		if (fit_widths[w] == best->width)
			f.width = fit_widths[w - 1];
	if (!fit_follow(c, c->n, c->to, &f)) {
		f = *best;
		fit_follow(c, c->n, c->to, &f);
	}
	*train = (struct periodic_train){ .period = fit_period(c, &f) };
	for (size_t i = 0; i < f.hits; i++)
		p->owner[c->at[c->hit[i]]] = id;
	for (size_t i = 1; i < f.hits; i++) {
		double d = c->t[c->hit[i]] - c->t[c->hit[i - 1]] - train->period;

		if (c->beat[i] - c->beat[i - 1] == 1) {
			squares += d * d;
			intervals++;
		}
	}
	train->jitter = intervals ? sqrt(squares / (double)intervals) / train->period : NAN;
	/*
	 * What is of quite another length came by chance, or in its wake (a tick that
	 * gives the CPU to another process). Beats missing in this class are sought in others.
	 */
	duration = median_length(p, id, c->t, NULL);
	for (size_t i = 0; i < p->n; i++)
		if (p->owner[i] == id && !alike(p->events[i].length, duration))
			p->owner[i] = -1;
	for (size_t i = 1; i < f.hits; i++) {
		size_t a = c->at[c->hit[i - 1]], b = c->at[c->hit[i]], gap = c->beat[i] - c->beat[i - 1];

		for (size_t k = 1; k < gap; k++) {
			double t = p->events[a].start +
				   (p->events[b].start - p->events[a].start) * (double)k / (double)gap;
			size_t found = nearest(p, t, f.width * train->period, duration);

			if (found < p->n)
				p->owner[found] = id;
		}
	}
	train->duration = median_length(p, id, c->t, &train->duration_p90);
	for (size_t i = 0; i < p->n; i++) {
		if (p->owner[i] == id) {
			train->beat = train->count == 0 ? p->events[i].start : train->beat;
			train->count++;
			train->lost += p->events[i].length;
		}
	}
}

/* The events of no train yet, of lengths in [low, high). */
static void gather(const struct periodic_place *p, struct fit_class *c, double low, double high)
{
	c->n = c->n_masks = 0;
	c->hidden = 0;
	for (size_t i = 0; i < p->n; i++) {
		double length = p->events[i].length;

		if (p->owner[i] < 0 && length >= low && length < high) {
			c->t[c->n] = p->events[i].start;
			c->at[c->n++] = i;
		} else if (length >= high && length > MASK_S) {
			c->masks[c->n_masks++] = p->events[i];
			c->hidden += length;
		}
	}
}

/* The train that noise explains least, of all classes. False if noise explains all, or at the limit. */
static bool search(struct periodic_place *p, struct fit_class *c, double least, double most, double ln_trials,
		   const struct periodic_limit *limit)
{
	/* Narrow ones find what is rare and long, wide ones what varies in length. */
	static const double ratios[] = { 2, 4, INFINITY };
	double best_low = 0, best_high = 0;
	struct fit best = { 0 }, f;

	for (size_t r = 0; r < sizeof(ratios) / sizeof(ratios[0]); r++) {
		double low = most;
		size_t before = 0;

		/* The narrow ones overlap by half. */
		while (low > least) {
			/* The best of some classes only might be a part of a better one. */
			p->cut = periodic_over(limit);
			if (p->cut)
				return false;
			low /= ratios[r] > 2 ? 2 : M_SQRT2;
			gather(p, c, low, low * ratios[r]);
			if (isinf(ratios[r]) && c->n == before)
				continue;
			before = c->n;
			fit_find(c, &f);
			if (f.chance < best.chance && one_source(p, c, &f)) {
				best = f;
				best_low = low;
				best_high = low * ratios[r];
			}
		}
	}
	if (best.chance > -ln_trials - log(1000))
		return false;
	gather(p, c, best_low, best_high);
	claim(p, c, &best);
	return true;
}

void periodic_find(struct periodic_place *p, double from, double to, size_t places, const struct periodic_limit *limit)
{
	struct fit_class c = { .from = from, .to = to };
	double ln_trials = log((double)FIT_BINS * FIT_STARTS * FIT_WIDTHS * CLASSES * (double)places);
	double least = INFINITY, most = 0;

	p->n_trains = 0;
	p->failed = p->cut = false;
	if (p->n == 0)
		return;
	memset(p->owner, -1, p->n);
	c.t = malloc(p->n * sizeof(*c.t));
	c.at = malloc(p->n * sizeof(*c.at));
	c.beat = malloc(p->n * sizeof(*c.beat));
	c.hit = malloc(p->n * sizeof(*c.hit));
	c.masks = malloc(p->n * sizeof(*c.masks));
	p->failed = !c.t || !c.at || !c.beat || !c.hit || !c.masks;
	for (size_t i = 0; i < p->n && !p->failed; i++) {
		least = fmin(least, p->events[i].length);
		most = fmax(most, p->events[i].length);
	}
	while (!p->failed && p->n_trains < PERIODIC_MAX && search(p, &c, least, most * 1.001, ln_trials, limit))
		continue;
	free(c.t);
	free(c.at);
	free(c.beat);
	free(c.hit);
	free(c.masks);
}
