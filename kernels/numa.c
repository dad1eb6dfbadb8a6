/*
 * numa: idle latency and bandwidth from the cores of every NUMA node to the memory of
 * every node, and the latency of each cache.
 *
 * Rows are nodes with one of our cores, columns are nodes whose memory we may use:
 * memory-only nodes (CXL, HBM) are columns without a row. The same memory serves both
 * matrices: first triads, verified to the last element, then pointer chases, each of
 * which has to end where its order says.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/chase.h"
#include "common/clock.h"
#include "common/kernel.h"
#include "common/latency.h"
#include "common/matrix.h"
#include "common/memory.h"
#include "common/nodes.h"
#include "common/plan.h"
#include "common/pool.h"
#include "common/stats.h"
#include "common/team.h"

#define NAME "numa"

/*
 * Four lines from one visited line to the next: what an adjacent-line prefetcher
 * brings (pairs of 128 bytes, AMD's next or previous line) is never one that is visited.
 */
#define STRIDE 256

/*
 * The chase stays in 16 MiB until all of it was visited: 8 huge pages, in any first-level
 * TLB (Skylake 32, Zen 64 entries); with 4 KiB pages, 4096 entries that a second-level
 * TLB or page tables in L2 hold. Its lines are out of the caches all the same.
 */
#define BLOCK ((size_t)16 << 20)

#define SEED 1

static struct {
	const struct ops *ops;
	struct plan_numa plan;
	double touch_from, end;
	struct nodes nodes;     /* columns */
	int rows;
	int *first, *cores;     /* of each row: a member, how many members */
	int *rank;              /* of each member in its row */
	int *own;               /* each row's column; where its node has no memory, another */
	struct pool *pools;     /* of each column */
	struct chase *chases;   /* the same, in the same memory */
	enum stream_limit limit;
	double *rates;          /* each member's, in the cell at work */
	size_t *triads;
	double *bandwidth, *latency; /* [cell][round]; at the end [cell]: the medians */
	struct latency_caches caches;
	char error[ERROR_SIZE]; /* could not run */
	char wrong[ERROR_SIZE]; /* a wrong value */
} s;

/* Its own column first; then it helps with the others, so that memory-only nodes are touched, too. */
static void touch(int row)
{
	int columns = s.nodes.bound ? s.nodes.n : 1;

	for (int k = 0; k < columns; k++)
		pool_touch(&s.pools[(s.own[row] + k) % s.nodes.n], s.touch_from + s.plan.touch * (k + 1) / columns);
}

static void touched(void)
{
	for (int c = 0; c < s.nodes.n; c++) {
		struct pool *p = &s.pools[c];
		size_t mapped = p->blocks;
		int misplaced = 0;

		pool_touched(p);
		if (p->blocks < mapped)
			s.limit = STREAM_LIMIT_TIME;
		if (s.nodes.bound)
			misplaced = nodes_misplaced(p->memory, p->blocks * POOL_BLOCK, s.nodes.ids[c]);
		if (misplaced < 0)
			snprintf(s.error, ERROR_SIZE, "where memory lies cannot be read: %s", strerror(errno));
		else if (misplaced > 0)
			snprintf(s.error, ERROR_SIZE, "memory bound to node %d lies on another", s.nodes.ids[c]);
	}
	s.plan.bandwidth = plan_bandwidth_now(s.plan.bandwidth, s.end - clock_now(), s.rows * s.nodes.n * s.plan.rounds);
}

