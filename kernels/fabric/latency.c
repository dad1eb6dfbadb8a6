/* Ping-pongs of 8 bytes; the rank named first measures. */
#include <stdio.h>

#include "common/clock.h"
#include "common/stats.h"
#include "pair.h"

/* Connections, caches and clock rates settle in the first ones. */
#define WARM_UPS 10
#define PINGPONGS 100000

/* A ping: the round, whether it is the last one, its number. The pong is the same. */
#define LAST ((uint64_t)1 << 19)

static double times[PINGPONGS];

static uint64_t ping(const struct pair *p, int number, bool last)
{
	return p->wire.round << 20 | (last ? LAST : 0) | (uint64_t)number;
}

static void check(struct pair *p, uint64_t is, uint64_t want)
{
	char text[ERROR_SIZE];

	if (is == want)
		return;
	snprintf(text, sizeof(text), "ping-pong from rank %d is 0x%016llx, not 0x%016llx", p->wire.partner,
		 (unsigned long long)is, (unsigned long long)want);
	pair_wrong(p, text);
}

static void report(struct pair *p, int n)
{
	/* One way is half of the round trip. */
	const double half_us = 0.5e6;

	stats_sort(times, (size_t)n);
	p->pingpongs = n;
	p->lat_us = stats_quantile(times, (size_t)n, 0.5) * half_us;
	p->lat_min_us = times[0] * half_us;
	p->lat_p99_us = stats_quantile(times, (size_t)n, 0.99) * half_us;
}

static bool measure(struct pair *p)
{
	MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
	const int wanted = (int)p->set->pingpongs;
	struct buffers *b = p->buffers;
	struct wire *w = &p->wire;
	double began, end = 0;
	bool last = false;

	for (int i = -WARM_UPS; !last; i++) {
		began = clock_now();
		if (i == 0)
			end = began + p->set->latency_s;
		last = i == wanted - 1 || (i >= 0 && began > end);
		b->out[0] = ping(p, i + WARM_UPS, last);
		if (!wire_receive(w, FABRIC_PING, &b->in[0], sizeof(b->in[0]), &receive) ||
		    !wire_send(w, FABRIC_PING, &b->out[0], sizeof(b->out[0]), &send) || !wire_wait(w, &receive))
			goto fail;
		if (i >= 0)
			times[i] = clock_now() - began;
		check(p, b->in[0], b->out[0]);
		if (!wire_wait(w, &send))
			goto fail;
		if (last)
			report(p, i + 1);
	}
	return true;
fail:
	pair_abandon(p, &receive, 1, &send, 1);
	return false;
}

static bool answer(struct pair *p)
{
	MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
	struct buffers *b = p->buffers;
	struct wire *w = &p->wire;
	bool last = false;

	if (!wire_receive(w, FABRIC_PING, &b->in[0], sizeof(b->in[0]), &receive))
		goto fail;
	for (int i = 0; !last; i++) {
		uint64_t *in = &b->in[i % 2];

		if (!wire_wait(w, &receive))
			goto fail;
		last = (*in & LAST) != 0 || i == PINGPONGS + WARM_UPS;
		check(p, *in, ping(p, i, last));
		b->out[0] = *in;
		/* The next ping finds its place. */
		if (!last && !wire_receive(w, FABRIC_PING, &b->in[(i + 1) % 2], sizeof(*in), &receive))
			goto fail;
		if (!wire_send(w, FABRIC_PING, &b->out[0], sizeof(b->out[0]), &send) || !wire_wait(w, &send))
			goto fail;
	}
	return true;
fail:
	pair_abandon(p, &receive, 1, &send, 1);
	return false;
}

bool latency_measure(struct pair *p)
{
	return p->first ? measure(p) : answer(p);
}
