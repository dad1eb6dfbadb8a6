/*
 * What the noise kernel would say of traces: noise_trace WINDOW_S CORES FILE... prints a line of JSON for each, what
 * the kernel prints but for its begin and end, with the file's name as `node`. A trace has lines "cpu start length".
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/result.h"
#include "noise/noise.h"

#define TICKS_PER_S 1e9

static double window;

/* Of each core: events in s. */
static bool read_trace(const char *path, struct noise *s)
{
	FILE *file = fopen(path, "r");
	double start, length;
	int cpu;

	for (int i = 0; i < s->topo->n; i++) {
		struct noise_core *c = &s->cores[i];

		memset(c, 0, sizeof(*c));
		c->rate = TICKS_PER_S;
		c->span = (uint64_t)(window * TICKS_PER_S);
		c->shortest = 1;
	}
	while (file && fscanf(file, "%d %lf %lf", &cpu, &start, &length) == 3) {
		struct noise_core *c = &s->cores[cpu];
		struct periodic_event *more;

		if (cpu < 0 || cpu >= s->topo->n)
			return false;
		if (c->place.n % 4096 == 0) {
			more = realloc((void *)c->place.events, (c->place.n + 4096) * sizeof(*more));
			if (!more)
				return false;
			c->place.events = more;
		}
		((struct periodic_event *)c->place.events)[c->place.n++] =
			(struct periodic_event){ .start = start, .length = length };
		c->detours.lost += (uint64_t)(length * TICKS_PER_S);
		c->detours.n++;
		c->detours.longest = (uint64_t)fmax((double)c->detours.longest, length * TICKS_PER_S);
		loghist_add(&c->detours.lengths, (uint64_t)(length * TICKS_PER_S));
	}
	return file && fclose(file) == 0;
}

static int one(const char *path, struct noise *s)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	struct result r;

	if (!read_trace(path, s)) {
		fprintf(stderr, "noise_trace: %s: no trace\n", path);
		return 1;
	}
	for (int i = 0; i < s->topo->n; i++) {
		struct periodic_place *p = &s->cores[i].place;

		p->owner = malloc(p->n + 1);
		periodic_find(p, 0, window, (size_t)s->topo->n, NULL);
	}
	s->from = 0;
	s->to = window;
	s->components_end = s->box_end = clock_now() + 60;
	noise_analyse(s);
	result_begin(&r, "noise");
	result_string(&r, "node", name);
	result_integer(&r, "threads", s->topo->n);
	noise_report(s, &r);
	noise_forget(s);
	for (int i = 0; i < s->topo->n; i++) {
		free((void *)s->cores[i].place.events);
		free(s->cores[i].place.owner);
	}
	return !result_write(&r, STDOUT_FILENO);
}

int main(int argc, char **argv)
{
	struct topo topo = { .n = argc > 3 ? atoi(argv[2]) : 0 };
	struct noise s = { .topo = &topo, .mode = NOISE_DETOUR, .ticks_per_s = TICKS_PER_S, .threshold_us = 1 };
	int failed = 0;

	window = argc > 3 ? atof(argv[1]) : 0;
	if (topo.n < 1 || topo.n > 1024 || window <= 0) {
		fprintf(stderr, "usage: noise_trace WINDOW_S CORES FILE...\n");
		return 2;
	}
	topo.cpus = calloc((size_t)topo.n, sizeof(*topo.cpus));
	s.cores = aligned_alloc(128, sizeof(*s.cores) * (size_t)topo.n);
	/* The threads run where there is a CPU: how fast does not matter here. */
	for (int i = 0; i < topo.n; i++)
		topo.cpus[i] = i % (int)sysconf(_SC_NPROCESSORS_ONLN);
	for (int i = 3; i < argc; i++)
		failed |= one(argv[i], &s);
	free(s.cores);
	free(topo.cpus);
	return failed;
}
