#include "rate.h"

#include "common/kernel.h"

/* A call as small as the probe's reaches half of the rate of large ones at least. */
#define PROBE_LEAST 0.5

/* Waiting is not slow: all that was begun has ended. */
static enum dgemm_basis rate_of_waiting(const struct dgemm_done *done, struct dgemm_size size, double *rate)
{
	*rate = done->begun > 0 ? dgemm_flop(size) * (double)done->begun / done->seconds : done->probe / PROBE_LEAST;
	return *rate > 0 ? DGEMM_MOST : DGEMM_NOTHING;
}

/* At the least size, which no slow memory holds up for so long. One that has not begun has that before it. */
static bool is_short(const struct dgemm_done *done, struct dgemm_size size, struct dgemm_time time)
{
	return size.n <= dgemm_least().n && done->seconds < KERNEL_LEFT_LEAST * time.box;
}

enum dgemm_basis dgemm_rate(const struct dgemm_done *done, struct dgemm_size size, struct dgemm_time time, double *rate)
{
	if (time.late && done->waits)
		return rate_of_waiting(done, size, rate);
	if ((time.late || done->counted > 0) && is_short(done, size, time)) {
		/* Set-up takes about as long as a call. */
		const long most = (done->begun > 1 ? done->begun : 1) + 1;

		*rate = dgemm_flop(dgemm_least()) * (double)most / time.all;
		return DGEMM_SHORT;
	}
	*rate = dgemm_flop(size) * (double)(time.late ? done->begun : done->counted) / done->seconds;
	/* A call that began this moment says nothing. */
	if (!(*rate > 0) || done->seconds <= 0)
		return DGEMM_NOTHING;
	return time.late ? DGEMM_MOST : DGEMM_RATE;
}
