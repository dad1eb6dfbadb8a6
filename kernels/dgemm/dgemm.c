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
#include <sys/mman.h>
#include <unistd.h>

#include <cblas.h>

#include "chain.h"
#include "common/clock.h"
#include "common/kernel.h"
#include "common/memory.h"
#include "common/team.h"
#include "dgemm.h"
#include "exact.h"
#include "rate.h"
#include "size.h"

static const struct dgemm_size probe_size = { .n = 256, .k = 256 }; /* 34 MFLOP: how fast is a core? */
#define PROBES 3
#define PROBE_BYTES ((size_t)2 << 20) /* for each matrix: a huge page, so that touching one is seen */
#define TOUCH_SHARE 0.1               /* of the box, for probes of touching, or one */

/*
 * A CFS quota lets a core run for some milliseconds at full speed and stops it for the rest of
 * 100 ms: what counts is the work in all of a share of the box. A core that was stopped in it
 * is looked at for longer, so that one detour does not weigh as much.
 */
#define PROBE_SHARE 0.05
#define PROBE_MOST 0.15
#define PROBE_STEADY 0.75 /* of the best probe's rate, or it was stopped */

/* A call that is at work at the end of the box has so much of it more; then it counts as unfinished. */
#define LATE_SHARE 0.25

#define SEED 20260101 /* the same work on every node */

static struct {
	struct dgemm_shared *nodes;
	struct dgemm_core *cores;
	struct dgemm_size size;
	size_t room;
	double started, end;
	atomic_bool no_memory;
	atomic_bool no_reference; /* a first result was wrong: nothing to compare the others with */
} s;

/*
 * c += a b, as HPL does it, on a c of zeros. With beta = 0 OpenBLAS would go over c once
 * more in the call, which is memory's time and no core's: 1 % (n = 2304, k = 1536) to 5 %
 * (k = 768) of it.
 */
static void multiply(const struct exact *m, double *c)
{
	blasint n = (blasint)m->n, k = (blasint)m->k;

	cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, k, 1.0, m->a, k, m->b, n, 1.0, c, n);
}

/* A call at full size. */
static double call(struct dgemm_core *core, double *c)
{
	const double from = clock_now();
	double seconds;

	/* Who looks in between sees too high a rate, never too low a one: see done_by. */
	core->live.begun++;
	core->live.since = from;
	multiply(&core->shared->inputs, c);
	seconds = clock_now() - from;
	core->live.since = 0;
	core->live.seconds = core->live.seconds + seconds;
	return seconds;
}

static void found(struct dgemm_core *core, struct exact_fault fault)
{
	core->fault = fault;
	core->live.faulty = fault.what != EXACT_RIGHT;
}

static void *map(size_t bytes)
{
	void *p = memory_map(bytes);

	if (!p)
		s.no_memory = true;
	return p;
}

static void unmap(void *p, size_t bytes)
{
	if (p)
		munmap(p, bytes);
}

/* Any detour only makes it slower, so the best counts: seconds a byte. One at least, and more while there is time. */
static double probe_touch(char *memory)
{
	const double start = clock_now();
	double best = INFINITY;

	for (int i = 0; i < PROBES && (i == 0 || clock_now() - start < TOUCH_SHARE * (s.end - s.started)); i++) {
		const double from = clock_now();

		memset(memory + (size_t)i * PROBE_BYTES, 0, PROBE_BYTES);
		best = fmin(best, clock_now() - from);
	}
	return best / (double)PROBE_BYTES;
}

static void probe(struct dgemm_core *core, char *memory)
{
	const struct exact small = { .n = probe_size.n, .k = probe_size.k, .seed = SEED, .a = (double *)memory,
				     .b = (double *)(memory + PROBE_BYTES) };
	const double box = s.end - s.started;
	double start, from, now, best = INFINITY, mean;
	int n = 0;

	core->touch = probe_touch(memory);
	exact_inputs(&small);
	/* The first call initialises OpenBLAS and raises the clock. */
	multiply(&small, (double *)(memory + 2 * PROBE_BYTES));
	start = now = clock_now();
	do {
		from = now;
		multiply(&small, (double *)(memory + 2 * PROBE_BYTES));
		now = clock_now();
		best = fmin(best, now - from);
		mean = (now - start) / ++n;
	} while (now - start < (mean * PROBE_STEADY < best ? PROBE_SHARE : PROBE_MOST) * box);
	core->live.flops = dgemm_flop(probe_size) / mean;
	core->touch *= mean / best;
}

/* The slowest core decides. */
static struct dgemm_size choose_size(const struct topo *topo)
{
	struct dgemm_room room = { .bytes = s.room, .cores = topo->n, .nodes = topo->n_nodes, .flops = INFINITY };

	for (int i = 0; i < topo->n; i++) {
		room.flops = fmin(room.flops, s.cores[i].live.flops);
		room.touch = fmax(room.touch, s.cores[i].touch);
	}
	room.seconds = s.end - clock_now();
	return dgemm_size(&room);
}

