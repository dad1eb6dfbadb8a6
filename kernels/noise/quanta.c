#include "quanta.h"

#include <math.h>

#include "common/stats.h"

/*
 * The best tenth, not the best: one lucky quantum would make all others lose. Of the
 * quanta with any work, because a starved core has none in nine of ten. No work at all:
 * any, and all of the time is lost.
 */
double quanta_best(const double *sorted, size_t n, bool fwq)
{
	size_t idle = 0;

	while (idle < n && sorted[idle] <= 0)
		idle++;
	return idle == n ? 1 : stats_quantile(sorted + idle, n - idle, fwq ? 0.1 : 0.9);
}

/*
 * Quanta that lost more than the threshold, and more than quanta differ anyway, become
 * detours. A detour longer than FTQ's quantum empties quanta: they are put together.
 */
void quanta_to_detours(const struct quanta *q, const double *quanta, const double *sorted, size_t n,
		       struct detours *detours)
{
	double best = quanta_best(sorted, n, q->fwq), start = 0, at = 0, lost = 0;
	double spread = 3 * fabs(stats_quantile(sorted, n, 0.5) - best) * (q->fwq ? 1 : q->quantum_us / best);

	spread = fmax(q->threshold_us, fmin(spread, q->quantum_us / 2));
	for (size_t i = 0; i < n; i++) {
		if (q->fwq || i == 0 || (quanta[i] > 0 && quanta[i - 1] > 0)) {
			start = at;
			lost = 0;
		}
		lost += q->fwq ? quanta[i] - best : (1 - quanta[i] / best) * q->quantum_us;
		at += q->fwq ? quanta[i] : q->quantum_us;
		if (lost > spread && (q->fwq || i + 1 == n || (quanta[i] > 0 && quanta[i + 1] > 0)))
			detours_add(detours, q->from + (uint64_t)(start * q->ticks_per_us),
				    (uint64_t)(lost * q->ticks_per_us));
	}
}
