#include "work.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batches.h"
#include "collective.h"
#include "common/clock.h"
#include "common/random.h"
#include "common/stats.h"
#include "pair.h"

/*
 * The fixed work is pieces of 10 us, short beside the shortest quantum and 300 times what reading the clock takes.
 * Undisturbed it takes as many times the median of its pieces, of this core and this round:
 *  - Not what the calibration says: cores are faster while others rest, and the noise at 100 ms is 0.3 %.
 *  - Not a low quantile of the steps: at 100 ms each of them has met 25 timer ticks.
 * A piece is hit by one detour in hundreds, so the median knows of none until they take half of all pieces.
 */
#define PIECE_US 10.0
#define WARM_UP_S 0.005
#define TRIES 15
#define TRY 10000
/* Pieces that are kept of each core: 64 KiB, a median that is good to a clock's tick. */
#define KEPT 8192
/*
 * Steps without work, for what the meeting and the allreduce themselves take: for this share of the round's time before
 * the others and after them, as a thousand of them are over in 10 ms, in which a stall would be all that there is.
 */
#define EMPTY_SHARE 0.05
#define EMPTY_MOST 16384
#define WARM_UPS 10
/*
 * Who waits for other cores or ranks looks without a pause for this long, as MPI libraries do, then sleeps in between:
 * virtual nodes share cores, and there who works gets on only if who waits sleeps. Waking up takes tens of us, which
 * jobs do not lose: ranks that slept after 10 us lost 30 % more of steps of 0.1 ms than predicted.
 */
#define AWAKE_S 0.001
#define SLEEP_NS 1000
/* Of steps begun when the time is over, and of cores that others have most of the time. */
#define STEPS_MORE 10
/* A thread ends within a piece; one that does not has no CPU. */
#define END_S 1.0

enum what { CALIBRATE, EMPTY, WORK, FINISH };

struct crew {
	const struct topo *topo;
	double piece_us, work_us, stride; /* of so many pieces one is kept */
	_Atomic(enum what) what;          /* what comes with the next `go` */
	atomic_uint go;                   /* counts up: all begin */
	atomic_int done;                  /* helpers that have done it */
	atomic_bool stop;
	atomic_int here;                  /* helpers that have not ended */
	double empty[2 * EMPTY_MOST];     /* s of each step without work */
	size_t n_empty;
	struct member {
		_Alignas(128) struct crew *crew; /* no two cores write to one line */
		int cpu;
		uint64_t turns, seed;     /* of a piece's loop */
		long pieces;              /* of the work */
		double *kept, skip, work_s;
		size_t n;
		bool failed;
	} members[];
};

/* Steps that depend on each other, so that no core does two at once; in registers only. */
static inline void turn(uint64_t n)
{
	uint64_t x = 1;

	for (; n > 0; n--) {
		x = x * 6364136223846793005u + 1;
		__asm__ volatile("" : "+r"(x));
	}
}

/* The pieces of the work on this core, when it has reached its frequency. */
static void calibrate(struct member *m)
{
	const double until = clock_now() + WARM_UP_S;
	double least = INFINITY, from;

	while (clock_now() < until)
		turn(TRY / 10);
	for (int i = 0; i < TRIES; i++) {
		from = clock_now();
		turn(TRY);
		least = fmin(least, clock_now() - from);
	}
	m->turns = (uint64_t)fmax(1, TRY * m->crew->piece_us * 1e-6 / fmax(least, 1e-9));
	m->pieces = lround(m->crew->work_us / m->crew->piece_us);
	/* Before the clock runs. */
	m->kept = malloc(KEPT * sizeof(*m->kept));
	m->failed = m->kept == NULL;
	if (m->kept)
		memset(m->kept, 0xff, KEPT * sizeof(*m->kept));
}

/* Now and then one, at no fixed distance: else it might always be a step's first. */
static void keep(struct member *m, double seconds)
{
	if (m->skip >= 1) {
		m->skip--;
	} else if (m->kept && m->n < KEPT) {
		m->kept[m->n++] = seconds;
		m->skip += 2 * (m->crew->stride - 1) * (double)(random_next(&m->seed) >> 11) * 0x1p-53;
	}
}

