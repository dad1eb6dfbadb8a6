#include "periodic.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "loghist.h"
#include "stats.h"

/* Differences: up to LAGS events apart, from 20 us on, in loghist's bins (of ns). */
#define LAGS 24
#define PERIOD_LOW 20e-6
#define BINS 1280 /* to 1,000 s */
#define CANDIDATES 6
#define STARTS 16
/* The period of a class is sought in its first events, then followed through all. */
#define SOUGHT 1024
#define CLASSES 100 /* more than there are between 1 us and 1 s */
#define HITS_LEAST 7
#define COVERAGE 0.6
#define MASK_S 100e-6 /* shorter ones hide too little to be worth following */
#define BURST 0.4 /* the first beat comes within that part of the window */

/* Half the width of the window around a beat, in periods, the widest first. */
static const double widths[] = { 0.1, 0.03, 0.01, 0.003 };
#define WIDTHS (sizeof(widths) / sizeof(widths[0]))

/* The events of one class of length. */
struct class {
	double *t;  /* their starts */
	size_t *at; /* which events they are */
	size_t n;
	/* The beats of the train being followed: number since its first, index into t. */
	size_t *beat, *hit;
	double from, to;
	/* Long events beyond the class, whoever's: what comes meanwhile is not seen. */
	const struct periodic_event **masks;
	size_t n_masks;
	double hidden; /* s, by all of them */
};

struct fit {
	double period, width;
	size_t start, hits;
	size_t seen, beats; /* of those that no mask touches: hits, all */
	double chance;      /* ln */
};

/* ln of the chance that noise does as well, an upper bound (Chernoff). */
static double chance(const struct fit *f, double rate)
{
	double p = -expm1(-2 * f->width * f->period * rate), h, n = (double)f->beats - 2;

	if (n < 1 || f->seen < 3)
		return 0;
	h = ((double)f->seen - 2) / n;
	if (h <= p)
		return 0;
	return -n * (h * log(h / p) + (h < 1 ? (1 - h) * log((1 - h) / (1 - p)) : 0));
}

/*
 * Follows a train from f->start through the first n events. The next beat is expected a
 * period after the last one, half corrected by where that was: timers that keep to a
 * grid and those that drift are both followed. Beats that a longer detour may hide
 * do not count. False if too many others are missing.
 */
static bool follow(const struct class *c, size_t n, double to, struct fit *f)
{
	double next = c->t[f->start], w = f->width * f->period;
	size_t i = f->start, mask = 0;

	f->hits = f->seen = f->beats = 0;
	for (size_t beat = 0; next + w <= to; next += f->period, beat++) {
		double expected = next;
		size_t best = n;

		while (i < n && c->t[i] < next - w)
			i++;
		for (size_t j = i; j < n && c->t[j] <= next + w; j++)
			if (best == n || fabs(c->t[j] - next) < fabs(c->t[best] - next))
				best = j;
		if (best < n) {
			c->beat[f->hits] = beat;
			c->hit[f->hits++] = best;
			next += 0.5 * (c->t[best] - next);
			i = best + 1;
		}
		while (mask < c->n_masks && c->masks[mask]->start + c->masks[mask]->length < expected - w)
			mask++;
		if (mask < c->n_masks && c->masks[mask]->start <= expected + w)
			continue;
		f->beats++;
		f->seen += best < n;
		if (f->beats >= 12 && (double)f->seen < (COVERAGE - 0.1) * (double)f->beats)
			return false;
	}
	return f->seen >= HITS_LEAST && (double)f->seen >= COVERAGE * (double)f->beats;
}

/* Events a second of the class while it can be seen, in its first n. */
static double rate_of(const struct class *c, size_t n, double to)
{
	return (double)n / ((to - c->from) * fmax(1 - c->hidden / (c->to - c->from), 0.01));
}

/* The slope of time over beat number, by least squares. */
static double slope(const struct class *c, const struct fit *f)
{
	double n = (double)f->hits, sx = 0, sy = 0, sxx = 0, sxy = 0, t0 = c->t[c->hit[0]];

	for (size_t i = 0; i < f->hits; i++) {
		double x = (double)c->beat[i], y = c->t[c->hit[i]] - t0;

		sx += x;
		sy += y;
		sxx += x * x;
		sxy += x * y;
	}
	return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

/* The periods whose differences are most in excess of what noise has. */
static size_t candidates(const struct class *c, size_t n, double to, double periods[CANDIDATES])
{
	float count[BINS] = { 0 }, sum[BINS] = { 0 }, score[BINS] = { 0 };
	double window = to - c->from, rate = rate_of(c, n, to);
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		for (size_t j = i + 1; j < n && j <= i + LAGS; j++) {
			double d = c->t[j] - c->t[i];
			unsigned bin = loghist_bucket((uint64_t)(d * 1e9));

			if (d < PERIOD_LOW)
				continue;
			if (d * HITS_LEAST > window || bin >= BINS)
				break;
			count[bin]++;
			sum[bin] += (float)d;
		}
	}
	for (unsigned b = 1; b + 2 < BINS; b++) {
		double width = (loghist_low(b + 2) - loghist_low(b - 1)) * 1e-9;
		double seen = (double)count[b - 1] + count[b] + count[b + 1];

		/* As many beats must be a period apart as a train has at least, but for missed ones. */
		if (seen >= HITS_LEAST - 2)
			score[b] = (float)((seen - (double)n * rate * width) / sqrt((double)n * rate * width + 1));
	}
	for (; found < CANDIDATES; found++) {
		size_t best = 0;

		for (size_t b = 1; b + 1 < BINS; b++)
			if (score[b] > score[best])
				best = b;
		if (score[best] <= 0)
			break;
		periods[found] = ((double)sum[best - 1] + sum[best] + sum[best + 1]) /
				 ((double)count[best - 1] + count[best] + count[best + 1]);
		for (size_t b = best < 2 ? 0 : best - 2; b <= best + 2 && b < BINS; b++)
			score[b] = 0;
	}
	return found;
}

