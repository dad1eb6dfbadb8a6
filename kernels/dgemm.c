/*
 * dgemm: floating-point rate of every core, all at the same time, by OpenBLAS' serial
 * DGEMM; whether every bit of every result is right; and the clock that each core
 * keeps under that load.
 */
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "common/chain.h"
#include "common/clock.h"
#include "common/exact.h"
#include "common/kernel.h"
#include "common/memory.h"
#include "common/stats.h"
#include "common/team.h"

#define NAME "dgemm"

/*
 * c (n x n) = a (n x k) b (k x n). The largest size of which FIT calls fit into the box
 * on the slowest core. OpenBLAS copies a and b into its own order, which costs 1/n of
 * a call: with a large n and twice its blocks' depth as k it reaches its rate on
 * matrices without end in 0.15 s a call at 55 GFLOP/s (n = k = 1536: 5 % less in the same
 * time). Smaller ones are for slow cores and little memory.
 */
static const struct size {
	size_t n, k;
} sizes[] = { { 2304, 768 }, { 1152, 384 }, { 384, 384 } };
#define N_SIZES (sizeof(sizes) / sizeof(sizes[0]))
#define FIT 3
static const struct size probe_size = { 256, 256 }; /* 34 MFLOP: to tell how fast a core is */

#define MAX_SAMPLES 1024 /* of the clock, on each core: the latest */

/* What all cores of a NUMA node share: two inputs and the one right result. */
struct shared {
	double *a, *b, *reference;
};

struct core {
	const struct shared *shared;
	double *c;
	double probe; /* FLOP/s */
	double busy;  /* seconds in counted calls */
	long calls;
	double mhz[MAX_SAMPLES]; /* after each of them */
	size_t wrong; /* index of a wrong element of c, or SIZE_MAX */
	double got;
	int64_t expected;
} __attribute__((aligned(128)));

static struct {
	struct shared *nodes;
	struct core *cores;
	struct size max, size;
	double end;
	atomic_bool no_memory;
} s;

static double flop(struct size size)
{
	return 2.0 * (double)size.n * (double)size.n * (double)size.k;
}

static void multiply(const struct core *core, double *c, struct size size)
{
	const struct shared *m = core->shared;
	blasint n = (blasint)size.n, k = (blasint)size.k;

	cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, k, 1.0, m->a, k, m->b, n, 0.0, c, n);
}

static void note_wrong(struct core *core, const double *c, size_t wrong)
{
	const size_t n = s.size.n;

	if (wrong == n * n || core->wrong != SIZE_MAX)
		return;
	core->wrong = wrong;
	core->got = c[wrong];
	core->expected = exact_element(core->shared->a, core->shared->b, n, s.size.k, wrong / n, wrong % n);
}

static void compare(struct core *core)
{
	const struct shared *m = core->shared;

	note_wrong(core, core->c, exact_compare(m->a, m->b, core->c, m->reference, s.size.n, s.size.k));
}

/* Is this the first core of its NUMA node, which prepares what the others share? */
static bool leads(const struct topo *topo, int member)
{
	for (int i = 0; i < member; i++)
		if (topo->node_of[i] == topo->node_of[member])
			return false;
	return true;
}

static void set_up(const struct topo *topo, int member)
{
	size_t inputs = s.max.n * s.max.k, bytes = sizeof(double) * s.max.n * s.max.n;
	struct shared *m = &s.nodes[topo->node_of[member]];
	struct core *core = &s.cores[member];
	uint64_t state = 20260101; /* the same work on every node */

	core->c = memory_map(bytes);
	if (core->c)
		memset(core->c, 0, bytes);
	else
		s.no_memory = true;
	if (!leads(topo, member))
		return;
	m->a = memory_map(sizeof(double) * inputs);
	m->b = memory_map(sizeof(double) * inputs);
	m->reference = memory_map(bytes);
	if (!m->a || !m->b || !m->reference) {
		s.no_memory = true;
		return;
	}
	exact_fill(m->a, inputs, &state);
	exact_fill(m->b, inputs, &state);
	memset(m->reference, 0, bytes);
}

