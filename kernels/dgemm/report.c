/* dgemm's JSON: rates and clocks of all cores, and what was wrong. */
#include "dgemm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "chain.h"
#include "common/clock.h"
#include "common/kernel.h"
#include "common/stats.h"
#include "common/team.h"

static double median_mhz(struct dgemm_core *core)
{
	size_t n = (size_t)(core->calls < DGEMM_SAMPLES ? core->calls : DGEMM_SAMPLES);

	if (n == 0)
		return NAN;
	stats_sort(core->mhz, n);
	return stats_quantile(core->mhz, n, 0.5);
}

/* The lowest of the cores' limits, as set now; NaN where there are none. */
static double clock_limit(const struct topo *topo)
{
	double lowest = NAN;

	for (int i = 0; i < topo->n; i++)
		lowest = fmin(lowest, cpufreq_mhz(topo->cpus[i], "scaling_max_freq"));
	return lowest;
}

/*
 * All work over all time, no median: a core that is stopped for a part of every 10 ms does
 * most short calls undisturbed. NaN: no calls, where a first result was wrong.
 */
static double rate_of(const struct dgemm_core *core, struct dgemm_size size)
{
	return core->calls ? dgemm_flop(size) * (double)core->calls / core->busy * 1e-9 : NAN;
}

/* Of a core's thread, as proc(5) says it: R also where the core is slow, or stopped by others; 0: nobody knows. */
static char state_of(const struct dgemm_core *core)
{
	char path[64], text[512], *state = NULL;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", core->live.thread);
	f = core->live.thread > 0 ? fopen(path, "re") : NULL;
	/* pid (comm) state */
	if (f && fgets(text, sizeof(text), f))
		state = strrchr(text, ')');
	if (f)
		fclose(f);
	if (!state || state[1] == '\0')
		return '\0';
	return state[2];
}

/* A call as small as the probe's reaches half of the rate of large ones at least. */
#define PROBE_LEAST 0.5

/*
 * The most that it can be: the call at work, done now. A core that has come to no call and does not wait was slower
 * than one small call in all of the time, and as much to set it up; those that wait for it are what their probe says.
 */
static double most_of(const struct dgemm_core *core, struct dgemm_size size, double started, double now)
{
	const double since = core->live.since;

	if (core->live.begun > 0)
		return dgemm_flop(size) * (double)core->live.begun /
		       (core->live.seconds + (since > 0 ? now - since : 0)) * 1e-9;
	if (state_of(core) != 'R')
		return core->live.flops / PROBE_LEAST * 1e-9;
	return 2 * dgemm_flop(dgemm_least()) / (now - started) * 1e-9;
}

/*
 * A core that had so little of the box left after set-up at the least size measured a moment, in which a quota may
 * have let it run at full speed: at most it is what it did in all of the time, the warm-up and as much for set-up.
 */
#define LEFT_LEAST 0.1

static bool is_short(const struct dgemm_core *core, struct dgemm_size size, double box)
{
	return size.n <= dgemm_least().n && core->calls > 0 && core->busy < LEFT_LEAST * box;
}

static double all_of(const struct dgemm_core *core, struct dgemm_size size, double started, double now)
{
	return dgemm_flop(size) * (double)(core->calls + 2) / (now - started) * 1e-9;
}

