#include "team.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "clock.h"

/* All that members use, in one piece: it outlives a call that does not wait for them. */
struct crew {
	struct team team;
	pthread_mutex_t lock;
	pthread_cond_t ended; /* all have */
	bool go;
	int at_work;
	struct member {
		struct crew *crew;
		int index;
		pthread_t thread;
		int64_t from, cpu_from; /* of this interval, ns: wall clock, CPU time */
		struct spent {
			int64_t worked, off; /* wall clock, and what of it was not CPU time */
		} all, before;          /* since its thread began, until team_end; of that, before team_start */
		bool over;
	} members[];
};

static _Thread_local struct member *me;
static struct team_lost lost = { .cpu = -1 }, lost_in_all = { .cpu = -1 };

static int64_t read_ns(clockid_t clock)
{
	struct timespec t = { 0 };

	clock_gettime(clock, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Both clocks of a thread: what they differ by is what it waited. */
static void go_on(struct member *m)
{
	m->from = read_ns(CLOCK_MONOTONIC);
	m->cpu_from = read_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void come(struct member *m)
{
	const int64_t ran = read_ns(CLOCK_THREAD_CPUTIME_ID) - m->cpu_from, worked = read_ns(CLOCK_MONOTONIC) - m->from;

	if (m->over)
		return;
	m->all.worked += worked;
	m->all.off += worked > ran ? worked - ran : 0;
}

/* Since the threads began, or since team_start. Waiting for each other in meetings is not in it. */
static struct team_lost add_up(const struct team *team, const struct member *members, int n, bool since_begin)
{
	struct team_lost sum = { .most = -1 };
	double off = 0, worked = 0;

	for (int i = 0; i < n; i++) {
		const struct spent all = members[i].all, before = since_begin ? (struct spent){ 0 } : members[i].before;
		const double one = (double)(all.worked - before.worked), waited = (double)(all.off - before.off);
		const double share = one > 0 ? waited / one : 0;

		off += waited;
		worked += one;
		sum.seconds = fmax(sum.seconds, one * 1e-9);
		if (share > sum.most) {
			sum.most = share;
			sum.cpu = team->topo->cpus[i];
		}
	}
	sum.share = worked > 0 ? off / worked : 0;
	return sum;
}

/* Of those that are still at work: all since their threads began, meetings too. */
static void add_up_late(const struct crew *c, int n, int64_t began)
{
	const int64_t wall = read_ns(CLOCK_MONOTONIC) - began;
	double ran = 0, least = INFINITY;

	for (int i = 0; i < n; i++) {
		clockid_t clock;
		double cpu;

		/* One that has ended has no clock, and lost nothing while others were at work. */
		if (pthread_getcpuclockid(c->members[i].thread, &clock) != 0)
			continue;
		cpu = (double)read_ns(clock) / (double)wall;
		ran = fmax(ran, cpu);
		if (cpu < least) {
			least = cpu;
			lost = (struct team_lost){ .most = fmax(1 - cpu, 0), .cpu = c->team.topo->cpus[i] };
		}
	}
	lost.share = fmax(1 - ran, 0);
	lost.seconds = (double)wall * 1e-9;
	lost_in_all = lost;
}

/* The lock opens when all threads exist: then work, or end if one is missing. */
static void *begin(void *arg)
{
	struct member *m = arg;
	struct crew *c = m->crew;
	bool go;

	pthread_mutex_lock(&c->lock);
	go = c->go;
	pthread_mutex_unlock(&c->lock);
	if (go) {
		me = m;
		go_on(m);
		c->team.work(&c->team, m->index, c->team.shared);
	}
	pthread_mutex_lock(&c->lock);
	if (--c->at_work == 0)
		pthread_cond_signal(&c->ended);
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

static int start(struct member *m, int cpu)
{
	pthread_attr_t attr;
	size_t size;
	cpu_set_t *set = topo_set(&cpu, 1, &size);
	int rc;

	if (set == NULL)
		return ENOMEM;
	rc = pthread_attr_init(&attr);
	if (rc == 0) {
		rc = pthread_attr_setaffinity_np(&attr, size, set);
		if (rc == 0)
			rc = pthread_create(&m->thread, &attr, begin, m);
		pthread_attr_destroy(&attr);
	}
	CPU_FREE(set);
	return rc;
}

/* Of our own clock, which no condition can wait by. */
static struct timespec until_time(double until)
{
	const double left = fmax(until - clock_now(), 0);
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += (time_t)left;
	t.tv_nsec += (long)((left - floor(left)) * 1e9);
	if (t.tv_nsec >= 1000000000L) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000L;
	}
	return t;
}

/* False: somebody is still at work. */
static bool wait_for_all(struct crew *c, double until)
{
	int rc = 0;

	pthread_mutex_lock(&c->lock);
	while (c->at_work > 0 && rc == 0) {
		if (isinf(until)) {
			rc = pthread_cond_wait(&c->ended, &c->lock);
		} else {
			const struct timespec t = until_time(until);

			rc = pthread_cond_timedwait(&c->ended, &c->lock, &t);
		}
	}
	rc = c->at_work;
	pthread_mutex_unlock(&c->lock);
	return rc == 0;
}

static struct crew *gather(const struct topo *topo, void (*work)(struct team *, int, void *), void *shared)
{
	struct crew *c = calloc(1, sizeof(*c) + (size_t)topo->n * sizeof(c->members[0]));
	pthread_condattr_t attr;

	if (c == NULL)
		return NULL;
	c->team = (struct team){ .topo = topo, .shared = shared, .work = work };
	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->ended, &attr);
	pthread_condattr_destroy(&attr);
	return c;
}

static void dismiss(struct crew *c)
{
	pthread_cond_destroy(&c->ended);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

bool team_run_until(const struct topo *topo, void (*work)(struct team *, int, void *), void *shared, double until)
{
	struct crew *c = gather(topo, work, shared);
	int64_t began = read_ns(CLOCK_MONOTONIC);
	int n = 0, rc;

	if (c == NULL) {
		errno = ENOMEM;
		return false;
	}
	rc = pthread_barrier_init(&c->team.barrier, NULL, (unsigned)topo->n);
	if (rc != 0)
		goto end;
	pthread_mutex_lock(&c->lock);
	for (; n < topo->n && rc == 0; n++) {
		c->members[n] = (struct member){ .crew = c, .index = n };
		rc = start(&c->members[n], topo->cpus[n]);
		if (rc != 0)
			break;
	}
	c->go = rc == 0;
	c->at_work = n;
	pthread_mutex_unlock(&c->lock);
	if (!wait_for_all(c, c->go ? until : INFINITY)) {
		add_up_late(c, n, began);
		errno = ETIME;
		return false;
	}
	for (int i = 0; i < n; i++)
		pthread_join(c->members[i].thread, NULL);
	if (c->go) {
		lost = add_up(&c->team, c->members, n, false);
		lost_in_all = add_up(&c->team, c->members, n, true);
	}
	pthread_barrier_destroy(&c->team.barrier);
end:
	dismiss(c);
	errno = rc;
	return rc == 0;
}

bool team_run(const struct topo *topo, void (*work)(struct team *, int, void *), void *shared)
{
	return team_run_until(topo, work, shared, INFINITY);
}

bool team_run_after(const struct topo *topo, void (*work)(struct team *, int, void *), void *shared)
{
	const struct team_lost kept = lost, kept_in_all = lost_in_all;
	bool good = team_run(topo, work, shared);

	lost = kept;
	lost_in_all = kept_in_all;
	return good;
}

void team_meet(struct team *team)
{
	come(me);
	pthread_barrier_wait(&team->barrier);
	go_on(me);
}

void team_start(struct team *team)
{
	team_meet(team);
	me->before = me->all;
}

void team_end(void)
{
	come(me);
	me->over = true;
}

struct team_lost team_lost(void)
{
	return lost;
}

void team_lost_in_all(void)
{
	lost = lost_in_all;
}
