/*
 * stream: memory bandwidth of the whole node and of each NUMA node, by McCalpin's four
 * operations (copy, scale, add, triad). A tuned variant, no "STREAM benchmark result".
 *
 * Every core has its own part of the three arrays, bound to its NUMA node; that its pages
 * are there is checked. All values are small integers: every operation is exact and
 * every element is verified at the end.
 */
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/kernel.h"
#include "common/memory.h"
#include "common/ops.h"
#include "common/pools.h"
#include "common/tally.h"
#include "common/team.h"

/*
 * scale: b = 3c, triad: a = b - c. One cycle is c = a, b = 3a, c = a + b = 4a,
 * a = b - c = -a: nothing grows, and a write that was lost shows as a wrong sign.
 */
#define SCALE 3.0
#define TRIAD (-1.0)

enum { COPY, SCALED, ADD, TRIADED, OPS };

static const char *const op_names[OPS] = { "copy", "scale", "add", "triad" };
static const double op_arrays[OPS] = { 2, 2, 3, 3 }; /* read or written, as STREAM counts */

/*
 * First touch takes this share of the time box at most; the second, while all that is
 * touched would fit the caches. What is touched by then is used.
 */
#define TOUCH_SHARE 0.25
#define TOUCH_MOST 0.5

/* munmap takes this share of the time that touching them took. */
#define UNMAP_SHARE 0.25

/* A second pass may exceed the box by this share: the first one counts only if it is the only one. */
#define LATE_SHARE 0.25

/* A member's, in the cycle at work; in cache lines of its own. */
struct times {
	double from[OPS], to[OPS];
} __attribute__((aligned(128)));

static struct {
	struct pools pools;
	struct times *times;
	double end, latest;
	const struct ops *ops;
	struct tally *tallies; /* see tally_of */
	double *rates;         /* theirs */
	long cycles;
	double huge_pct;
	atomic_bool stop;
} s;

/* An operation on a NUMA node, or on all of them (node n_nodes). */
static struct tally *tally_of(int node, int op)
{
	return &s.tallies[node * OPS + op];
}

/* n elements, of the member's blocks from the first one on. */
static void run_op(const struct pool *pool, size_t first, size_t n, int op)
{
	double *a = pool_array(pool, first, POOL_A), *b = pool_array(pool, first, POOL_B), *c = pool_array(pool, first, POOL_C);

	switch (op) {
	case COPY:
		s.ops->copy(c, a, n);
		break;
	case SCALED:
		s.ops->scale(b, c, SCALE, n);
		break;
	case ADD:
		s.ops->add(c, a, b, n);
		break;
	default:
		s.ops->triad(a, b, c, TRIAD, n);
	}
}

/* Of one array, of all cores. */
static double array_bytes(const struct topo *topo)
{
	return (double)(s.pools.share * s.pools.of[0].elements * sizeof(double)) * topo->n;
}

/*
 * One member does the accounting while the others wait. The time is that of the
 * slowest: from the first start to the last end, on the node in question.
 */
static void note_cycle(const struct topo *topo, double cycle_from)
{
	const double now = clock_now(), cycle = now - cycle_from;

	for (int node = 0; node <= topo->n_nodes; node++) {
		for (int op = 0; op < OPS; op++) {
			struct tally *t = tally_of(node, op);
			const int cores = node < topo->n_nodes ? topo->cores[node] : topo->n;
			double from = INFINITY, to = 0;

			for (int i = 0; i < topo->n; i++) {
				if (node < topo->n_nodes && topo->node_of[i] != node)
					continue;
				from = fmin(from, s.times[i].from[op]);
				to = fmax(to, s.times[i].to[op]);
			}
			/* The first cycle, after page faults and with cold clocks, only counts if it is the only one. */
			if (s.cycles == 1)
				tally_clear(t);
			tally_add(t, op_arrays[op] * array_bytes(topo) * cores / topo->n, to - from);
		}
	}
	s.cycles++;
	/* Room for one more cycle and the verification, which reads what a cycle moves once. */
	s.stop = now + 1.6 * cycle > (s.cycles == 1 ? s.latest : s.end);
}

static void cycles(struct team *team, int member, const struct pool *pool, size_t first)
{
	struct times *t = &s.times[member];

	while (!s.stop) {
		double cycle_from = clock_now();

		for (int op = 0; op < OPS; op++) {
			t->from[op] = clock_now();
			run_op(pool, first, s.pools.share * pool->elements, op);
			t->to[op] = clock_now();
			team_meet(team);
		}
		if (member == 0)
			note_cycle(team->topo, cycle_from);
		team_meet(team);
	}
}