static void report_cores(struct result *r, const struct topo *topo, struct dgemm_core *cores, struct dgemm_size size,
			 double *rates, double *clocks, double started, double box, bool unfinished)
{
	const double now = clock_now();
	int slowest = 0, lowest = 0;
	double sum = 0;

	for (int i = 0; i < topo->n; i++) {
		rates[i] = unfinished				? most_of(&cores[i], size, started, now)
			   : is_short(&cores[i], size, box)	? all_of(&cores[i], size, started, now)
								: rate_of(&cores[i], size);
		/* Samples are still written while the core is at work. */
		clocks[i] = unfinished ? NAN : median_mhz(&cores[i]);
		sum += rates[i];
		slowest = rates[i] < rates[slowest] ? i : slowest;
		lowest = clocks[i] < clocks[lowest] ? i : lowest;
	}
	result_number(r, "gflops", sum);
	result_number(r, "gflops_core_min", rates[slowest]);
	result_integer(r, "slowest_cpu", topo->cpus[slowest]);
	result_number(r, "clock_mhz_min", clocks[lowest]);
	result_integer(r, "lowest_clock_cpu", topo->cpus[lowest]);
	result_list_begin(r, "cores");
	for (int i = 0; i < topo->n; i++) {
		result_object_begin(r);
		result_integer(r, "cpu", topo->cpus[i]);
		result_number(r, "gflops", rates[i]);
		result_number(r, "clock_mhz", clocks[i]);
		result_object_end(r);
	}
	result_list_end(r);
	stats_sort(rates, (size_t)topo->n);
	stats_sort(clocks, (size_t)topo->n);
	result_number(r, "gflops_core_median", stats_quantile(rates, (size_t)topo->n, 0.5));
	result_number(r, "clock_mhz", stats_quantile(clocks, (size_t)topo->n, 0.5));
	result_number(r, "clock_limit_mhz", clock_limit(topo));
}

/*
 * What is at work bounds the rate: on every core a call that makes progress, or its set-up at the least size, which no
 * slow memory holds up for so long, where the cores were stopped for most of the time. OpenBLAS without memory waits
 * for ever with a core to itself. Else an exit code.
 */
#define STOPPED_LEAST 0.5

static int check_unfinished(const struct topo *topo, const struct dgemm_core *cores, struct dgemm_size size)
{
	const bool least = size.n <= dgemm_least().n, stopped = team_lost().share >= STOPPED_LEAST;

	for (int i = 0; i < topo->n; i++) {
		const bool begun = cores[i].live.begun > 0;
		const char state = state_of(&cores[i]);

		/* Nothing in a call waits for anything. */
		if (begun && cores[i].live.since > 0 && state == 'S')
			return kernel_fail("cpu %d: OpenBLAS hangs", topo->cpus[i]);
		if (!begun && (!least || !stopped || (state != 'R' && cores[i].live.flops <= 0)))
			return kernel_fail("cpu %d: nothing was measured within the time box", topo->cpus[i]);
	}
	return EXIT_MEASURED;
}

int dgemm_report(const struct topo *topo, struct dgemm_core *cores, struct dgemm_size size, double started,
		 double box, bool unfinished)
{
	double *rates, *clocks;
	const struct dgemm_core *bad = NULL;
	char error[200], what[160];
	struct result r;
	bool hurried = false;
	long calls = 0;

	if (unfinished && check_unfinished(topo, cores, size) != EXIT_MEASURED)
		return EXIT_COULD_NOT;
	rates = calloc((size_t)topo->n, sizeof(double));
	clocks = calloc((size_t)topo->n, sizeof(double));
	if (!rates || !clocks) {
		free(rates);
		free(clocks);
		return kernel_fail("out of memory");
	}
	for (int i = topo->n - 1; i >= 0; i--) {
		calls += unfinished ? cores[i].live.begun : cores[i].calls;
		bad = cores[i].live.faulty ? &cores[i] : bad;
		hurried = hurried || (!unfinished && is_short(&cores[i], size, box));
	}
	if (bad) {
		exact_describe(&bad->fault, what, sizeof(what));
		snprintf(error, sizeof(error), "cpu %d: %s", topo->cpus[bad - cores], what);
	}
	kernel_begin(&r, bad ? error : NULL);
	if (unfinished)
		kernel_unfinished(&r, "calls were still at work at the end of the time box");
	else if (hurried)
		kernel_unfinished(&r, "set-up left hardly any of the time box");
	report_cores(&r, topo, cores, size, rates, clocks, started, box, unfinished);
	result_integer(&r, "n", (long long)size.n);
	result_integer(&r, "k", (long long)size.k);
	result_integer(&r, "calls", calls);
	result_string(&r, "blas", openblas_get_config());
	free(rates);
	free(clocks);
	return kernel_finish(&r, topo, started);
}
