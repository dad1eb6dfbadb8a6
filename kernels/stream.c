/*
 * stream: memory bandwidth of the whole node and of each NUMA node, by McCalpin's four
 * operations (copy, scale, add, triad). A tuned variant, no "STREAM benchmark result".
 *
 * Every core has its own part of the three arrays, mapped and first touched by its
 * own thread, so that it lies in its NUMA node. All values are small integers:
 * every operation is exact and every element is verified at the end.
 */
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/clock.h"
#include "common/kernel.h"
#include "common/memory.h"
#include "common/ops.h"
#include "common/stats.h"
#include "common/stream_size.h"
#include "common/team.h"

#define NAME "stream"

/*
 * scale: b = 3c, triad: a = b - c. One cycle is c = a, b = 3a, c = a + b = 4a,
 * a = b - c = -a: nothing grows, and a write that was lost shows as a wrong sign.
 */
#define SCALE 3.0
#define TRIAD (-1.0)

/* Element i starts as 1 + (i mod 1024): a value that came to the wrong place shows, too. */
#define PATTERN 1024

#define MAX_CYCLES 4096 /* of which rates are kept: the latest */

/* Smaller pages than this exist nowhere that this runs. */
#define PAGE_DOUBLES (4096 / sizeof(double))

/* Touching pages may take this share of the time box; what is touched then is used. */
#define TOUCH_SHARE 0.25

enum { COPY, SCALED, ADD, TRIADED, OPS };
static const char *const op_names[OPS] = { "copy", "scale", "add", "triad" };
static const double op_arrays[OPS] = { 2, 2, 3, 3 }; /* read or written, as STREAM counts */

/* A cache line of its own for each thread's times. */
struct part {
	double *a, *b, *c;
	size_t mapped;  /* elements of each */
	size_t touched;
	double from[OPS], to[OPS];
	size_t bad;     /* index of the first wrong element, or SIZE_MAX */
	char bad_array;
	double expected, got;
} __attribute__((aligned(128)));

static struct {
	struct part *parts;
	size_t n; /* elements of each array in each part */
	double touch_end, end;
	const struct ops *ops;
	double *rates; /* GB/s, see rates_of */
	long cycles;
	atomic_bool stop, no_memory;
} s;

/* The rates of an operation on a NUMA node, or on all of them (node n_nodes), by cycle. */
static double *rates_of(int node, int op)
{
	return s.rates + ((size_t)node * OPS + (size_t)op) * MAX_CYCLES;
}

static double pattern(size_t i)
{
	return 1.0 + (double)(i % PATTERN);
}

/*
 * Block by block through all three arrays, until the part is done or the time is up.
 * The system zeroes the pages; b and c are written first by the operations.
 */
static void touch(struct part *p)
{
	size_t bytes = p->mapped * sizeof(double);

	p->a = memory_map(bytes);
	p->b = memory_map(bytes);
	p->c = memory_map(bytes);
	if (!p->a || !p->b || !p->c) {
		s.no_memory = true;
		return;
	}
	while (p->touched < p->mapped && (p->touched == 0 || clock_now() < s.touch_end)) {
		size_t end = p->touched + STREAM_BLOCK;

		for (size_t i = p->touched; i < end; i++)
			p->a[i] = pattern(i);
		for (size_t i = p->touched; i < end; i += PAGE_DOUBLES)
			p->b[i] = p->c[i] = 0;
		p->touched = end;
	}
}

static void run_op(struct part *p, int op)
{
	switch (op) {
	case COPY:
		s.ops->copy(p->c, p->a, s.n);
		break;
	case SCALED:
		s.ops->scale(p->b, p->c, SCALE, s.n);
		break;
	case ADD:
		s.ops->add(p->c, p->a, p->b, s.n);
		break;
	default:
		s.ops->triad(p->a, p->b, p->c, TRIAD, s.n);
	}
}

/*
 * One member keeps the books while the others wait for it. A rate is that of the
 * slowest: from the first start to the last end, on the node in question.
 */
static void note_cycle(const struct topo *topo, double cycle_from)
{
	double now = clock_now(), cycle = now - cycle_from;

	for (int node = 0; node <= topo->n_nodes; node++) {
		for (int op = 0; op < OPS; op++) {
			double from = INFINITY, to = 0;
			int cores = 0;

			for (int i = 0; i < topo->n; i++) {
				if (node < topo->n_nodes && topo->node_of[i] != node)
					continue;
				from = fmin(from, s.parts[i].from[op]);
				to = fmax(to, s.parts[i].to[op]);
				cores++;
			}
			rates_of(node, op)[s.cycles % MAX_CYCLES] =
				op_arrays[op] * sizeof(double) * (double)s.n * cores / (to - from) * 1e-9;
		}
	}
	s.cycles++;
	/* Room for one more cycle and the verification, which reads what a cycle moves once. */
	s.stop = now + 1.6 * cycle > s.end;
}

