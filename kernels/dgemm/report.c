/* dgemm's JSON: rates and clocks of all cores, and what was wrong. */
#include "dgemm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "chain.h"
#include "common/kernel.h"
#include "common/stats.h"

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

/* A late core goes on meanwhile. `hangs`: OpenBLAS without memory sleeps for ever, and nothing in a call waits. */
static struct dgemm_done done_by(const struct dgemm_run *run, const struct dgemm_core *core, bool *hangs)
{
	struct dgemm_done done = { .begun = core->live.begun, .counted = core->calls, .seconds = core->busy,
				   .probe = core->live.flops };
	double since;
	char state;

	*hangs = false;
	if (!run->time.late)
		return done;
	/* In this order no call is in `seconds` twice, and each that is in it has begun. */
	done.seconds = core->live.seconds;
	since = core->live.since;
	done.begun = core->live.begun;
	if (since > 0)
		done.seconds += fmax(run->now - since, 0);
	state = state_of(core);
	*hangs = since > 0 && state == 'S' && core->live.since == since;
	done.waits = since <= 0 && state != 'R';
	return done;
}

static int no_rate(int cpu, bool begun, bool hangs)
{
	const char *why = begun ? KERNEL_HARDLY_ANY : "nothing was measured within the time box";

	return kernel_fail("cpu %d: %s", cpu, hangs ? "OpenBLAS hangs" : why);
}

/*
 * Of every core, in GFLOP/s. Without a rate of each there is no result, but where something is `wrong`: then it is
 * NaN. `most`: some are the most that they can be. Returns an exit code.
 */
static int rate_cores(const struct dgemm_run *run, bool wrong, double *rates, bool *most)
{
	for (int i = 0; i < run->topo->n; i++) {
		const struct dgemm_core *core = &run->cores[i];
		bool hangs;
		const struct dgemm_done done = done_by(run, core, &hangs);
		enum dgemm_basis basis = dgemm_rate(&done, run->size, run->time, &rates[i]);

		/* Without memory it may also be at work for ever, with a core to itself. */
		if (hangs || (basis == DGEMM_SHORT && !kernel_stopped()))
			basis = DGEMM_NOTHING;
		if (basis == DGEMM_NOTHING && !wrong)
			return no_rate(run->topo->cpus[i], done.begun > 0, hangs);
		rates[i] = basis == DGEMM_NOTHING ? NAN : rates[i] * 1e-9;
		*most = *most || basis == DGEMM_MOST || basis == DGEMM_SHORT;
	}
	return EXIT_MEASURED;
}

/* Of some that may be unknown; sorts them. */
static double median(double *values, int n)
{
	for (int i = 0; i < n; i++)
		if (isnan(values[i]))
			return NAN;
	stats_sort(values, (size_t)n);
	return stats_quantile(values, (size_t)n, 0.5);
}

static void report_cores(struct result *r, const struct dgemm_run *run, double *rates, double *clocks)
{
	const struct topo *topo = run->topo;
	int slowest = 0, lowest = 0;
	double sum = 0;

	for (int i = 0; i < topo->n; i++) {
		/* Samples are still written while the core is at work. */
		clocks[i] = run->time.late ? NAN : median_mhz(&run->cores[i]);
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
	result_number(r, "gflops_core_median", median(rates, topo->n));
	result_number(r, "clock_mhz", median(clocks, topo->n));
	result_number(r, "clock_limit_mhz", clock_limit(topo));
}

/* The first core whose result is wrong, and of what; false: none. */
static bool find_wrong(const struct dgemm_run *run, char error[200])
{
	char what[160];

	for (int i = 0; i < run->topo->n; i++) {
		if (!run->cores[i].live.faulty)
			continue;
		exact_describe(&run->cores[i].fault, what, sizeof(what));
		snprintf(error, 200, "cpu %d: %s", run->topo->cpus[i], what);
		return true;
	}
	return false;
}

int dgemm_report(const struct dgemm_run *run)
{
	const size_t n = (size_t)run->topo->n;
	double *rates = calloc(2 * n, sizeof(*rates));
	char error[200];
	const bool wrong = find_wrong(run, error);
	struct result r;
	bool most = false;
	long calls = 0;
	int code;

	if (!rates)
		return kernel_fail("out of memory");
	code = rate_cores(run, wrong, rates, &most);
	if (code != EXIT_MEASURED)
		goto end;
	for (int i = 0; i < run->topo->n; i++)
		calls += run->time.late ? run->cores[i].live.begun : run->cores[i].calls;
	kernel_begin(&r, wrong ? error : NULL);
	if (most)
		kernel_unfinished(&r, run->time.late ? "calls were still at work at the end of the time box"
						     : KERNEL_HARDLY_ANY);
	report_cores(&r, run, rates, rates + n);
	result_integer(&r, "n", (long long)run->size.n);
	result_integer(&r, "k", (long long)run->size.k);
	if (run->size.short_of_memory)
		result_string(&r, "size_limit", "memory");
	result_integer(&r, "calls", calls);
	result_string(&r, "blas", openblas_get_config());
	code = kernel_finish(&r, run->topo, run->started);
end:
	free(rates);
	return code;
}
