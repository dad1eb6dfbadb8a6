/*
 * Brute force: N nodes drawn with replacement from a directory of traces, each with a quantum of G ms begun at
 * an independent uniform moment of its window (such that it ends within); the job's delay is the most of theirs.
 * One line an N: {"g_ms","n","delay_us","se_us","trials","exact_us"}; exact_us: from the distribution, no draw.
 *
 *	brute G_MS N[,N..] DIR [--seconds S] [--begin S] [--without NODE,NODE] [--half 1|2] [--together]
 *	      [--chain K] [--exact] [--se SHARE] [--draws MAX] [--seed N]
 *	brute split G_MS N[,N..] DIR ...      both halves of the window, each for itself, with "half"
 *
 * The window is [0, S); S is the "seconds" of DIR/truth.json unless it is given.
 * --together: all nodes begin at the same moment, none is drawn twice: what sources in phase really cost.
 * --chain K: K quanta one after the other, each begun when the slowest is done with the one before, as a job does.
 * Less than the above where detours are as long as quanta: none begins in the midst of what it has just waited for.
 *
 *	gcc -std=gnu11 -O2 -Wall -Wextra -Werror -o brute brute.c traces.c course.c exact.c -lm
 */
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "course.h"
#include "exact.h"
#include "rng.h"
#include "traces.h"

#define NS 1e9

struct ask {
	double g_ms, seconds, begin, se, draws;
	const char *list, *dir, *without;
	int half, chain;
	bool split, together, exact;
	uint64_t seed;
};

