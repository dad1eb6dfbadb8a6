/*
 * A world of nodes with noise as real ones have it, drawn by seed: DIR/nNNNN.trace, lines "cpu start length" in s
 * of a window [0, S) that all nodes share, and DIR/truth.json, where the noise is from. The same seed: the same
 * files; a longer window or more nodes: the same world, seen more of.
 *
 *	world SEED DIR NODES [--seconds S] [--cores C]		2 s, 4 cores
 *
 *	gcc -std=gnu11 -O2 -Wall -Wextra -Werror -o world world.c sources.c -lm
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "rng.h"
#include "sources.h"

#define NS 1e9
#define BEFORE 0.5 /* s: what began then may reach into the window; more than the longest event */
#define MAX_CORES 1024

struct event {
	int64_t start, length;
};

struct list {
	size_t n, room;
	struct event *events;
};

static bool add(struct list *l, double start, double length)
{
	if (l->n == l->room) {
		size_t room = l->room ? 2 * l->room : 1024;
		struct event *more = realloc(l->events, room * sizeof(*more));

		if (!more)
			return false;
		l->events = more;
		l->room = room;
	}
	l->events[l->n++] = (struct event){ llround(start * NS), llround(length * NS) };
	return true;
}

static double length_of(const struct source *s, struct rng *r)
{
	double length;

	switch (s->shape) {
	case LOGNORMAL: length = s->length * exp(s->spread * rng_normal(r)); break;
	case PARETO: length = s->length * pow(1 - rng_unit(r), -1 / s->spread); break;
	default: length = rng_uniform(r, s->length, s->spread); break;
	}
	return fmax(fmin(length, s->most), 1e-9);
}

/* One source's events on one node: of one core of EACH, or of all cores. */
static bool run(const struct world *w, const struct source *s, struct rng *r, double phase, int core,
		struct list *lists)
{
	double at = s->when == PERIODIC ? phase - s->every * floor((phase + BEFORE) / s->every) : -BEFORE;
	bool good = true;

	if (s->when == POISSON)
		at += rng_exp(r, s->every);
	while (at < w->seconds && good) {
		double length = length_of(s, r), start = at + (s->late > 0 ? rng_exp(r, s->late) : 0);

		if (s->where == MOVING)
			core = (int)rng_below(r, (uint32_t)w->cores);
		if (s->where == ALL)
			for (int c = 0; c < w->cores; c++)
				good = add(&lists[c], start, length) && good;
		else
			good = add(&lists[core], start, length);
		at += s->when == PERIODIC ? s->every : rng_exp(r, s->every);
	}
	return good;
}

static bool fill(const struct world *w, int node, struct list *lists)
{
	bool good = true;

	for (int i = 0; i < w->n && good; i++) {
		const struct source *s = &w->sources[i];
		struct rng r = rng_make(w->seed, 1000 + (uint64_t)i, (uint64_t)node);
		double phase = s->every * rng_unit(&r);
		int core = s->core >= 0 ? s->core : (int)rng_below(&r, (uint32_t)w->cores);

		if (!source_is_on(w, i, node))
			continue;
		if (s->in_phase)
			phase = s->phase;
		if (s->where != EACH) {
			good = run(w, s, &r, phase, core % w->cores, lists);
			continue;
		}
		for (int c = 0; c < w->cores && good; c++) {
			struct rng own = rng_make(w->seed, 2000 + (uint64_t)i, (uint64_t)node * MAX_CORES + (uint64_t)c);

			good = run(w, s, &own, phase + (s->stagger ? s->every * c / w->cores : 0), c, lists);
		}
	}
	return good;
}

static int by_start(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->start != y->start)
		return (x->start > y->start) - (x->start < y->start);
	return (x->length > y->length) - (x->length < y->length);
}

/* What comes while the core is taken waits and makes that detour longer, as a sampler sees it. */
static void write_core(const struct world *w, int core, struct list *l, FILE *f)
{
	int64_t end = llround(w->seconds * NS);

	if (l->n)
		qsort(l->events, l->n, sizeof(*l->events), by_start);
	for (size_t i = 0; i < l->n;) {
		struct event e = l->events[i];

		for (i++; i < l->n && l->events[i].start <= e.start + e.length; i++)
			e.length += l->events[i].length;
		if (e.start < 0) {
			e.length += e.start;
			e.start = 0;
		}
		if (e.start + e.length > end)
			e.length = end - e.start;
		if (e.length > 0)
			fprintf(f, "%d %lld.%09lld %lld.%09lld\n", core, (long long)e.start / 1000000000,
				(long long)e.start % 1000000000, (long long)e.length / 1000000000,
				(long long)e.length % 1000000000);
	}
	l->n = 0;
}

static FILE *create(const char *dir, const char *name)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	if (!f)
		perror(path);
	return f;
}

static bool finish(FILE *f, const char *what)
{
	bool good = !ferror(f);

	good = fclose(f) == 0 && good;
	if (!good)
		perror(what);
	return good;
}

int main(int argc, char **argv)
{
	static const struct option known[] = {
		{ "seconds", required_argument, NULL, 's' },
		{ "cores", required_argument, NULL, 'c' },
		{ NULL, 0, NULL, 0 },
	};
	struct world w = { .seconds = 2, .cores = 4 };
	struct list lists[MAX_CORES] = { { .n = 0 } };
	const char *dir;
	bool good = true;
	FILE *f;
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (c == '?')
			goto usage;
		else if (c == 's')
			w.seconds = atof(optarg);
		else
			w.cores = atoi(optarg);
	}
	if (argc - optind != 3)
		goto usage;
	w.seed = strtoull(argv[optind], NULL, 10);
	dir = argv[optind + 1];
	w.nodes = atoi(argv[optind + 2]);
	if (w.nodes < 1 || w.nodes > 10000 || w.cores < 1 || w.cores > MAX_CORES || !(w.seconds > 0) || w.seconds > 1e5)
		goto usage;
	if (mkdir(dir, 0755) != 0 && errno != EEXIST) {
		perror(dir);
		return 2;
	}
	sources_draw(&w);
	for (int node = 0; node < w.nodes && good; node++) {
		char name[32];

		snprintf(name, sizeof(name), "n%04d.trace", node);
		f = create(dir, name);
		good = f && fill(&w, node, lists);
		for (int core = 0; core < w.cores && good; core++)
			write_core(&w, core, &lists[core], f);
		good = f && finish(f, name) && good;
	}
	f = good ? create(dir, "truth.json") : NULL;
	if (f)
		sources_write(&w, f);
	good = f && finish(f, "truth.json");
	for (int core = 0; core < w.cores; core++)
		free(lists[core].events);
	return good ? 0 : 2;
usage:
	fprintf(stderr, "usage: world SEED DIR NODES [--seconds S] [--cores C]\n");
	return 2;
}
