#include "round.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/kernel.h"
#include "meet.h"
#include "pair.h"
#include "collective.h"
#include "report.h"
#include "storage.h"
#include "watch.h"
#include "work.h"

/* How long all wait for the last one before a phase, beyond what the phase before may take. */
#define MEETING_S 2.0
/*
 * How much longer they wait the first time, when connections are made. Beside a node that loses packets that takes
 * seconds: 1 s for each first packet that is lost (RFC 6298), and before it what PMIx asks for (watch.c).
 */
#define CONNECT_S 5.0
/* How much longer a partner is waited for than ranks can be out of step. */
#define GREETING_MORE_S 0.5

static const char *const names[FABRIC_PHASES] = { "latency", "forward", "backward", "both" };

static struct {
	uint64_t rounds; /* begun since the start, the same number in every rank */
	struct buffers *buffers;
} s;

/* What follows the greeting. */
static double phase_seconds(const struct fabric_settings *set, enum fabric_phase phase)
{
	if (phase == FABRIC_LATENCY)
		return set->latency_s;
	return bandwidth_seconds(set, phase == FABRIC_BOTH) + (phase == FABRIC_BOTH ? 0 : PAIR_GRACE_S);
}

static double phase_most(const struct fabric_settings *set, enum fabric_phase phase)
{
	return phase_seconds(set, phase) + PAIR_GRACE_S;
}

/*
 * When this rank's last phase began, and how long it may take: all wait for the others until then and MEETING_S more.
 *
 * A rank that is gone keeps all others from meeting; behind a broken link only some meet in vain, and others may be
 * ahead of these by the phase and MEETING_S. For the rest of the plan to be right between all others:
 *  - That time counts from the beginning of the phase, not from when a rank was through with it, and what follows is
 *    taken to begin when it is over: ranks keep step by the clock.
 *  - Who met in vain (`alone`) takes all of the next phase's time, so that who is ahead has to wait.
 *  - A partner is waited for longer than it can be behind (greeting_most). From then on the pair is in step.
 */
struct pace {
	double began, most;
	bool alone;
};

static double greeting_most(const struct fabric_settings *set)
{
	double most = 0;

	for (int phase = 0; phase < FABRIC_PHASES; phase++)
		most = fmax(most, phase_most(set, (enum fabric_phase)phase));
	return most + MEETING_S + GREETING_MORE_S;
}

static bool measure(struct pair *p, enum fabric_phase phase, struct pace *pace)
{
	p->wire.phase = phase;
	if (!pair_greet(p, greeting_most(p->set), phase_seconds(p->set, phase)))
		return false;
	pace->began = clock_now();
	switch (phase) {
	case FABRIC_LATENCY:
		return latency_measure(p);
	case FABRIC_BOTH:
		return bandwidth_both(p);
	default:
		return bandwidth_one_way(p, p->first == (phase == FABRIC_FORWARD));
	}
}

/* All meet before what takes `most` seconds; false: not all came, or an error. */
static bool come(struct pace *pace, double most, bool idle, char error[ERROR_SIZE])
{
	const double over = pace->began + pace->most, until = over + MEETING_S;

	watch_phase("meeting", fmax(until, clock_now()));
	pace->alone = !meet(pace->alone ? over : 0, until, idle, error);
	pace->began = pace->alone ? until : clock_now();
	pace->most = most;
	return !pace->alone;
}

/* Returns the phase in which the pair failed; NULL: none. */
static const char *run_phases(const struct fabric_plan *plan, struct pair *p, struct pace *pace, bool *late,
			      char error[ERROR_SIZE])
{
	const bool idle = p->wire.partner < 0;
	const char *failed = NULL;

	for (int phase = 0; phase < FABRIC_PHASES; phase++) {
		if (!come(pace, phase_most(&plan->set, (enum fabric_phase)phase), idle, error))
			*late = true;
		watch_phase(names[phase], clock_now() + greeting_most(&plan->set) + pace->most);
		if (!idle && failed == NULL && !measure(p, (enum fabric_phase)phase, pace))
			failed = names[phase];
	}
	return failed;
}

/* Seconds that this thread could have run and had no CPU, a cgroup's quota included; NaN. */
static double waited(void)
{
	unsigned long long ran, delay;
	FILE *f = fopen("/proc/thread-self/schedstat", "re");
	double seconds = NAN;

	if (f == NULL)
		return seconds;
	if (fscanf(f, "%llu %llu", &ran, &delay) == 2)
		seconds = (double)delay * 1e-9;
	fclose(f);
	return seconds;
}

/*
 * All come to what a group does, which takes `most` seconds. False: this rank rests, or not all came, which is said in
 * w's error.
 */
