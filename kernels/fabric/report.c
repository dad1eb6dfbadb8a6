#include "report.h"

#include <unistd.h>

#include "common/kernel.h"

static void begin(struct result *r, const char *event)
{
	result_begin(r, kernel.name);
	result_string(r, "event", event);
}

static void put_place(struct result *r, const struct place *place)
{
	result_integer(r, "rank", place->rank);
	result_integer(r, "ranks", place->ranks);
	result_string(r, "node", place->node);
}

bool report_hello(const struct place *place)
{
	struct result r;

	begin(&r, "hello");
	put_place(&r, place);
	return result_write(&r, STDOUT_FILENO);
}

bool report_ready(const struct place *place, double init_s, const char *mpi)
{
	struct result r;

	begin(&r, "ready");
	put_place(&r, place);
	result_number(&r, "init_s", init_s);
	result_string(&r, "mpi", mpi);
	return result_write(&r, STDOUT_FILENO);
}

bool report_round(const struct round_line *line, const struct pair *p)
{
	struct result r;

	begin(&r, "round");
	result_integer(&r, "plan", line->plan);
	result_integer(&r, "round", line->round);
	result_integer(&r, "rank", p->rank);
	result_integer(&r, "partner", p->wire.partner);
	result_known(&r, "lat_us", p->lat_us);
	result_known(&r, "lat_min_us", p->lat_min_us);
	result_known(&r, "lat_p99_us", p->lat_p99_us);
	if (p->pingpongs > 0)
		result_integer(&r, "pingpongs", p->pingpongs);
	result_known(&r, "rx_gbs", p->rx / 1e9);
	result_known(&r, "rx_both_gbs", p->rx_both / 1e9);
	if (p->in_bytes > 0)
		result_integer(&r, "size", (long long)p->in_bytes);
	if (p->stalled)
		result_bool(&r, "stalled", true);
	if (line->late)
		result_bool(&r, "late", true);
	if (p->wire.error[0] != '\0') {
		result_string(&r, "error", p->wire.error);
		result_string(&r, "phase", line->failed);
	}
	if (p->wrong[0] != '\0')
		result_string(&r, "wrong", p->wrong);
	return result_write(&r, STDOUT_FILENO);
}

bool report_done(int plan, int rank)
{
	struct result r;

	begin(&r, "done");
	result_integer(&r, "plan", plan);
	result_integer(&r, "rank", rank);
	return result_write(&r, STDOUT_FILENO);
}
