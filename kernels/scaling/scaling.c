/*
 * scaling: triad bandwidth against the number of threads. Where one more thread gains
 * nothing, memory is saturated; a node that saturates early or never has lost
 * something (a channel, a clock, a link).
 *
 * Each NUMA node's memory is bound to it and touched once, by its own cores; that
 * it is there is checked. At every thread count the active cores of a node share all of that
 * node's memory, so that one thread does not run in a cache that it has for itself.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/kernel.h"
#include "common/memory.h"
#include "common/pools.h"
#include "common/tally.h"
#include "common/team.h"
#include "plan.h"

/*
 * The knee: the fewest threads that reach 90 % of the curve's best. A node is saturated
 * at 95 % of its own best. See syscheck-kernels(8) on the choice.
 */
#define KNEE 0.90
#define SATURATED 0.95

/* First touch takes this share of the box at most, while all that is touched would fit the caches. */
#define TOUCH_MOST 0.5

enum { COMPACT, SPREAD, CURVES };
static const char *const curve_names[CURVES] = { "compact", "spread" };

static struct {
	const struct ops *ops;
	struct plan_scaling plan;
	double end;
	int curves;            /* one node: spread would be the same as compact */
	int *order[CURVES];    /* members, as threads are added */
	int counts[PLAN_COUNTS], n_counts;
	struct tally *tallies[CURVES]; /* of each count */
	double *gbs[CURVES];   /* the same, at the end */
	struct pools pools;
	struct pool_work *work; /* each member's, at the point at work */
	int rounds;             /* those that there was time for */
	bool late;
} s;

static void measure_point(struct team *team, int member, const int *order, int threads, double until, struct tally *t)
{
	const int *node_of = team->topo->node_of, node = node_of[member];
	int rank = -1, active = 0;

	for (int i = 0; i < threads; i++) {
		if (order[i] == member)
			rank = active;
		active += node_of[order[i]] == node;
	}
	s.work[member] = rank >= 0 ? pool_triad(&s.pools.of[node], s.ops, rank, active, until) : (struct pool_work){ 0 };
	team_meet(team);
	if (member == 0)
		pool_tally(t, s.work, team->topo->n);
	team_meet(team);
}

static void work(struct team *team, int member, void *shared)
{
	const bool placed = pools_touch(&s.pools, team, member);
	double until;

	(void)shared;
	if (member == 0)
		s.plan.point = plan_point_now(s.plan.point, s.end - clock_now(), s.n_counts * s.curves * s.plan.rounds);
	team_start(team);
	/*
	 * Rounds outermost: a disturbance hits one value of each point. Ends as planned from
	 * here: what waiting cost, the next point makes up for.
	 */
	until = clock_now();
	for (int round = 0; placed && round < s.plan.rounds && !s.late; round++) {
		for (int curve = 0; curve < s.curves; curve++)
			for (int i = 0; i < s.n_counts; i++) {
				until += s.plan.point;
				measure_point(team, member, s.order[curve], s.counts[i], until, &s.tallies[curve][i]);
			}
		/* A very slow node has time for no other round. */
		if (member == 0) {
			s.rounds = round + 1;
			s.late = clock_now() > until + (s.plan.rounds - s.rounds) * s.n_counts * s.curves * s.plan.point;
		}
		team_meet(team);
	}
	team_end();
	pool_verify(&s.pools.of[team->topo->node_of[member]], team->topo->cpus[member]);
	team_meet(team);
	pools_unmap(&s.pools, team->topo, member);
}

