/*
 * What brute stands on, held against a closed form, the definition and draws. Exit 1 on a difference.
 *
 *	gcc -std=gnu11 -O2 -Wall -Wextra -Werror -o selftest selftest.c traces.c course.c exact.c -lm && ./selftest
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "course.h"
#include "exact.h"
#include "rng.h"

static int wrong;

static void expect(bool good, const char *what, double got, double wanted)
{
	if (good)
		return;
	wrong++;
	if (wrong < 20)
		printf("not ok: %s: %.9g, not %.9g\n", what, got, wanted);
}

/* One detour of `length` every `period`, `n` nodes, phase at random. */
static double closed_form(double g, double period, double length, double n)
{
	return length - period / (n + 1) * (pow(1 - g / period, n + 1) - pow(1 - (g + length) / period, n + 1));
}

static struct node one_core(struct detour *d, size_t n, struct core *core)
{
	*core = (struct core){ .n = n, .detours = d };
	return (struct node){ .n = 1, .cores = core };
}

static void periodic(void)
{
	static const struct {
		int64_t g, period, length;
	} cases[] = {
		{ 100000, 1000000, 5000 },
		{ 1000000, 10000000, 300000 },
		{ 10000000, 11000000, 999999 },
		{ 100000, 4000000, 3000000 },
		{ 100000, 1000000000, 100000000 },
		{ 10000000, 1000000000, 1000 },
	};
	static const int many[] = { 1, 2, 16, 256, 4096 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum { PERIODS = 50 };
		int64_t g = cases[i].g, period = cases[i].period, length = cases[i].length;
		struct detour d[PERIODS + 1];
		struct core core;
		struct node node;
		struct course c;
		struct exact e;
		struct rng r = rng_make(1, i, 0);

		/* No detour in the last quantum: its begin is then whole periods after the first's. */
		for (int k = 0; k <= PERIODS; k++)
			d[k] = (struct detour){ k * period + g + (period - length - g) / 2, length };
		node = one_core(d, PERIODS + 1, &core);
		if (!course_make(&c, &node, 0, PERIODS * period + g, g) || !exact_make(&e, &c, 1))
			exit(2);
		expect(c.last == PERIODS * period, "last begin", (double)c.last, (double)(PERIODS * period));
		for (size_t k = 0; k < sizeof(many) / sizeof(many[0]); k++) {
			double form = closed_form((double)g, (double)period, (double)length, many[k]), mean, sd;
			double sum = 0, square = 0, trials = floor(4e6 / many[k]) + 2000;

			exact_most(&e, many[k], &mean, &sd);
			expect(fabs(mean - form) < 1e-6 * form + 1e-3, "exact and closed form", mean, form);
			for (double j = 0; j < trials; j++) {
				double most = 0;

				for (int m = 0; m < many[k]; m++)
					most = fmax(most, course_at(&c, rng_uniform(&r, 0, (double)c.last)));
				sum += most;
				square += most * most;
			}
			sum /= trials;
			square = sqrt(fmax(0, square / trials - sum * sum) / trials);
			printf("g %8.1f period %9.1f length %9.3f us n %4d: closed %.6g exact %.6g drawn %.6g +- %.2g us\n",
			       (double)g / 1e3, (double)period / 1e3, (double)length / 1e3, many[k], form / 1e3, mean / 1e3,
			       sum / 1e3, square / 1e3);
			expect(fabs(sum - form) < 4.5 * square + 1e-3, "drawn and closed form", sum, form);
			expect(fabs(sd / sqrt(trials) - square) < 0.3 * square + 1e-3, "spread", square, sd);
		}
		course_free(&c);
		exact_free(&e);
	}
}