/* The first call makes OpenBLAS ready, and the core its clock. */
static void probe(struct core *core)
{
	double from;

	multiply(core, core->c, probe_size);
	from = clock_now();
	multiply(core, core->c, probe_size);
	core->probe = flop(probe_size) / (clock_now() - from);
}

static struct size choose_size(const struct topo *topo)
{
	double slowest = INFINITY, left = s.end - clock_now();
	size_t i = 0;

	for (int k = 0; k < topo->n; k++)
		slowest = fmin(slowest, s.cores[k].probe);
	while (i + 1 < N_SIZES && (sizes[i].n > s.max.n || FIT * flop(sizes[i]) > slowest * left))
		i++;
	return sizes[i];
}

/*
 * Right after a call: a clock that was lowered rises again within milliseconds. The
 * best of three: what interrupts a sample only lowers it.
 */
static double clock_under_load(void)
{
	double best = 0;

	for (int i = 0; i < 3; i++)
		best = fmax(best, chain_mhz());
	return best;
}

static void measure(struct core *core)
{
	double last;

	/* Until the next call would end after the box; one call at least. */
	do {
		double from = clock_now();

		multiply(core, core->c, s.size);
		last = clock_now() - from;
		core->mhz[core->calls++ % MAX_SAMPLES] = clock_under_load();
		core->busy += last;
		compare(core);
	} while (clock_now() + 1.15 * last < s.end);
}

static void work(struct team *team, int member, void *unused)
{
	const struct topo *topo = team->topo;
	struct core *core = &s.cores[member];
	struct shared *m = &s.nodes[topo->node_of[member]];
	uint64_t state = 1;

	(void)unused;
	set_up(topo, member);
	team_meet(team);
	if (s.no_memory)
		return;
	probe(core);
	team_meet(team);
	if (member == 0)
		s.size = choose_size(topo);
	team_meet(team);
	/* Warm-up at full size, not counted; of the first core it is what all are held to. */
	multiply(core, leads(topo, member) ? m->reference : core->c, s.size);
	if (leads(topo, member))
		note_wrong(core, m->reference, exact_verify(m->a, m->b, m->reference, s.size.n, s.size.k, &state));
	team_meet(team);
	if (!leads(topo, member))
		compare(core);
	measure(core);
}

static double median_mhz(struct core *core)
{
	size_t n = (size_t)(core->calls < MAX_SAMPLES ? core->calls : MAX_SAMPLES);

	stats_sort(core->mhz, n);
	return stats_quantile(core->mhz, n, 0.5);
}

/* The lowest of the cores' limits, as set now; NaN where there are none. */
static double clock_limit(const struct topo *topo)
{
	double lowest = NAN;

	for (int i = 0; i < topo->n; i++)
		lowest = fmin(lowest, cpufreq_mhz(topo->cpus[i], "scaling_max_freq"));
	return lowest;
}

static void report_cores(struct result *r, const struct topo *topo, double *rates, double *clocks)
{
	int slowest = 0, lowest = 0;
	double sum = 0;

	for (int i = 0; i < topo->n; i++) {
		/*
		 * All work over all time, no median: a core that is stopped for a part of
		 * every 10 ms does most short calls undisturbed.
		 */
		rates[i] = flop(s.size) * (double)s.cores[i].calls / s.cores[i].busy * 1e-9;
		clocks[i] = median_mhz(&s.cores[i]);
		sum += rates[i];
		slowest = rates[i] < rates[slowest] ? i : slowest;
		lowest = clocks[i] < clocks[lowest] ? i : lowest;
	}
	result_number(r, "gflops", sum);
	result_number(r, "gflops_core_min", rates[slowest]);
	result_integer(r, "slowest_cpu", topo->cpus[slowest]);
	result_number(r, "clock_mhz_min", clocks[lowest]);
	result_integer(r, "lowest_clock_cpu", topo->cpus[lowest]);
	result_list_begin(r, "cores");
	for (int i = 0; i < topo->n; i++) {
		result_object_begin(r);
		result_integer(r, "cpu", topo->cpus[i]);
		result_number(r, "gflops", rates[i]);
		result_number(r, "clock_mhz", clocks[i]);
		result_object_end(r);
	}
	result_list_end(r);
	stats_sort(rates, (size_t)topo->n);
	stats_sort(clocks, (size_t)topo->n);
	result_number(r, "gflops_core_median", stats_quantile(rates, (size_t)topo->n, 0.5));
	result_number(r, "clock_mhz", stats_quantile(clocks, (size_t)topo->n, 0.5));
	result_number(r, "clock_limit_mhz", clock_limit(topo));
}