static void set_up(struct dgemm_core *core)
{
	struct dgemm_shared *m = core->shared;

	core->c = map(dgemm_result(s.size));
	if (!core->leads) {
		if (core->c)
			memset(core->c, 0, dgemm_result(s.size));
		return;
	}
	m->inputs = (struct exact){ .n = s.size.n, .k = s.size.k, .seed = SEED, .a = map(dgemm_input(s.size)),
				    .b = map(dgemm_input(s.size)) };
	m->reference = map(dgemm_result(s.size));
	if (m->inputs.a && m->inputs.b)
		exact_inputs(&m->inputs);
}

/* The first core's warm-up makes what all results are compared with. */
static void make_reference(struct dgemm_core *core)
{
	struct dgemm_shared *m = core->shared;
	uint64_t random = 1;

	(void)call(core, m->reference);
	found(core, exact_verify(&m->inputs, m->reference, &random));
	if (core->fault.what != EXACT_RIGHT)
		s.no_reference = true;
}

static void compare(struct dgemm_core *core)
{
	if (core->fault.what == EXACT_RIGHT)
		found(core, exact_compare(&core->shared->inputs, core->c, core->shared->reference));
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

static void measure(struct dgemm_core *core)
{
	/* munmap of what was touched takes half as long. */
	const double end = s.end - 0.5 * core->touch * (double)dgemm_result(s.size);
	double last;

	/* Until the next call would end after the box; one call at least. */
	do {
		const double from = clock_now();

		memset(core->c, 0, dgemm_result(s.size));
		core->busy += call(core, core->c);
		core->mhz[core->calls++ % DGEMM_SAMPLES] = clock_under_load();
		compare(core);
		last = clock_now() - from;
	} while (clock_now() + 1.15 * last < end);
}

/* Each core unmaps its own, all at the same time; then the first one what they shared. */
static void tear_down(struct team *team, struct dgemm_core *core)
{
	struct dgemm_shared *m = core->shared;

	unmap(core->c, dgemm_result(s.size));
	team_meet(team);
	if (!core->leads)
		return;
	unmap(m->inputs.a, dgemm_input(s.size));
	unmap(m->inputs.b, dgemm_input(s.size));
	unmap(m->reference, dgemm_result(s.size));
}

static void work(struct team *team, int member, void *unused)
{
	struct dgemm_core *core = &s.cores[member];
	char *small = map(PROBES * PROBE_BYTES);

	(void)unused;
	core->live.thread = gettid();
	team_meet(team);
	if (!s.no_memory)
		probe(core, small);
	unmap(small, PROBES * PROBE_BYTES);
	if (s.no_memory)
		return;
	team_meet(team);
	if (member == 0)
		s.size = choose_size(team->topo);
	team_meet(team);
	set_up(core);
	team_meet(team);
	if (!s.no_memory) {
		/* Warm-up at full size, not counted. */
		if (core->leads)
			make_reference(core);
		else
			(void)call(core, core->c);
		team_start(team);
		if (!s.no_reference) {
			if (!core->leads)
				compare(core);
			measure(core);
		}
		team_end();
	}
	tear_down(team, core);
}

static int run(const struct topo *topo, double started, double end)
{
	struct dgemm_run ran;
	bool late;

	/* Debian's OpenBLAS has threads of its own; the team is the only one here. */
	openblas_set_num_threads(1);
	s.started = started;
	s.end = end;
	s.room = memory_available() / 2;
	s.nodes = calloc((size_t)topo->n_nodes, sizeof(*s.nodes));
	s.cores = aligned_alloc(128, sizeof(*s.cores) * (size_t)topo->n);
	if (!s.nodes || !s.cores)
		return kernel_fail("out of memory");
	memset(s.cores, 0, sizeof(*s.cores) * (size_t)topo->n);
	for (int i = 0; i < topo->n; i++) {
		s.cores[i].leads = topo->rank[i] == 0;
		s.cores[i].shared = &s.nodes[topo->node_of[i]];
	}
	late = !team_run_until(topo, work, NULL, end + LATE_SHARE * (end - started));
	if (late && errno != ETIME)
		return kernel_fail("a thread cannot be started on its CPU: %s", strerror(errno));
	if (!late && s.no_memory)
		return kernel_fail("memory cannot be mapped: %s", strerror(ENOMEM));
	ran = (struct dgemm_run){ .topo = topo, .cores = s.cores, .size = s.size, .started = started, .now = clock_now() };
	ran.time = (struct dgemm_time){ .box = end - started, .all = ran.now - started, .late = late };
	/* Cores are still in OpenBLAS, which must not be closed under them. */
	if (late)
		_exit(dgemm_report(&ran));
	return dgemm_report(&ran);
}

const struct kernel kernel = {
	.name = "dgemm",
	.what = "Measures the DGEMM rate and the clock of every physical core at once; every result is verified.",
	.seconds = 1,
	.run = run,
};
