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

#include "chase.h"
#include "common/clock.h"
#include "common/kernel.h"
#include "common/memory.h"
#include "common/stats.h"
#include "common/tally.h"
#include "common/team.h"
#include "latency.h"
#include "matrix.h"
#include "memory.h"
#include "plan.h"

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

/* What a visited line takes of a cache. */
#define LINE ((size_t)64)

static struct {
	const struct ops *ops;
	struct plan_numa plan;
	double touch_from, end;
	struct numa_memory memory; /* of each column */
	int rows;
	int *own;               /* each row's column; where its node has no memory, another */
	struct chase *chases;   /* of each column, in the same memory */
	struct pool_work *work; /* each member's, in the cell at work */
	struct tally *tallies;  /* of each cell: bandwidth */
	double *bandwidth;      /* the same, at the end */
	double *latency;        /* [cell][round]; at the end [cell]: the medians */
	int rounds;             /* of latency: those that there was time for */
	bool late;
	double huge_pct;
	struct latency_caches caches;
	char error[ERROR_SIZE]; /* could not run */
	char wrong[ERROR_SIZE]; /* a wrong value */
} s;

/* Its own column first; then it helps with the others, so that memory-only nodes are touched, too. */
static void touch(int row)
{
	const struct numa_memory *m = &s.memory;
	const int columns = m->nodes.bound ? m->nodes.n : 1;

	for (int k = 0; k < columns; k++)
		pool_touch(&m->pools[(s.own[row] + k) % m->nodes.n], 1, SIZE_MAX,
			   s.touch_from + s.plan.touch * (k + 1) / columns);
}

static void touched(void)
{
	numa_memory_touched(&s.memory, s.error);
	s.plan.bandwidth = plan_bandwidth_now(s.plan.bandwidth, s.end - clock_now(),
					      s.rows * s.memory.nodes.n * s.plan.rounds);
}

/* After a round: a very slow node has time for no other. For all members alike. */
static bool is_late(struct team *team, int member, double until)
{
	team_meet(team);
	if (member == 0)
		s.late = clock_now() > until;
	team_meet(team);
	return s.late;
}

static void measure_bandwidth(struct team *team, int member)
{
	const struct topo *topo = team->topo;
	const int row = topo->node_of[member], columns = s.memory.nodes.n, cells = s.rows * columns;
	const double phase_from = clock_now();

	/* Ends as planned from the start of the phase: what waiting cost, the next cell makes up for. */
	for (int i = 0; i < cells * s.plan.rounds; i++) {
		const int at = i % cells;

		s.work[member] = (struct pool_work){ 0 };
		if (row == at / columns)
			s.work[member] = pool_triad(&s.memory.pools[at % columns], s.ops, topo->rank[member],
						    topo->cores[row], phase_from + (i + 1) * s.plan.bandwidth);
		team_meet(team);
		if (member == 0)
			pool_tally(&s.tallies[at], s.work, topo->n);
		team_meet(team);
		if (at + 1 == cells && is_late(team, member, phase_from + cells * s.plan.rounds * s.plan.bandwidth))
			break;
	}
}

static void chase_failed(int cpu, const char *where, int id)
{
	snprintf(s.wrong, ERROR_SIZE, "cpu %d: a pointer chase in %s %d did not end where it should", cpu, where, id);
}

static void ready_chases(void)
{
	size_t lines = s.plan.lines;
	uint32_t *order;

	for (int c = 0; c < s.memory.nodes.n; c++) {
		size_t here = pool_bytes(&s.memory.pools[c]) / STRIDE;

		lines = here < lines ? here : lines;
	}
	order = malloc(lines * sizeof(*order));
	if (order == NULL) {
		snprintf(s.error, ERROR_SIZE, "out of memory");
		return;
	}
	chase_order(order, lines, BLOCK / STRIDE, SEED);
	for (int c = 0; c < s.memory.nodes.n; c++)
		s.chases[c] = (struct chase){ .base = s.memory.pools[c].memory, .stride = STRIDE, .n = lines, .order = order };
	s.plan.latency = plan_latency_now(s.plan.latency, s.end - clock_now(), s.rows * s.memory.nodes.n * s.plan.rounds);
}

