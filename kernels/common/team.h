/* A team: one pinned thread per core, all at work at the same time. */
#ifndef SYSCHECK_TEAM_H
#define SYSCHECK_TEAM_H

#include <pthread.h>
#include <stdbool.h>

#include "topo.h"

struct team {
	const struct topo *topo;
	pthread_barrier_t barrier; /* of all members */
	void *shared;
	void (*work)(struct team *team, int member, void *shared);
};

/*
 * Runs work(team, 0 .. n-1, shared), member i on topo->cpus[i], and waits for all.
 * False (errno) if a thread cannot be started or pinned; then none has begun to work.
 */
bool team_run(const struct topo *topo, void (*work)(struct team *, int, void *), void *shared);

/* Waits until every member is here. */
void team_meet(struct team *team);

#endif