static void report_curve(struct result *r, int curve)
{
	double *gbs = s.gbs[curve];

	result_list_begin(r, curve_names[curve]);
	for (int i = 0; i < s.n_counts; i++) {
		gbs[i] = tally_rate(&s.tallies[curve][i]) * 1e-9;
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
	int n = 0;

	while (n < s.n_counts && s.counts[n] <= topo->cores[0])
		n++;
	return n;
}

static int report(const struct topo *topo, double started)
{
	const int first = in_first_node(topo);
	const double *compact = s.gbs[COMPACT];
	struct result r;
	char error[ERROR_SIZE];
	double bytes = 0;

	for (int node = 0; node < topo->n_nodes; node++)
		bytes += (double)pool_bytes(&s.pools.of[node]);
	kernel_begin(&r, pools_wrong(&s.pools, topo, error) ? error : NULL);
	report_curve(&r, COMPACT);
	if (s.curves > SPREAD)
		report_curve(&r, SPREAD);
	result_number(&r, "best_gbs", largest(compact, s.n_counts));
	result_number(&r, "one_thread_gbs", compact[0]);
	result_integer(&r, "knee_threads", s.counts[plan_reaches(compact, s.n_counts, KNEE)]);
	if (s.curves > SPREAD)
		result_integer(&r, "knee_spread_threads", s.counts[plan_reaches(s.gbs[SPREAD], s.n_counts, KNEE)]);
	result_number(&r, "node_best_gbs", largest(compact, first));
	result_integer(&r, "node_saturated_threads", s.counts[plan_reaches(compact, first, SATURATED)]);
	result_integer(&r, "rounds", s.rounds);
	result_number(&r, "array_mb", bytes / 3e6);
	result_number(&r, "llc_mb", (double)topo->llc / 1e6);
	result_string(&r, "limit", stream_limit_name(s.pools.size.limit));
	result_number(&r, "misplaced_pct", pools_misplaced(&s.pools, topo));
	result_string(&r, "isa", s.ops->isa);
	return kernel_finish(&r, topo, started);
}

static bool ready_points(const struct topo *topo)
{
	const size_t n = (size_t)topo->n;

	s.curves = topo->n_nodes > 1 ? CURVES : 1;
	s.n_counts = plan_counts(topo->n, topo->cores[0], s.counts);
	for (int curve = 0; curve < CURVES; curve++)
		s.order[curve] = calloc(n, sizeof(*s.order[curve]));
	s.work = calloc(n, sizeof(*s.work));
	if (!s.order[COMPACT] || !s.order[SPREAD] || !s.work)
		return false;
	plan_compact(topo->node_of, topo->n, topo->n_nodes, s.order[COMPACT]);
	plan_spread(topo->node_of, topo->n, topo->n_nodes, s.order[SPREAD]);
	return true;
}

static int run(const struct topo *topo, double started, double end)
{
	char error[ERROR_SIZE];
	double now;

	if (!pools_map(&s.pools, topo, POOL_ELEMENTS, error))
		return kernel_fail("%s", error);
	s.ops = ops_choose(NULL);
	if (!ready_points(topo))
		return kernel_fail("out of memory");
	now = clock_now();
	s.plan = plan_scaling(end - now, s.n_counts * s.curves);
	s.pools.until = now + s.plan.touch;
	s.pools.latest = started + TOUCH_MOST * (end - started);
	s.end = end;
	for (int curve = 0; curve < s.curves; curve++) {
		s.gbs[curve] = calloc((size_t)s.n_counts, sizeof(*s.gbs[curve]));
		s.tallies[curve] = calloc((size_t)s.n_counts, sizeof(*s.tallies[curve]));
		if (!s.gbs[curve] || !s.tallies[curve])
			return kernel_fail("out of memory");
	}
	if (!team_run(topo, work, NULL))
		return kernel_fail("a thread cannot be started on its CPU: %s", strerror(errno));
	if (!pools_placed(&s.pools, topo, error))
		return kernel_fail("%s", error);
	return report(topo, started);
}

static const struct opts_extra extra[] = {
	MEMORY_OPTION,
	{ 0 },
};

const struct kernel kernel = {
	.name = "scaling",
	.what = "Measures triad bandwidth against the number of threads.",
	.seconds = 5,
	.extra = extra,
	.run = run,
};
