#include "delays.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/stats.h"
#include "common/team.h"

/* Begins in the shortest quantum: the fewest that see every detour, and some. */
#define BEGINS_A_WORK 2
#define SAMPLES_LEAST 4096
#define SAMPLES_MOST 32768
/* Fewer quanta one after the other say nothing. */
#define QUANTA_LEAST 2
#define CORES_A_SPARED 32
#define LEAST_S 1e-9 /* less is rounding */
/* Of a quantum: longer detours are long. Of the begins: as many at least are outside of such, or all are taken. */
#define LONG_PART 0.1
#define OUTSIDE_LEAST 0.25

/* What the threads share. A float that is not negative and its bits are in the same order. */
struct board {
	const struct delays_node *node;
	struct delays_of_work *works;
	_Atomic uint32_t *most; /* [set][work][sample] */
	_Atomic bool *within;   /* the same: it begins within a long detour */
	double (*last)[DELAYS_WORKS]; /* of each core: the latest begin */
	bool *is_spared;              /* of each core */
	size_t sets, samples;
	_Atomic bool failed;
};

/* What one core gives to several sets. */
struct giving {
	_Atomic uint32_t *to[DELAYS_SETS];
	_Atomic bool *within[DELAYS_SETS];
	double is_long; /* s */
	size_t n;
};

int delays_spared(int cores)
{
	return cores < 2 ? 0 : (cores + CORES_A_SPARED - 1) / CORES_A_SPARED;
}

double delays_last_begin(const struct periodic_event *events, size_t n, double to, double work)
{
	double at = to;

	for (size_t i = n; i > 0; i--) {
		double end = fmin(events[i - 1].start + events[i - 1].length, at), gap = at - end;

		if (gap >= work)
			break;
		work -= gap;
		at = fmin(events[i - 1].start, at);
	}
	return at - work;
}

void delays_of_core(const struct periodic_place *p, signed char skip, double from, double step, size_t samples,
		    double work, void (*each)(void *data, size_t k, double delay, double within), void *data)
{
	const struct periodic_event *e = p->events;
	/* What was lost before event `at`, the first that ends after t, and before `next`, that begins after the end. */
	double lost_at = 0, lost_next = 0;
	size_t at = 0, next = 0;

	for (size_t k = 0; k < samples; k++) {
		double t = from + (double)k * step, lost, before;

		for (; at < p->n && (p->owner[at] == skip || e[at].start + e[at].length <= t); at++)
			lost_at += p->owner[at] == skip ? 0 : e[at].length;
		before = at < p->n && e[at].start < t ? e[at].length : 0;
		lost = lost_at + (before > 0 ? t - e[at].start : 0);
		/* Until W(t) + work is done: events that begin before. */
		for (; next < p->n && (p->owner[next] == skip || e[next].start - lost_next < t - lost + work); next++)
			lost_next += p->owner[next] == skip ? 0 : e[next].length;
		/* What it was in at its begin is not its own. */
		if (before > 0 || lost_next > lost_at)
			each(data, k, fmax(lost_next - lost_at - before, 0), before);
	}
}

static void give(void *data, size_t k, double delay, double within)
{
	const struct giving *g = data;
	float value = delay > LEAST_S ? (float)delay : 0;
	uint32_t bits, seen;

	memcpy(&bits, &value, sizeof(bits));
	for (size_t i = 0; i < g->n; i++) {
		if (within > g->is_long)
			atomic_store_explicit(&g->within[i][k], true, memory_order_relaxed);
		seen = atomic_load_explicit(&g->to[i][k], memory_order_relaxed);
		while (seen < bits && !atomic_compare_exchange_weak_explicit(&g->to[i][k], &seen, bits, memory_order_relaxed,
									      memory_order_relaxed))
			continue;
	}
}

static size_t row(const struct board *b, size_t set, size_t work)
{
	return (set * DELAYS_WORKS + work) * b->samples;
}

static void give_to(const struct board *b, size_t set, size_t work, struct giving *g)
{
	g->to[g->n] = b->most + row(b, set, work);
	g->within[g->n++] = b->within + row(b, set, work);
}

static double step_of(const struct board *b, size_t work)
{
	return b->works[work].window / (double)b->samples;
}

