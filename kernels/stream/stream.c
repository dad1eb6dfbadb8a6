/*
 * stream: memory bandwidth of the whole node and of each NUMA node, by McCalpin's four
 * operations (copy, scale, add, triad). A tuned variant, no "STREAM benchmark result".
 *
 * Every core has its own part of the three arrays, bound to its NUMA node; that its pages
 * are there is checked. The cores work through their parts in common windows of time, each
 * at its own pace: with a barrier after each pass, as in STREAM, all wait for the one core
 * that the system has just stopped, and the rate is that of the neighbours' scheduling.
 * All values are small integers: every operation is exact and every element is verified
 * at the end.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/kernel.h"
#include "common/memory.h"
#include "common/ops.h"
#include "common/pools.h"
#include "common/tally.h"
#include "common/team.h"
#include "ruler.h"
#include "windows.h"

static const char *const op_names[STREAM_OPS] = { "copy", "scale", "add", "triad" };
static const double op_arrays[STREAM_OPS] = { 2, 2, 3, 3 }; /* read or written, as STREAM counts */

/*
 * First touch takes this share of the time box at most; the second, while all that is
 * touched would fit the caches. What is touched by then is used.
 */
#define TOUCH_SHARE 0.25
#define TOUCH_MOST 0.5

/* munmap takes this share of the time that touching them took. */
#define UNMAP_SHARE 0.25

/* Verifying takes up to so many times as long as moving the same: three comparisons an element. */
#define VERIFY_COST 2.0

/*
 * Blocks between two readings of the clock, 512 KiB of each array: 0.1 ms of a core, on a
 * 50 times slower node of 128 cores 30 ms. The fence at the end and the prefetchers' first lines are 0.3 us.
 */
#define CHUNK ((size_t)8)

/* Of a block: its elements of b and c are so many times those of a. */
struct factors {
	int32_t b, c;
};

static struct {
	struct pools pools;
	struct factors *factors;  /* of each block, one pool's after the other's */
	struct windows windows;
	struct pool_work *work;   /* [window][member] */
	struct pool_work *all;    /* of each member: all that it touched and moved, since it began to touch */
	struct pool_work *sums;   /* for rates_of: of each member, in all windows and in one */
	double rates[WINDOWS_MOST];
	double box, end;
	const struct ops *ops;
	double huge_pct;
	struct ruler ruler;
} s;

static const char *traffic_dir;

/* A member on its way through its part. */
struct walk {
	struct pool *pool;
	struct factors *factors; /* of its first block */
	size_t first, at;
	bool odd;                /* passes are even and odd in turn */
	double began, now;       /* clock_now */
	double bytes;            /* moved since it began */
};

/*
 * The newer of b and c, and a, give the other: from k a it becomes k a, -k a or (k + 1) a.
 * Nothing grows faster than by 1, whichever operation follows whichever, and a write that
 * was lost is carried to the end.
 */
static void run_op(struct walk *w, size_t blocks, int op)
{
	const size_t block = w->first + w->at, n = blocks * w->pool->elements;
	const double *a = pool_array(w->pool, block, POOL_A);
	const double *from = pool_array(w->pool, block, w->odd ? POOL_B : POOL_C);
	double *to = pool_array(w->pool, block, w->odd ? POOL_C : POOL_B);

	switch (op) {
	case STREAM_COPY:
		s.ops->copy(to, from, n);
		break;
	case STREAM_SCALE:
		s.ops->scale(to, from, -1, n);
		break;
	case STREAM_ADD:
		s.ops->add(to, a, from, n);
		break;
	default:
		s.ops->triad(to, from, a, 1, n);
	}
	for (size_t i = 0; i < blocks; i++) {
		struct factors *f = &w->factors[w->at + i];
		const int32_t k = w->odd ? f->b : f->c;

		*(w->odd ? &f->c : &f->b) = op == STREAM_COPY ? k : op == STREAM_SCALE ? -k : k + 1;
	}
}

/* One chunk of the part, the one that was used longest ago. */
static struct pool_work step(struct walk *w, int op)
{
	const size_t left = s.pools.share - w->at, blocks = left < CHUNK ? left : CHUNK;
	const double from = w->now;
	struct pool_work work;

