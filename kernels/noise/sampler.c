/*
 * Three ways to see what is taken from a core.
 *
 * Detour ("selfish": Beckman et al. 2006, "The Influence of Operating Systems on the
 * Performance of Collective Operations at Extreme Scale"): read the clock in a tight
 * loop; an iteration longer than a threshold is a detour.
 * FWQ, FTQ (Sottile and Minnich 2004, "Analysis of Microbenchmarks for Performance
 * Tuning of Clusters"): the time that fixed work takes; the work done in fixed time.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/stats.h"
#include "noise.h"
#include "quanta.h"

/* FTQ's unit of work: a 1,000th of a quantum, and several times what reading the clock costs. */
#define UNIT_US 0.1
#define WARM_UP_S 0.005
#define CALIBRATIONS 15

/* Steps that depend on each other, so that no core does two at once: 4 to 5 cycles each. */
static inline void steps(uint64_t n)
{
	uint64_t x = 1;

	for (; n > 0; n--) {
		x = x * 6364136223846793005u + 1;
		__asm__ volatile("" : "+r"(x));
	}
}

/* Inlined once for each clock: a call or a test in the loop would be seen in its time. */
static inline __attribute__((always_inline)) void detour_loop(const struct noise *s, struct noise_core *core,
							      bool counter)
{
	uint64_t threshold = (uint64_t)(s->threshold_us * 1e-6 * s->ticks_per_s), shortest = UINT64_MAX, blind = 0;
	uint64_t first = ticks_read(counter), last = first, end;

	end = first + (uint64_t)(fmax(s->end - clock_now(), 0.001) * s->ticks_per_s);
	while (last < end) {
		uint64_t now = ticks_read(counter), step = now - last;

		if (step < shortest)
			shortest = step;
		if (__builtin_expect(step > threshold, 0)) {
			if (now < last) {
				core->backwards = true;
				break;
			}
			/* The sampler's own pause is neither noise nor sampled time. */
			if (detours_add(&core->detours, last, step)) {
				uint64_t again = ticks_read(counter);

				blind += again - now;
				now = again;
			}
		}
		last = now;
	}
	core->span = last - first - blind;
	core->shortest = shortest;
}

static void fwq_loop(const struct noise *s, struct noise_core *core)
{
	double us = 1e6 / s->ticks_per_s;
	uint64_t first = ticks_read(s->counter), last = first;
	uint64_t end = first + (uint64_t)(fmax(s->end - clock_now(), 0.001) * s->ticks_per_s);

	while (last < end && core->n_quanta < s->max_quanta) {
		uint64_t now;

		steps(s->work);
		now = ticks_read(s->counter);
		core->quanta[core->n_quanta++] = (double)(now - last) * us;
		last = now;
	}
	core->span = last - first;
}

static void ftq_loop(const struct noise *s, struct noise_core *core)
{
	uint64_t quantum = (uint64_t)(s->quantum_us * 1e-6 * s->ticks_per_s);
	uint64_t first = ticks_read(s->counter), now = first, next = first;
	uint64_t end = first + (uint64_t)(fmax(s->end - clock_now(), 0.001) * s->ticks_per_s);

	/* On a fixed grid: a quantum that was missed as a whole has no work done in it. */
	while (next < end && core->n_quanta < s->max_quanta) {
		uint64_t done = 0;

		next += quantum;
		while (now < next) {
			steps(s->work);
			done++;
			now = ticks_read(s->counter);
		}
		core->quanta[core->n_quanta++] = (double)done;
	}
	core->span = next - first;
}

/* The least time of some tries, in us. */
static double time_of(const struct noise *s, uint64_t n)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < CALIBRATIONS; i++) {
		uint64_t from = ticks_read(s->counter), took;

		steps(n);
		took = ticks_read(s->counter) - from;
		least = took < least ? took : least;
	}
	return (double)(least ? least : 1) * 1e6 / s->ticks_per_s;
}