static void measure_latency(struct team *team, int member)
{
	const int cells = s.rows * s.memory.nodes.n, row = team->topo->node_of[member];
	const bool leads = team->topo->rank[member] == 0;
	double phase_from;

	/* By the first core of the column's row; of others (memory-only nodes), in turn. */
	for (int c = 0; c < s.memory.nodes.n; c++) {
		int home = c % s.rows;

		for (int r = 0; r < s.rows; r++)
			home = s.own[r] == c ? r : home;
		if (leads && row == home)
			chase_lay(&s.chases[c]);
	}
	team_start(team);
	phase_from = clock_now();
	for (int i = 0; i < cells * s.plan.rounds; i++) {
		int at = i % cells, to = at % s.memory.nodes.n;

		if (leads && row == at / s.memory.nodes.n) {
			double *ns = &s.latency[at * s.plan.rounds + i / cells];

			*ns = latency_measure(&s.chases[to], phase_from + (i + 1) * s.plan.latency - clock_now(), true);
			if (isnan(*ns))
				chase_failed(team->topo->cpus[member], "the memory of node", s.memory.nodes.ids[to]);
		}
		team_meet(team);
		if (at + 1 < cells)
			continue;
		if (member == 0)
			s.rounds = i / cells + 1;
		if (is_late(team, member, phase_from + cells * s.plan.rounds * s.plan.latency))
			break;
	}
	team_end();
}

static void measure_caches(const struct topo *topo)
{
	struct pool *p = &s.memory.pools[s.own[topo->node_of[0]]];
	double seconds = fmin(s.plan.caches, s.end - clock_now());

	if (!latency_caches(&s.caches, topo->cache, p->memory, pool_bytes(p), seconds))
		snprintf(s.error, ERROR_SIZE, "out of memory");
	for (int level = 1; level < TOPO_LEVELS; level++)
		if (isnan(s.caches.ns[level]))
			chase_failed(topo->cpus[0], "cache level", level);
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
	for (int k = 0; k < s.memory.nodes.n; k++)
		pool_verify(&s.memory.pools[(s.own[row] + k) % s.memory.nodes.n], team->topo->cpus[member]);
	team_meet(team);
	if (member == 0)
		ready_chases();
	team_meet(team);
	if (s.error[0] == '\0')
		measure_latency(team, member);
	if (s.error[0] == '\0' && member == 0)
		measure_caches(team->topo);
	if (member == 0)
		s.huge_pct = memory_huge_pct();
	team_meet(team);
	for (int c = 0; c < s.memory.nodes.n; c++)
		pool_unmap(&s.memory.pools[c], member, team->topo->n);
}

