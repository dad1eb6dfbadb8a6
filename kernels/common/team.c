#include "team.h"

#include <errno.h>
#include <stdlib.h>

struct member {
	struct team *team;
	int index;
	pthread_t thread;
	pthread_mutex_t *gate;
	const bool *go;
};

/* The gate opens when all threads exist: then work, or end if one is missing. */
static void *begin(void *arg)
{
	struct member *m = arg;
	bool go;

	pthread_mutex_lock(m->gate);
	go = *m->go;
	pthread_mutex_unlock(m->gate);
	if (go)
		m->team->work(m->team, m->index, m->team->shared);
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
	pthread_barrier_destroy(&team.barrier);
end:
	free(members);
	errno = rc;
	return rc == 0;
}

void team_meet(struct team *team)
{
	pthread_barrier_wait(&team->barrier);
}
