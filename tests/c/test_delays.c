/* Delays of quanta: against a walk through the detours, against the closed form, and their short form. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/stats.h"
#include "noise/delays.h"

#define ROOM 20000
#define SAMPLES 20000
#define CORES 4

static uint64_t seed;

static double uniform(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

static struct core {
	struct periodic_event events[ROOM];
	signed char owner[ROOM];
	struct periodic_place place;
} cores[CORES];

static double got[SAMPLES];

static int setup(void **state)
{
	(void)state;
	seed = 4711;
	memset(cores, 0, sizeof(cores));
	for (int i = 0; i < CORES; i++)
		cores[i].place = (struct periodic_place){ .events = cores[i].events, .owner = cores[i].owner };
	return 0;
}

static void put(int core, double start, double length, int owner)
{
	struct core *c = &cores[core];

	assert_true(c->place.n < ROOM);
	c->owner[c->place.n] = (signed char)owner;
	c->events[c->place.n++] = (struct periodic_event){ .start = start, .length = length };
}

/* Detours of all lengths, some one right after the other. */
static void random_detours(int core, double to, double rate)
{
	for (double t = uniform() / rate; t < to;) {
		double length = 1e-6 * pow(10, 4 * uniform());

		put(core, t, length, uniform() < 0.3 ? 0 : -1);
		t += length + (uniform() < 0.1 ? 0 : -log(uniform()) / rate);
	}
}

static void keep(void *data, size_t k, double delay, double within)
{
	(void)data;
	assert_true(delay >= 0 && within >= 0 && delay + within > 0);
	assert_true(k < SAMPLES);
	got[k] = delay;
}

/* The delay of a quantum, detour by detour; one that goes on at its begin is over first. */
static double walk(const struct core *c, int skip, double t, double work)
{
	double left = work, begin = t, at;

	for (size_t i = 0; i < c->place.n; i++)
		if (c->owner[i] != skip && c->events[i].start < t && c->events[i].start + c->events[i].length > t)
			begin = c->events[i].start + c->events[i].length;
	at = begin;
	for (size_t i = 0; i < c->place.n; i++) {
		double end = c->events[i].start + c->events[i].length;

		if (c->owner[i] == skip || end <= at)
			continue;
		if (c->events[i].start >= at + left)
			break;
		left -= fmax(c->events[i].start - at, 0);
		at = end;
	}
	return at + left - begin - work;
}

static void as_walked(void **state)
{
	static const double works[] = { 0.1e-3, 1e-3, 30e-3 };

	(void)state;
	for (int core = 0; core < CORES; core++)
		random_detours(core, 1, 50 * pow(4, core));
	for (int core = 0; core < CORES; core++) {
		for (size_t g = 0; g < 3; g++) {
			for (int skip = PERIODIC_NONE; skip <= 0; skip += 2) {
				double last = delays_last_begin(cores[core].events, cores[core].place.n, 1, works[g]);
				double step = last / SAMPLES;

				memset(got, 0, sizeof(got));
				delays_of_core(&cores[core].place, (signed char)skip, 0, step, SAMPLES, works[g], keep, NULL);
				for (size_t k = 0; k < SAMPLES; k += 7) {
					double t = (double)k * step;
					double delay = walk(&cores[core], skip, t, works[g]);

					assert_true(fabs(got[k] - delay) < 1e-9);
				}
			}
		}
	}
}

/* The last begin is the last: its quantum ends in time, and one begun later does not. */
static void last_begin(void **state)
{
	const struct periodic_event e[] = { { 0.2, 0.1 }, { 0.5, 0.1 }, { 0.95, 0.1 } };

	(void)state;
	assert_true(fabs(delays_last_begin(NULL, 0, 1, 0.1) - 0.9) < 1e-12);
	/* The last detour goes beyond the end: all work was done before it. */
	assert_true(fabs(delays_last_begin(e, 3, 1, 0.1) - 0.85) < 1e-12);
	assert_true(fabs(delays_last_begin(e, 3, 1, 0.4) - 0.45) < 1e-12);
	assert_true(delays_last_begin(e, 3, 1, 2) < 0);
}

