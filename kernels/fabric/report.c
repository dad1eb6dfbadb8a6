#include "report.h"

#include <math.h>
#include <stddef.h>
#include <unistd.h>

#include "common/kernel.h"
#include "errors.h"

/* Below this a plan says nothing of which port it went through. */
#define RAIL_LEAST_BYTES 1e7
/* A port that counts what another one receives, too (a bond's, a bridge's), is none that was used instead. */
#define RAIL_TIMES 2

/* The node's ports, and what they had counted when it was said last. */
static struct {
	const struct link *links, *rail;
	int n;
	struct errors errors;
	double received[LINKS_MOST];
} s;

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

static bool report_link(const struct place *place, const struct link *l)
{
	struct result r;

	begin(&r, "link");
	put_place(&r, place);
	result_string(&r, "name", l->name);
	result_known(&r, "rate_gbps", l->rate_gbps);
	result_known(&r, "mtu", l->mtu);
	if (l->duplex[0] != '\0')
		result_string(&r, "duplex", l->duplex);
	result_known(&r, "pcie_lanes", l->pcie_lanes);
	result_known(&r, "pcie_gts", l->pcie_gts);
	result_known(&r, "pcie_lanes_most", l->pcie_lanes_most);
	result_known(&r, "pcie_gts_most", l->pcie_gts_most);
	if (l->firmware[0] != '\0')
		result_string(&r, "firmware", l->firmware);
	return result_write(&r, STDOUT_FILENO);
}

