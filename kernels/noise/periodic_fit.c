#include "periodic_fit.h"

#include <math.h>

#include "loghist.h"

#define LAGS 24 /* differences between events that are so far apart */
#define PERIOD_LOW 20e-6
#define CANDIDATES 6
/* The period of a class is sought in its first events, then followed through all. */
#define SOUGHT 1024
#define HITS_LEAST 7
#define BURST 0.4 /* the first beat comes within that part of the window */

const double fit_widths[FIT_WIDTHS] = { 0.1, 0.03, 0.01, 0.003 };

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
bool fit_follow(const struct fit_class *c, size_t n, double to, struct fit *f)
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
		while (mask < c->n_masks && c->masks[mask].start + c->masks[mask].length < expected - w)
			mask++;
		if (mask < c->n_masks && c->masks[mask].start <= expected + w)
			continue;
		f->beats++;
		f->seen += best < n;
		if (f->beats >= 12 && (double)f->seen < (FIT_COVERAGE - 0.1) * (double)f->beats)
			return false;
	}
	return f->seen >= HITS_LEAST && (double)f->seen >= FIT_COVERAGE * (double)f->beats;
}

/* Events a second of the class while it can be seen, in its first n. */
static double rate_of(const struct fit_class *c, size_t n, double to)
{
	return (double)n / ((to - c->from) * fmax(1 - c->hidden / (c->to - c->from), 0.01));
}

double fit_period(const struct fit_class *c, const struct fit *f)
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
static size_t candidates(const struct fit_class *c, size_t n, double to, double periods[CANDIDATES])
{
	float count[FIT_BINS] = { 0 }, sum[FIT_BINS] = { 0 }, score[FIT_BINS] = { 0 };
	double window = to - c->from, rate = rate_of(c, n, to);
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		for (size_t j = i + 1; j < n && j <= i + LAGS; j++) {
			double d = c->t[j] - c->t[i];
			unsigned bin = loghist_bucket((uint64_t)(d * 1e9));

			if (d < PERIOD_LOW)
				continue;
			if (d * HITS_LEAST > window || bin >= FIT_BINS)
				break;
			count[bin]++;
			sum[bin] += (float)d;
		}
	}
	for (unsigned b = 1; b + 2 < FIT_BINS; b++) {
		double width = (loghist_low(b + 2) - loghist_low(b - 1)) * 1e-9;
		double seen = (double)count[b - 1] + count[b] + count[b + 1];

		/* As many beats must be a period apart as a train has at least, but for missed ones. */
		if (seen >= HITS_LEAST - 2)
			score[b] = (float)((seen - (double)n * rate * width) / sqrt((double)n * rate * width + 1));
	}
	for (; found < CANDIDATES; found++) {
		size_t best = 0;

		for (size_t b = 1; b + 1 < FIT_BINS; b++)
			if (score[b] > score[best])
				best = b;
		if (score[best] <= 0)
			break;
		periods[found] = ((double)sum[best - 1] + sum[best] + sum[best + 1]) /
				 ((double)count[best - 1] + count[best] + count[best + 1]);
		for (size_t b = best < 2 ? 0 : best - 2; b <= best + 2 && b < FIT_BINS; b++)
			score[b] = 0;
	}
	return found;
}

/* From wide to narrow around the beats, the period sharpened by each. */
static void sharpen(const struct fit_class *c, size_t n, double to, double period, size_t start, struct fit *best)
{
	double rate = rate_of(c, n, to);

	for (size_t w = 0; w < FIT_WIDTHS; w++) {
		struct fit f = { .period = period, .width = fit_widths[w], .start = start };

		if (!fit_follow(c, n, to, &f))
			return;
		f.chance = chance(&f, rate);
		period = fit_period(c, &f);
		if (f.chance < best->chance) {
			*best = f;
			best->period = period;
		}
	}
}

/* The train in a class that noise explains least; its chance is 0 if there is none. */
void fit_find(const struct fit_class *c, struct fit *best)
{
	size_t n = c->n < SOUGHT ? c->n : SOUGHT;
	double to = n < c->n ? c->t[n - 1] : c->to, periods[CANDIDATES];
	size_t found = n >= HITS_LEAST ? candidates(c, n, to, periods) : 0;

	*best = (struct fit){ 0 };
	for (size_t k = 0; k < found; k++) {
		/* Starts that have a partner a period later: the first beats of any train do. */
		for (size_t i = 0, j = 0, tried = 0; i < n && tried < FIT_STARTS; i++) {
			if (c->t[i] > c->from + BURST * (to - c->from))
				break;
			while (j < n && c->t[j] < c->t[i] + periods[k] * (1 - fit_widths[0]))
				j++;
			if (j == n || c->t[j] > c->t[i] + periods[k] * (1 + fit_widths[0]))
				continue;
			tried++;
			sharpen(c, n, to, periods[k], i, best);
		}
	}
	/* Through all of the class, and what is believed is what is seen there. */
	if (n < c->n && best->hits > 0)
		best->chance = fit_follow(c, c->n, c->to, best) ? chance(best, rate_of(c, c->n, c->to)) : 0;
}