/* P(delay <= x), of knots: linear between them. */
static double below(const struct delays *d, double x)
{
	for (size_t i = 0; i + 1 < d->n_knots; i++) {
		const struct delays_knot *a = &d->knots[i], *b = a + 1;

		if (x < a->delay)
			return 1 - a->above;
		if (x < b->delay)
			return 1 - (a->above + (b->above - a->above) * (x - a->delay) / (b->delay - a->delay));
	}
	return 1;
}

/* What the slowest of n nodes is expected to lose. */
static double slowest(const struct delays *d, double n)
{
	double most = d->knots[d->n_knots - 1].delay, sum = 0;
	int steps = 20000;

	for (int i = 0; i < steps; i++)
		sum += (1 - pow(below(d, most * (i + 0.5) / steps), n)) * most / steps;
	return sum;
}

/* One detour of length L every P: met with a chance of g / P. */
static void closed_form(void **state)
{
	const double period = 10e-3, length = 2e-3;
	static const double works[] = { 0.1e-3, 1e-3 };

	(void)state;
	for (double t = 1e-3; t < 2; t += period)
		put(0, t, length, -1);
	for (size_t g = 0; g < 2; g++) {
		struct delays d;

		memset(got, 0, sizeof(got));
		/* Whole periods. */
		delays_of_core(&cores[0].place, PERIODIC_NONE, 0, 1.9 / SAMPLES, SAMPLES, works[g], keep, NULL);
		stats_sort(got, SAMPLES);
		d.n_knots = delays_knots(got, SAMPLES, DELAYS_KNOTS, d.knots);
		for (double n = 1; n <= 4096; n *= 8) {
			double e = length * (1 - pow(1 - works[g] / period, n));

			assert_true(fabs(slowest(&d, n) / e - 1) < 0.01);
		}
	}
}

/* Sources of quite different lengths: the short form loses no rare one, whatever the number of nodes. */
static void knots(void **state)
{
	static double sorted[SAMPLES];
	struct delays d;
	size_t n = 17000; /* before: nothing */

	(void)state;
	while (n < 19800)
		sorted[n++] = 8e-6 * (0.5 + uniform());
	while (n < 19990)
		sorted[n++] = 1e-3 * (0.9 + 0.2 * uniform());
	while (n < SAMPLES)
		sorted[n++] = 50e-3 * (0.5 + uniform());
	stats_sort(sorted, SAMPLES);
	d.n_knots = delays_knots(sorted, SAMPLES, DELAYS_KNOTS, d.knots);
	assert_true(d.n_knots <= DELAYS_KNOTS && d.n_knots > 10);
	assert_true(d.knots[0].above == 1 && d.knots[d.n_knots - 1].above == 0);
	for (size_t i = 1; i < d.n_knots; i++)
		assert_true(d.knots[i].above < d.knots[i - 1].above && d.knots[i].delay >= d.knots[i - 1].delay);
	for (double m = 1; m <= 100000; m *= 10) {
		double exact = 0;

		for (size_t i = 0; i < SAMPLES; i++)
			exact += sorted[i] * (pow((double)(i + 1) / SAMPLES, m) - pow((double)i / SAMPLES, m));
		assert_true(fabs(slowest(&d, m) / exact - 1) < 0.03);
	}
	/* Nothing at all, and one value. */
	memset(sorted, 0, sizeof(sorted));
	assert_int_equal(delays_knots(sorted, SAMPLES, DELAYS_KNOTS, d.knots), 2);
	assert_true(d.knots[0].delay == 0 && d.knots[1].delay == 0);
	assert_int_equal(delays_knots(sorted, 1, DELAYS_KNOTS, d.knots), 2);
}

/* One detour is one, however many quanta meet it. */
static void largest(void **state)
{
	static float delays[SAMPLES];
	static unsigned char scratch[SAMPLES];
	double values[DELAYS_LARGEST];
	const double step = 50e-6, work = 0.1e-3;

	(void)state;
	for (int i = 0; i < 5; i++) {
		memset(got, 0, sizeof(got));
		put(0, 0.1 * (i + 1), 1e-3 * (i + 1), -1);
	}
	delays_of_core(&cores[0].place, PERIODIC_NONE, 0, step, SAMPLES, work, keep, NULL);
	for (size_t k = 0; k < SAMPLES; k++)
		delays[k] = (float)got[k];
	assert_int_equal(delays_largest(delays, SAMPLES, step, work, scratch, values), 5);
	for (int i = 0; i < 5; i++)
		assert_true(fabs(values[i] - 1e-3 * (5 - i)) < 1e-6);
	memset(delays, 0, sizeof(delays));
	assert_int_equal(delays_largest(delays, SAMPLES, step, work, scratch, values), 0);
}

