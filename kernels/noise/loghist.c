#include "loghist.h"

#include <math.h>

double loghist_low(unsigned bucket)
{
	unsigned shift = bucket >> LOGHIST_BITS, part = bucket & ((1u << LOGHIST_BITS) - 1);

	return shift == 0 ? part : ldexp((double)(part + (1u << LOGHIST_BITS)), (int)shift - 1);
}

void loghist_merge(struct loghist *into, const struct loghist *from)
{
	into->total += from->total;
	for (unsigned i = 0; i < LOGHIST_BUCKETS; i++)
		into->counts[i] += from->counts[i];
}

double loghist_quantile(const struct loghist *h, double q)
{
	double wanted = q * (double)h->total, seen = 0;

	if (h->total == 0)
		return NAN;
	for (unsigned i = 0; i < LOGHIST_BUCKETS; i++) {
		seen += (double)h->counts[i];
		if (h->counts[i] > 0 && seen >= wanted)
			return (loghist_low(i) + fmax(loghist_low(i), loghist_low(i + 1) - 1)) / 2;
	}
	return NAN;
}
