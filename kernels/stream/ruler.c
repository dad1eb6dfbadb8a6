#include "ruler.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"

bool ruler_open(struct ruler *r, const char *dir, int members, double box)
{
	uint64_t bytes[TRAFFIC_CACHES];

	r->length = RULER_SHARE * box / (RULER_BURSTS + 1);
	r->work = calloc((size_t)members * RULER_BURSTS, sizeof(*r->work));
	r->on = traffic_open(&r->traffic, dir, r->error) && traffic_read(&r->traffic, bytes, r->error);
	return r->work != NULL;
}

void ruler_begin(struct ruler *r, double end)
{
	r->from = clock_now() + r->length;
	r->at = 0;
	if (ruler_end(r) > end)
		snprintf(r->error, ERROR_SIZE, "no time was left for it");
}

double ruler_end(const struct ruler *r)
{
	return r->from + RULER_BURSTS * r->length;
}

void ruler_add(struct ruler *r, int members, int member, double from, struct pool_work work)
{
	const double burst = floor((from - r->from) / r->length);

	if (burst >= 0 && burst < RULER_BURSTS) {
		struct pool_work *sum = &r->work[(size_t)burst * (size_t)members + (size_t)member];

		sum->bytes += work.bytes;
		sum->seconds += work.seconds;
	}
	if (member != 0 || r->at > RULER_BURSTS || from + work.seconds < r->from + r->at * r->length)
		return;
	if (!traffic_read(&r->traffic, r->bytes[r->at], r->error))
		r->on = false;
	r->times[r->at++] = clock_now();
}

/* Bytes of all members in a burst, as STREAM counts them. */
static double triads(const struct ruler *r, int burst, int members)
{
	double sum = 0;

	for (int i = 0; i < members; i++)
		sum += r->work[burst * members + i].bytes;
	return sum;
}

/* Modulo 2^64; what ran backwards is a number that no memory moves. */
static double counted(const struct ruler *r, int from, int to, size_t cache)
{
	return (double)(r->bytes[to][cache] - r->bytes[from][cache]);
}

static double counted_all(const struct ruler *r, int from, int to)
{
	double sum = 0;

	for (size_t i = 0; i < r->traffic.caches; i++)
		sum += counted(r, from, to, i);
	return sum;
}

void ruler_report(const struct ruler *r, struct result *result, int members)
{
	const double seconds = r->times[RULER_BURSTS] - r->times[0];
	double moved = 0, low = INFINITY, high = 0;

	if (!r->on || r->at <= RULER_BURSTS) {
		result_string(result, "traffic_error", r->error[0] != '\0' ? r->error : "not all bursts were counted");
		return;
	}
	for (int i = 0; i < RULER_BURSTS; i++) {
		/* A burst is read a moment late, at both its ends: its length is that between the readings. */
		const double bytes = triads(r, i, members), rate = counted_all(r, i, i + 1) / (r->times[i + 1] - r->times[i]);
		const double ratio = rate / (bytes / r->length);

		moved += bytes;
		low = fmin(low, ratio);
		high = fmax(high, ratio);
	}
	result_string(result, "traffic_source", r->traffic.perf ? "perf" : "resctrl");
	result_number(result, "traffic_gbs", counted_all(r, 0, RULER_BURSTS) / seconds * 1e-9);
	result_number(result, "traffic_triad_gbs", moved / (RULER_BURSTS * r->length) * 1e-9);
	result_number(result, "traffic_ratio",
		      counted_all(r, 0, RULER_BURSTS) / seconds / (moved / (RULER_BURSTS * r->length)));
	result_number(result, "traffic_ratio_spread_pct", 100 * (high - low) / ((high + low) / 2));
	result_list_begin(result, "traffic");
	for (size_t i = 0; i < r->traffic.caches; i++) {
		result_object_begin(result);
		result_integer(result, "cache", r->traffic.ids[i]);
		result_number(result, "gbs", counted(r, 0, RULER_BURSTS, i) / seconds * 1e-9);
		result_object_end(result);
	}
	result_list_end(result);
}