	run_op(w, blocks, op);
	w->at += blocks;
	if (w->at == s.pools.share) {
		w->at = 0;
		w->odd = !w->odd;
	}
	w->now = clock_now();
	work = (struct pool_work){ op_arrays[op] * (double)(blocks * w->pool->elements * sizeof(double)), w->now - from };
	w->bytes += work.bytes;
	return work;
}

/* Of the three arrays of a member's part. */
static double part_bytes(const struct pool *pool)
{
	return (double)(POOL_ARRAYS * s.pools.share * pool->elements * sizeof(double));
}

/* Only the verification fits the box, at the pace so far. */
static bool is_over(const struct walk *w)
{
	const double ruler = s.ruler.on ? RULER_SHARE * s.box : 0;

	return w->now + ruler + VERIFY_COST * part_bytes(w->pool) * (w->now - w->began) / w->bytes >= s.end;
}

static void add(struct pool_work *sum, struct pool_work one)
{
	sum->bytes += one.bytes;
	sum->seconds += one.seconds;
}

static void measure(const struct topo *topo, int member, struct walk *w)
{
	struct pool_work *work = s.work + member;
	bool done[STREAM_OPS] = { false };

	w->began = w->now = clock_now();
	/* Not counted: clocks are cold, and page tables. */
	do
		(void)step(w, STREAM_TRIAD);
	while (w->now < s.windows.from);
	while (!is_over(w)) {
		const int window = windows_at(&s.windows, w->now), op = windows_op(window);

		add(&work[(size_t)window * (size_t)topo->n], step(w, op));
		done[op] = true;
	}
	/* The least, on a very slow core. */
	for (int window = 0; window < WINDOWS_TURN; window++)
		if (!done[windows_op(window)]) {
			add(&work[(size_t)window * (size_t)topo->n], step(w, windows_op(window)));
			done[windows_op(window)] = true;
		}
}

/* All members together. */
static void measure_traffic(struct team *team, int member, struct walk *w)
{
	const int n = team->topo->n;
	double from;

	team_meet(team);
	if (member == 0)
		ruler_begin(&s.ruler, s.end);
	team_meet(team);
	w->now = clock_now();
	/* A very slow core has left no time for it. */
	if (ruler_end(&s.ruler) > s.end)
		return;
	do {
		struct pool_work work;

		from = w->now;
		work = step(w, STREAM_TRIAD);
		ruler_add(&s.ruler, n, member, from, work);
		if (member == 0)
			w->now = clock_now(); /* reading them took a moment */
	} while (w->now < ruler_end(&s.ruler));
	/* The last reading. */
	if (member == 0)
		ruler_add(&s.ruler, n, member, w->now, (struct pool_work){ 0 });
}

/* In the pools of the nodes before. */
static size_t blocks_before(int node)
{
	size_t sum = 0;

	for (int i = 0; i < node; i++)
		sum += s.pools.of[i].blocks;
	return sum;
}

static void verify(const struct walk *w, int cpu)
{
	for (size_t i = 0; i < s.pools.share; i++) {
		const double want[POOL_ARRAYS] = { 1, w->factors[i].b, w->factors[i].c };

		pool_verify_blocks(w->pool, w->first + i, w->first + i + 1, want, cpu);
	}
}

/* One member, when all have touched: `from` is when that began. */
static void divide(double from)
{
	const double now = clock_now();

	s.end -= UNMAP_SHARE * (now - from);
	s.windows = windows_divide(now, s.end);
}