/* From wide to narrow around the beats, the period sharpened by each. */
static void sharpen(const struct class *c, size_t n, double to, double period, size_t start, struct fit *best)
{
	double rate = rate_of(c, n, to);

	for (size_t w = 0; w < WIDTHS; w++) {
		struct fit f = { .period = period, .width = widths[w], .start = start };

		if (!follow(c, n, to, &f))
			return;
		f.chance = chance(&f, rate);
		period = slope(c, &f);
		if (f.chance < best->chance) {
			*best = f;
			best->period = period;
		}
	}
}

/* The train in a class that noise explains least; its chance is 0 if there is none. */
static void find_train(const struct class *c, struct fit *best)
{
	size_t n = c->n < SOUGHT ? c->n : SOUGHT;
	double to = n < c->n ? c->t[n - 1] : c->to, periods[CANDIDATES];
	size_t found = n >= HITS_LEAST ? candidates(c, n, to, periods) : 0;

	*best = (struct fit){ 0 };
	for (size_t k = 0; k < found; k++) {
		/* Starts that have a partner a period later: the first beats of any train do. */
		for (size_t i = 0, j = 0, tried = 0; i < n && tried < STARTS; i++) {
			if (c->t[i] > c->from + BURST * (to - c->from))
				break;
			while (j < n && c->t[j] < c->t[i] + periods[k] * (1 - widths[0]))
				j++;
			if (j == n || c->t[j] > c->t[i] + periods[k] * (1 + widths[0]))
				continue;
			tried++;
			sharpen(c, n, to, periods[k], i, best);
		}
	}
	/* Through all of the class, and what is believed is what is seen there. */
	if (n < c->n && best->hits > 0)
		best->chance = follow(c, c->n, c->to, best) ? chance(best, rate_of(c, c->n, c->to)) : 0;
}

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
 * Takes a train's events out of the search. The width that noise explains least is
 * about a standard deviation: the next one takes the tails in.
 * Its class' t, no longer needed, is scratch.
 */
static void claim(struct periodic_place *p, struct class *c, const struct fit *best)
{
	signed char id = (signed char)p->n_trains;
	struct periodic_train *train = &p->trains[p->n_trains++];
	struct fit f = *best;
	double squares = 0, duration;
	size_t intervals = 0;

	for (size_t w = 1; w < WIDTHS; w++)
		if (widths[w] == best->width)
			f.width = widths[w - 1];
	if (!follow(c, c->n, c->to, &f)) {
		f = *best;
		follow(c, c->n, c->to, &f);
	}
	*train = (struct periodic_train){ .period = slope(c, &f) };
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
			train->count++;
			train->lost += p->events[i].length;
		}
	}
}

/* The events of no train yet, of lengths in [low, high). */
static void gather(const struct periodic_place *p, struct class *c, double low, double high)
{
	c->n = c->n_masks = 0;
	c->hidden = 0;
	for (size_t i = 0; i < p->n; i++) {
		double length = p->events[i].length;

		if (p->owner[i] < 0 && length >= low && length < high) {
			c->t[c->n] = p->events[i].start;
			c->at[c->n++] = i;
		} else if (length >= high && length > MASK_S) {
			c->masks[c->n_masks++] = &p->events[i];
			c->hidden += length;
		}
	}
}

/* The train that noise explains least, of all classes. False if noise explains all. */
static bool search(struct periodic_place *p, struct class *c, double least, double most, double ln_trials)
{
	/* Narrow ones find what is rare and long, wide ones what varies in length. */
	static const double ratios[] = { 2, 4, INFINITY };
	double best_low = 0, best_high = 0;
	struct fit best = { 0 }, f;

	for (size_t r = 0; r < sizeof(ratios) / sizeof(ratios[0]); r++) {
		size_t before = 0;

		/* The narrow ones overlap by half. */
		for (double low = most / 2; low > least / 2; low /= ratios[r] > 2 ? 2 : M_SQRT2) {
			gather(p, c, low, low * ratios[r]);
			if (isinf(ratios[r]) && c->n == before)
				continue;
			before = c->n;
			find_train(c, &f);
			if (f.chance < best.chance) {
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

void periodic_find(struct periodic_place *p, double from, double to, size_t places)
{
	struct class c = { .from = from, .to = to };
	double ln_trials = log((double)BINS * STARTS * WIDTHS * CLASSES * (double)places);
	double least = INFINITY, most = 0;

	p->n_trains = 0;
	p->failed = false;
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
	while (!p->failed && p->n_trains < PERIODIC_MAX && search(p, &c, least, most * 1.001, ln_trials))
		continue;
	free(c.t);
	free(c.at);
	free(c.beat);
	free(c.hit);
	free(c.masks);
}