static void measure_bandwidth(struct team *team, int member)
{
	const int n = team->topo->n, row = team->topo->node_of[member], cells = s.rows * s.nodes.n;
	const double phase_from = clock_now();

	/* Ends as planned from the start of the phase: what waiting cost, the next cell makes up for. */
	for (int i = 0; i < cells * s.plan.rounds; i++) {
		int at = i % cells, from = at / s.nodes.n;
		struct pool *p = &s.pools[at % s.nodes.n];
		double sum = 0;
		size_t most = 0;

		if (row == from)
			s.rates[member] = pool_triad(p, s.ops, s.rank[member], s.cores[row],
						     phase_from + (i + 1) * s.plan.bandwidth, &s.triads[member]);
		team_meet(team);
		for (int m = 0; member == 0 && m < n; m++)
			if (team->topo->node_of[m] == from) {
				sum += s.rates[m];
				most = s.triads[m] > most ? s.triads[m] : most;
			}
		if (member == 0) {
			s.bandwidth[at * s.plan.rounds + i / cells] = sum;
			p->turn += most;
		}
		team_meet(team);
	}
}

static void astray(int cpu, const char *where, int id)
{
	snprintf(s.wrong, ERROR_SIZE, "cpu %d: a pointer chase in %s %d did not end where it should", cpu, where, id);
}

static void ready_chases(void)
{
	size_t lines = s.plan.lines;
	uint32_t *order;

	for (int c = 0; c < s.nodes.n; c++) {
		size_t here = s.pools[c].blocks * POOL_BLOCK / STRIDE;

		lines = here < lines ? here : lines;
	}
	order = malloc(lines * sizeof(*order));
	if (order == NULL) {
		snprintf(s.error, ERROR_SIZE, "out of memory");
		return;
	}
	chase_order(order, lines, BLOCK / STRIDE, SEED);
	for (int c = 0; c < s.nodes.n; c++)
		s.chases[c] = (struct chase){ .base = s.pools[c].memory, .stride = STRIDE, .n = lines, .order = order };
	s.plan.latency = plan_latency_now(s.plan.latency, s.end - clock_now(), s.rows * s.nodes.n * s.plan.rounds);
}

static void measure_latency(struct team *team, int member)
{
	const int cells = s.rows * s.nodes.n;
	double phase_from;

	/* By the first core of the column's row; of others (memory-only nodes), in turn. */
	for (int c = 0; c < s.nodes.n; c++) {
		int home = c % s.rows;

		for (int r = 0; r < s.rows; r++)
			home = s.own[r] == c ? r : home;
		if (member == s.first[home])
			chase_lay(&s.chases[c]);
	}
	team_meet(team);
	phase_from = clock_now();
	for (int i = 0; i < cells * s.plan.rounds; i++) {
		int at = i % cells, to = at % s.nodes.n;

		if (member == s.first[at / s.nodes.n]) {
			double *ns = &s.latency[at * s.plan.rounds + i / cells];

			*ns = latency_measure(&s.chases[to], phase_from + (i + 1) * s.plan.latency - clock_now(), true);
			if (isnan(*ns))
				astray(team->topo->cpus[member], "the memory of node", s.nodes.ids[to]);
		}
		team_meet(team);
	}
}

static void measure_caches(const struct topo *topo)
{
	struct pool *p = &s.pools[s.own[topo->node_of[0]]];
	double seconds = fmin(s.plan.caches, s.end - clock_now());

	if (!latency_caches(&s.caches, topo->cache, p->memory, p->blocks * POOL_BLOCK, seconds))
		snprintf(s.error, ERROR_SIZE, "out of memory");
	for (int level = 1; level < TOPO_LEVELS; level++)
		if (isnan(s.caches.ns[level]))
			astray(topo->cpus[0], "cache level", level);
}

static void work(struct team *team, int member, void *shared)
{
	int row = team->topo->node_of[member];

	(void)shared;
	touch(row);
	team_meet(team);
	if (member == 0)
		touched();
	team_meet(team);
	if (s.error[0] != '\0')
		return;
	measure_bandwidth(team, member);
	for (int k = 0; k < s.nodes.n; k++)
		pool_verify(&s.pools[(s.own[row] + k) % s.nodes.n]);
	team_meet(team);
	if (member == 0)
		ready_chases();
	team_meet(team);
	if (s.error[0] != '\0')
		return;
	measure_latency(team, member);
	if (member == 0)
		measure_caches(team->topo);
}

