#include "ticks.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "common/clock.h"

/* Long enough for 1e-4 of the rate at the clock's own cost of tens of ns. */
#define CALIBRATION_S 0.01

bool ticks_constant(void)
{
#if defined(__x86_64__)
	unsigned a, b, c, d;

	/* "Invariant TSC": Intel SDM vol. 3, 18.17.1; AMD APM vol. 3, E.4.6. */
	return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
#elif defined(__aarch64__)
	return true;
#else
	return false;
#endif
}

struct ticks_mark ticks_mark(bool counter)
{
	struct ticks_mark best = { 0 };
	uint64_t least = UINT64_MAX;

	/* The shortest of some tries: the one that nothing came between. */
	for (int i = 0; i < 16; i++) {
		uint64_t before = ticks_read(counter);
		double raw = clock_now();
		uint64_t took = ticks_read(counter) - before;

		if (took < least) {
			least = took;
			best = (struct ticks_mark){ .ticks = before + took / 2, .raw = raw };
		}
	}
	return best;
}

double ticks_rate(const struct ticks_mark *from, const struct ticks_mark *to)
{
	return (double)(to->ticks - from->ticks) / (to->raw - from->raw);
}

/* Asleep: where a quota leaves 5 ms of every 100, turning for 10 ms would use two fifths of a time box of half a second. */
double ticks_calibrate(bool counter)
{
	struct ticks_mark from, to;

	if (!counter)
		return 1e9;
	from = ticks_mark(counter);
	do {
		nanosleep(&(struct timespec){ .tv_nsec = (long)(CALIBRATION_S * 1e9) }, NULL);
		to = ticks_mark(counter);
	} while (to.raw - from.raw < CALIBRATION_S);
	return ticks_rate(&from, &to);
}
