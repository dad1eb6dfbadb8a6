#include "collective.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/stats.h"
#include "pair.h"

/* Of a bandwidth phase's time, as everybody sends to everybody. */
#define ALLTOALL_PHASES 2
/* Connections are made, and TCP's windows open. */
#define SKIP_SHARE 0.2
#define WARM_UPS 10
#define ALLREDUCES 1000
#define STEPS 12 /* 2^12 = FABRIC_RANKS */

/* What MPI may write to or read from after one was abandoned: then it is left to MPI, and new memory is taken. */
static struct room {
	uint64_t out[STEPS], in[STEPS];
	unsigned char send[ALLTOALL_BYTES];
	unsigned char receive[FABRIC_GROUP - 1][ALLTOALL_BYTES];
} *room;

static double times[ALLREDUCES];

double collective_seconds(const struct fabric_settings *set, enum fabric_what what)
{
	return what == FABRIC_ALLTOALL ? ALLTOALL_PHASES * set->seconds : set->latency_s;
}

static bool make_room(struct wire *w)
{
	return room || (room = calloc(1, sizeof(*room))) || wire_called(w->error, "calloc", MPI_ERR_NO_MEM);
}

/* Until all of n requests are complete. */
static bool wait_all(struct wire *w, MPI_Request *requests, int n)
{
	int indices[2 * FABRIC_GROUP];
	MPI_Status statuses[2 * FABRIC_GROUP];
	unsigned polls = 0;

	for (int left = n; left > 0;) {
		const int found = wire_some(w, "all-to-all", n, requests, indices, statuses);

		if (found < 0)
			return false;
		left -= found;
		if (found > 0)
			polls = 0;
		else
			wire_fruitless(&polls);
		if (left > 0 && wire_late(w))
			return false;
	}
	return true;
}

static bool abandon(MPI_Request *receives, int n_receives, MPI_Request *sends, int n_sends)
{
	if (!wire_drop(receives, n_receives, sends, n_sends))
		room = NULL;
	return false;
}

/* Everybody to everybody, once. */
static bool exchange(struct collective *p)
{
	const struct fabric_turn *turn = p->turn;
	const int others = turn->size - 1;
	MPI_Request requests[2 * FABRIC_GROUP]; /* receives, then sends */
	struct wire *w = &p->wire;
	bool ok = true;

	for (int i = 0; i < 2 * others; i++)
		requests[i] = MPI_REQUEST_NULL;
	/* Each begins with the one after it, as else all would send to the first one first. */
	for (int k = 0; ok && k < others; k++) {
		w->partner = turn->members[(turn->place + turn->size - 1 - k) % turn->size];
		ok = wire_receive(w, FABRIC_DATA, room->receive[k], ALLTOALL_BYTES, &requests[k]);
	}
	for (int k = 0; ok && k < others; k++) {
		w->partner = turn->members[(turn->place + 1 + k) % turn->size];
		ok = wire_send(w, FABRIC_DATA, room->send, ALLTOALL_BYTES, &requests[others + k]);
	}
	return (ok && wait_all(w, requests, 2 * others)) || abandon(requests, others, requests + others, others);
}

/* The group's first one says in its messages which call is the last. */
static bool alltoall(struct collective *p)
{
	const int place = p->turn->place, others = p->turn->size - 1;
	const double began = clock_now(), skip = began + SKIP_SHARE * p->seconds;
	/* Where the first one's message is: receive[k] is of who is k + 1 before. */
	const unsigned char *word = place == 0 ? room->send : room->receive[place - 1];
	double from = NAN, now;

	do {
		room->send[0] = clock_now() >= began + p->seconds;
		if (!exchange(p))
			return false;
		now = clock_now();
		if (isfinite(from))
			p->calls++;
		else if (now >= skip)
			from = now;
	} while (*word == 0);
	if (p->calls > 0) {
		p->call_us = (now - from) * 1e6 / p->calls;
		p->rx = (double)ALLTOALL_BYTES * others * p->calls / (now - from);
	}
	return true;
}

/* One to `to`, one from `from`, of one step of an allreduce. */
static bool step(struct wire *w, int to, int from, uint64_t *out, uint64_t *in)
{
	MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
	bool ok;

	w->partner = from;
	ok = wire_receive(w, FABRIC_PING, in, sizeof(*in), &receive);
	w->partner = to;
	ok = ok && wire_send(w, FABRIC_PING, out, sizeof(*out), &send);
	return (ok && wire_wait(w, &receive) && wire_wait(w, &send)) || abandon(&receive, 1, &send, 1);
}

/*
 * The largest of all numbers, by dissemination (Hensgen, Finkel and Manber, 1988): ceil(log2 n) steps for any n, in
 * each of which everybody sends what he knows to the one 2^k behind him.
 */
bool collective_largest(struct wire *w, const struct fabric_turn *turn, uint64_t *value)
{
	const int16_t *const members = turn->members;
	const int n = turn->size, place = turn->place;

	if (!make_room(w))
		return false;
	for (int k = 0; 1 << k < n; k++) {
		room->out[k] = *value;
		if (!step(w, members[(place + (1 << k)) % n], members[(place + n - (1 << k)) % n], &room->out[k],
			  &room->in[k]))
			return false;
		*value = room->in[k] > *value ? room->in[k] : *value;
	}
	return true;
}

static bool allreduce(struct collective *p)
{
	const double end = clock_now() + p->seconds;
	uint64_t last = 0;
	double began;

	for (int i = -WARM_UPS; last == 0; i++) {
		began = clock_now();
		last = i == ALLREDUCES - 1 || (i >= 0 && began > end);
		if (!collective_largest(&p->wire, p->turn, &last))
			return false;
		/* Who sets `last` does so at ALLREDUCES at the latest, and all are in the same call. */
		if (i >= 0)
			times[p->calls++] = clock_now() - began;
	}
	stats_sort(times, (size_t)p->calls);
	p->call_us = stats_quantile(times, (size_t)p->calls, 0.5) * 1e6;
	return true;
}

bool collective_run(struct collective *p)
{
	p->call_us = p->rx = NAN;
	p->calls = 0;
	if (!make_room(&p->wire))
		return false;
	p->wire.phase = FABRIC_BOTH;
	p->wire.deadline = clock_now() + p->seconds + PAIR_GRACE_S;
	return p->turn->what == FABRIC_ALLTOALL ? alltoall(p) : allreduce(p);
}