static void work(struct member *m)
{
	double from = clock_now(), now;

	for (long i = 0; i < m->pieces && !atomic_load_explicit(&m->crew->stop, memory_order_relaxed); i++) {
		turn(m->turns);
		now = clock_now();
		keep(m, now - from);
		from = now;
	}
}

static void act(struct member *m, enum what what)
{
	switch (what) {
	case CALIBRATE:
		calibrate(m);
		break;
	case WORK:
		work(m);
		break;
	case FINISH:
		if (m->n > 0) {
			stats_sort(m->kept, m->n);
			m->work_s = (double)m->pieces * stats_quantile(m->kept, m->n, 0.5);
		}
		break;
	default:
		break;
	}
}

static void wait_a_little(double since)
{
	const struct timespec step = { .tv_nsec = SLEEP_NS };

	if (clock_now() - since > AWAKE_S)
		nanosleep(&step, NULL);
}

static void *help(void *arg)
{
	struct member *m = arg;
	struct crew *c = m->crew;
	double since;

	for (unsigned seen = 0;; seen++) {
		for (since = clock_now(); atomic_load(&c->go) == seen && !atomic_load(&c->stop);)
			wait_a_little(since);
		if (atomic_load(&c->stop))
			break;
		act(m, atomic_load(&c->what));
		atomic_fetch_add(&c->done, 1);
	}
	atomic_fetch_sub(&c->here, 1);
	return NULL;
}

/* All do it, this thread too, and meet. False: not all were done in time, which w's error says. */
static bool together(struct crew *c, enum what what, struct wire *w)
{
	double since;

	atomic_store(&c->done, 0);
	atomic_store(&c->what, what);
	atomic_fetch_add(&c->go, 1);
	act(&c->members[0], what);
	for (since = clock_now(); atomic_load(&c->done) < c->topo->n - 1;) {
		wait_a_little(since);
		if (clock_now() > w->deadline) {
			snprintf(w->error, sizeof(w->error), "not all cores came to the end of a step");
			return false;
		}
	}
	return true;
}

static bool start(struct member *m)
{
	pthread_attr_t attr;
	pthread_t thread;
	size_t size;
	cpu_set_t *set = topo_set(&m->cpu, 1, &size);
	int rc = set ? pthread_attr_init(&attr) : ENOMEM;

	if (rc == 0) {
		rc = pthread_attr_setaffinity_np(&attr, size, set);
		rc = rc ? rc : pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		rc = rc ? rc : pthread_create(&thread, &attr, help, m);
		pthread_attr_destroy(&attr);
	}
	if (set)
		CPU_FREE(set);
	errno = rc;
	return rc == 0;
}

/* This thread keeps to the first core. */
static bool settle(int cpu)
{
	size_t size;
	cpu_set_t *set = topo_set(&cpu, 1, &size);
	int rc = set ? pthread_setaffinity_np(pthread_self(), size, set) : ENOMEM;

	if (set)
		CPU_FREE(set);
	errno = rc;
	return rc == 0;
}

/* Whoever has no CPU to end on keeps what it may still use. */
static void dismiss(struct crew *c)
{
	const struct timespec step = { .tv_nsec = 1000L * SLEEP_NS };
	const double until = clock_now() + END_S;

	atomic_store(&c->stop, true);
	while (atomic_load(&c->here) > 0 && clock_now() < until)
		nanosleep(&step, NULL);
	if (atomic_load(&c->here) > 0)
		return;
	for (int i = 0; i < c->topo->n; i++)
		free(c->members[i].kept);
	free(c);
}

static struct crew *gather(struct work *p)
{
	const size_t size = sizeof(struct crew) + (size_t)p->topo->n * sizeof(struct member);
	struct crew *c = aligned_alloc(_Alignof(struct crew), size);
	bool ok = c && settle(p->topo->cpus[0]);