static int report(const struct topo *topo, double started)
{
	struct matrix latency = { s.rows, s.memory.nodes.n, topo->nodes, s.memory.nodes.ids, s.latency };
	struct matrix bandwidth = { s.rows, s.memory.nodes.n, topo->nodes, s.memory.nodes.ids, s.bandwidth };
	struct matrix_summary ns, gbs;
	struct result r;
	const size_t cells = (size_t)s.rows * (size_t)s.memory.nodes.n;
	double bytes = 0;

	for (int c = 0; c < s.memory.nodes.n; c++) {
		bytes += (double)pool_bytes(&s.memory.pools[c]);
		if (s.wrong[0] == '\0')
			(void)pool_wrong(&s.memory.pools[c], s.memory.nodes.ids[c], s.wrong);
	}
	for (size_t i = 0; i < cells * (size_t)s.rounds; i++)
		s.latency[i] = s.latency[i / (size_t)s.rounds * (size_t)s.plan.rounds + i % (size_t)s.rounds];
	stats_medians(s.latency, cells, (size_t)s.rounds);
	for (size_t i = 0; i < cells; i++)
		s.bandwidth[i] = tally_rate(&s.tallies[i]) * 1e-9;
	if (!matrix_summarise(&latency, &ns) || !matrix_summarise(&bandwidth, &gbs))
		return kernel_fail("out of memory");
	kernel_begin(&r, s.wrong[0] != '\0' ? s.wrong : NULL);
	result_known(&r, "latency_ns", ns.local_max);
	result_known(&r, "local_ns_median", ns.local_median);
	result_known(&r, "remote_ns_max", ns.remote_max);
	result_known(&r, "numa_factor", ns.factor);
	result_known(&r, "local_gbs_min", gbs.local_min);
	result_known(&r, "remote_gbs_min", gbs.remote_min);
	result_list_begin(&r, "nodes");
	for (int c = 0; c < s.memory.nodes.n; c++)
		result_list_integer(&r, s.memory.nodes.ids[c]);
	result_list_end(&r);
	result_list_begin(&r, "left_out");
	for (int k = 0; k < s.memory.n_left_out; k++)
		result_list_integer(&r, s.memory.left_out[k]);
	result_list_end(&r);
	matrix_report(&latency, &r, "latency", "ns");
	matrix_report(&bandwidth, &r, "bandwidth", "gbs");
	latency_report(&s.caches, &r, "cache_latency");
	result_bool(&r, "bound", s.memory.nodes.bound);
	result_integer(&r, "rounds", s.rounds);
	result_number(&r, "memory_mb", bytes / 1e6);
	result_string(&r, "limit", stream_limit_name(s.memory.limit));
	result_number(&r, "llc_mb", (double)s.memory.llc / 1e6);
	result_number(&r, "chase_mb", (double)(s.chases[0].n * LINE) / 1e6);
	result_bool(&r, "flushed", CHASE_FLUSHES);
	result_number(&r, "huge_pages_pct", s.huge_pct);
	result_string(&r, "isa", s.ops->isa);
	return kernel_finish(&r, topo, started);
}

/* Where each row's own memory is. */
static bool ready_rows(const struct topo *topo)
{
	const struct matrix m = { topo->n_nodes, s.memory.nodes.n, topo->nodes, s.memory.nodes.ids, NULL };

	s.rows = topo->n_nodes;
	s.own = calloc((size_t)s.rows, sizeof(*s.own));
	s.work = calloc((size_t)topo->n, sizeof(*s.work));
	if (!s.own || !s.work)
		return false;
	for (int r = 0; r < s.rows; r++) {
		int own = matrix_own(&m, r);

		s.own[r] = own >= 0 ? own : r % s.memory.nodes.n;
	}
	return true;
}

static bool ready_cells(void)
{
	const size_t cells = (size_t)s.rows * (size_t)s.memory.nodes.n;

	s.bandwidth = calloc(cells, sizeof(*s.bandwidth));
	s.tallies = calloc(cells, sizeof(*s.tallies));
	s.latency = calloc(cells * (size_t)s.plan.rounds, sizeof(*s.latency));
	s.chases = calloc((size_t)s.memory.nodes.n, sizeof(*s.chases));
	return s.bandwidth && s.tallies && s.latency && s.chases;
}

static int run(const struct topo *topo, double started, double end)
{
	s.ops = ops_choose(NULL);
	if (!numa_memory_map(&s.memory, topo, s.error))
		return kernel_fail("%s", s.error);
	s.touch_from = clock_now();
	s.end = end;
	s.plan = plan_numa(end - s.touch_from, topo->n_nodes * s.memory.nodes.n);
	if (!ready_rows(topo) || !ready_cells())
		return kernel_fail("out of memory");
	if (!team_run(topo, work, NULL))
		return kernel_fail("a thread cannot be started on its CPU: %s", strerror(errno));
	if (s.error[0] != '\0')
		return kernel_fail("%s", s.error);
	return report(topo, started);
}

static const struct opts_extra extra[] = {
	MEMORY_OPTION,
	{ 0 },
};

const struct kernel kernel = {
	.name = "numa",
	.what = "Measures latency and bandwidth from every NUMA node to every node's memory, and cache latency.",
	.seconds = 5,
	.extra = extra,
	.run = run,
};
