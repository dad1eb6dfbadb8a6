/*
 * stream: memory bandwidth of the whole node and of each NUMA node, by McCalpin's four
 * operations (copy, scale, add, triad). A tuned variant, no "STREAM benchmark result".
 *
 * Every core has its own part of the three arrays, bound to its NUMA node; where its pages
 * came to lie is checked. All values are small integers: every operation is exact and
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
#include "common/nodes.h"
#include "common/ops.h"
#include "common/stream_size.h"
#include "common/tally.h"
#include "common/team.h"
#include "parts.h"

#define NAME "stream"

static const char *const op_names[OPS] = { "copy", "scale", "add", "triad" };
static const double op_arrays[OPS] = { 2, 2, 3, 3 }; /* read or written, as STREAM counts */

/*
 * Touching pages may take this share of the time box; and the second, where all that was
 * touched by then would fit the caches. What is touched then is used.
 */
#define TOUCH_SHARE 0.25
#define TOUCH_MOST 0.5

/* Giving pages back takes this share of the time that touching them took. */
#define UNMAP_SHARE 0.25

/* For a second pass, so that one counts that is not the first, the box may be exceeded by this share. */
#define LATE_SHARE 0.25

static struct {
	struct parts parts;
	double end, latest;
	const struct ops *ops;
	struct tally *tallies; /* see tally_of */
	double *rates;         /* theirs */
	long cycles;
	double huge_pct, misplaced;
	int worst; /* member with the most memory misplaced */
	atomic_bool stop;
} s;

/* An operation on a NUMA node, or on all of them (node n_nodes). */
static struct tally *tally_of(int node, int op)
{
	return &s.tallies[node * OPS + op];
}

static void run_op(struct part *p, int op)
{
	const size_t n = s.parts.n;

	switch (op) {
	case COPY:
		s.ops->copy(p->c, p->a, n);
		break;
	case SCALED:
		s.ops->scale(p->b, p->c, STREAM_SCALE, n);
		break;
	case ADD:
		s.ops->add(p->c, p->a, p->b, n);
		break;
	default:
		s.ops->triad(p->a, p->b, p->c, STREAM_TRIAD, n);
	}
}

/*
 * One member keeps the books while the others wait for it. The time is that of the
 * slowest: from the first start to the last end, on the node in question.
 */
static void note_cycle(const struct topo *topo, double cycle_from)
{
	const double now = clock_now(), cycle = now - cycle_from;

	for (int node = 0; node <= topo->n_nodes; node++) {
		for (int op = 0; op < OPS; op++) {
			struct tally *t = tally_of(node, op);
			double from = INFINITY, to = 0;
			int cores = 0;

			for (int i = 0; i < topo->n; i++) {
				if (node < topo->n_nodes && topo->node_of[i] != node)
					continue;
				from = fmin(from, s.parts.of[i].from[op]);
				to = fmax(to, s.parts.of[i].to[op]);
				cores++;
			}
			/* The first cycle, after page faults and with cold clocks, only counts if it is the only one. */
			if (s.cycles == 1)
				tally_clear(t);
			tally_add(t, op_arrays[op] * sizeof(double) * (double)s.parts.n * cores, to - from);
		}
	}
	s.cycles++;
	/* Room for one more cycle and the verification, which reads what a cycle moves once. */
	s.stop = now + 1.6 * cycle > (s.cycles == 1 ? s.latest : s.end);
}

/* False: what was touched lies on other nodes. */
static bool ready(struct team *team, int member, double from)
{
	parts_touch(&s.parts, team->topo, member);
	team_meet(team);
	parts_locate(&s.parts, team->topo, member);
	if (member == 0)
		parts_touched(&s.parts, team->topo);
	team_meet(team);
	if (member == 0) {
		s.end -= UNMAP_SHARE * (clock_now() - from);
		s.misplaced = parts_misplaced(&s.parts, team->topo, &s.worst);
	}
	team_meet(team);
	return !(s.misplaced > NODES_MISPLACED_MOST);
}

static void cycles(struct team *team, int member)
{
	struct part *p = &s.parts.of[member];

	while (!s.stop) {
		double cycle_from = clock_now();

		for (int op = 0; op < OPS; op++) {
			p->from[op] = clock_now();
			run_op(p, op);
			p->to[op] = clock_now();
			team_meet(team);
		}
		if (member == 0)
			note_cycle(team->topo, cycle_from);
		team_meet(team);
	}
}