static bool read_options(struct ask *a, int argc, char **argv)
{
	static const struct option known[] = {
		{ "seconds", required_argument, NULL, 's' }, { "begin", required_argument, NULL, 'b' },
		{ "without", required_argument, NULL, 'w' }, { "half", required_argument, NULL, 'h' },
		{ "together", no_argument, NULL, 't' },      { "exact", no_argument, NULL, 'x' },
		{ "se", required_argument, NULL, 'e' },      { "draws", required_argument, NULL, 'd' },
		{ "seed", required_argument, NULL, 'r' },    { "chain", required_argument, NULL, 'c' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	*a = (struct ask){ .se = 0.004, .draws = 5e8, .seed = 1 };
	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (c) {
		case 's': a->seconds = atof(optarg); break;
		case 'b': a->begin = atof(optarg); break;
		case 'w': a->without = optarg; break;
		case 'h': a->half = atoi(optarg); break;
		case 't': a->together = true; break;
		case 'x': a->exact = true; break;
		case 'e': a->se = atof(optarg); break;
		case 'd': a->draws = atof(optarg); break;
		case 'c': a->chain = atoi(optarg); break;
		case 'r': a->seed = strtoull(optarg, NULL, 10); break;
		default: return false;
		}
	}
	if (optind < argc && strcmp(argv[optind], "split") == 0) {
		a->split = true;
		optind++;
	}
	if (argc - optind != 3 || a->half < 0 || a->half > 2 || a->se <= 0 || a->chain < 0)
		return false;
	a->g_ms = atof(argv[optind]);
	a->list = argv[optind + 1];
	a->dir = argv[optind + 2];
	return a->g_ms > 0;
}

/* The most of n draws, ns. */
static double draw(const struct course *courses, size_t nodes, long n, struct rng *r)
{
	double most = 0;

	for (long i = 0; i < n; i++) {
		const struct course *c = &courses[rng_below(r, (uint32_t)nodes)];
		double d = course_at(c, rng_uniform(r, (double)c->begin, (double)c->last));

		most = d > most ? d : most;
	}
	return most;
}

/* The same with one moment for all; the first n of `order` are the drawn. */
static double draw_together(const struct course *courses, size_t nodes, size_t *order, long n, struct rng *r)
{
	double most = 0, last = INFINITY, t;

	for (size_t i = 0; i < (size_t)n; i++) {
		size_t k = i + rng_below(r, (uint32_t)(nodes - i)), other = order[k];

		order[k] = order[i];
		order[i] = other;
		last = fmin(last, (double)courses[other].last);
	}
	t = rng_uniform(r, (double)courses[0].begin, last);
	for (long i = 0; i < n; i++)
		most = fmax(most, course_at(&courses[order[i]], t));
	return most;
}

/* The mean of `a->chain` quanta in a row; a node's window begins anew at its end. */
static double draw_chain(const struct ask *a, const struct course *courses, size_t nodes, long n, double *at,
			 size_t *which, struct rng *r)
{
	double sum = 0;

	for (long i = 0; i < n; i++) {
		which[i] = rng_below(r, (uint32_t)nodes);
		at[i] = rng_unit(r) * (double)(courses[which[i]].last - courses[which[i]].begin);
	}
	for (int k = 0; k < a->chain; k++) {
		double most = 0;

		for (long i = 0; i < n; i++) {
			const struct course *c = &courses[which[i]];

			most = fmax(most, course_at(c, (double)c->begin + at[i]));
		}
		sum += most;
		for (long i = 0; i < n; i++) {
			const struct course *c = &courses[which[i]];

			at[i] = fmod(at[i] + a->g_ms * 1e6 + most, (double)(c->last - c->begin));
		}
	}
	return sum / a->chain;
}

/* Trials for the standard error asked for, from the true spread: to stop by the drawn one favours few hits. */
static double trials_of(const struct ask *a, double mean, double sd, long n)
{
	double wanted = mean > 0 ? sd / mean / a->se : 0;

	return ceil(fmin(fmax(wanted * wanted, 2000), fmax(a->draws / (double)n, 100)));
}

static void one_n(const struct ask *a, int half, const struct course *courses, size_t nodes, const struct exact *e,
		  long n, size_t *order)
{
	size_t *which = a->chain ? malloc((size_t)n * sizeof(*which)) : NULL;
	double *at = a->chain ? malloc((size_t)n * sizeof(*at)) : NULL;
	struct rng r = rng_make(a->seed, (uint64_t)n, (uint64_t)(a->g_ms * 1e6) + (uint64_t)half);
	double mean, sd, trials, sum = 0, square = 0;

	exact_most(e, (double)n, &mean, &sd);
	printf("{\"g_ms\":%g,\"n\":%ld,", a->g_ms, n);
	if (half)
		printf("\"half\":%d,", half);
	if (a->exact && !a->together && !a->chain) {
		printf("\"delay_us\":%.6g,\"se_us\":0,\"sd_us\":%.6g}\n", mean / 1e3, sd / 1e3);
		return;
	}
	/* In phase the spread is not known before; that of one node is as wide. */
	if (a->together)
		exact_most(e, 1, &mean, &sd);
	trials = trials_of(a, mean, sd, n);
	if (a->chain)
		trials = ceil(trials / a->chain) + 100;
	for (double i = 0; i < trials; i++) {
		double d;

		if (which && at)
			d = draw_chain(a, courses, nodes, n, at, which, &r);
		else
			d = a->together ? draw_together(courses, nodes, order, n, &r) : draw(courses, nodes, n, &r);
		sum += d;
		square += d * d;
	}
	sum /= trials;
	square = sqrt(fmax(0, square / trials - sum * sum) / trials);
	printf("\"delay_us\":%.6g,\"se_us\":%.3g,\"trials\":%.0f,", sum / 1e3, square / 1e3, trials);
	if (a->together)
		printf("\"together\":true}\n");
	else if (a->chain)
		printf("\"chain\":%d,\"single_us\":%.6g}\n", a->chain, mean / 1e3);
	else
		printf("\"exact_us\":%.6g}\n", mean / 1e3);
	fflush(stdout);
	free(which);
	free(at);
}

static bool one_window(const struct ask *a, const struct pool *p, int half)
{
	double begin = a->begin, seconds = a->seconds;
	struct course *courses = calloc(p->n, sizeof(*courses));
	size_t *order = malloc(p->n * sizeof(*order));
	struct exact e = { .n = 0 };
	bool good = courses && order;

	if (half) {
		seconds /= 2;
		begin += half == 2 ? seconds : 0;
	}
	for (size_t i = 0; i < p->n && good; i++) {
		order[i] = i;
		good = course_make(&courses[i], &p->nodes[i], llround(begin * NS), llround((begin + seconds) * NS),
				   llround(a->g_ms * 1e6));
		if (good && courses[i].n == 0) {
			fprintf(stderr, "%s: no quantum of %g ms ends within %g s\n", p->nodes[i].name, a->g_ms, seconds);
			good = false;
		}
	}
	good = good && exact_make(&e, courses, p->n);
	for (const char *at = a->list; good && *at;) {
		char *end;
		long n = strtol(at, &end, 10);

		good = n > 0 && (*end == ',' || *end == '\0') && (!a->together || (size_t)n <= p->n);
		if (good)
			one_n(a, half, courses, p->n, &e, n, order);
		else
			fprintf(stderr, "%s: no number of nodes\n", at);
		at = *end ? end + 1 : end;
	}
	exact_free(&e);
	for (size_t i = 0; courses && i < p->n; i++)
		course_free(&courses[i]);
	free(courses);
	free(order);
	return good;
}

int main(int argc, char **argv)
{
	struct ask a;
	struct pool p;
	bool good;

	if (!read_options(&a, argc, argv)) {
		fprintf(stderr, "usage: brute [split] G_MS N[,N..] DIR [--seconds S] [--begin S] [--without NODE,NODE] "
				"[--half 1|2] [--together] [--chain K] [--exact] [--se SHARE] [--draws MAX] [--seed N]\n");
		return 2;
	}
	if (!pool_read(&p, a.dir, a.without))
		return 2;
	if (a.seconds <= 0)
		a.seconds = p.seconds;
	if (a.seconds <= 0) {
		fprintf(stderr, "%s: --seconds: no truth.json says them\n", a.dir);
		pool_free(&p);
		return 2;
	}
	if (a.split)
		good = one_window(&a, &p, 1) && one_window(&a, &p, 2);
	else
		good = one_window(&a, &p, a.half);
	pool_free(&p);
	return good ? 0 : 2;
}
