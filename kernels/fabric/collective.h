/*
 * What the nodes of a group do all at once, as applications do: an all-to-all of messages of 35 kB, and an allreduce of
 * 8 bytes. Both are made of messages between two, so that nobody hangs where one does not answer.
 */
#ifndef SYSCHECK_FABRIC_COLLECTIVE_H
#define SYSCHECK_FABRIC_COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "plan.h"
#include "wire.h"

/* What a CFD code's nodes sent each other when a switch insert of 16 ports was overloaded, which pairs did not show. */
#define ALLTOALL_BYTES 35000

struct collective {
	struct wire wire; /* its partner is whom a call is about */
	const struct fabric_turn *turn;
	double seconds; /* after these no further call begins */
	/* Results; NaN: none. */
	double call_us; /* of an all-to-all the mean, of an allreduce the median */
	double rx;      /* bytes/s, of an all-to-all */
	int calls;
};

/* For how long calls begin. */
double collective_seconds(const struct fabric_settings *set, enum fabric_what what);

/* For a turn with a group; false with an error. */
bool collective_run(struct collective *p);

/* Makes *value the largest of the group's values, in all of its ranks. False with an error: not until w's deadline. */
bool collective_largest(struct wire *w, const struct fabric_turn *turn, uint64_t *value);

#endif
