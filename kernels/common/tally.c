#include "tally.h"

#include "stats.h"

void tally_add(struct tally *t, double work, double seconds)
{
	t->work += work;
	t->seconds += seconds;
	if (t->rates && seconds > 0)
		t->rates[t->n % TALLY_MOST] = work / seconds;
	t->n += seconds > 0;
}

double tally_rate(const struct tally *t)
{
	return t->seconds > 0 ? t->work / t->seconds : 0;
}

struct tally_spread tally_spread(struct tally *t)
{
	const size_t n = t->n < TALLY_MOST ? t->n : TALLY_MOST;

	stats_sort(t->rates, n);
	return (struct tally_spread){
		.median = stats_quantile(t->rates, n, 0.5),
		.best = t->rates[n - 1],
		.p10 = stats_quantile(t->rates, n, 0.1),
		.p90 = stats_quantile(t->rates, n, 0.9),
	};
}
