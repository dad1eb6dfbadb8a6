#include "latency.h"

#include <math.h>
#include <stdlib.h>

#include "clock.h"
#include "stats.h"

/* Loads between two looks at the clock: 0.2 ms of memory, 20 us of L1, against 30 ns. */
#define COLD_STEPS 2048
#define WARM_STEPS 16384
#define MOST_VALUES 1024

/* Half of a large L3 takes long to fill; this is above any L2 and tells the same. */
#define CACHE_MOST ((size_t)32 << 20)
#define LINE 64
#define BLOCK ((size_t)4 << 20) /* TLB reach: 1024 pages of 4 KiB */
#define SEED 2

double latency_measure(struct chase *c, double seconds, bool cold)
{
	const size_t steps = cold ? COLD_STEPS : WARM_STEPS;
	double values[MOST_VALUES], until = clock_now() + seconds, now;
	size_t n = 0;

	do {
		double from;

		if (cold)
			chase_flush(c, steps);
		from = clock_now();
		if (!chase_walk(c, steps))
			return NAN;
		now = clock_now();
		values[n++] = (now - from) / (double)steps * 1e9;
	} while (now < until && n < MOST_VALUES);
	stats_sort(values, n);
	return stats_quantile(values, n, 0.5);
}

bool latency_caches(struct latency_caches *l, const size_t *cache, void *memory, size_t bytes, double seconds_each)
{
	uint32_t *order = malloc(CACHE_MOST / LINE * sizeof(*order));
	size_t below = 0;

	*l = (struct latency_caches){ 0 };
	if (order == NULL)
		return false;
	for (int level = 1; level < TOPO_LEVELS; level++) {
		size_t set = cache[level] / 2 < CACHE_MOST ? cache[level] / 2 : CACHE_MOST;
		struct chase c = { .base = memory, .stride = LINE, .order = order };

		set = (set < bytes ? set : bytes) / LINE * LINE;
		if (set == 0 || set < 2 * below)
			continue;
		below = cache[level];
		c.n = set / LINE;
		chase_order(order, c.n, BLOCK / LINE, SEED);
		chase_lay(&c);
		l->bytes[level] = set;
		/* Once around first: what is measured was visited before. */
		l->ns[level] = chase_walk(&c, c.n) ? latency_measure(&c, seconds_each, false) : NAN;
	}
	free(order);
	return true;
}