/* How a core takes part in each set: as it is, without a component, or not at all. */
static void core_gives(const struct board *b, int core, size_t work)
{
	const struct delays_node *n = b->node;
	const struct periodic_place *p = &n->places[core];
	struct giving g = { .is_long = LONG_PART * delays_works[work] };

	give_to(b, 0, work, &g);
	if (!b->is_spared[core])
		give_to(b, 1, work, &g);
	for (size_t k = 0; k + 2 < b->sets; k++)
		if (!n->components[k].on[core])
			give_to(b, k + 2, work, &g);
	delays_of_core(p, PERIODIC_NONE, n->from, step_of(b, work), b->samples, delays_works[work], give, &g);
	for (size_t k = 0; k + 2 < b->sets; k++) {
		if (!n->components[k].on[core])
			continue;
		g.n = 0;
		give_to(b, k + 2, work, &g);
		delays_of_core(p, n->components[k].owner[core], n->from, step_of(b, work), b->samples, delays_works[work],
			       give, &g);
	}
}

static bool summarise(const struct board *b, size_t set, size_t work)
{
	struct delays_of_work *w = &b->works[work];
	struct delays *d = delays_set(w, set);
	double *sorted = malloc(b->samples * sizeof(*sorted));
	float *delays = malloc(b->samples * sizeof(*delays));
	unsigned char *scratch = malloc(b->samples);
	bool good = sorted && delays && scratch;
	const size_t at = row(b, set, work);
	size_t n = 0;

	for (size_t k = 0; good && k < b->samples; k++) {
		uint32_t bits = atomic_load_explicit(&b->most[at + k], memory_order_relaxed);

		memcpy(&delays[k], &bits, sizeof(bits));
		if (!atomic_load_explicit(&b->within[at + k], memory_order_relaxed))
			sorted[n++] = (double)delays[k];
	}
	/* One of its cores is nearly always in one. */
	if (good && n < (size_t)(OUTSIDE_LEAST * (double)b->samples))
		for (n = 0; n < b->samples; n++)
			sorted[n] = (double)delays[n];
	if (good) {
		stats_sort(sorted, n);
		d->n_knots = delays_knots(sorted, n, set == 0 ? DELAYS_KNOTS : DELAYS_KNOTS_LESS, d->knots);
		if (set == 0)
			d->n_largest = delays_largest(delays, b->samples, step_of(b, work), delays_works[work], scratch,
						      d->largest);
	}
	free(sorted);
	free(delays);
	free(scratch);
	return good;
}

static void work(struct team *team, int member, void *shared)
{
	struct board *b = shared;
	const struct delays_node *n = b->node;
	const struct periodic_place *p = &n->places[member];

	for (size_t g = 0; g < DELAYS_WORKS; g++)
		b->last[member][g] = delays_last_begin(p->events, p->n, n->to, delays_works[g]);
	team_meet(team);
	if (member == 0) {
		for (size_t g = 0; g < DELAYS_WORKS; g++) {
			double last = n->to;

			for (int i = 0; i < n->topo->n; i++)
				last = fmin(last, b->last[i][g]);
			b->works[g].window = last - n->from >= QUANTA_LEAST * delays_works[g] ? last - n->from : 0;
		}
	}
	team_meet(team);
	for (size_t g = 0; g < DELAYS_WORKS; g++)
		if (b->works[g].window > 0)
			core_gives(b, member, g);
	team_meet(team);
	/* Each takes some of the sets to sort; the whole first, and the rest while there is time. */
	for (size_t i = (size_t)member; i < b->sets * DELAYS_WORKS; i += (size_t)n->topo->n)
		if (b->works[i % DELAYS_WORKS].window > 0 && (i < DELAYS_WORKS || clock_now() < n->end) &&
		    (i / DELAYS_WORKS != 1 || n->topo->n > 1) && !summarise(b, i / DELAYS_WORKS, i % DELAYS_WORKS))
			b->failed = true;
}

/* The cores that lost most. */
static void spare(const struct delays_node *n, bool *is_spared)
{
	for (int left = delays_spared(n->topo->n); left > 0; left--) {
		double most = -1;
		int worst = 0;

		for (int i = 0; i < n->topo->n; i++) {
			double lost = 0;

			for (size_t k = 0; k < n->places[i].n; k++)
				lost += n->places[i].events[k].length;
			if (!is_spared[i] && lost > most) {
				most = lost;
				worst = i;
			}
		}
		is_spared[worst] = true;
	}
}

