/* A pulse train among the events of one class of length: the search behind periodic.h. Pure. */
#ifndef SYSCHECK_PERIODIC_FIT_H
#define SYSCHECK_PERIODIC_FIT_H

#include "periodic.h"

/* Differences between events, from 20 us on, fall into loghist's bins (of ns). */
#define FIT_BINS 1280 /* to 17,600 s */
#define FIT_STARTS 16
#define FIT_WIDTHS 4
#define FIT_COVERAGE 0.6 /* the part of a train's beats that must be there */

/* Half the width of the window around a beat, in periods, the widest first. */
extern const double fit_widths[FIT_WIDTHS];

/* The events of one class of length. */
struct fit_class {
	double *t;  /* their starts */
	size_t *at; /* which events they are */
	size_t n;
	/* The beats of the train being followed: number since its first, index into t. */
	size_t *beat, *hit;
	double from, to;
	/* Long events beyond the class, of any train or none: what comes meanwhile is not seen. */
	struct periodic_event *masks;
	size_t n_masks;
	double hidden; /* s, by all of them */
};

struct fit {
	double period, width;
	size_t start, hits;
	size_t seen, beats; /* of those that no mask touches: hits, all */
	double chance;      /* ln */
};

/* The train that noise explains least; its chance is 0 if there is none. */
void fit_find(const struct fit_class *c, struct fit *best);

/* Follows f through the first n events, until `to`: hits in c->beat, c->hit. False: no train. */
bool fit_follow(const struct fit_class *c, size_t n, double to, struct fit *f);

/* The period by least squares of time over beat number, of the train just followed. */
double fit_period(const struct fit_class *c, const struct fit *f);

#endif
