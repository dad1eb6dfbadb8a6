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
	} members[];
};

/* The lock opens when all threads exist: then work, or end if one is missing. */
static void *begin(void *arg)
{
	struct member *m = arg;
	struct crew *c = m->crew;
	bool go;

	pthread_mutex_lock(&c->lock);
	go = c->go;
	pthread_mutex_unlock(&c->lock);
	if (go)
		c->team.work(&c->team, m->index, c->team.shared);
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
		errno = ETIME;
		return false;
	}
	for (int i = 0; i < n; i++)
		pthread_join(c->members[i].thread, NULL);
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

void team_meet(struct team *team)
{
	pthread_barrier_wait(&team->barrier);
}