static int report(const struct topo *topo, double started)
{
	double *rates = calloc((size_t)topo->n, sizeof(double)), *clocks = calloc((size_t)topo->n, sizeof(double));
	const struct core *bad = NULL;
	char error[200];
	struct result r;
	long calls = 0;

	if (!rates || !clocks) {
		free(rates);
		free(clocks);
		return kernel_fail(NAME, "out of memory");
	}
	for (int i = topo->n - 1; i >= 0; i--) {
		calls += s.cores[i].calls;
		bad = s.cores[i].wrong != SIZE_MAX ? &s.cores[i] : bad;
	}
	result_begin(&r, NAME);
	result_bool(&r, "verified", bad == NULL);
	if (bad) {
		snprintf(error, sizeof(error), "cpu %d: C[%zu][%zu] is %.17g, expected %lld", topo->cpus[bad - s.cores],
			 bad->wrong / s.size.n, bad->wrong % s.size.n, bad->got, (long long)bad->expected);
		result_string(&r, "error", error);
	}
	report_cores(&r, topo, rates, clocks);
	result_integer(&r, "n", (long long)s.size.n);
	result_integer(&r, "k", (long long)s.size.k);
	result_integer(&r, "calls", calls);
	result_string(&r, "blas", openblas_get_config());
	free(rates);
	free(clocks);
	return kernel_finish(NAME, &r, topo, started, bad ? EXIT_WRONG : EXIT_MEASURED);
}

/* The largest size whose matrices fit into half of what is available. */
static struct size max_size(const struct topo *topo)
{
	size_t cores = (size_t)topo->n, nodes = (size_t)topo->n_nodes, room = memory_available() / 2 / sizeof(double);
	size_t i = 0;

	while (i + 1 < N_SIZES && (cores + nodes) * sizes[i].n * sizes[i].n + 2 * nodes * sizes[i].n * sizes[i].k > room)
		i++;
	return sizes[i];
}

static int run(const struct topo *topo, double started, double end)
{
	/* Debian's OpenBLAS has threads of its own; the team is the only one here. */
	openblas_set_num_threads(1);
	s.end = end;
	s.max = max_size(topo);
	s.nodes = calloc((size_t)topo->n_nodes, sizeof(*s.nodes));
	s.cores = aligned_alloc(128, sizeof(*s.cores) * (size_t)topo->n);
	if (!s.nodes || !s.cores)
		return kernel_fail(NAME, "out of memory");
	memset(s.cores, 0, sizeof(*s.cores) * (size_t)topo->n);
	for (int i = 0; i < topo->n; i++) {
		s.cores[i].wrong = SIZE_MAX;
		s.cores[i].shared = &s.nodes[topo->node_of[i]];
	}
	if (!team_run(topo, work, NULL))
		return kernel_fail(NAME, "a thread cannot be started on its CPU: %s", strerror(errno));
	if (s.no_memory)
		return kernel_fail(NAME, "memory cannot be mapped: %s", strerror(ENOMEM));
	return report(topo, started);
}

int main(int argc, char **argv)
{
	static const struct kernel kernel = {
		.name = NAME,
		.what = "Measures the DGEMM rate and the clock of every physical core at once; every result is verified.",
		.seconds = 1,
		.run = run,
	};

	return kernel_main(&kernel, argc, argv);
}
