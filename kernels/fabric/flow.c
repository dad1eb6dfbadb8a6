#include "flow.h"

#include <math.h>
#include <stdio.h>

#include "common/clock.h"
#include "stamp.h"

/* Of the time that counts, which is 0.8 of the sender's where nothing is amiss. */
#define UNSURE_MOST 0.2
#define COUNTED_LEAST 0.4

static struct stamp stamp_of(const struct pair *p, int from)
{
	return (struct stamp){ .round = p->wire.round, .phase = (uint32_t)p->wire.phase, .from = (uint32_t)from };
}

void flow_out_begin(struct flow_out *out, double pause)
{
	for (int i = 0; i < FABRIC_WINDOW; i++)
		out->requests[i] = MPI_REQUEST_NULL;
	out->burst_began = clock_now();
	/* A pause before the first burst is one after a burst of nothing. */
	out->draining = pause > 0;
	out->resume = pause > 0 ? out->burst_began + pause : 0;
}

/*
 * With a share below 1 there is traffic only for that share of the time: bursts, each until its last message has
 * left, and pauses. To send slower instead would show the pace, not what the link can do.
 */
static bool has_rested(struct flow_out *out, double now)
{
	out->draining = true;
	if (out->open > 0)
		return false;
	if (out->resume == 0)
		out->resume = now + fmin(now - out->burst_began, out->burst_most) * (1 / out->share - 1);
	return now >= out->resume;
}

static bool may_send(struct flow_out *out, double now)
{
	if (out->share >= 1 || (!out->draining && now < out->burst_began + out->burst_s))
		return true;
	if (!has_rested(out, now))
		return false;
	out->burst++;
	out->burst_began = now;
	out->resume = 0;
	out->draining = false;
	return true;
}

static bool send_next(struct pair *p, struct flow_out *out, int slot, bool end)
{
	unsigned char *at = out->at + (size_t)slot * out->stride;
	struct stamp stamp = stamp_of(p, p->rank);

	if (!end) {
		stamp.number = out->number++;
		stamp.burst = out->burst;
		stamp_put(at, out->bytes, stamp);
	}
	if (!wire_send(&p->wire, out->kind, at, end ? 0 : out->bytes, &out->requests[slot]))
		return false;
	out->open++;
	return true;
}

/*
 * Messages until the time is over, then as many empty ones as the receiver has receives: messages do not overtake
 * each other, so these come after all data, and leave no receive over. Returns how many sends completed; -1: an error.
 */
static int step_out(struct pair *p, struct flow_out *out)
{
	const double now = clock_now();
	MPI_Status statuses[FABRIC_WINDOW];
	int slots[FABRIC_WINDOW];
	const int n = wire_some(&p->wire, "MPI_Isend", out->window, out->requests, slots, statuses);

	if (n < 0)
		return -1;
	out->open -= n;
	for (int i = 0; i < out->window; i++) {
		/* The last burst has its pause, too, as the next phase's traffic comes at once. */
		const bool end = now >= out->until && (out->share >= 1 || out->ends > 0 || has_rested(out, now));

		if (out->requests[i] != MPI_REQUEST_NULL)
			continue;
		if (end ? out->ends == out->window : !may_send(out, now))
			break;
		if (!send_next(p, out, i, end))
			return -1;
		out->ends += end;
	}
	out->done = out->ends == out->window && out->open == 0;
	return n;
}

static bool post(struct pair *p, struct flow_in *in, int slot)
{
	if (!wire_receive(&p->wire, in->kind, in->at + (size_t)slot * in->stride, in->bytes, &in->requests[slot]))
		return false;
	in->expected[slot] = in->posted++;
	in->open++;
	return true;
}

bool flow_in_begin(struct pair *p, struct flow_in *in)
{
	for (int i = 0; i < FABRIC_WINDOW; i++)
		in->requests[i] = MPI_REQUEST_NULL;
	in->last_slot = -1;
	in->looked = clock_now();
	for (int i = 0; i < in->window; i++)
		if (!post(p, in, i)) {
			pair_abandon(p, in->requests, in->window, NULL, 0);
			return false;
		}
	return true;
}

static void check(struct pair *p, const struct flow_in *in, int slot, uint64_t number, uint32_t burst, bool whole)
{
	struct stamp want = stamp_of(p, p->wire.partner);
	char text[ERROR_SIZE];

	want.number = number;
	want.burst = burst;
	if (!stamp_check(in->at + (size_t)slot * in->stride, in->bytes, want, whole, text))
		pair_wrong(p, text);
}

static bool take(struct pair *p, struct flow_in *in, int slot, const MPI_Status *status, double now, double unsure)
{
	struct stamp stamp;
	int bytes = 0;

	in->open--;
	MPI_Get_count(status, MPI_BYTE, &bytes);
	if (bytes == 0)
		return true;
	stamp = stamp_get(in->at + (size_t)slot * in->stride);
	if ((size_t)bytes != in->bytes)
		pair_wrong(p, "a message is shorter than it was sent");
	else
		check(p, in, slot, in->expected[slot], stamp.burst, false);
	fabric_meter_add(&in->meter, now, unsure, stamp.burst, (size_t)bytes);
	fabric_meter_add(&in->whole, now, unsure, stamp.burst, (size_t)bytes);
	in->messages++;
	if (in->last_slot < 0 || in->expected[slot] > in->last) {
		in->last = in->expected[slot];
		in->last_burst = stamp.burst;
		in->last_slot = slot;
	}
	return post(p, in, slot);
}

/* Returns how many receives completed; -1: an error. */
static int step_in(struct pair *p, struct flow_in *in)
{
	MPI_Status statuses[FABRIC_WINDOW];
	int slots[FABRIC_WINDOW];
	const int n = wire_some(&p->wire, "MPI_Irecv", in->window, in->requests, slots, statuses);
	const double now = clock_now(), unsure = now - in->looked;

	in->looked = now;
	for (int i = 0; i < n; i++)
		if (!take(p, in, slots[i], &statuses[i], now, unsure))
			return -1;
	if (n < 0 || in->open > 0)
		return n;
	in->done = true;
	/* An empty message leaves in the slot what was there. */
	if (in->last_slot >= 0)
		check(p, in, in->last_slot, in->last, in->last_burst, true);
	return n;
}

bool flow_run(struct pair *p, struct flow_out *out, struct flow_in *in)
{
	unsigned polls = 0;

	while ((out && !out->done) || (in && !in->done)) {
		const int sent = out && !out->done ? step_out(p, out) : 0;
		const int came = in && !in->done && sent >= 0 ? step_in(p, in) : 0;

		if (sent < 0 || came < 0 || wire_late(&p->wire)) {
			pair_abandon(p, in ? in->requests : NULL, in ? in->window : 0, out ? out->requests : NULL,
				     out ? out->window : 0);
			return false;
		}
		if (sent + came > 0)
			polls = 0;
		else
			wire_fruitless(&polls);
	}
	return true;
}

double flow_rate(const struct flow_in *in, double seconds)
{
	const double counted = fabric_meter_seconds(&in->meter);

	if (counted < COUNTED_LEAST * seconds || fabric_meter_unsure(&in->meter) > UNSURE_MOST * counted)
		return NAN;
	return fabric_meter_rate(&in->meter);
}

double flow_rate_guess(const struct flow_in *in)
{
	const double rate = fabric_meter_rate(&in->meter);

	return isfinite(rate) ? rate : fabric_meter_rate(&in->whole);
}
