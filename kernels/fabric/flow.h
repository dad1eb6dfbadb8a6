/*
 * A stream of messages in one direction: the sender's end and the receiver's. Both are steps to be called in turn,
 * as in the last phase a rank is at one end of each direction.
 */
#ifndef SYSCHECK_FABRIC_FLOW_H
#define SYSCHECK_FABRIC_FLOW_H

#include "pair.h"

struct flow_out {
	enum fabric_kind kind;
	unsigned char *at;
	size_t bytes, stride;
	int window;
	double until; /* no message begins later */
	double share, burst_s; /* a burst lasts that long, until the last message has left; then a pause; 1: no pauses */
	double burst_most;     /* a burst that takes longer, on a link that is broken, has no longer pause */
	/* From here on flow's own. */
	MPI_Request requests[FABRIC_WINDOW];
	int open, ends;
	uint64_t number;
	uint32_t burst;
	double burst_began, resume; /* resume 0: not known yet */
	bool draining, done;
};

struct flow_in {
	enum fabric_kind kind;
	unsigned char *at;
	size_t bytes, stride;
	int window;
	struct fabric_meter meter, whole; /* with the caller's skip, without one */
	/* From here on flow's own. */
	MPI_Request requests[FABRIC_WINDOW];
	uint64_t expected[FABRIC_WINDOW]; /* number of the message that the slot's receive will get */
	uint64_t posted, messages;
	uint64_t last; /* the highest number that came */
	int last_slot; /* -1: none */
	int open;
	uint32_t last_burst;
	double looked; /* the last time, for messages */
	bool done;
};

/* Its first message goes in `pause` seconds. */
void flow_out_begin(struct flow_out *out, double pause);
/* Posts the receives. */
bool flow_in_begin(struct pair *p, struct flow_in *in);

/* Until both are done; either may be NULL. With an error all is abandoned, and false. */
bool flow_run(struct pair *p, struct flow_out *out, struct flow_in *in);

/*
 * In bytes/s, of a partner that sent for `seconds`. NaN where it cannot be told: this process itself, held up by others
 * or within the MPI library, did not look for messages just when it mattered, and then found many at once.
 */
double flow_rate(const struct flow_in *in, double seconds);

/* A guess in any case but that of a single message; then NaN. */
double flow_rate_guess(const struct flow_in *in);

#endif