static void work(struct team *team, int member, void *shared)
{
	const double from = clock_now();
	const int node = team->topo->node_of[member];
	const bool traffic = s.ruler.on;

	(void)shared;
	if (pools_touch(&s.pools, team, member)) {
		const size_t first = pools_first(&s.pools, team->topo, member);
		struct walk w = { .pool = &s.pools.of[node], .factors = s.factors + blocks_before(node) + first, .first = first };

		if (member == 0)
			divide(from);
		team_start(team);
		measure(team->topo, member, &w);
		if (traffic)
			measure_traffic(team, member, &w);
		team_end();
		s.all[member] = (struct pool_work){ (double)pool_bytes(w.pool) / team->topo->cores[node] + w.bytes, w.now - from };
		team_meet(team);
		if (member == 0)
			s.huge_pct = memory_huge_pct();
		verify(&w, team->topo->cpus[member]);
		/* Until member 0 has read the share of huge pages, all keep theirs. */
		team_meet(team);
	}
	pools_unmap(&s.pools, team->topo, member);
}

/* Of one array, of all cores. */
static double array_bytes(const struct topo *topo)
{
	return part_bytes(&s.pools.of[0]) / POOL_ARRAYS * topo->n;
}

struct rates {
	double rate, median, best, spread_pct;
};

/* On a NUMA node, or all of them (node n_nodes). */
static bool is_on(const struct topo *topo, size_t member, int node)
{
	return node == topo->n_nodes || topo->node_of[member] == node;
}

/* Of any operation, where hardly anything was measured: see KERNEL_LEFT_LEAST. */
static struct rates most_of(const struct topo *topo, int node)
{
	double rate = 0;

	for (size_t i = 0; i < (size_t)topo->n; i++)
		rate += is_on(topo, i, node) ? s.all[i].bytes / s.all[i].seconds : 0;
	return (struct rates){ .rate = rate, .median = rate, .best = rate, .spread_pct = NAN };
}

/* Of an operation. */
static struct rates rates_of(const struct topo *topo, int node, int op)
{
	const size_t n = (size_t)topo->n;
	struct pool_work *sums = s.sums, *here = s.sums + n;
	struct tally all = { 0 }, each = { .rates = s.rates };
	struct tally_spread spread;

	memset(sums, 0, n * sizeof(*sums));
	for (int window = 0; window < s.windows.n; window++) {
		bool whole = windows_op(window) == op;

		if (!whole)
			continue;
		for (size_t i = 0; i < n; i++) {
			const bool in = is_on(topo, i, node);

			here[i] = in ? s.work[(size_t)window * n + i] : (struct pool_work){ 0 };
			add(&sums[i], here[i]);
			whole = whole && (!in || here[i].bytes > 0);
		}
		/* A core that was stopped for all of a window has no part in it: no rate of all. */
		if (whole)
			pool_tally(&each, here, topo->n);
	}
	pool_tally(&all, sums, topo->n);
	if (each.n == 0)
		pool_tally(&each, sums, topo->n);
	spread = tally_spread(&each);
	return (struct rates){ .rate = tally_rate(&all), .median = spread.median, .best = fmax(spread.best, tally_rate(&all)),
			       .spread_pct = 100 * (spread.p90 - spread.p10) / spread.median };
}

static void report_ops(struct result *r, const struct topo *topo, int node, bool most)
{
	char key[32];

	for (int op = STREAM_OPS - 1; op >= 0; op--) {
		const struct rates rates = most ? most_of(topo, node) : rates_of(topo, node, op);

		snprintf(key, sizeof(key), "%s_gbs", op_names[op]);
		result_number(r, key, rates.rate * 1e-9);
		snprintf(key, sizeof(key), "%s_median_gbs", op_names[op]);
		result_number(r, key, rates.median * 1e-9);
		snprintf(key, sizeof(key), "%s_best_gbs", op_names[op]);
		result_number(r, key, rates.best * 1e-9);
		snprintf(key, sizeof(key), "%s_spread_pct", op_names[op]);
		result_number(r, key, rates.spread_pct);
	}
}

/* Of all members. */
static struct pool_work triads(const struct topo *topo)
{
	struct pool_work sum = { 0 };

	for (int window = 0; window < s.windows.n; window++)
		for (int i = 0; windows_op(window) == STREAM_TRIAD && i < topo->n; i++)
			add(&sum, s.work[window * topo->n + i]);
	return sum;
}

/* The mean of the cores, as a rate is bytes over that. One that once was stopped may have counted little. */
static bool is_moment(const struct topo *topo, double box)
{
	return triads(topo).seconds / topo->n < WINDOWS_TRIAD * KERNEL_LEFT_LEAST * box;
}