/* Steps that take so long on this core, when it has reached its frequency. */
static uint64_t steps_for(const struct noise *s, double us)
{
	return (uint64_t)fmax(1, 10000 * us / time_of(s, 10000));
}

/* The detours among the quanta, and the quanta sorted. False: no memory. */
static bool sort_quanta(const struct noise *s, struct noise_core *core)
{
	const struct quanta q = {
		.fwq = s->mode == NOISE_FWQ,
		.quantum_us = s->quantum_us,
		.threshold_us = s->threshold_us,
		.ticks_per_us = s->ticks_per_s * 1e-6,
		.from = core->from.ticks,
	};
	double *sorted = malloc(core->n_quanta * sizeof(*sorted));

	if (!sorted)
		return false;
	memcpy(sorted, core->quanta, core->n_quanta * sizeof(*sorted));
	stats_sort(sorted, core->n_quanta);
	quanta_to_detours(&q, core->quanta, sorted, core->n_quanta, &core->detours);
	free(core->quanta);
	core->quanta = sorted;
	return true;
}

bool noise_over(void *end)
{
	return clock_now() >= *(double *)end;
}

static void analyse(const struct noise *s, struct noise_core *core)
{
	struct periodic_place *p = &core->place;
	double end = s->search_end;
	const struct periodic_limit limit = { .over = noise_over, .data = &end };

	core->rate = ticks_rate(&core->from, &core->to);
	p->events = detours_to_seconds(&core->detours, &core->from, core->rate);
	p->n = core->detours.n;
	/* The grid of quanta would be found in quanta. */
	if (s->mode != NOISE_DETOUR)
		return;
	p->owner = malloc(p->n + 1);
	if (p->owner)
		periodic_find(p, core->from.raw, core->to.raw, (size_t)s->topo->n, &limit);
	else
		p->failed = true;
}

/* Its memory is the core's own, and touched before it samples. */
static void prepare(struct noise *s, struct noise_core *core)
{
	double until = clock_now() + WARM_UP_S;

	core->no_memory = !detours_init(&core->detours, s->room);
	if (!core->no_memory && s->mode != NOISE_DETOUR) {
		core->quanta = malloc(s->max_quanta * sizeof(*core->quanta));
		core->no_memory = core->quanta == NULL;
		if (core->quanta)
			memset(core->quanta, 0xff, s->max_quanta * sizeof(*core->quanta));
	}
	while (s->mode != NOISE_DETOUR && clock_now() < until)
		continue;
}

static void work(struct team *team, int member, void *shared)
{
	struct noise *s = shared;
	struct noise_core *core = &s->cores[member];

	prepare(s, core);
	team_meet(team);
	/* The same work on all cores: a slow core shows. */
	if (member == 0 && s->mode != NOISE_DETOUR)
		s->work = steps_for(s, s->mode == NOISE_FWQ ? s->quantum_us : UNIT_US);
	team_start(team);
	core->from = ticks_mark(s->counter);
	if (core->no_memory)
		core->span = 0;
	else if (s->mode == NOISE_FWQ)
		fwq_loop(s, core);
	else if (s->mode == NOISE_FTQ)
		ftq_loop(s, core);
	else if (s->counter)
		detour_loop(s, core, true);
	else
		detour_loop(s, core, false);
	core->to = ticks_mark(s->counter);
	team_end();
	/* No core analyses while another still samples. */
	team_meet(team);
	if (core->no_memory || core->backwards)
		return;
	if (s->mode != NOISE_DETOUR && !sort_quanta(s, core))
		core->no_memory = true;
	else
		analyse(s, core);
}

bool noise_sample(struct noise *s)
{
	s->ticks_per_s = ticks_calibrate(s->counter);
	if (!team_run(s->topo, work, s))
		return false;
	s->from = INFINITY;
	s->to = 0;
	for (int i = 0; i < s->topo->n; i++) {
		s->from = fmin(s->from, s->cores[i].from.raw);
		s->to = fmax(s->to, s->cores[i].to.raw);
	}
	return true;
}
