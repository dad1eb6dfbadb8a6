/*
 * noise: what the operating system takes from every core, by the selfish-detour
 * method: read the clock in a tight loop; an iteration that takes longer than a
 * threshold is a detour (Beckman et al. 2006, "The Influence of Operating Systems
 * on the Performance of Collective Operations at Extreme Scale").
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "common/clock.h"
#include "common/kernel.h"
#include "common/team.h"

#define NAME "noise"

/* Long enough for 1e-4 of the tick rate at the clock's own cost of tens of ns. */
#define CALIBRATION_S 0.01

static double threshold_us = 1.0;

struct core {
	uint64_t ticks, lost, longest, shortest, detours;
	int backwards;
} __attribute__((aligned(128)));

static struct {
	struct core *cores;
	double ticks_per_s, end;
} s;

/* A counter that does not change its rate with the core's frequency. */
static inline uint64_t ticks(void)
{
#if defined(__x86_64__)
	return __rdtsc();
#elif defined(__aarch64__)
	uint64_t t;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
#else
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#endif
}

static double calibrate(void)
{
	double from = clock_now(), to;
	uint64_t first = ticks();

	do
		to = clock_now();
	while (to - from < CALIBRATION_S);
	return (double)(ticks() - first) / (to - from);
}

static void work(struct team *team, int member, void *shared)
{
	struct core *core = &s.cores[member];
	uint64_t threshold = (uint64_t)(threshold_us * 1e-6 * s.ticks_per_s);
	uint64_t lost = 0, longest = 0, shortest = UINT64_MAX, detours = 0, first, last, end;
	double left;

	(void)shared;
	team_meet(team);
	left = s.end - clock_now();
	first = last = ticks();
	end = first + (uint64_t)(fmax(left, 0.001) * s.ticks_per_s);
	while (last < end) {
		uint64_t now = ticks(), step = now - last;

		if (now < last) {
			core->backwards = 1;
			break;
		}
		if (step < shortest)
			shortest = step;
		if (step > threshold) {
			detours++;
			lost += step;
			if (step > longest)
				longest = step;
		}
		last = now;
	}
	*core = (struct core){ .ticks = last - first, .lost = lost, .longest = longest, .shortest = shortest,
			       .detours = detours, .backwards = core->backwards };
}

static double percent(const struct core *core)
{
	return 100.0 * (double)core->lost / (double)core->ticks;
}

static int report(const struct topo *topo, double started)
{
	double us = 1e6 / s.ticks_per_s, sum = 0;
	uint64_t longest = 0, shortest = UINT64_MAX, detours = 0;
	int worst = 0;
	struct result r;

	for (int i = 0; i < topo->n; i++) {
		const struct core *c = &s.cores[i];

		if (c->backwards || c->ticks == 0)
			return kernel_fail(NAME, "cpu %d: its clock went backwards", topo->cpus[i]);
		sum += percent(c);
		worst = percent(c) > percent(&s.cores[worst]) ? i : worst;
		longest = c->longest > longest ? c->longest : longest;
		shortest = c->shortest < shortest ? c->shortest : shortest;
		detours += c->detours;
	}
	result_begin(&r, NAME);
	result_bool(&r, "verified", true);
	result_number(&r, "noise_pct", sum / topo->n);
	result_number(&r, "noise_pct_max", percent(&s.cores[worst]));
	result_integer(&r, "worst_cpu", topo->cpus[worst]);
	result_integer(&r, "detours", (long long)detours);
	result_number(&r, "longest_us", (double)longest * us);
	result_number(&r, "min_loop_ns", (double)shortest * us * 1e3);
	result_number(&r, "threshold_us", threshold_us);
	result_list_begin(&r, "cores");
	for (int i = 0; i < topo->n; i++) {
		const struct core *c = &s.cores[i];

		result_object_begin(&r);
		result_integer(&r, "cpu", topo->cpus[i]);
		result_number(&r, "noise_pct", percent(c));
		result_integer(&r, "detours", (long long)c->detours);
		result_number(&r, "longest_us", (double)c->longest * us);
		result_number(&r, "min_loop_ns", (double)c->shortest * us * 1e3);
		result_object_end(&r);
	}
	result_list_end(&r);
	return kernel_finish(NAME, &r, topo, started, EXIT_MEASURED);
}

static int run(const struct topo *topo, double started, double end)
{
	s.end = end;
	s.ticks_per_s = calibrate();
	s.cores = aligned_alloc(128, sizeof(*s.cores) * (size_t)topo->n);
	if (!s.cores)
		return kernel_fail(NAME, "out of memory");
	memset(s.cores, 0, sizeof(*s.cores) * (size_t)topo->n);
	if (!team_run(topo, work, NULL))
		return kernel_fail(NAME, "a thread cannot be started on its CPU: %s", strerror(errno));
	return report(topo, started);
}

int main(int argc, char **argv)
{
	static const struct opts_extra extra[] = {
		{ .name = "--threshold-us", .help = "a longer iteration is a detour (default 1)",
		  .low = 0.1, .high = 1e6, .value = &threshold_us },
	};
	static const struct kernel kernel = {
		.name = NAME,
		.what = "Samples OS noise on every physical core at once (selfish detour).",
		.seconds = 1,
		.extra = extra,
		.n_extra = sizeof(extra) / sizeof(extra[0]),
		.run = run,
	};

	return kernel_main(&kernel, argc, argv);
}