bool report_hello(const struct place *place, const struct link *links, int n, const struct link *rail)
{
	char boot_id[64];
	struct result r;
	int rails = 0;

	s.links = links;
	s.n = n;
	s.rail = rail;
	errors_read("", links, n, &s.errors);
	for (int i = 0; i < n; i++)
		s.received[i] = links_received("", &links[i]);
	while (links_rail(links, n, rails + 1))
		rails++;
	links_boot_id("", boot_id);
	begin(&r, "hello");
	put_place(&r, place);
	if (boot_id[0] != '\0')
		result_string(&r, "boot_id", boot_id);
	result_known(&r, "rate_gbps", links_rate(s.links, s.n));
	result_integer(&r, "rails", rails);
	if (rail)
		result_string(&r, "rail", rail->name);
	result_known(&r, "tcp_rmem", tcp_most("", "tcp_rmem"));
	result_known(&r, "tcp_wmem", tcp_most("", "tcp_wmem"));
	if (!result_write(&r, STDOUT_FILENO))
		return false;
	for (int i = 0; i < s.n; i++)
		if (!report_link(place, &s.links[i]))
			return false;
	return true;
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

/* How each line begins that a rank writes of a round. */
static void begin_round(struct result *r, const char *event, int plan, int round, int rank)
{
	begin(r, event);
	result_integer(r, "plan", plan);
	result_integer(r, "round", round);
	result_integer(r, "rank", rank);
}

bool report_round(const struct round_line *line, const struct pair *p)
{
	struct result r;

	begin_round(&r, "round", line->plan, line->round, p->rank);
	result_integer(&r, "partner", p->wire.partner);
	result_known(&r, "lat_us", p->lat_us);
	result_known(&r, "lat_min_us", p->lat_min_us);
	result_known(&r, "lat_p99_us", p->lat_p99_us);
	if (p->pingpongs > 0)
		result_integer(&r, "pingpongs", p->pingpongs);
	result_known(&r, "rx_gbs", p->rx / 1e9);
	result_known(&r, "rx_both_gbs", p->rx_both / 1e9);
	result_known(&r, "wait_pct", line->wait_pct);
	if (p->in_bytes > 0)
		result_integer(&r, "size", (long long)p->in_bytes);
	result_known(&r, "tcp_rtt_us", p->tcp.rtt_us);
	result_known(&r, "tcp_min_rtt_us", p->tcp.min_rtt_us);
	result_known(&r, "tcp_rwnd_pct", p->tcp.rwnd_pct);
	result_known(&r, "tcp_sndbuf_pct", p->tcp.sndbuf_pct);
	result_known(&r, "tcp_again_pct", p->tcp.again_pct);
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

bool report_collective(const struct fabric_plan *plan, int round, const struct collective *p)
{
	struct result r;

	begin_round(&r, "collective", plan->id, round, plan->rank);
	result_integer(&r, "calls", p->calls);
	result_known(&r, "call_us", p->call_us);
	result_known(&r, "rx_gbs", p->rx / 1e9);
	if (p->wire.error[0] != '\0')
		result_string(&r, "error", p->wire.error);
	return result_write(&r, STDOUT_FILENO);
}

bool report_work(const struct fabric_plan *plan, int round, const struct work *p)
{
	struct result r;

	begin_round(&r, "work", plan->id, round, plan->rank);
	result_integer(&r, "threads", p->topo->n);
	result_integer(&r, "steps", p->steps);
	result_known(&r, "step_us", p->step_us);
	result_known(&r, "step_se_us", p->step_se_us);
	result_known(&r, "work_us", p->work_us);
	result_known(&r, "call_us", p->call_us);
	result_known(&r, "call_mean_us", p->call_mean_us);
	if (p->wire.error[0] != '\0')
		result_string(&r, "error", p->wire.error);
	return result_write(&r, STDOUT_FILENO);
}

bool report_storage(const struct fabric_plan *plan, int round, const struct storage *p)
{
	struct result r;

	begin_round(&r, "files", plan->id, round, plan->rank);
	if (storage_type()[0] != '\0')
		result_string(&r, "filesystem", storage_type());
	result_bool(&r, "direct", p->direct);
	result_known(&r, "write_gbs", p->write / 1e9);
	result_known(&r, "read_gbs", p->read / 1e9);
	result_integer(&r, "written", (long long)p->written);
	result_integer(&r, "got", (long long)p->got);
	/* What others could not do is theirs to say. */
	if (p->error[0] != '\0')
		result_string(&r, "error", p->error);
	else if (p->wire.error[0] != '\0')
		result_string(&r, "stopped", p->wire.error);
	if (p->wrong[0] != '\0')
		result_string(&r, "wrong", p->wrong);
	return result_write(&r, STDOUT_FILENO);
}

/* A line for each link that counted errors since the last time. */
static bool report_errors(int plan, int rank)
{
	static struct errors now;
	bool written = true;
	struct result r;
	int found;

	errors_read("", s.links, s.n, &now);
	for (int i = 0; written && i < s.n; i++) {
		found = 0;
		for (int k = 0; errors_name(&s.links[i], k); k++) {
			const size_t more = errors_more(&s.errors, &now, i, k);

			if (more > 0 && found++ == 0) {
				begin(&r, "errors");
				result_integer(&r, "plan", plan);
				result_integer(&r, "rank", rank);
				result_string(&r, "link", s.links[i].name);
			}
			if (more > 0)
				result_integer(&r, errors_name(&s.links[i], k), (long long)more);
		}
		written = found == 0 || result_write(&r, STDOUT_FILENO);
	}
	s.errors = now;
	return written;
}

/* The port that received more than twice what the rail did since the last time; NULL: none. */
static const struct link *used_instead(void)
{
	double most = 0, rail = 0, now, more;
	const struct link *which = NULL;

	for (int i = 0; i < s.n; i++) {
		now = links_received("", &s.links[i]);
		/* Set back, or a counter that wrapped: not known. */
		more = now >= s.received[i] ? now - s.received[i] : NAN;
		s.received[i] = now;
		if (&s.links[i] == s.rail) {
			rail = more;
		} else if (more > most) {
			most = more;
			which = &s.links[i];
		}
	}
	/* A rail that is not counted (NaN) says nothing. */
	return s.rail && most > RAIL_LEAST_BYTES && most > RAIL_TIMES * rail ? which : NULL;
}

bool report_done(int plan, int rank, bool by_rail)
{
	const struct link *instead = used_instead();
	struct result r;

	if (!report_errors(plan, rank))
		return false;
	begin(&r, "done");
	result_integer(&r, "plan", plan);
	result_integer(&r, "rank", rank);
	if (instead && by_rail)
		result_string(&r, "instead", instead->name);
	return result_write(&r, STDOUT_FILENO);
}