static int report(const struct topo *topo, double started)
{
	struct matrix latency = { s.rows, s.nodes.n, topo->nodes, s.nodes.ids, s.latency };
	struct matrix bandwidth = { s.rows, s.nodes.n, topo->nodes, s.nodes.ids, s.bandwidth };
	struct matrix_summary ns, gbs;
	struct result r;
	const size_t cells = (size_t)s.rows * (size_t)s.nodes.n;
	char found[ERROR_SIZE];
	double bytes = 0;

	for (int c = 0; c < s.nodes.n; c++) {
		bytes += (double)(s.pools[c].blocks * POOL_BLOCK);
		if (pool_wrong(&s.pools[c], found))
			snprintf(s.wrong, ERROR_SIZE, "memory of node %d: %.200s", s.nodes.ids[c], found);
	}
	stats_medians(s.latency, cells, (size_t)s.plan.rounds);
	stats_medians(s.bandwidth, cells, (size_t)s.plan.rounds);
	if (!matrix_summarise(&latency, &ns) || !matrix_summarise(&bandwidth, &gbs))
		return kernel_fail(NAME, "out of memory");
	result_begin(&r, NAME);
	result_bool(&r, "verified", s.wrong[0] == '\0');
	if (s.wrong[0] != '\0')
		result_string(&r, "error", s.wrong);
	result_known(&r, "latency_ns", ns.local_max);
	result_known(&r, "local_ns_median", ns.local_median);
	result_known(&r, "remote_ns_max", ns.remote_max);
	result_known(&r, "numa_factor", ns.factor);
	result_known(&r, "local_gbs_min", gbs.local_min);
	result_known(&r, "remote_gbs_min", gbs.remote_min);
	result_list_begin(&r, "nodes");
	for (int c = 0; c < s.nodes.n; c++)
		result_list_integer(&r, s.nodes.ids[c]);
	result_list_end(&r);
	matrix_report(&latency, &r, "latency", "ns");
	matrix_report(&bandwidth, &r, "bandwidth", "gbs");
	latency_report(&s.caches, &r, "cache_latency");
	result_bool(&r, "bound", s.nodes.bound);
	result_integer(&r, "rounds", s.plan.rounds);
	result_number(&r, "memory_mb", bytes / 1e6);
	result_string(&r, "limit", stream_limit_name(s.limit));
	result_number(&r, "huge_pages_pct", nodes_huge_pct());
	result_string(&r, "isa", s.ops->isa);
	return kernel_finish(NAME, &r, topo, started, s.wrong[0] == '\0' ? EXIT_MEASURED : EXIT_WRONG);
}

static double max_memory_mb;

/* Rows: who is in them, where their own memory is. */
static bool ready_rows(const struct topo *topo)
{
	const struct matrix m = { topo->n_nodes, s.nodes.n, topo->nodes, s.nodes.ids, NULL };
	const size_t rows = (size_t)topo->n_nodes, members = (size_t)topo->n;

	s.rows = topo->n_nodes;
	s.first = calloc(rows, sizeof(*s.first));
	s.cores = calloc(rows, sizeof(*s.cores));
	s.own = calloc(rows, sizeof(*s.own));
	s.rank = calloc(members, sizeof(*s.rank));
	s.rates = calloc(members, sizeof(*s.rates));
	s.triads = calloc(members, sizeof(*s.triads));
	if (!s.first || !s.cores || !s.own || !s.rank || !s.rates || !s.triads)
		return false;
	for (int i = topo->n - 1; i >= 0; i--)
		s.first[topo->node_of[i]] = i;
	for (int i = 0; i < topo->n; i++)
		s.rank[i] = s.cores[topo->node_of[i]]++;
	for (int r = 0; r < s.rows; r++) {
		int own = matrix_own(&m, r);

		s.own[r] = own >= 0 ? own : r % s.nodes.n;
	}
	return true;
}

