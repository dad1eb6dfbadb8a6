/*
 * The mean time of steps, and how sure it is: by the means of batches (Law and Carson 1979), as one step's time says
 * something of the next one's: noise has periods. Pure.
 */
#ifndef SYSCHECK_FABRIC_BATCHES_H
#define SYSCHECK_FABRIC_BATCHES_H

#define BATCHES 16

struct batches {
	double length;            /* s of a batch */
	double first, last;       /* when the first step began, the last one ended */
	double until;             /* the open batch's end */
	double from;              /* its begin */
	long steps, in_batch;     /* all, in the open one */
	double means[BATCHES];    /* of the closed ones */
	int n;
};

/* Steps begin now and go on for about `seconds`. */
void batches_begin(struct batches *b, double now, double seconds);

/* A step has ended, and the next one begins. */
void batches_add(struct batches *b, double now);

/* s of a step; NaN: there was none. */
double batches_mean(const struct batches *b);

/* Standard error of that, s; NaN: fewer than 4 batches. */
double batches_error(const struct batches *b);

#endif
