/* Triads with the kernel's counters of memory traffic read around them: stream's last phase, with --traffic. */
#ifndef SYSCHECK_STREAM_RULER_H
#define SYSCHECK_STREAM_RULER_H

#include "common/pool.h"
#include "common/result.h"
#include "common/topo.h"
#include "traffic.h"

/*
 * So many bursts, one after the other, so that no cache's content counts in one and not in the next;
 * how much they differ says whether the counter can be trusted. One more before the first: threads that have
 * just met are not at full speed.
 */
#define RULER_BURSTS 5

/* Of the time box. At 2 s a burst is 50 ms: hardware counts in steps of a ms, a core's chunk is 0.1 ms. */
#define RULER_SHARE 0.15

struct ruler {
	bool on;
	double from, length; /* clock_now: the first burst; s each */
	int at;              /* readings so far */
	double times[RULER_BURSTS + 1];
	uint64_t bytes[RULER_BURSTS + 1][TRAFFIC_CACHES];
	struct pool_work *work; /* [burst][member] */
	struct traffic traffic;
	char error[ERROR_SIZE];
};

/* Makes ready for `members` threads. False: out of memory. What is wrong with `dir` is in `error`, and reported. */
bool ruler_open(struct ruler *r, const char *dir, int members, double box);

/* One member, when all have met. Where ruler_end is beyond `end` there is no time for it. */
void ruler_begin(struct ruler *r, double end);

double ruler_end(const struct ruler *r);

/* Of a member, after a triad that began at `from`. Member 0 reads the counters where one is due. */
void ruler_add(struct ruler *r, int members, int member, double from, struct pool_work work);

void ruler_report(const struct ruler *r, struct result *result, int members);

#endif
