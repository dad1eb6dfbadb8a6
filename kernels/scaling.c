/*
 * scaling: triad bandwidth against the number of threads. Where one more thread gains
 * nothing, memory is saturated; a node that saturates early or never has lost
 * something (a channel, a clock, a link).
 *
 * Each NUMA node's memory is touched once, by its own cores; at every thread count the
 * active cores of a node share all of that node's memory, so that one thread does not
 * run in a cache that it has for itself.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/kernel.h"
#include "common/memory.h"
#include "common/plan.h"
#include "common/pool.h"
#include "common/stats.h"
#include "common/team.h"

#define NAME "scaling"

/*
 * The knee: the fewest threads that reach 90 % of the curve's best. A node is saturated
 * at 95 % of its own best. See syscheck-kernels(8) on the choice.
 */
#define KNEE 0.90
#define SATURATED 0.95

enum { COMPACT, SPREAD, CURVES };
static const char *const curve_names[CURVES] = { "compact", "spread" };

static struct {
	const struct ops *ops;
	struct plan_scaling plan;
	double touch_until;
	int curves;            /* one node: spread would be the same as compact */
	int *order[CURVES];    /* members, as threads are added */
	int counts[PLAN_COUNTS], n_counts;
	double *gbs[CURVES];   /* [count][round]; at the end [count]: the medians */
	struct pool *pools;    /* of each node */
	double *rates;         /* each member's, at the point at work */
	size_t *triads;
	enum stream_limit limit;
} s;

static double measure_point(struct team *team, int member, const int *order, int threads, double until)
{
	const int *node_of = team->topo->node_of;
	int rank = -1, active = 0;
	double sum = 0;

	for (int i = 0; i < threads; i++) {
		if (order[i] == member)
			rank = active;
		active += node_of[order[i]] == node_of[member];
	}
	if (rank >= 0)
		s.rates[member] = pool_triad(&s.pools[node_of[member]], s.ops, rank, active,
					     until, &s.triads[member]);
	team_meet(team);
	for (int i = 0; member == 0 && i < threads; i++) {
		sum += s.rates[order[i]];
		/* The threads of a node do about the same number: one speaks for all. */
		if (i == 0 || node_of[order[i]] != node_of[order[i - 1]])
			s.pools[node_of[order[i]]].turn += s.triads[order[i]];
	}
	team_meet(team);
	return sum;
}

static void work(struct team *team, int member, void *shared)
{
	struct pool *own = &s.pools[team->topo->node_of[member]];
	double until;

	(void)shared;
	pool_touch(own, s.touch_until);
	team_meet(team);
	for (int node = 0; member == 0 && node < team->topo->n_nodes; node++) {
		size_t mapped = s.pools[node].blocks;

		pool_touched(&s.pools[node]);
		if (s.pools[node].blocks < mapped)
			s.limit = STREAM_LIMIT_TIME;
	}
	team_meet(team);
	/*
	 * Rounds outermost: a disturbance hits one value of each point. Ends as planned from
	 * here: what waiting cost, the next point makes up for.
	 */
	until = clock_now();
	for (int round = 0; round < s.plan.rounds; round++)
		for (int curve = 0; curve < s.curves; curve++)
			for (int i = 0; i < s.n_counts; i++) {
				double gbs;

				until += s.plan.point;
				gbs = measure_point(team, member, s.order[curve], s.counts[i], until);

				if (member == 0)
					s.gbs[curve][i * s.plan.rounds + round] = gbs;
			}
	pool_verify(own);
}

static void report_curve(struct result *r, int curve)
{
	double *gbs = s.gbs[curve];

	stats_medians(gbs, (size_t)s.n_counts, (size_t)s.plan.rounds);
	result_list_begin(r, curve_names[curve]);
	for (int i = 0; i < s.n_counts; i++) {
		result_object_begin(r);
		result_integer(r, "threads", s.counts[i]);
		result_number(r, "triad_gbs", gbs[i]);
		result_object_end(r);
	}
	result_list_end(r);
}

static double largest(const double *values, int n)
{
	double most = values[0];

	for (int i = 1; i < n; i++)
		most = values[i] > most ? values[i] : most;
	return most;
}

/* The first node's part of the compact curve: how many points. */
static int in_first_node(const struct topo *topo)
{
	int cores = 0, n = 0;

	for (int i = 0; i < topo->n; i++)
		cores += topo->node_of[i] == 0;
	while (n < s.n_counts && s.counts[n] <= cores)
		n++;
	return n;
}

