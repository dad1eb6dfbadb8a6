/* One pair of ranks in one round: what its phases share. */
#ifndef SYSCHECK_FABRIC_PAIR_H
#define SYSCHECK_FABRIC_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan.h"
#include "tcp.h"
#include "wire.h"

/* Beyond a phase's time. */
#define PAIR_GRACE_S 1.0

/*
 * All memory that MPI may write to or read from after a phase was abandoned: then it is left to MPI, see
 * pair_abandon, and new memory is taken.
 */
struct buffers {
	uint64_t out[2], in[2]; /* small messages */
	struct buffer {
		unsigned char *at;
		size_t bytes;  /* of a message, at most */
		int messages;
	} send, receive;
};

struct pair {
	struct wire wire;
	int rank;
	bool first;
	const struct fabric_settings *set;
	struct buffers *buffers;
	size_t out_bytes, in_bytes; /* message sizes of this pair */
	/* Results; NaN, 0, "": none. */
	double lat_us, lat_min_us, lat_p99_us;
	int pingpongs;
	double rx, rx_both; /* bytes/s */
	struct tcp_account tcp; /* of what was sent one way; rtt_us NaN: nothing, by TCP */
	bool stalled;       /* there is no rate, as this process itself was held up, or too few messages came */
	char wrong[ERROR_SIZE];
};

/* Waits up to `wait` until both ranks are in the phase; then its deadline is `seconds` and the grace from now. */
bool pair_greet(struct pair *p, double wait, double seconds);

void pair_deadline(struct pair *p, double seconds);

/* Keeps what is wrong first. */
void pair_wrong(struct pair *p, const char *what);

/*
 * Room for `messages` of `bytes`, `b->bytes` apart, touched, filled by stamp_fill; NULL, and the error is set: no memory.
 */
unsigned char *pair_room(struct pair *p, struct buffer *b, size_t bytes, int messages);

/* After an error: cancels receives; memory that stays with MPI is given up. */
void pair_abandon(struct pair *p, MPI_Request *receives, int n_receives, const MPI_Request *sends, int n_sends);

/* Phases, after pair_greet; false with an error. */
bool latency_measure(struct pair *p);
bool bandwidth_one_way(struct pair *p, bool sends);
bool bandwidth_both(struct pair *p);
/* How long that takes: with a share below 1 pauses make up for the probe, and for a burst that is longer than its share. */
double bandwidth_seconds(const struct fabric_settings *set, bool both);

#endif
