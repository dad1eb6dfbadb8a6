#include "latency.h"

#include <math.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/stats.h"

/* Loads between two readings of the clock: 0.2 ms of memory, 20 us of L1, against 30 ns. */
#define COLD_STEPS 2048
#define WARM_STEPS 16384
#define MOST_VALUES 1024
#define WARM_VALUES 128 /* 3 ms of L1, 10 ms of L2 */

/*
 * Half of a large L3 takes long to fill; this is above any L2 and gives the same. Lines
 * have to be visited more than once before an L3 that takes what L2 evicts keeps them
 * (Intel since Skylake): two rounds, at up to 200 ns a line with the writing of it, in
 * half of the time.
 */
#define CACHE_MOST ((size_t)32 << 20)
#define WARM_ROUNDS 2
#define WARM_SECONDS 600e-9 /* of a line in all rounds */
#define LINE 64
#define BLOCK ((size_t)4 << 20) /* TLB reach: 1024 pages of 4 KiB */
#define SEED 2

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

double latency_measure(struct chase *c, double seconds, bool cold)
{
	const size_t steps = cold ? COLD_STEPS : WARM_STEPS, most = cold ? MOST_VALUES : WARM_VALUES;
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
	} while (now < until && n < most);
	stats_sort(values, n);
	return stats_quantile(values, n, 0.5);
}

bool latency_caches(struct latency_caches *l, const size_t *cache, void *memory, size_t bytes, double seconds)
{
	const double until = clock_now() + seconds;
	uint32_t *order = malloc(CACHE_MOST / LINE * sizeof(*order));
	size_t below = 0;

	*l = (struct latency_caches){ 0 };
	if (order == NULL)
		return false;
	for (int level = 1; level < TOPO_LEVELS; level++) {
		const double left = until - clock_now();
		struct chase c = { .base = memory, .stride = LINE, .order = order };
		size_t set = cache[level] / 2;

		set = least(least(set, CACHE_MOST), bytes);
		set = left > 0 ? least(set, (size_t)(left / 2 / WARM_SECONDS) * LINE) / LINE * LINE : 0;
		if (set == 0 || set < 2 * below)
			continue;
		below = cache[level];
		c.n = set / LINE;
		chase_order(order, c.n, BLOCK / LINE, SEED);
		chase_lay(&c);
		l->bytes[level] = set;
		if (chase_walk(&c, WARM_ROUNDS * c.n))
			l->ns[level] = latency_measure(&c, until - clock_now(), false);
		else
			l->ns[level] = NAN;
	}
	free(order);
	return true;
}

void latency_report(const struct latency_caches *l, struct result *r, const char *key)
{
	result_list_begin(r, key);
	for (int level = 1; level < TOPO_LEVELS; level++) {
		if (l->bytes[level] == 0)
			continue;
		result_object_begin(r);
		result_integer(r, "level", level);
		result_integer(r, "kib", (long long)(l->bytes[level] >> 10));
		result_number(r, "ns", l->ns[level]);
		result_object_end(r);
	}
	result_list_end(r);
}
