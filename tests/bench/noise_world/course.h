/*
 * A node's delay of a quantum as a function of when the quantum begins: piecewise, each piece constant
 * or falling by 1 s per s (while the core that is waited for stands still at the begin).
 */
#ifndef NOISE_WORLD_COURSE_H
#define NOISE_WORLD_COURSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "traces.h"

struct piece {
	int64_t from;  /* ns, until the next one's */
	int64_t delay; /* ns, at `from` */
	bool falls;
};

struct course {
	size_t n;
	struct piece *pieces;
	int64_t begin, last; /* quanta begin in here: all end within the window */
};

/* Quanta of `g` ns within [begin, end). False: no memory. n is 0 where none ends within the window. */
bool course_make(struct course *c, const struct node *node, int64_t begin, int64_t end, int64_t g);

/* The delay in ns of the quantum begun at t. */
double course_at(const struct course *c, double t);

void course_free(struct course *c);

/* The same from the definition, one detour after the other: what the above is tested with. */
double walk(const struct node *node, double t, double g);

#endif