bool delays_of_node(const struct delays_node *n, struct delays_of_work *works, size_t *samples)
{
	size_t cores = (size_t)n->topo->n;
	struct board b = { .node = n, .works = works };
	bool good = false;

	memset(works, 0, DELAYS_WORKS * sizeof(*works));
	/* Half of its cores would be another node. */
	for (size_t i = 0; i < cores; i++)
		if (n->places[i].failed || !n->places[i].owner)
			return false;
	b.samples = (size_t)fmin(fmax(BEGINS_A_WORK * (n->to - n->from) / delays_works[0], SAMPLES_LEAST), SAMPLES_MOST);
	b.sets = 2 + (n->n_components < DELAYS_WITHOUT ? n->n_components : DELAYS_WITHOUT);
	b.most = calloc(b.sets * DELAYS_WORKS * b.samples, sizeof(*b.most));
	b.within = calloc(b.sets * DELAYS_WORKS * b.samples, sizeof(*b.within));
	b.last = calloc(cores, sizeof(*b.last));
	b.is_spared = calloc(cores, sizeof(*b.is_spared));
	if (b.most && b.within && b.last && b.is_spared) {
		spare(n, b.is_spared);
		good = team_run_after(n->topo, work, &b) && !b.failed;
	}
	free((void *)b.most);
	free((void *)b.within);
	free(b.last);
	free(b.is_spared);
	*samples = b.samples;
	return good;
}

/* Between two knots: how wrong the line between them is. */
struct piece {
	size_t from, to, worst;
	double error;
};

/*
 * The error's weight: at N nodes the slowest is about where `above` is 1 / N, so each part of log(above) counts alike,
 * and relative to what is expected there, which is never below the mean.
 */
static void measure(const double *sorted, size_t n, double mean, struct piece *p)
{
	double slope = (sorted[p->to] - sorted[p->from]) / (double)(p->to - p->from), most = 0;

	p->error = 0;
	p->worst = p->from;
	for (size_t i = p->from + 1; i < p->to; i++) {
		double line = sorted[p->from] + slope * (double)(i - p->from);
		double error = fabs(line - sorted[i]) / (fmax(fmax(sorted[i], line), mean) * (double)(n - i));

		p->error += error;
		if (error > most) {
			most = error;
			p->worst = i;
		}
	}
}

size_t delays_knots(const double *sorted, size_t n, size_t most, struct delays_knot *knots)
{
	struct piece pieces[DELAYS_KNOTS] = { { .from = 0, .to = n - 1 } };
	size_t n_pieces = 1;
	double mean = 0;

	for (size_t i = 0; i < n; i++)
		mean += sorted[i] / (double)n;
	if (n < 2 || sorted[0] == sorted[n - 1]) {
		knots[0] = (struct delays_knot){ .above = 1, .delay = sorted[0] };
		knots[1] = (struct delays_knot){ .above = 0, .delay = sorted[n - 1] };
		return 2;
	}
	measure(sorted, n, mean, &pieces[0]);
	while (n_pieces + 1 < most) {
		size_t split = 0;

		for (size_t i = 1; i < n_pieces; i++)
			split = pieces[i].error > pieces[split].error ? i : split;
		if (pieces[split].worst == pieces[split].from)
			break;
		memmove(&pieces[split + 1], &pieces[split], (n_pieces - split) * sizeof(*pieces));
		n_pieces++;
		pieces[split].to = pieces[split + 1].from = pieces[split].worst;
		measure(sorted, n, mean, &pieces[split]);
		measure(sorted, n, mean, &pieces[split + 1]);
	}
	for (size_t i = 0; i <= n_pieces; i++) {
		size_t k = i < n_pieces ? pieces[i].from : n - 1;

		/* Each stands for 1 / n of all, half of it on either side. */
		knots[i] = (struct delays_knot){ .delay = sorted[k],
						 .above = k == 0 ? 1 : k == n - 1 ? 0 : 1 - ((double)k + 0.5) / (double)n };
	}
	return n_pieces + 1;
}

size_t delays_largest(const float *delays, size_t n, double step, double work, unsigned char *scratch, double *largest)
{
	size_t found = 0;

	memset(scratch, 0, n);
	while (found < DELAYS_LARGEST) {
		size_t best = n, reach, low, high;

		for (size_t k = 0; k < n; k++)
			if (!scratch[k] && delays[k] > 0 && (best == n || delays[k] > delays[best]))
				best = k;
		if (best == n)
			break;
		/* A begin that met one of its detours is within its quantum and its delay. */
		reach = (size_t)((work + (double)delays[best]) / step) + 1;
		low = best > reach ? best - reach : 0;
		high = best + reach < n ? best + reach : n - 1;
		memset(scratch + low, 1, high - low + 1);
		largest[found++] = (double)delays[best];
	}
	return found;
}
