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

/* The same for what comes after a measurement: team_lost goes on to say what that one lost. */
bool team_run_after(const struct topo *topo, void (*work)(struct team *, int, void *), void *shared);

/*
 * The same, but waits until `until` (clock_now) at the latest. False and ETIME: members are
 * still at work, on all that they were given; nothing is left to do but to report and _exit.
 */
bool team_run_until(const struct topo *topo, void (*work)(struct team *, int, void *), void *shared, double until);

/* Waits until every member is here. */
void team_meet(struct team *team);

/* The same; what team_lost says begins here. */
void team_start(struct team *team);

/* It ends here, of this member: what comes now is verified, analysed, given back. */
void team_end(void);

/*
 * What the last team lost while it worked because members were not running: something else
 * had their CPU, or a quota or a hypervisor held them. Shares from 0 to 1.
 */
struct team_lost {
	/*
	 * Of all members' time: of the rates that each keeps at its own pace. After ETIME what the member lost
	 * that lost least, as waiting for others is in it: all were stopped for that long (see kernel_stopped).
	 */
	double share;
	double most;    /* of one member's time; */
	int cpu;        /* its CPU, -1: there was no team */
	double seconds; /* that the member which worked longest did */
};

struct team_lost team_lost(void);

/*
 * From now on team_lost says it of all the time since the threads began, not since team_start:
 * for a result that is of all that time. After ETIME it does anyway.
 */
void team_lost_in_all(void);

#endif