static int report(const struct topo *topo, double started)
{
	const int first = in_first_node(topo);
	const double *compact = s.gbs[COMPACT];
	struct result r;
	char error[ERROR_SIZE] = "", found[ERROR_SIZE];
	double bytes = 0;

	for (int node = 0; node < topo->n_nodes; node++) {
		bytes += (double)(s.pools[node].blocks * POOL_BLOCK);
		if (pool_wrong(&s.pools[node], found))
			snprintf(error, sizeof(error), "memory of node %d: %.200s", topo->nodes[node], found);
	}
	result_begin(&r, NAME);
	result_bool(&r, "verified", error[0] == '\0');
	if (error[0] != '\0')
		result_string(&r, "error", error);
	for (int curve = 0; curve < s.curves; curve++)
		report_curve(&r, curve);
	result_number(&r, "best_gbs", largest(compact, s.n_counts));
	result_number(&r, "one_thread_gbs", compact[0]);
	result_integer(&r, "knee_threads", s.counts[plan_reaches(compact, s.n_counts, KNEE)]);
	if (s.curves > SPREAD)
		result_integer(&r, "knee_spread_threads", s.counts[plan_reaches(s.gbs[SPREAD], s.n_counts, KNEE)]);
	result_number(&r, "node_best_gbs", largest(compact, first));
	result_integer(&r, "node_saturated_threads", s.counts[plan_reaches(compact, first, SATURATED)]);
	result_integer(&r, "rounds", s.plan.rounds);
	result_number(&r, "array_mb", bytes / 3e6);
	result_number(&r, "llc_mb", (double)topo->llc / 1e6);
	result_string(&r, "limit", stream_limit_name(s.limit));
	result_string(&r, "isa", s.ops->isa);
	return kernel_finish(NAME, &r, topo, started, error[0] == '\0' ? EXIT_MEASURED : EXIT_WRONG);
}

static double max_memory_mb;

/* Returns an exit code. Each node's memory is for its share of the cores, as in stream. */
static int ready_pools(const struct topo *topo)
{
	size_t max = max_memory_mb > 0 ? (size_t)(max_memory_mb * 1e6) : SIZE_MAX;
	struct stream_size size = stream_size(topo->llc, memory_available(), max, topo->n);

	s.limit = size.limit;
	s.pools = calloc((size_t)topo->n_nodes, sizeof(*s.pools));
	if (!s.pools)
		return kernel_fail(NAME, "out of memory");
	for (int node = 0; node < topo->n_nodes; node++) {
		size_t cores = 0, blocks;

		for (int i = 0; i < topo->n; i++)
			cores += topo->node_of[i] == node;
		blocks = size.elements * cores / POOL_ELEMENTS;
		if (blocks < cores)
			return kernel_fail(NAME, "not enough memory: %d threads need %.1f MB", topo->n,
					   (double)POOL_BLOCK * topo->n / 1e6);
		if (!pool_map(&s.pools[node], blocks))
			return kernel_fail(NAME, "memory cannot be mapped: %s", strerror(errno));
	}
	return EXIT_MEASURED;
}

static bool ready_points(const struct topo *topo)
{
	const size_t n = (size_t)topo->n;
	int node = 0;

	for (int i = 0; i < topo->n; i++)
		node += topo->node_of[i] == 0;
	s.curves = topo->n_nodes > 1 ? CURVES : 1;
	s.n_counts = plan_counts(topo->n, node, s.counts);
	for (int curve = 0; curve < CURVES; curve++)
		s.order[curve] = calloc(n, sizeof(*s.order[curve]));
	s.rates = calloc(n, sizeof(*s.rates));
	s.triads = calloc(n, sizeof(*s.triads));
	if (!s.order[COMPACT] || !s.order[SPREAD] || !s.rates || !s.triads)
		return false;
	plan_compact(topo->node_of, topo->n, topo->n_nodes, s.order[COMPACT]);
	plan_spread(topo->node_of, topo->n, topo->n_nodes, s.order[SPREAD]);
	return true;
}

static int run(const struct topo *topo, double started, double end)
{
	double now;
	int code = ready_pools(topo);

	if (code != EXIT_MEASURED)
		return code;
	s.ops = ops_choose(NULL);
	if (!ready_points(topo))
		return kernel_fail(NAME, "out of memory");
	now = clock_now();
	s.plan = plan_scaling(end - now, s.n_counts * s.curves);
	s.touch_until = now + s.plan.touch;
	for (int curve = 0; curve < s.curves; curve++) {
		s.gbs[curve] = calloc((size_t)s.n_counts * (size_t)s.plan.rounds, sizeof(*s.gbs[curve]));
		if (!s.gbs[curve])
			return kernel_fail(NAME, "out of memory");
	}
	if (!team_run(topo, work, NULL))
		return kernel_fail(NAME, "a thread cannot be started on its CPU: %s", strerror(errno));
	return report(topo, started);
}

int main(int argc, char **argv)
{
	static const struct opts_extra extra[] = {
		{ .name = "--max-memory", .help = "MB for all arrays (default: half of what is available)",
		  .low = 1, .high = 1e9, .value = &max_memory_mb },
	};
	static const struct kernel kernel = {
		.name = NAME,
		.what = "Measures triad bandwidth against the number of threads.",
		.seconds = 5,
		.extra = extra,
		.n_extra = sizeof(extra) / sizeof(extra[0]),
		.run = run,
	};

	return kernel_main(&kernel, argc, argv);
}
