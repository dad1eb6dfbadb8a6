/*
 * noise: what the operating system takes from every core, what of it is periodic, and
 * what ran meanwhile. This file: options and the order of things.
 */
#include "noise.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/kernel.h"
#include "trace.h"

/* Of FWQ and FTQ; longer where a time box holds more quanta than are kept (512 KiB a core). */
#define QUANTUM_US 100.0
#define QUANTA_MOST 65536
/* So many detours a second fill the buffer, between its bounds. */
#define ROOM_RATE 4096
/* For finding periods after sampling: a part of the time box, and no more than. */
#define ANALYSIS_PART 0.05
#define ANALYSIS_MOST_S 0.25
/* Of that, for each core's own; the rest is for the node's. */
#define ANALYSIS_CORES 0.65
/* For the delays of quanta, when all components are known. */
#define DELAYS_PART 0.03
#define DELAYS_MOST_S 0.1
/* For writing the trace: a part of the time box. */
#define TRACE_PART 0.1
/* The snapshots of what ran take a quarter of it each, at most. */
#define ACTIVITY_PART 0.25

static const char *const modes[] = { "detour", "fwq", "ftq", NULL };
static const char *const clocks[] = { "auto", "system", NULL };

static struct {
	const char *mode, *clock, *trace;
	bool attribute;
	double threshold_us;
} o = { .mode = "detour", .clock = "auto", .threshold_us = 1 };

static void set_up(struct noise *s, double started, double end)
{
	double box = end - started, analysis = fmin(ANALYSIS_PART * box, ANALYSIS_MOST_S);

	s->mode = strcmp(o.mode, "fwq") == 0 ? NOISE_FWQ : strcmp(o.mode, "ftq") == 0 ? NOISE_FTQ : NOISE_DETOUR;
	s->counter = strcmp(o.clock, "auto") == 0 && ticks_constant();
	s->threshold_us = o.threshold_us;
	s->room = (size_t)fmin(fmax(box * ROOM_RATE, DETOURS_LEAST), DETOURS_MOST);
	s->quantum_us = fmax(QUANTUM_US, box * 1e6 / QUANTA_MOST);
	/* Some quanta are faster than the calibration said. */
	s->max_quanta = (size_t)fmin(QUANTA_MOST, 1.5 * box * 1e6 / s->quantum_us) + 1;
	if (o.attribute)
		s->activity = activity_begin(s->topo, started + ACTIVITY_PART * box);
	s->trace = o.trace != NULL;
	s->box_end = end;
	s->components_end = end - fmin(DELAYS_PART * box, DELAYS_MOST_S);
	s->trace_end = s->components_end - (1 - ANALYSIS_CORES) * analysis;
	s->activity_end = s->trace_end - (o.trace ? TRACE_PART * box : 0);
	s->search_end = s->activity_end - (s->activity ? 1.5 * activity_cost(s->activity) : 0);
	s->end = s->search_end - ANALYSIS_CORES * analysis;
}

static int report(struct noise *s, double started)
{
	struct result r;

	for (int i = 0; i < s->topo->n; i++) {
		const struct noise_core *c = &s->cores[i];

		if (c->no_memory)
			return kernel_fail("out of memory");
		if (c->backwards || c->span == 0 || c->to.raw <= c->from.raw)
			return kernel_fail("cpu %d: its clock went backwards", s->topo->cpus[i]);
		/* A moment is no sample: one timer tick in a millisecond is 2 %. */
		if ((double)c->span / c->rate < KERNEL_LEFT_LEAST * (s->box_end - started))
			return kernel_fail(KERNEL_HARDLY_ANY);
	}
	if (s->mode == NOISE_DETOUR)
		noise_analyse(s);
	kernel_begin(&r, NULL);
	noise_report(s, &r);
	noise_forget(s);
	return kernel_finish(&r, s->topo, started);
}

static int run(const struct topo *topo, double started, double end)
{
	struct noise s = { .topo = topo };
	struct trace trace = { .dir = -1 };
	char error[ERROR_SIZE];
	int code = EXIT_COULD_NOT;

	s.cores = aligned_alloc(128, sizeof(*s.cores) * (size_t)topo->n);
	if (!s.cores)
		return kernel_fail("out of memory");
	memset(s.cores, 0, sizeof(*s.cores) * (size_t)topo->n);
	signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is an error like others */
	if (o.trace && !trace_open(&trace, o.trace, error)) {
		kernel_fail("--trace: the file cannot be made: %s", error);
		goto end;
	}
	set_up(&s, started, end);
	if (!noise_sample(&s)) {
		kernel_fail("a thread cannot be started on its CPU: %s", strerror(errno));
		goto end;
	}
	if (s.activity)
		activity_end(s.activity, fmax(s.activity_end, clock_now() + 2 * activity_cost(s.activity)));
	if (o.trace && !trace_write(&trace, &s, s.trace_end, &s.traced)) {
		kernel_fail("--trace: the file cannot be written: %s", strerror(errno));
		goto end;
	}
	code = report(&s, started);
end:
	trace_end(&trace, code == EXIT_MEASURED);
	activity_free(s.activity);
	for (int i = 0; i < topo->n; i++) {
		detours_free(&s.cores[i].detours);
		free(s.cores[i].place.owner);
		free(s.cores[i].quanta);
	}
	free(s.cores);
	return code;
}

static const struct opts_extra extra[] = {
	{ .name = "--mode", .help = "detour, fwq (time of fixed work) or ftq (work in fixed time)",
	  .choices = modes, .text = &o.mode },
	{ .name = "--threshold-us", .help = "a longer iteration is a detour (default 1)",
	  .low = 0.1, .high = 1e6, .value = &o.threshold_us },
	{ .name = "--attribute", .help = "also what ran meanwhile: processes, interrupts, softirqs",
	  .flag = &o.attribute },
	{ .name = "--trace", .help = "a new file for all detours: cpu, start and length in s",
	  .text = &o.trace },
	{ .name = "--clock", .help = "auto (the CPU's counter if its rate is constant) or system",
	  .choices = clocks, .text = &o.clock },
	{ 0 },
};

const struct kernel kernel = {
	.name = "noise",
	.what = "Samples OS noise on every physical core at once.",
	.seconds = 1,
	.extra = extra,
	.run = run,
};
