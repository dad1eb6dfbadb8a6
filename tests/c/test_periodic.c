/* Periodic sources among synthetic detours, and where there must be none. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "noise/periodic.h"

#define ROOM 40000
#define PLACES 4

/* The same numbers every time. */
static uint64_t seed;

static double uniform(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

static struct bench {
	struct periodic_event events[PLACES][ROOM];
	signed char owner[PLACES][ROOM];
	struct periodic_place places[PLACES];
	bool on[PERIODIC_MAX][PLACES];
	signed char owners[PERIODIC_MAX][PLACES];
	struct periodic_component found[PERIODIC_MAX];
	size_t n_found;
	bool complete;
} b;

static int setup(void **state)
{
	(void)state;
	seed = 4711;
	memset(b.places, 0, sizeof(b.places));
	for (int i = 0; i < PLACES; i++) {
		b.places[i].events = b.events[i];
		b.places[i].owner = b.owner[i];
	}
	for (int i = 0; i < PERIODIC_MAX; i++) {
		b.found[i].on = b.on[i];
		b.found[i].owner = b.owners[i];
	}
	return 0;
}

static void put(int place, double start, double length)
{
	struct periodic_place *p = &b.places[place];

	assert_true(p->n < ROOM);
	b.events[place][p->n++] = (struct periodic_event){ .start = start, .length = length };
}

/* Beats from `phase` to `to`: period and length vary by these parts, some are missed. */
static void train(int place, double phase, double to, double period, double jitter, double length, double spread,
		  double missed)
{
	for (double t = phase; t < to; t += period)
		if (uniform() >= missed)
			put(place, t + jitter * period * normal(), length * exp(spread * normal()));
}

static void poisson(int place, double from, double to, double rate, double length, double spread)
{
	for (double t = from - log(uniform()) / rate; t < to; t -= log(uniform()) / rate)
		put(place, t, length * exp(spread * normal()));
}

static int by_start(const void *a, const void *c)
{
	double x = *(const double *)a, y = *(const double *)c;

	return (x > y) - (x < y);
}

static size_t find(int places, double from, double to)
{
	for (int i = 0; i < places; i++) {
		struct periodic_place *p = &b.places[i];
		size_t n = 0;

		/* As a core sees it: one detour at a time. */
		qsort(b.events[i], p->n, sizeof(b.events[i][0]), by_start);
		for (size_t k = 0; k < p->n; k++)
			if (n == 0 || b.events[i][k].start > b.events[i][n - 1].start + b.events[i][n - 1].length)
				b.events[i][n++] = b.events[i][k];
		p->n = n;
		periodic_find(p, from, to, (size_t)places, NULL);
		assert_false(p->failed || p->cut);
	}
	b.n_found = periodic_components(b.places, (size_t)places, from, to, NULL, b.found, &b.complete);
	assert_true(b.complete);
	return b.n_found;
}

static size_t asked, allowed;

static bool after(void *data)
{
	(void)data;
	return ++asked > allowed;
}

/* A component of that period and length within a part; its index, or -1. */
static int has(double period, double duration, double part)
{
	for (size_t i = 0; i < b.n_found; i++)
		if (fabs(b.found[i].all.period / period - 1) < part && fabs(b.found[i].all.duration / duration - 1) < part)
			return (int)i;
	return -1;
}

static void single(void **state)
{
	static const struct {
		double period, jitter, length, spread, missed, noise;
	} cases[] = {
		{ 10e-3, 0, 500e-6, 0, 0, 0 },
		{ 10e-3, 0.001, 500e-6, 0.02, 0, 2500 },
		{ 10e-3, 0.03, 500e-6, 0.2, 0, 2500 },
		{ 4e-3, 0.003, 4e-6, 0.3, 0.02, 300 }, /* a timer tick in noise as long as itself */
		{ 1e-3, 0.01, 3e-6, 0.2, 0.05, 1000 },
		{ 100e-6, 0.01, 3e-6, 0.1, 0, 100 },
		{ 0.1, 0.001, 7.1e-3, 0.05, 0, 2500 },
		{ 20e-3, 0.02, 50e-6, 0.1, 0.25, 500 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double beats = 2 / cases[i].period;
		int at;

		setup(state);
		train(0, 1000.0071, 1002, cases[i].period, cases[i].jitter, cases[i].length, cases[i].spread,
		      cases[i].missed);
		if (cases[i].noise > 0)
			poisson(0, 1000, 1002, cases[i].noise, 3e-6, 1);
		find(1, 1000, 1002);
		at = has(cases[i].period, cases[i].length, 0.05);
		if (at < 0)
			fail_msg("case %zu: not found, %zu others", i, b.n_found);
		assert_true(fabs(b.found[at].all.period / cases[i].period - 1) < 0.005);
		assert_true((double)b.found[at].all.count > (0.93 - cases[i].missed) * beats);
		assert_true((double)b.found[at].all.count < 1.02 * beats + 1);
		assert_true(b.found[at].all.jitter < 1.5 * cases[i].jitter + 0.01);
		if (b.n_found != 1)
			fail_msg("case %zu: %zu components", i, b.n_found);
	}
}

static void two_at_once(void **state)
{
	(void)state;
	train(0, 0.001, 5, 4e-3, 0.003, 4e-6, 0.2, 0);
	train(0, 0.022, 5, 50e-3, 0.005, 900e-6, 0.1, 0);
	poisson(0, 0, 5, 500, 2e-6, 0.7);
	find(1, 0, 5);
	assert_true(has(4e-3, 4e-6, 0.05) >= 0);
	assert_int_equal(has(50e-3, 900e-6, 0.05), 0); /* it costs most */
	assert_int_equal(b.n_found, 2);

	/* Of the same length, and the periods no multiples. */
	setup(state);
	train(0, 0.001, 5, 10e-3, 0.002, 100e-6, 0.1, 0);
	train(0, 0.003, 5, 37e-3, 0.002, 100e-6, 0.1, 0);
	find(1, 0, 5);
	assert_true(has(10e-3, 100e-6, 0.05) >= 0);
	assert_true(has(37e-3, 100e-6, 0.05) >= 0);
}

/* Long beats and short ones in turn, as a timer of 10 ms whose every second beat wakes a process. */
static void two_in_turn(void **state)
{
	for (int ticks = 0; ticks < 2; ticks++) {
		setup(state);
		train(0, 0.0044, 3, 20e-3, 0, 1.5e-3, 0.02, 0);
		train(0, 0.0144, 3, 20e-3, 0.0001, 23e-6, 0.2, 0);
		if (ticks)
			train(0, 0.0013, 3, 4e-3, 0.0001, 24e-6, 0.2, 0);
		poisson(0, 0, 3, 20, 3e-6, 1);
		find(1, 0, 3);
		assert_int_equal(has(20e-3, 1.5e-3, 0.05), 0);
		assert_true(b.found[0].all.count > 147);
		/* Every second one of these may be hidden by a long one: both periods are true. */
		assert_true(has(20e-3, 23e-6, 0.1) >= 0 || has(10e-3, 23e-6, 0.1) >= 0);
		assert_int_equal(has(4e-3, 24e-6, 0.1) >= 0, ticks);
	}
}

/* The next beat is a period after the last one, however late that was: sleep in a loop. */
static void drifting(void **state)
{
	double t = 0.01;

	(void)state;
	for (; t < 10; t += 0.05 * (1 + 0.02 * fabs(normal())))
		put(0, t, 1e-3 * exp(0.1 * normal()));
	poisson(0, 0, 10, 1000, 3e-6, 1);
	find(1, 0, 10);
	assert_int_equal(b.n_found, 1);
	assert_true(has(0.05 * 1.016, 1e-3, 0.05) == 0);
	assert_true(b.found[0].all.count > 185);
}

static void none_in_poisson_noise(void **state)
{
	static const double rates[] = { 5, 30, 200, 1000, 5000 };
	size_t runs = 0, false_ones = 0;

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		for (double spread = 0; spread <= 2; spread += 0.5) {
			for (int k = 0; k < 20; k++) {
				uint64_t kept = seed;

				setup(state);
				seed = kept;
				poisson(0, 0, 1, rates[i], 5e-6, spread);
				poisson(1, 0, 1, rates[i] / 2, 5e-6, spread);
				find(2, 0, 1);
				runs++;
				false_ones += b.n_found > 0;
			}
		}
	}
	assert_int_equal(runs, 500);
	assert_int_equal(false_ones, 0);
}

/* Gaps of other kinds: heavy tails, clusters, and a little more even than Poisson's. */
static void none_in_other_noise(void **state)
{
	size_t false_ones = 0;

	for (int k = 0; k < 150; k++) {
		uint64_t kept = seed;

		setup(state);
		seed = kept;
		for (double t = 0; t < 1;) {
			if (k % 3 == 0)
				t += 200e-6 * (pow(uniform(), -1 / 1.5) - 1);
			else if (k % 3 == 1)
				t += uniform() < 0.8 ? -30e-6 * log(uniform()) : -3e-3 * log(uniform());
			else
				t += -250e-6 * log(uniform()) - 250e-6 * log(uniform());
			put(0, t, 5e-6 * exp(normal()));
		}
		false_ones += find(1, 0, 1) > 0;
	}
	assert_int_equal(false_ones, 0);
}

static void none_in_bursts(void **state)
{
	(void)state;
	/* A regular burst, a random one, random bursts of pairs. */
	train(0, 0.3, 0.35, 1e-3, 0.001, 50e-6, 0.1, 0);
	poisson(0, 0.6, 0.65, 5000, 20e-6, 0.5);
	for (int i = 0; i < 100; i++) {
		double t = uniform();

		put(0, t, 10e-6);
		put(0, t + 70e-6, 10e-6);
	}
	assert_int_equal(find(1, 0, 1), 0);
}

static void few_events(void **state)
{
	(void)state;
	assert_int_equal(find(1, 0, 1), 0);
	put(0, 0.5, 1e-3);
	assert_int_equal(find(1, 0, 1), 0);
	/* Six beats are too few to be believed, twelve exact ones are not. */
	setup(state);
	train(0, 0.01, 0.6, 0.1, 0, 1e-3, 0, 0);
	assert_int_equal(find(1, 0, 0.6), 0);
	setup(state);
	train(0, 0.01, 1.2, 0.1, 0.0005, 1e-3, 0, 0);
	assert_int_equal(find(1, 0, 1.2), 1);
	/* All at one moment, and ever the same: no crash, no loop. */
	setup(state);
	for (int i = 0; i < 1000; i++)
		put(0, 0.5 + 1e-9 * i, 1e-12);
	find(1, 0, 1);
}

static void placement(void **state)
{
	bool all[PLACES] = { true, true, true, true }, third[PLACES] = { false, false, true, false };
	int at;

	(void)state;
	for (int i = 0; i < PLACES; i++) {
		train(i, 0.0004 * (i + 1), 4, 4e-3, 0.003, 4e-6, 0.2, 0); /* each at its own phase */
		poisson(i, 0, 4, 300, 2e-6, 0.7);
	}
	train(2, 0.011, 4, 0.1, 0.001, 7.1e-3, 0.05, 0);
	find(PLACES, 0, 4);
	at = has(4e-3, 4e-6, 0.05);
	assert_true(at >= 0);
	assert_memory_equal(b.found[at].on, all, sizeof(all));
	assert_true(b.found[at].all.count > 3800);
	assert_true(b.found[at].all.count < 4100);
	at = has(0.1, 7.1e-3, 0.05);
	assert_int_equal(at, 0);
	assert_memory_equal(b.found[at].on, third, sizeof(third));
	assert_int_equal(b.n_found, 2);

	/* One that moves: now here, now there. */
	setup(state);
	for (double t = 0.01; t < 4; t += 0.05)
		put((int)(uniform() * PLACES), t, 1e-3);
	for (int i = 0; i < PLACES; i++)
		poisson(i, 0, 4, 200, 3e-6, 1);
	find(PLACES, 0, 4);
	assert_int_equal(has(0.05, 1e-3, 0.05), 0);
	assert_memory_equal(b.found[0].on, all, sizeof(all));
	assert_int_equal(b.n_found, 1);
}

/* A limit ends every part of the search at once, and it is told. */
static void limited(void **state)
{
	const struct periodic_limit limit = { .over = after };
	size_t whole;

	(void)state;
	for (double t = 0.01; t < 4; t += 0.05)
		put((int)(uniform() * PLACES), t, 1e-3);
	for (int i = 0; i < PLACES; i++) {
		train(i, 0.0004 * (i + 1), 4, 4e-3, 0.003, 4e-6, 0.2, 0);
		poisson(i, 0, 4, 200, 3e-6, 1);
	}
	assert_int_equal(find(PLACES, 0, 4), 2);
	asked = 0;
	allowed = SIZE_MAX;
	b.n_found = periodic_components(b.places, PLACES, 0, 4, &limit, b.found, &b.complete);
	assert_true(b.complete);
	assert_int_equal(b.n_found, 2);
	whole = asked;
	for (allowed = 0; allowed < whole; allowed++) {
		asked = 0;
		b.n_found = periodic_components(b.places, PLACES, 0, 4, &limit, b.found, &b.complete);
		assert_false(b.complete);
		assert_true(asked <= allowed + 3);
		assert_true(b.n_found <= 2);
	}
	/* One core's own: what was found before stays, and the node's search tells of it. */
	asked = 0;
	allowed = SIZE_MAX;
	periodic_find(&b.places[0], 0, 4, PLACES, &limit);
	assert_false(b.places[0].cut);
	assert_int_equal(b.places[0].n_trains, 1);
	allowed = asked - 1;
	asked = 0;
	periodic_find(&b.places[0], 0, 4, PLACES, &limit);
	assert_true(b.places[0].cut);
	assert_int_equal(b.places[0].n_trains, 1);
	assert_int_equal(periodic_components(b.places, PLACES, 0, 4, NULL, b.found, &b.complete), 2);
	assert_false(b.complete);
	allowed = asked = 0;
	periodic_find(&b.places[0], 0, 4, PLACES, &limit);
	assert_true(b.places[0].cut);
	assert_int_equal(b.places[0].n_trains, 0);
}

/* Many more events than are searched for what moves: the longest of them all are. */
static void moving_among_many(void **state)
{
	(void)state;
	for (double t = 0.01; t < 4; t += 0.05)
		put((int)(uniform() * PLACES), t, 1e-3);
	for (int i = 0; i < PLACES; i++)
		poisson(i, 0, 4, 8000, 3e-6, 1);
	find(PLACES, 0, 4);
	assert_int_equal(has(0.05, 1e-3, 0.05), 0);
	/* So many of one length: none is longest, and that is no hang. */
	setup(state);
	for (int i = 0; i < PLACES; i++)
		poisson(i, 0, 4, 2000, 3e-6, 0);
	assert_int_equal(find(PLACES, 0, 4), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(single, setup),
		cmocka_unit_test_setup(two_at_once, setup),
		cmocka_unit_test_setup(two_in_turn, setup),
		cmocka_unit_test_setup(drifting, setup),
		cmocka_unit_test_setup(none_in_poisson_noise, setup),
		cmocka_unit_test_setup(none_in_other_noise, setup),
		cmocka_unit_test_setup(none_in_bursts, setup),
		cmocka_unit_test_setup(few_events, setup),
		cmocka_unit_test_setup(placement, setup),
		cmocka_unit_test_setup(limited, setup),
		cmocka_unit_test_setup(moving_among_many, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