/* How often the triad went over all of its memory. */
static long long passes(const struct topo *topo)
{
	return (long long)(triads(topo).bytes / (op_arrays[STREAM_TRIAD] * array_bytes(topo)));
}

static void report_nodes(struct result *r, const struct topo *topo, bool most)
{
	result_list_begin(r, "numa");
	for (int node = 0; node < topo->n_nodes; node++) {
		result_object_begin(r);
		result_integer(r, "node", topo->nodes[node]);
		result_integer(r, "cores", topo->cores[node]);
		report_ops(r, topo, node, most);
		result_object_end(r);
	}
	result_list_end(r);
}

static const char *isa;

static int report(const struct topo *topo, double started, double box)
{
	char error[ERROR_SIZE];
	const bool wrong = pools_wrong(&s.pools, topo, error), most = is_moment(topo, box);
	struct result r;

	if (most && !kernel_stopped() && !wrong)
		return kernel_fail(KERNEL_HARDLY_ANY);
	kernel_begin(&r, wrong ? error : NULL);
	if (most)
		kernel_unfinished(&r, KERNEL_HARDLY_ANY);
	report_ops(&r, topo, topo->n_nodes, most);
	result_integer(&r, "passes", passes(topo));
	result_number(&r, "array_mb", array_bytes(topo) / 1e6);
	result_number(&r, "llc_mb", (double)topo->llc / 1e6);
	result_string(&r, "array_limit", stream_limit_name(s.pools.size.limit));
	result_string(&r, "variant", "tuned");
	result_string(&r, "isa", s.ops->isa);
	result_string(&r, "stores", s.ops->stores);
	result_number(&r, "huge_pages_pct", s.huge_pct);
	result_number(&r, "misplaced_pct", pools_misplaced(&s.pools, topo));
	if (traffic_dir && !most)
		ruler_report(&s.ruler, &r, topo->n);
	report_nodes(&r, topo, most);
	return kernel_finish(&r, topo, started);
}

/* After the pools are mapped. */
static bool allocate(const struct topo *topo)
{
	s.work = calloc((size_t)topo->n * WINDOWS_MOST, sizeof(*s.work));
	s.all = calloc((size_t)topo->n, sizeof(*s.all));
	s.sums = calloc(2 * (size_t)topo->n, sizeof(*s.sums));
	s.factors = calloc(blocks_before(topo->n_nodes) + 1, sizeof(*s.factors));
	return s.work && s.all && s.sums && s.factors;
}

static int run(const struct topo *topo, double started, double end)
{
	const double box = end - started;
	char error[ERROR_SIZE];

	s.ops = ops_choose(isa);
	if (!s.ops)
		return kernel_fail("--isa: this CPU has no %s", isa);
	if (!pools_map(&s.pools, topo, STREAM_BLOCK, error))
		return kernel_fail("%s", error);
	if (!allocate(topo) || (traffic_dir && !ruler_open(&s.ruler, traffic_dir, topo->n, box)))
		return kernel_fail("out of memory");
	s.box = box;
	s.end = end;
	s.pools.until = started + TOUCH_SHARE * box;
	s.pools.latest = started + TOUCH_MOST * box;
	if (!team_run(topo, work, NULL))
		return kernel_fail("a thread cannot be started on its CPU: %s", strerror(errno));
	if (!pools_placed(&s.pools, topo, error))
		return kernel_fail("%s", error);
	return report(topo, started, box);
}

static const struct opts_extra extra[] = {
	MEMORY_OPTION,
	{ .name = "--isa", .help = "instruction set (default auto: the widest that there is)",
	  .choices = ops_isas, .text = &isa },
	{ .name = "--traffic", .help = "resctrl's directory: read its counters of memory traffic around triads, too",
	  .text = &traffic_dir },
	{ 0 },
};

const struct kernel kernel = {
	.name = "stream",
	.what = "Measures memory bandwidth on all physical cores: copy, scale, add, triad.",
	.seconds = 2,
	.extra = extra,
	.run = run,
};