/* All of a node, on what cores this machine has. */
static struct topo topo;
static int cpus[CORES];

static double mean(const struct delays *d)
{
	double sum = 0;

	for (size_t i = 0; i + 1 < d->n_knots; i++)
		sum += (d->knots[i].above - d->knots[i + 1].above) * (d->knots[i].delay + d->knots[i + 1].delay) / 2;
	return sum;
}

static bool node(int n_cores, size_t n_components, struct periodic_component *components, struct delays_of_work *works)
{
	static struct periodic_place places[CORES];
	struct delays_node n = { .topo = &topo, .places = places, .components = components,
				 .n_components = n_components, .from = 0, .to = 1, .end = clock_now() + 60 };
	size_t samples;

	/* Which CPU a thread is on does not matter here. */
	topo = (struct topo){ .n = n_cores, .cpus = cpus };
	for (int i = 0; i < n_cores; i++)
		places[i] = cores[i].place;
	return delays_of_node(&n, works, &samples);
}

static void of_a_node(void **state)
{
	bool on[CORES] = { true, true };
	signed char owner[CORES] = { 0, 0 };
	struct periodic_component c = { .on = on, .owner = owner };
	struct delays_of_work works[DELAYS_WORKS];

	(void)state;
	/* Two cores at the same time, as an interrupt of the board does: the node waits once. */
	for (double t = 5e-3; t < 1; t += 10e-3) {
		put(0, t, 1e-3, 0);
		put(1, t, 1e-3, 0);
	}
	/* And one alone. */
	for (double t = 57e-3; t < 1; t += 100e-3)
		put(2, t, 2e-3, -1);
	assert_true(node(3, 1, &c, works));
	assert_true(works[1].window > 0.99 && works[3].window > 0.85);
	/* g = 1 ms: the two together 1 * 1 / 10 ms, the one alone 1 * 2 / 100 ms, never at once; work goes on outside. */
	assert_true(fabs(mean(&works[1].all) / (0.12e-3 / 0.88) - 1) < 0.05);
	assert_true(fabs(mean(&works[1].without[0]) / (0.02e-3 / 0.98) - 1) < 0.05);
	/* The noisiest core was left out: its twin is there. */
	assert_true(fabs(mean(&works[1].spared) / mean(&works[1].all) - 1) < 0.02);
	assert_int_equal(works[1].without[1].n_knots, 0);
}

static void of_little(void **state)
{
	struct delays_of_work works[DELAYS_WORKS];

	(void)state;
	/* Nothing happened. */
	assert_true(node(2, 0, NULL, works));
	assert_true(mean(&works[0].all) == 0 && works[0].all.n_largest == 0);
	assert_int_equal(works[0].without[0].n_knots, 0);
	/* One core: no other is left. */
	assert_true(node(1, 0, NULL, works));
	assert_int_equal(works[0].spared.n_knots, 0);
	/* A core that took all of the second half: no quantum of 100 ms ends there, and none begins. */
	put(0, 0.15, 0.85, -1);
	assert_true(node(2, 0, NULL, works));
	assert_true(works[3].window == 0 && works[3].all.n_knots == 0 && works[0].window > 0.1);
	/* A core of which not all is known. */
	cores[1].place.failed = true;
	assert_false(node(2, 0, NULL, works));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(as_walked, setup),
		cmocka_unit_test_setup(last_begin, setup),
		cmocka_unit_test_setup(closed_form, setup),
		cmocka_unit_test_setup(knots, setup),
		cmocka_unit_test_setup(largest, setup),
		cmocka_unit_test_setup(of_a_node, setup),
		cmocka_unit_test_setup(of_little, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