/* Returns an exit code. */
static int ready_pools(const struct topo *topo, int levels)
{
	const int columns = s.nodes.n;
	size_t all = memory_available() / 2, max = max_memory_mb > 0 ? (size_t)(max_memory_mb * 1e6) : SIZE_MAX;
	size_t llc = topo->llc / (size_t)s.rows;

	/* One cache over several nodes is filled by the cores of any of them. */
	for (int level = levels; level > 0 && llc < topo->cache[level]; level--)
		llc = topo->cache[level];
	all = all < max ? all : max;
	s.pools = calloc((size_t)columns, sizeof(*s.pools));
	s.chases = calloc((size_t)columns, sizeof(*s.chases));
	if (!s.pools || !s.chases)
		return kernel_fail(NAME, "out of memory");
	for (int c = 0; c < columns; c++) {
		size_t room = all / (size_t)columns, here = nodes_available(s.nodes.ids[c]) / 2;
		struct plan_size size = plan_size(llc, room < here ? room : here, POOL_BLOCK);

		if (size.limit == STREAM_LIMIT_MEMORY)
			s.limit = size.limit;
		if (size.bytes == 0)
			return kernel_fail(NAME, "not enough memory: node %d needs %.1f MB", s.nodes.ids[c],
					   POOL_BLOCK / 1e6);
		if (!pool_map(&s.pools[c], size.bytes / POOL_BLOCK))
			return kernel_fail(NAME, "memory cannot be mapped: %s", strerror(errno));
		if (s.nodes.bound && !nodes_bind(s.pools[c].memory, s.pools[c].bytes, s.nodes.ids[c]))
			return kernel_fail(NAME, "memory cannot be bound to node %d: %s", s.nodes.ids[c],
					   strerror(errno));
	}
	return EXIT_MEASURED;
}

static int run(const struct topo *topo, double started, double end)
{
	int levels = 0, code;
	size_t values;

	if (!nodes_load(&s.nodes, topo))
		return kernel_fail(NAME, "no node whose memory may be used");
	for (int level = 1; level < TOPO_LEVELS; level++)
		levels = topo->cache[level] > 0 ? level : levels;
	s.ops = ops_choose(NULL);
	if (!ready_rows(topo))
		return kernel_fail(NAME, "out of memory");
	code = ready_pools(topo, levels);
	if (code != EXIT_MEASURED)
		return code;
	s.touch_from = clock_now();
	s.end = end;
	s.plan = plan_numa(end - s.touch_from, s.rows * s.nodes.n);
	values = (size_t)s.rows * (size_t)s.nodes.n * (size_t)s.plan.rounds;
	s.bandwidth = calloc(values, sizeof(*s.bandwidth));
	s.latency = calloc(values, sizeof(*s.latency));
	if (!s.bandwidth || !s.latency)
		return kernel_fail(NAME, "out of memory");
	if (!team_run(topo, work, NULL))
		return kernel_fail(NAME, "a thread cannot be started on its CPU: %s", strerror(errno));
	if (s.error[0] != '\0')
		return kernel_fail(NAME, "%s", s.error);
	return report(topo, started);
}

int main(int argc, char **argv)
{
	static const struct opts_extra extra[] = {
		{ .name = "--max-memory", .help = "MB in all nodes together (default: half of what is available)",
		  .low = 1, .high = 1e9, .value = &max_memory_mb },
	};
	static const struct kernel kernel = {
		.name = NAME,
		.what = "Measures latency and bandwidth from every NUMA node to every node's memory, and cache latency.",
		.seconds = 5,
		.extra = extra,
		.n_extra = sizeof(extra) / sizeof(extra[0]),
		.run = run,
	};

	return kernel_main(&kernel, argc, argv);
}
