/*
 * A counter that is cheap to read and does not change its rate with the core's
 * frequency; where the hardware has none, CLOCK_MONOTONIC_RAW in nanoseconds.
 */
#ifndef SYSCHECK_TICKS_H
#define SYSCHECK_TICKS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* The same moment on both clocks. */
struct ticks_mark {
	uint64_t ticks;
	double raw; /* s, CLOCK_MONOTONIC_RAW */
};

static inline uint64_t ticks_system(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t ticks_counter(void)
{
#if defined(__x86_64__)
	return __rdtsc();
#elif defined(__aarch64__)
	uint64_t t;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
#else
	return ticks_system();
#endif
}

static inline uint64_t ticks_read(bool counter)
{
	return counter ? ticks_counter() : ticks_system();
}

/* The hardware promises a constant rate, in deep sleep, too. */
bool ticks_constant(void);

struct ticks_mark ticks_mark(bool counter);

/* Ticks a second between two marks. */
double ticks_rate(const struct ticks_mark *from, const struct ticks_mark *to);

/* Ticks a second, from 10 ms in which it sleeps. */
double ticks_calibrate(bool counter);

#endif
