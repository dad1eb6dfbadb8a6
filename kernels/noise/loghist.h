/*
 * Counts of values in buckets of 1/32 of a power of two: any number of values in
 * 15 KiB, quantiles within 1.6 %. The layout of HdrHistogram (Tene 2012). Pure.
 */
#ifndef SYSCHECK_LOGHIST_H
#define SYSCHECK_LOGHIST_H

#include <stdint.h>

#define LOGHIST_BITS 5
#define LOGHIST_BUCKETS ((64 - LOGHIST_BITS + 1) << LOGHIST_BITS)

struct loghist {
	uint64_t total;
	uint64_t counts[LOGHIST_BUCKETS];
};

static inline unsigned loghist_bucket(uint64_t value)
{
	unsigned shift;

	if (value < (1u << LOGHIST_BITS))
		return (unsigned)value;
	shift = 63u - LOGHIST_BITS - (unsigned)__builtin_clzll(value);
	return ((shift + 1) << LOGHIST_BITS) + (unsigned)((value >> shift) - (1u << LOGHIST_BITS));
}

static inline void loghist_add(struct loghist *h, uint64_t value)
{
	h->counts[loghist_bucket(value)]++;
	h->total++;
}

/* The lowest value of a bucket. */
double loghist_low(unsigned bucket);

void loghist_merge(struct loghist *into, const struct loghist *from);

/* Quantile q (0 to 1): the middle of the bucket that holds it; NaN without values. */
double loghist_quantile(const struct loghist *h, double q);

#endif
