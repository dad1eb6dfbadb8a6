#include "batches.h"

#include <math.h>

#define LEAST 4

void batches_begin(struct batches *b, double now, double seconds)
{
	*b = (struct batches){ .length = seconds / BATCHES, .first = now, .last = now, .from = now };
	b->until = now + b->length;
}

void batches_add(struct batches *b, double now)
{
	b->steps++;
	b->in_batch++;
	b->last = now;
	if (now < b->until || b->n == BATCHES)
		return;
	/* One step may be longer than a batch: the next one begins now, not where it would have. */
	b->means[b->n++] = (now - b->from) / (double)b->in_batch;
	b->from = now;
	b->until = now + b->length;
	b->in_batch = 0;
}

double batches_mean(const struct batches *b)
{
	return b->steps > 0 ? (b->last - b->first) / (double)b->steps : NAN;
}

double batches_error(const struct batches *b)
{
	double mean = 0, squares = 0;

	if (b->n < LEAST)
		return NAN;
	for (int i = 0; i < b->n; i++)
		mean += b->means[i] / b->n;
	for (int i = 0; i < b->n; i++)
		squares += (b->means[i] - mean) * (b->means[i] - mean);
	return sqrt(squares / (b->n - 1) / b->n);
}