/* Nodes of a few ns, so that ends, begins and neighbours often meet: each begin beside the definition. */
static void against_definition(void)
{
	enum { CORES = 4, MOST = 12 };

	for (uint64_t seed = 0; seed < 20000; seed++) {
		struct rng r = rng_make(2, seed, 0);
		struct core cores[CORES];
		struct detour d[CORES][MOST];
		int n = (int)rng_below(&r, CORES + 1);
		struct node node = { .n = n, .cores = cores };
		int64_t begin = rng_below(&r, 20), end = begin + 20 + rng_below(&r, 100), g = 1 + rng_below(&r, 25);
		struct course c;
		double last = -1;

		for (int i = 0; i < n; i++) {
			int64_t at = 0;

			cores[i] = (struct core){ .n = rng_below(&r, MOST + 1), .detours = d[i] };
			for (size_t k = 0; k < cores[i].n; k++) {
				at += rng_below(&r, 16);
				d[i][k] = (struct detour){ at, 1 + rng_below(&r, 9) };
				at += d[i][k].length;
			}
		}
		if (!course_make(&c, &node, begin, end, g))
			exit(2);
		/* Halves of a ns: never just where the delay jumps. */
		for (double t = (double)begin + 0.5; t < (double)end; t++) {
			double delay = walk(&node, t, (double)g);

			if (t + (double)g + delay <= (double)end)
				last = t;
			if (c.n && t < (double)c.last)
				expect(course_at(&c, t) == delay, "delay", course_at(&c, t), delay);
		}
		if (last < 0)
			expect(c.n == 0 || c.last - c.begin < 1, "no begin", (double)c.last, last);
		else
			expect(fabs((double)c.last - last) <= 0.5, "last begin", (double)c.last, last);
		course_free(&c);
	}
}

/* Several unlike nodes, all draws by the definition. */
static void against_draws(void)
{
	enum { NODES = 5, CORES = 3, MOST = 300, TRIALS = 20000 };
	static struct detour d[NODES][CORES][MOST];
	static struct core cores[NODES][CORES];
	struct node nodes[NODES];
	struct course c[NODES];
	struct exact e;
	struct rng r = rng_make(3, 0, 0);
	int64_t g = 1000000, end = 300000000;

	for (int i = 0; i < NODES; i++) {
		nodes[i] = (struct node){ .n = CORES, .cores = cores[i] };
		for (int k = 0; k < CORES; k++) {
			int64_t at = 0;

			cores[i][k] = (struct core){ .n = MOST, .detours = d[i][k] };
			for (int j = 0; j < MOST; j++) {
				at += (int64_t)rng_exp(&r, 1e6);
				d[i][k][j] = (struct detour){ at, 1 + (int64_t)rng_decades(&r, 1e2, i == 4 ? 1e7 : 1e5) };
				at += d[i][k][j].length;
			}
		}
		if (!course_make(&c[i], &nodes[i], 0, end, g) || c[i].n == 0)
			exit(2);
	}
	if (!exact_make(&e, c, NODES))
		exit(2);
	for (int n = 1; n <= 64; n *= 4) {
		double mean, sd, sum = 0, square = 0;
		int trials = TRIALS / n + 500;

		exact_most(&e, n, &mean, &sd);
		for (int t = 0; t < trials; t++) {
			double most = 0;

			for (int i = 0; i < n; i++) {
				uint32_t k = rng_below(&r, NODES);

				most = fmax(most, walk(&nodes[k], rng_uniform(&r, 0, (double)c[k].last), (double)g));
			}
			sum += most;
			square += most * most;
		}
		sum /= trials;
		square = sqrt((square / trials - sum * sum) / trials);
		printf("unlike nodes, n %2d: walked %.5g +- %.2g, exact %.5g us\n", n, sum / 1e3, square / 1e3, mean / 1e3);
		expect(fabs(sum - mean) < 4.5 * square, "walked and exact", sum, mean);
	}
	for (int i = 0; i < NODES; i++)
		course_free(&c[i]);
	exact_free(&e);
}

int main(void)
{
	periodic();
	against_definition();
	against_draws();
	printf(wrong ? "%d wrong\n" : "ok\n", wrong);
	return wrong ? 1 : 0;
}
