/*
 * The distribution of one node's delay, the node drawn from all and its begin from its window; and from
 * it the mean of the most of N such draws, without drawing. brute draws: the two have to agree.
 */
#ifndef NOISE_WORLD_EXACT_H
#define NOISE_WORLD_EXACT_H

#include <stdbool.h>
#include <stddef.h>

#include "course.h"

struct edge {
	double x;     /* ns of delay */
	double mass;  /* the probability of just this delay */
	double slope; /* how the density changes here, a ns */
};

struct exact {
	size_t n;
	struct edge *edges; /* by x */
};

bool exact_make(struct exact *e, const struct course *courses, size_t n);

/* Mean and standard deviation of the most of `n` delays, ns. */
void exact_most(const struct exact *e, double n, double *mean, double *sd);

void exact_free(struct exact *e);

#endif