	if (c) {
		memset(c, 0, size);
		c->topo = p->topo;
		c->work_us = p->set->work_us;
		c->piece_us = fmin(PIECE_US, c->work_us);
		c->stride = fmax(1, p->set->seconds * 1e6 / c->piece_us / KEPT);
		for (int i = 0; i < p->topo->n; i++)
			c->members[i] = (struct member){ .crew = c, .cpu = p->topo->cpus[i], .seed = (uint64_t)i + 1,
							 .work_s = NAN };
	}
	for (int i = 1; ok && i < p->topo->n; i++) {
		atomic_fetch_add(&c->here, 1);
		ok = start(&c->members[i]);
		if (!ok)
			atomic_fetch_sub(&c->here, 1);
	}
	if (ok)
		return c;
	snprintf(p->wire.error, sizeof(p->wire.error), "a thread cannot be started on its CPU: %s",
		 strerror(c ? errno : ENOMEM));
	if (c)
		dismiss(c);
	return NULL;
}

/* What steps take without work: those before, then these too. */
static bool empty_steps(struct work *p, struct crew *c)
{
	const double end = clock_now() + EMPTY_SHARE * p->set->seconds;
	double *const times = c->empty;
	uint64_t last = 0;
	double began, sum = 0;

	for (int i = -WARM_UPS; last == 0; i++) {
		began = clock_now();
		last = i == EMPTY_MOST - 1 || (i >= 0 && began > end);
		if (!together(c, EMPTY, &p->wire) || !collective_largest(&p->wire, p->turn, &last))
			return false;
		/* Who sets `last` does so at EMPTY_MOST at the latest, and all are in the same step. */
		if (i >= 0)
			times[c->n_empty++] = clock_now() - began;
	}
	for (size_t i = 0; i < c->n_empty; i++)
		sum += times[i];
	p->call_mean_us = sum / (double)c->n_empty * 1e6;
	stats_sort(times, c->n_empty);
	p->call_us = stats_quantile(times, c->n_empty, 0.5) * 1e6;
	return true;
}

static bool steps(struct work *p, struct crew *c)
{
	struct batches b;
	uint64_t last = 0;
	double now = clock_now();
	const double end = now + p->set->seconds;

	/* The first one finds the nodes out of step. */
	if (!together(c, WORK, &p->wire) || !collective_largest(&p->wire, p->turn, &last))
		return false;
	batches_begin(&b, clock_now(), p->set->seconds);
	while (last == 0) {
		last = clock_now() > end;
		if (!together(c, WORK, &p->wire) || !collective_largest(&p->wire, p->turn, &last))
			return false;
		now = clock_now();
		batches_add(&b, now);
	}
	p->steps = b.steps;
	p->step_us = batches_mean(&b) * 1e6;
	p->step_se_us = batches_error(&b) * 1e6;
	return true;
}

/* The slowest core's. */
static bool add_up(struct work *p, struct crew *c)
{
	if (!together(c, FINISH, &p->wire))
		return false;
	for (int i = 0; i < c->topo->n; i++) {
		if (c->members[i].failed) {
			snprintf(p->wire.error, sizeof(p->wire.error), "out of memory");
			return false;
		}
		p->work_us = fmax(p->work_us, c->members[i].work_s * 1e6);
	}
	return true;
}

double work_most(const struct fabric_settings *set)
{
	return (1 + 2 * EMPTY_SHARE) * set->seconds + STEPS_MORE * set->work_us * 1e-6 + END_S + PAIR_GRACE_S;
}

bool work_run(struct work *p)
{
	const double began = clock_now();
	struct crew *c;
	bool ok;

	p->step_us = p->step_se_us = p->work_us = p->call_us = p->call_mean_us = NAN;
	p->steps = 0;
	p->wire.phase = FABRIC_BOTH;
	p->wire.awake_s = AWAKE_S;
	p->wire.deadline = began + work_most(p->set) - END_S;
	c = gather(p);
	ok = c && together(c, CALIBRATE, &p->wire) && empty_steps(p, c) && steps(p, c) &&
	     empty_steps(p, c) && add_up(p, c);
	if (c)
		dismiss(c);
	topo_stay_on(p->topo);
	return ok;
}