static void verify(struct part *p)
{
	double sign = s.cycles % 2 ? -1 : 1;

	p->bad = SIZE_MAX;
	for (size_t i = 0; i < s.n; i++) {
		double a = sign * pattern(i);

		if (p->a[i] == a && p->b[i] == -SCALE * a && p->c[i] == -(1 + SCALE) * a)
			continue;
		p->bad = i;
		if (p->a[i] != a) {
			p->bad_array = 'a';
			p->got = p->a[i];
			p->expected = a;
		} else if (p->b[i] != -SCALE * a) {
			p->bad_array = 'b';
			p->got = p->b[i];
			p->expected = -SCALE * a;
		} else {
			p->bad_array = 'c';
			p->got = p->c[i];
			p->expected = -(1 + SCALE) * a;
		}
		return;
	}
}

static void work(struct team *team, int member, void *shared)
{
	struct part *p = &s.parts[member];

	(void)shared;
	touch(p);
	team_meet(team);
	if (s.no_memory)
		return;
	if (member == 0) {
		/* Equal parts: the slowest to touch decides. */
		s.n = s.parts[0].touched;
		for (int i = 1; i < team->topo->n; i++)
			s.n = s.parts[i].touched < s.n ? s.parts[i].touched : s.n;
	}
	team_meet(team);
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
	verify(p);
}

static void report_ops(struct result *r, int node)
{
	size_t n = (size_t)(s.cycles < MAX_CYCLES ? s.cycles : MAX_CYCLES);
	char key[32];

	for (int op = OPS - 1; op >= 0; op--) {
		double *rates = rates_of(node, op), median;

		stats_sort(rates, n);
		median = stats_quantile(rates, n, 0.5);
		snprintf(key, sizeof(key), "%s_gbs", op_names[op]);
		result_number(r, key, median);
		snprintf(key, sizeof(key), "%s_best_gbs", op_names[op]);
		result_number(r, key, rates[n - 1]);
		snprintf(key, sizeof(key), "%s_spread_pct", op_names[op]);
		result_number(r, key,
			      100 * (stats_quantile(rates, n, 0.9) - stats_quantile(rates, n, 0.1)) / median);
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

static int report(const struct topo *topo, double started, enum stream_limit limit)
{
	struct result r;
	char error[200];
	int bad = -1;

	for (int i = 0; i < topo->n && bad < 0; i++)
		if (s.parts[i].bad != SIZE_MAX)
			bad = i;
	result_begin(&r, NAME);
	result_bool(&r, "verified", bad < 0);
	if (bad >= 0) {
		const struct part *p = &s.parts[bad];

		snprintf(error, sizeof(error), "cpu %d: %c[%zu] is %.17g, expected %.17g", topo->cpus[bad],
			 p->bad_array, p->bad, p->got, p->expected);
		result_string(&r, "error", error);
	}
	report_ops(&r, topo->n_nodes);
	result_integer(&r, "passes", s.cycles);
	result_number(&r, "array_mb", (double)s.n * sizeof(double) * topo->n / 1e6);
	result_number(&r, "llc_mb", (double)topo->llc / 1e6);
	result_string(&r, "array_limit", stream_limit_name(limit));
	result_string(&r, "variant", "tuned");
	result_string(&r, "isa", s.ops->isa);
	result_string(&r, "stores", s.ops->stores);
	result_number(&r, "huge_pages_pct", memory_huge_pct());
	report_nodes(&r, topo);
	return kernel_finish(NAME, &r, topo, started, bad < 0 ? EXIT_MEASURED : EXIT_WRONG);
}

static int run(const struct topo *topo, double started, double end)
{
	size_t max = max_memory_mb > 0 ? (size_t)(max_memory_mb * 1e6) : SIZE_MAX;
	struct stream_size size = stream_size(topo->llc, memory_available(), max, topo->n);

	s.ops = ops_choose(isa);
	if (!s.ops)
		return kernel_fail(NAME, "--isa: this CPU has no %s", isa);
	if (size.elements == 0)
		return kernel_fail(NAME, "not enough memory: %d threads need %.1f MB", topo->n,
				   3.0 * STREAM_BLOCK * sizeof(double) * topo->n / 1e6);
	s.parts = aligned_alloc(128, sizeof(*s.parts) * (size_t)topo->n);
	s.rates = malloc(sizeof(double) * MAX_CYCLES * OPS * ((size_t)topo->n_nodes + 1));
	if (!s.parts || !s.rates)
		return kernel_fail(NAME, "out of memory");
	memset(s.parts, 0, sizeof(*s.parts) * (size_t)topo->n);
	for (int i = 0; i < topo->n; i++)
		s.parts[i].mapped = size.elements;
	s.end = end;
	s.touch_end = started + TOUCH_SHARE * (end - started);
	if (!team_run(topo, work, NULL))
		return kernel_fail(NAME, "a thread cannot be started on its CPU: %s", strerror(errno));
	if (s.no_memory)
		return kernel_fail(NAME, "memory cannot be mapped: %s", strerror(ENOMEM));
	if (s.n < size.elements)
		size.limit = STREAM_LIMIT_TIME;
	return report(topo, started, size.limit);
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
