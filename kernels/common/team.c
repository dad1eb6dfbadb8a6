#include "team.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

struct member {
	struct team *team;
	int index;
	pthread_t thread;
	pthread_mutex_t *gate;
	const bool *go;
	unsigned meetings;
	int64_t from, cpu_from; /* of this interval, ns: wall clock, CPU time */
	int64_t worked, off;    /* since team_start: wall clock, and what of it was not CPU time */
};

static _Thread_local struct member *me;
static struct team_lost lost = { .cpu = -1 };

static int64_t read_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void at_most(_Atomic int64_t *value, int64_t other)
{
	int64_t now = *value;

	while ((now == 0 || other < now) && !atomic_compare_exchange_weak(value, &now, other))
		continue;
}

static void at_least(_Atomic int64_t *value, int64_t other)
{
	int64_t now = *value;

	while (other > now && !atomic_compare_exchange_weak(value, &now, other))
		continue;
}

/* Both clocks of a thread: what they differ by is what it waited. */
static void go_on(struct member *m)
{
	m->from = read_ns(CLOCK_MONOTONIC);
	m->cpu_from = read_ns(CLOCK_THREAD_CPUTIME_ID);
	at_most(&m->team->intervals[m->meetings % 2].first, m->from);
}

static void come(struct member *m)
{
	struct team_interval *interval = &m->team->intervals[m->meetings % 2];
	const int64_t ran = read_ns(CLOCK_THREAD_CPUTIME_ID) - m->cpu_from, now = read_ns(CLOCK_MONOTONIC);
	const int64_t worked = now - m->from;

	m->worked += worked;
	m->off += worked > ran ? worked - ran : 0;
	at_least(&interval->last, now);
	at_least(&interval->most, ran);
}

/* By one member, when all have come: the others fill the other interval until it comes again. */
static void close_interval(struct team *team, struct team_interval *interval, bool counts)
{
	const int64_t all = interval->last - interval->first, waited = all - interval->most;

	team->all = counts ? team->all + all : 0;
	team->lost = counts ? team->lost + (waited > 0 ? waited : 0) : 0;
	interval->first = interval->last = interval->most = 0;
}

/*
 * Work of a given size ends with its slowest member: lost is what its interval was longer
 * than the most CPU time of any. Of work in a given time each member loses its own: the mean.
 * The larger of both bounds either.
 */
static void add_up(const struct team *team, const struct member *members, int n)
{
	double off = 0, worked = 0, most = -1;

	for (int i = 0; i < n; i++) {
		const double share = members[i].worked > 0 ? (double)members[i].off / (double)members[i].worked : 0;

		off += (double)members[i].off;
		worked += (double)members[i].worked;
		if (share > most)
			lost = (struct team_lost){ .most = most = share, .cpu = team->topo->cpus[i] };
	}
	off = worked > 0 ? off / worked : 0;
	lost.share = team->all > 0 ? (double)team->lost / (double)team->all : 0;
	lost.share = off > lost.share ? off : lost.share;
}

/* The gate opens when all threads exist: then work, or end if one is missing. */
static void *begin(void *arg)
{
	struct member *m = arg;
	bool go;

	pthread_mutex_lock(m->gate);
	go = *m->go;
	pthread_mutex_unlock(m->gate);
	if (go) {
		me = m;
		go_on(m);
		m->team->work(m->team, m->index, m->team->shared);
	}
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

bool team_run(const struct topo *topo, void (*work)(struct team *, int, void *), void *shared)
{
	struct team team = { .topo = topo, .shared = shared, .work = work };
	struct member *members = calloc((size_t)topo->n, sizeof(*members));
	pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	bool go = false;
	int n = 0, rc;

	if (members == NULL) {
		errno = ENOMEM;
		return false;
	}
	rc = pthread_barrier_init(&team.barrier, NULL, (unsigned)topo->n);
	if (rc != 0)
		goto end;
	pthread_mutex_lock(&gate);
	for (; n < topo->n && rc == 0; n++) {
		members[n] = (struct member){ .team = &team, .index = n, .gate = &gate, .go = &go };
		rc = start(&members[n], topo->cpus[n]);
		if (rc != 0)
			break;
	}
	go = rc == 0;
	pthread_mutex_unlock(&gate);
	for (int i = 0; i < n; i++)
		pthread_join(members[i].thread, NULL);
	if (go)
		add_up(&team, members, n);
	pthread_barrier_destroy(&team.barrier);
end:
	free(members);
	errno = rc;
	return rc == 0;
}

static void meet(struct team *team, bool counts)
{
	struct member *m = me;

	come(m);
	/* Not 0 in one of them. */
	if (pthread_barrier_wait(&team->barrier) != 0)
		close_interval(team, &team->intervals[m->meetings % 2], counts);
	m->meetings++;
	m->worked = counts ? m->worked : 0;
	m->off = counts ? m->off : 0;
	go_on(m);
}

void team_meet(struct team *team)
{
	meet(team, true);
}

void team_start(struct team *team)
{
	meet(team, false);
}

struct team_lost team_lost(void)
{
	return lost;
}
