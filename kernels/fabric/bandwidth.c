/* The bandwidth phases: one way with a probe that finds the size of messages, then both ways at once. */
#include <math.h>
#include <stdio.h>

#include "common/clock.h"
#include "flow.h"
#include "pair.h"

/*
 * A fast link sends thousands of these in the probe's time, a slow one (10 Mbit/s) four in 0.2 s. One or two would
 * not do: a token bucket passes them at the line's full speed.
 */
#define PROBE_BYTES ((size_t)64 << 10)
#define PROBE_WINDOW 4
#define PROBE_S 0.02
/* TCP's start and a token bucket's savings; see struct fabric_meter. */
#define SKIP_SHARE 0.2
/* A burst of a paced sender. */
#define BURST_S 0.02
#define BURST_LEAST_S 0.005
/* What is on the way at its end: messages that take 20 ms, see sizes.c, and what sockets hold. */
#define DRAIN_S 0.03

static int window(const struct pair *p)
{
	return (int)p->set->window;
}

static double burst(const struct fabric_settings *set)
{
	return fmax(BURST_LEAST_S, fmin(BURST_S, set->share * set->seconds));
}

/* Of data, the pause after the last burst included. */
static double data_seconds(const struct fabric_settings *set)
{
	return set->share < 1 ? fmax(set->seconds, burst(set) / set->share) : set->seconds;
}

/* What a sender rests after the probe, which took so many seconds. */
static double probe_pause(const struct fabric_settings *set, double took)
{
	return fmin(took, PROBE_S + DRAIN_S) * (1 / set->share - 1);
}

double bandwidth_seconds(const struct fabric_settings *set, bool both)
{
	const double pauses = set->share < 1 ? (burst(set) + DRAIN_S) / set->share : 0;

	return fmax(set->seconds, pauses) + pauses + (both ? 0 : PROBE_S + probe_pause(set, INFINITY));
}

static bool out_prepare(struct pair *p, struct flow_out *out, enum fabric_kind kind, size_t bytes, int messages)
{
	*out = (struct flow_out){
		.kind = kind, .bytes = bytes, .window = messages, .share = 1,
		.at = pair_room(p, &p->buffers->send, bytes, messages),
	};
	out->stride = p->buffers->send.bytes;
	return out->at != NULL;
}

static bool in_prepare(struct pair *p, struct flow_in *in, enum fabric_kind kind, size_t bytes, int messages, double seconds)
{
	*in = (struct flow_in){
		.kind = kind, .bytes = bytes, .window = messages, .meter = { .skip = SKIP_SHARE * seconds },
		.at = pair_room(p, &p->buffers->receive, bytes, messages),
	};
	in->stride = p->buffers->receive.bytes;
	return in->at != NULL && flow_in_begin(p, in);
}

static bool prepare_data(struct pair *p, struct flow_out *out, struct flow_in *in)
{
	const struct fabric_settings *set = p->set;

	if (out && !out_prepare(p, out, FABRIC_DATA, p->out_bytes, window(p)))
		return false;
	return in == NULL || in_prepare(p, in, FABRIC_DATA, p->in_bytes, window(p), set->share < 1 ? burst(set) : set->seconds);
}

/* After `pause` seconds. */
static void begin_out(const struct pair *p, struct flow_out *out, double pause, double seconds)
{
	flow_out_begin(out, pause);
	out->until = clock_now() + pause + seconds;
	if (out->kind == FABRIC_DATA) {
		out->share = p->set->share;
		out->burst_s = burst(p->set);
		out->burst_most = out->burst_s + DRAIN_S;
	}
}

/* The receiver says which size it expects, once its receives are posted. */
static bool send_size(struct pair *p, struct flow_in *in)
{
	MPI_Request send = MPI_REQUEST_NULL;

	p->buffers->out[0] = p->in_bytes;
	if (wire_send(&p->wire, FABRIC_SIZE, &p->buffers->out[0], sizeof(p->buffers->out[0]), &send) &&
	    wire_wait(&p->wire, &send))
		return true;
	pair_abandon(p, in->requests, in->window, &send, 1);
	return false;
}

static bool receive_size(struct pair *p)
{
	MPI_Request receive = MPI_REQUEST_NULL;
	uint64_t *bytes = &p->buffers->in[0];

	if (!wire_receive(&p->wire, FABRIC_SIZE, bytes, sizeof(*bytes), &receive) || !wire_wait(&p->wire, &receive)) {
		pair_abandon(p, &receive, 1, NULL, 0);
		return false;
	}
	p->out_bytes = (size_t)*bytes;
	if (p->out_bytes != fabric_size(INFINITY, 1, p->out_bytes) || (double)p->out_bytes > p->set->bytes) {
		p->out_bytes = fabric_size(0, 1, 0);
		pair_wrong(p, "a size of messages that cannot be");
	}
	return true;
}

static double data_rate(struct pair *p, const struct flow_in *in)
{
	const double rate = flow_rate(in, p->set->share * data_seconds(p->set));

	p->stalled = p->stalled || !isfinite(rate);
	return rate;
}

static bool one_way_out(struct pair *p)
{
	static struct tcp_mark before, after;
	struct flow_out out;
	double probe;

	if (!out_prepare(p, &out, FABRIC_PROBE, PROBE_BYTES, PROBE_WINDOW))
		return false;
	begin_out(p, &out, 0, PROBE_S);
	probe = clock_now();
	if (!flow_run(p, &out, NULL))
		return false;
	probe = clock_now() - probe;
	if (!receive_size(p) || !prepare_data(p, &out, NULL))
		return false;
	pair_deadline(p, bandwidth_seconds(p->set, false));
	tcp_look(&before);
	begin_out(p, &out, probe_pause(p->set, probe), data_seconds(p->set));
	if (!flow_run(p, &out, NULL))
		return false;
	tcp_look(&after);
	tcp_account(&before, &after, PROBE_BYTES, &p->tcp);
	return true;
}

static bool one_way_in(struct pair *p)
{
	struct flow_in in;

	if (!in_prepare(p, &in, FABRIC_PROBE, PROBE_BYTES, PROBE_WINDOW, PROBE_S) || !flow_run(p, NULL, &in))
		return false;
	p->in_bytes = fabric_size(flow_rate_guess(&in), window(p), (size_t)p->set->bytes);
	if (!prepare_data(p, NULL, &in) || !send_size(p, &in))
		return false;
	pair_deadline(p, bandwidth_seconds(p->set, false));
	if (!flow_run(p, NULL, &in))
		return false;
	p->rx = data_rate(p, &in);
	return true;
}

bool bandwidth_one_way(struct pair *p, bool sends)
{
	return sends ? one_way_out(p) : one_way_in(p);
}

bool bandwidth_both(struct pair *p)
{
	struct flow_out out;
	struct flow_in in;

	if (!prepare_data(p, &out, &in))
		return false;
	begin_out(p, &out, 0, data_seconds(p->set));
	if (!flow_run(p, &out, &in))
		return false;
	p->rx_both = data_rate(p, &in);
	return true;
}