static void work(struct team *team, int member, void *shared)
{
	const double from = clock_now();
	struct pool *pool = &s.pools.of[team->topo->node_of[member]];

	(void)shared;
	if (pools_touch(&s.pools, team, member)) {
		const size_t first = pools_first(&s.pools, team->topo, member);
		const double *want;

		if (member == 0)
			s.end -= UNMAP_SHARE * (clock_now() - from);
		team_start(team);
		cycles(team, member, pool, first);
		if (member == 0)
			s.huge_pct = memory_huge_pct();
		want = s.cycles % 2 ? (const double[]){ -1, SCALE, 1 + SCALE } : (const double[]){ 1, -SCALE, -1 - SCALE };
		pool_verify_blocks(pool, first, first + s.pools.share, want, team->topo->cpus[member]);
		/* Until member 0 has read the share of huge pages, all keep theirs. */
		team_meet(team);
	}
	pools_unmap(&s.pools, team->topo, member);
}

static void report_ops(struct result *r, int node)
{
	char key[32];

	for (int op = OPS - 1; op >= 0; op--) {
		struct tally *t = tally_of(node, op);
		const struct tally_spread spread = tally_spread(t);

		snprintf(key, sizeof(key), "%s_gbs", op_names[op]);
		result_number(r, key, tally_rate(t) * 1e-9);
		snprintf(key, sizeof(key), "%s_median_gbs", op_names[op]);
		result_number(r, key, spread.median * 1e-9);
		snprintf(key, sizeof(key), "%s_best_gbs", op_names[op]);
		result_number(r, key, spread.best * 1e-9);
		snprintf(key, sizeof(key), "%s_spread_pct", op_names[op]);
		result_number(r, key, 100 * (spread.p90 - spread.p10) / spread.median);
	}
}

static void report_nodes(struct result *r, const struct topo *topo)
{
	result_list_begin(r, "numa");
	for (int node = 0; node < topo->n_nodes; node++) {
		result_object_begin(r);
		result_integer(r, "node", topo->nodes[node]);
		result_integer(r, "cores", topo->cores[node]);
		report_ops(r, node);
		result_object_end(r);
	}
	result_list_end(r);
}

static double max_memory_mb;
static const char *isa;

static int report(const struct topo *topo, double started)
{
	struct result r;
	char error[ERROR_SIZE];
	int worst;

	kernel_begin(&r, pools_wrong(&s.pools, topo, error) ? error : NULL);
	report_ops(&r, topo->n_nodes);
	result_integer(&r, "passes", (long long)tally_of(topo->n_nodes, TRIADED)->n);
	result_number(&r, "array_mb", array_bytes(topo) / 1e6);
	result_number(&r, "llc_mb", (double)topo->llc / 1e6);
	result_string(&r, "array_limit", stream_limit_name(s.pools.size.limit));
	result_string(&r, "variant", "tuned");
	result_string(&r, "isa", s.ops->isa);
	result_string(&r, "stores", s.ops->stores);
	result_number(&r, "huge_pages_pct", s.huge_pct);
	result_number(&r, "misplaced_pct", pools_misplaced(&s.pools, topo, &worst));
	report_nodes(&r, topo);
	return kernel_finish(&r, topo, started);
}

static bool allocate(const struct topo *topo)
{
	const size_t n = OPS * ((size_t)topo->n_nodes + 1);

	s.rates = malloc(sizeof(*s.rates) * TALLY_MOST * n);
	s.tallies = calloc(n, sizeof(*s.tallies));
	s.times = aligned_alloc(128, sizeof(*s.times) * (size_t)topo->n);
	for (size_t i = 0; s.tallies && s.rates && i < n; i++)
		s.tallies[i].rates = s.rates + i * TALLY_MOST;
	return s.tallies && s.rates && s.times;
}

static int run(const struct topo *topo, double started, double end)
{
	const double box = end - started;
	char error[ERROR_SIZE];

	s.ops = ops_choose(isa);
	if (!s.ops)
		return kernel_fail("--isa: this CPU has no %s", isa);
	if (!allocate(topo))
		return kernel_fail("out of memory");
	if (!pools_map(&s.pools, topo, max_memory_mb, 0, error))
		return kernel_fail("%s", error);
	s.end = end;
	s.latest = end + LATE_SHARE * box;
	s.pools.until = started + TOUCH_SHARE * box;
	s.pools.latest = started + TOUCH_MOST * box;
	if (!team_run(topo, work, NULL))
		return kernel_fail("a thread cannot be started on its CPU: %s", strerror(errno));
	if (!pools_placed(&s.pools, topo, error))
		return kernel_fail("%s", error);
	return report(topo, started);
}

static const struct opts_extra extra[] = {
	{ .name = "--max-memory", .help = "MB for all arrays (default: half of what is available)",
	  .low = 1, .high = 1e9, .value = &max_memory_mb },
	{ .name = "--isa", .help = "instruction set (default auto: the widest that there is)",
	  .choices = ops_isas, .text = &isa },
	{ 0 },
};

const struct kernel kernel = {
	.name = "stream",
	.what = "Measures memory bandwidth on all physical cores: copy, scale, add, triad.",
	.seconds = 2,
	.extra = extra,
	.run = run,
};