static void work(struct team *team, int member, void *shared)
{
	(void)shared;
	if (ready(team, member, clock_now())) {
		cycles(team, member);
		if (member == 0)
			s.huge_pct = memory_huge_pct();
		parts_verify(&s.parts, member, s.cycles);
		/* The share of huge pages is that of all. */
		team_meet(team);
	}
	parts_unmap(&s.parts, member);
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
		int cores = 0;

		for (int i = 0; i < topo->n; i++)
			cores += topo->node_of[i] == node;
		result_object_begin(r);
		result_integer(r, "node", topo->nodes[node]);
		result_integer(r, "cores", cores);
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
	const bool wrong = parts_wrong(&s.parts, topo, error);

	result_begin(&r, NAME);
	result_bool(&r, "verified", !wrong);
	if (wrong)
		result_string(&r, "error", error);
	report_ops(&r, topo->n_nodes);
	result_integer(&r, "passes", (long long)tally_of(topo->n_nodes, TRIADED)->n);
	result_number(&r, "array_mb", (double)s.parts.n * sizeof(double) * topo->n / 1e6);
	result_number(&r, "llc_mb", (double)topo->llc / 1e6);
	result_string(&r, "array_limit", stream_limit_name(s.parts.size.limit));
	result_string(&r, "variant", "tuned");
	result_string(&r, "isa", s.ops->isa);
	result_string(&r, "stores", s.ops->stores);
	result_number(&r, "huge_pages_pct", s.huge_pct);
	result_number(&r, "misplaced_pct", s.misplaced);
	report_nodes(&r, topo);
	return kernel_finish(NAME, &r, topo, started, wrong ? EXIT_WRONG : EXIT_MEASURED);
}

static bool ready_tallies(const struct topo *topo)
{
	const size_t n = OPS * ((size_t)topo->n_nodes + 1);

	s.rates = malloc(sizeof(*s.rates) * TALLY_MOST * n);
	s.tallies = calloc(n, sizeof(*s.tallies));
	for (size_t i = 0; s.tallies && s.rates && i < n; i++)
		s.tallies[i].rates = s.rates + i * TALLY_MOST;
	return s.tallies && s.rates;
}

static int run(const struct topo *topo, double started, double end)
{
	const double box = end - started;
	size_t max = max_memory_mb > 0 ? (size_t)(max_memory_mb * 1e6) : SIZE_MAX;
	struct stream_size size = stream_size(topo->llc, memory_available(), max, topo->n);

	s.ops = ops_choose(isa);
	if (!s.ops)
		return kernel_fail(NAME, "--isa: this CPU has no %s", isa);
	if (size.elements == 0)
		return kernel_fail(NAME, "not enough memory: %d threads need %.1f MB", topo->n,
				   3.0 * STREAM_BLOCK * sizeof(double) * topo->n / 1e6);
	if (!ready_tallies(topo))
		return kernel_fail(NAME, "out of memory");
	if (!parts_map(&s.parts, topo, size))
		return kernel_fail(NAME, "memory cannot be mapped: %s", strerror(errno));
	s.end = end;
	s.latest = end + LATE_SHARE * box;
	s.parts.soft = started + TOUCH_SHARE * box;
	s.parts.hard = started + TOUCH_MOST * box;
	if (!team_run(topo, work, NULL))
		return kernel_fail(NAME, "a thread cannot be started on its CPU: %s", strerror(errno));
	if (s.misplaced > NODES_MISPLACED_MOST)
		return kernel_fail(NAME, "cpu %d: %.0f %% of its memory lies on another NUMA node than %d, which has too little free",
				   topo->cpus[s.worst], s.misplaced, topo->nodes[topo->node_of[s.worst]]);
	return report(topo, started);
}

int main(int argc, char **argv)
{
	static const struct opts_extra extra[] = {
		{ .name = "--max-memory", .help = "MB for all arrays (default: half of what is available)",
		  .low = 1, .high = 1e9, .value = &max_memory_mb },
		{ .name = "--isa", .help = "instruction set (default auto: the widest that there is)",
		  .choices = ops_isas, .text = &isa },
	};
	static const struct kernel kernel = {
		.name = NAME,
		.what = "Measures memory bandwidth on all physical cores: copy, scale, add, triad.",
		.seconds = 2,
		.extra = extra,
		.n_extra = sizeof(extra) / sizeof(extra[0]),
		.run = run,
	};

	return kernel_main(&kernel, argc, argv);
}
