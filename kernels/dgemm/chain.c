#include "chain.h"

#include <math.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/read.h"

#define STEPS 64 /* in a row: the loop around them runs beside the chain */
#define LOOPS 2048

/*
 * An add of two registers, each needing the one before, takes one cycle on all x86-64
 * and aarch64 cores for servers (uops.info; Arm's software optimization guides). Not
 * of an immediate: Golden Cove and its kin resolve those while renaming, in none.
 */
static void chain(void)
{
	uint64_t x = 0, y = 1;

	for (int i = 0; i < LOOPS; i++) {
#if defined(__x86_64__)
		__asm__ volatile(".rept 64\n\tadd %1, %0\n\t.endr" : "+r"(x) : "r"(y) : "cc");
#elif defined(__aarch64__)
		__asm__ volatile(".rept 64\n\tadd %0, %0, %1\n\t.endr" : "+r"(x) : "r"(y));
#else
		for (int j = 0; j < STEPS; j++)
			__asm__ volatile("" : "+r"(x) : "r"(y += x));
#endif
	}
}

double chain_mhz(void)
{
	double from = clock_now();

	chain();
	return (double)STEPS * LOOPS / (clock_now() - from) * 1e-6;
}

double cpufreq_mhz(int cpu, const char *file)
{
	size_t khz;

	return read_number(&khz, NULL, "/sys/devices/system/cpu/cpu%d/cpufreq/%s", cpu, file) && khz > 0 ? (double)khz / 1000 : NAN;
}