static bool gather(const struct fabric_plan *plan, int round, struct pace *pace, const char *what, double most,
		   struct wire *w)
{
	const bool idle = plan->turns[round].size == 0;

	watch_round(plan->id, round, -1);
	if (come(pace, most, idle, w->error)) {
		watch_phase(what, clock_now() + pace->most);
		return !idle;
	}
	if (w->error[0] == '\0')
		snprintf(w->error, sizeof(w->error), "not all nodes came to it");
	return false;
}

static bool run_collective(const struct fabric_plan *plan, int round, struct pace *pace)
{
	const struct fabric_turn *turn = &plan->turns[round];
	struct collective p = {
		.wire = { .round = ++s.rounds }, .turn = turn, .seconds = collective_seconds(&plan->set, turn->what),
		.call_us = NAN, .rx = NAN,
	};

	if (gather(plan, round, pace, "collective", p.seconds + PAIR_GRACE_S, &p.wire))
		collective_run(&p);
	return turn->size == 0 || report_collective(plan, round, &p);
}

static bool run_storage(const struct fabric_plan *plan, int round, struct pace *pace, bool *wrong)
{
	const struct fabric_turn *turn = &plan->turns[round];
	struct storage p = {
		.wire = { .round = ++s.rounds }, .turn = turn, .set = &plan->set, .write = NAN, .read = NAN,
	};

	if (gather(plan, round, pace, "files", storage_most(&plan->set), &p.wire))
		storage_run(&p);
	*wrong = *wrong || p.wrong[0] != '\0';
	return turn->size == 0 || report_storage(plan, round, &p);
}

static bool run_work(const struct fabric_plan *plan, const struct topo *topo, int round, struct pace *pace)
{
	const struct fabric_turn *turn = &plan->turns[round];
	struct work p = {
		.wire = { .round = ++s.rounds }, .turn = turn, .set = &plan->set, .topo = topo,
		.step_us = NAN, .step_se_us = NAN, .work_us = NAN, .call_us = NAN,
		.call_mean_us = NAN,
	};

	if (gather(plan, round, pace, "work", work_most(&plan->set), &p.wire))
		work_run(&p);
	return turn->size == 0 || report_work(plan, round, &p);
}

static bool run_round(const struct fabric_plan *plan, int round, struct pace *pace, bool *wrong)
{
	const struct fabric_turn turn = plan->turns[round];
	char meeting[ERROR_SIZE] = "";
	struct pair p = {
		.wire = { .partner = turn.partner, .round = ++s.rounds },
		.rank = plan->rank,
		.first = turn.first,
		.set = &plan->set,
		.buffers = s.buffers,
		.lat_us = NAN,
		.lat_min_us = NAN,
		.lat_p99_us = NAN,
		.rx = NAN,
		.rx_both = NAN,
		.tcp = { .rtt_us = NAN, .min_rtt_us = NAN, .rwnd_pct = NAN, .sndbuf_pct = NAN, .again_pct = NAN },
	};
	struct round_line line = { .plan = plan->id, .round = round };
	const double began = clock_now(), before = waited();

	watch_round(plan->id, round, turn.partner);
	line.failed = run_phases(plan, &p, pace, &line.late, meeting);
	line.wait_pct = 100 * (waited() - before) / (clock_now() - began);
	s.buffers = p.buffers;
	*wrong = *wrong || p.wrong[0] != '\0';
	if (turn.partner < 0)
		return true;
	if (line.failed == NULL && meeting[0] != '\0') {
		line.failed = "meeting";
		memcpy(p.wire.error, meeting, sizeof(meeting));
	}
	return report_round(&line, &p);
}

int rounds_run(const struct fabric_plan *plan, const struct topo *topo, double end)
{
	struct pace pace = { .began = clock_now(), .most = s.rounds == 0 ? CONNECT_S : 0 };
	bool wrong = false, written = true, paired = false;

	for (int round = 0; written && round < plan->rounds; round++) {
		if (clock_now() > end)
			return kernel_fail("the time box is over before round %d of plan %d", round, plan->id);
		switch (plan->turns[round].what) {
		case FABRIC_PAIR:
			paired = paired || plan->turns[round].partner >= 0;
			written = run_round(plan, round, &pace, &wrong);
			break;
		case FABRIC_WORK:
			written = run_work(plan, topo, round, &pace);
			break;
		case FABRIC_FILES:
		case FABRIC_FILE:
			written = run_storage(plan, round, &pace, &wrong);
			break;
		default:
			written = run_collective(plan, round, &pace);
		}
	}
	watch_round(plan->id, -1, -1);
	if (!written || !report_done(plan->id, plan->rank, paired))
		return kernel_fail("a line cannot be written to stdout: %s", strerror(errno));
	return wrong ? EXIT_WRONG : EXIT_MEASURED;
}
