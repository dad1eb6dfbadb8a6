/* Message sizes, tags, and a receiver's rate. Pure. */
#ifndef SYSCHECK_FABRIC_SIZES_H
#define SYSCHECK_FABRIC_SIZES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fabric_phase { FABRIC_LATENCY, FABRIC_FORWARD, FABRIC_BACKWARD, FABRIC_BOTH, FABRIC_PHASES };

/* What a message is within its phase. The first rank of a pair and the second never send the same with one tag: */
/* a message goes from one rank to the other, and each direction has its own order. */
enum fabric_kind { FABRIC_GREETING, FABRIC_PING, FABRIC_PROBE, FABRIC_SIZE, FABRIC_DATA, FABRIC_KINDS };

/*
 * A tag from 1 to `most`, which is MPI_TAG_UB, at least 32,767: of the rounds since the start (`round`, from 1 on)
 * at least 1,600 in a row have different ones, so that what is left of an abandoned phase matches nothing later.
 */
int fabric_tag(uint64_t round, enum fabric_phase phase, enum fabric_kind kind, int most);

/*
 * Bytes of a message, a multiple of 4 KiB from that to `most`: `window` of them take about 20 ms at `rate` (bytes/s;
 * NaN or 0: unknown, the smallest). More in flight on a slow link would outlast the phase, less would make
 * a fast one wait for the next message.
 */
size_t fabric_size(double rate, int window, size_t most);

/*
 * The rate at which messages arrive, by the times at which receives complete. Not the sender's: its messages are
 * complete as soon as a socket buffer has swallowed them. The first arrival only starts the clock, as it is not known
 * how long it was on its way. What arrives within `skip` seconds of it, in each burst, only starts the clock anew: in
 * these TCP's congestion window opens, or a token bucket passes what it saved up, at the line's full speed. So the
 * clock runs from the last arrival before these are over, and a pause just then counts.
 */
struct fabric_meter {
	double skip;
	bool open;             /* in a burst */
	uint32_t burst;
	double came;           /* its first arrival */
	double from, to;       /* the clock's */
	double from_unsure, to_unsure;
	double burst_bytes;    /* from there to there */
	double bytes, seconds, unsure; /* of the bursts before */
};

/* `unsure` seconds ago was the last look for arrivals: since then it may have come. */
void fabric_meter_add(struct fabric_meter *m, double now, double unsure, uint32_t burst, size_t bytes);

/* All the time that counts, and by how much it may be wrong: only looks at its ends matter. */
double fabric_meter_seconds(const struct fabric_meter *m);
double fabric_meter_unsure(const struct fabric_meter *m);

/* In bytes/s; NaN where no arrival counts. */
double fabric_meter_rate(const struct fabric_meter *m);

#endif
