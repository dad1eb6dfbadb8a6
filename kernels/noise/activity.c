#include "activity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "proc.h"

#define TOP 10
#define WATCHED 64 /* the busiest threads: no other can be a source worth naming */

/* What fits: see activity_match. */
#define TIME_FIT 0.25
#define SWITCH_S 5e-6 /* a detour is longer than what ran in it by two switches and cold caches */
#define RUNS_LEAST 0.75
#define RUNS_MOST 3
#define IRQ_FIT 0.15
#define IRQ_LEAST 20
#define IRQ_LONGEST_S 1e-3

struct activity {
	const struct topo *topo;
	double began, cost, seconds;
	bool complete;
	/* After the end: what was added, the most first. */
	struct threads threads, processes;
	struct table interrupts, softirqs;
};

static void snapshot(const struct topo *topo, struct threads *threads, struct table *interrupts,
		     struct table *softirqs, bool *complete, double deadline)
{
	/* The tables are small against hundreds of processes: first, so that the deadline spares them. */
	table_read(interrupts, "/proc/interrupts", topo);
	table_read(softirqs, "/proc/softirqs", topo);
	*complete = threads_read(threads, deadline) && *complete;
}

struct activity *activity_begin(const struct topo *topo, double deadline)
{
	struct activity *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	*a = (struct activity){ .topo = topo, .began = clock_now(), .complete = true };
	snapshot(topo, &a->threads, &a->interrupts, &a->softirqs, &a->complete, deadline);
	a->cost = clock_now() - a->began;
	return a;
}

double activity_cost(const struct activity *a)
{
	return a->cost;
}

static int by_pid(const void *x, const void *y)
{
	return ((const struct thread *)x)->pid - ((const struct thread *)y)->pid;
}

/* Each process, its threads together. */
static void sum_processes(struct activity *a)
{
	struct threads *p = &a->processes;
	size_t n = 0;

	if (a->threads.n == 0 || !(p->list = malloc(a->threads.n * sizeof(*p->list))))
		return;
	memcpy(p->list, a->threads.list, a->threads.n * sizeof(*p->list));
	qsort(p->list, a->threads.n, sizeof(*p->list), by_pid);
	for (size_t i = 0; i < a->threads.n; i++) {
		if (n == 0 || p->list[n - 1].pid != p->list[i].pid) {
			p->list[n++] = p->list[i];
		} else {
			p->list[n - 1].run_ns += p->list[i].run_ns;
			p->list[n - 1].slices += p->list[i].slices;
		}
	}
	p->n = n;
	threads_sort(p);
	p->n = n < TOP ? n : TOP;
	for (size_t i = 0; i < p->n; i++)
		thread_name(&p->list[i], true);
}

void activity_end(struct activity *a, double deadline)
{
	struct table interrupts, softirqs;
	struct threads threads;
	bool complete = a->complete;

	a->seconds = clock_now() - a->began;
	snapshot(a->topo, &threads, &interrupts, &softirqs, &a->complete, deadline);
	table_subtract(&a->interrupts, &interrupts, a->topo);
	table_subtract(&a->softirqs, &softirqs, a->topo);
	threads_subtract(&a->threads, &threads, complete);
	for (size_t i = 0; i < a->threads.n && i < WATCHED; i++)
		thread_name(&a->threads.list[i], false);
	sum_processes(a);
}

void activity_free(struct activity *a)
{
	if (!a)
		return;
	table_free(&a->interrupts);
	table_free(&a->softirqs);
	free(a->threads.list);
	free(a->processes.list);
	free(a);
}

static void report_table(const struct table *t, const char *key, struct result *r)
{
	result_list_begin(r, key);
	for (size_t i = 0; i < t->n && i < TOP && t->rows[i].sum > 0; i++) {
		result_object_begin(r);
		result_string(r, "name", t->rows[i].name);
		result_integer(r, "count", (long long)t->rows[i].sum);
		result_object_end(r);
	}
	result_list_end(r);
}

void activity_report(const struct activity *a, struct result *r)
{
	result_number(r, "activity_s", a->seconds);
	result_bool(r, "activity_complete", a->complete);
	result_list_begin(r, "processes");
	for (size_t i = 0; i < a->processes.n; i++) {
		const struct thread *p = &a->processes.list[i];

		result_object_begin(r);
		result_string(r, "comm", p->comm);
		result_integer(r, "pid", p->pid);
		result_number(r, "cpu_ms", (double)p->run_ns * 1e-6);
		result_integer(r, "runs", (long long)p->slices);
		result_object_end(r);
	}
	result_list_end(r);
	report_table(&a->interrupts, "interrupts", r);
	report_table(&a->softirqs, "softirqs", r);
}

/* How badly a thread or process fits, 0: exactly; infinite: not at all. */
static double misfit(const struct activity *a, const struct thread *t, const struct periodic_component *c, double scale)
{
	double lost = c->all.lost * scale, count = (double)c->all.count * scale;
	double run = (double)t->run_ns * 1e-9, runs = (double)t->slices;

	if (runs < RUNS_LEAST * count || runs > RUNS_MOST * count + 2)
		return INFINITY;
	if (run > (1 + TIME_FIT) * lost || run + SWITCH_S * count < (1 - TIME_FIT) * lost)
		return INFINITY;
	/* It is still where it ran, if it ran where we looked. */
	for (int i = 0; i < a->topo->n; i++)
		if (a->topo->cpus[i] == t->cpu && !c->on[i])
			return INFINITY;
	return fabs(log(run / lost)) + fabs(log(runs / count));
}

static const struct thread *best_of(const struct activity *a, const struct threads *list,
				    const struct periodic_component *c, double scale)
{
	const struct thread *best = NULL;
	double least = INFINITY;

	for (size_t i = 0; i < list->n && i < WATCHED; i++) {
		double m = misfit(a, &list->list[i], c, scale);

		if (m < least) {
			least = m;
			best = &list->list[i];
		}
	}
	return best;
}

static bool match_interrupt(const struct activity *a, const struct periodic_component *c, double scale,
			    struct activity_source *source)
{
	double count = (double)c->all.count * scale, least = IRQ_FIT * count;

	source->name[0] = '\0';
	for (size_t i = 0; i < a->interrupts.n && c->all.duration < IRQ_LONGEST_S && count >= IRQ_LEAST; i++) {
		const struct row *row = &a->interrupts.rows[i];
		double seen = 0;

		for (int k = 0; k < a->topo->n; k++)
			seen += c->on[k] ? (double)row->counts[k] : 0;
		if (fabs(seen - count) > least)
			continue;
		least = fabs(seen - count);
		source->pid = 0;
		snprintf(source->name, sizeof(source->name), "%s", row->name);
		snprintf(source->why, sizeof(source->why), "%.0f interrupts on its CPUs where %.0f detours are expected",
			 seen, count);
	}
	return source->name[0] != '\0';
}

bool activity_match(const struct activity *a, const struct periodic_component *c, double window,
		    struct activity_source *source)
{
	/* The counters ran a little longer than the sampler. */
	double scale = a->seconds / window;
	const struct thread *t = best_of(a, &a->threads, c, scale);

	/* A thread on each core, of one process. */
	if (!t)
		t = best_of(a, &a->processes, c, scale);
	if (!t)
		return match_interrupt(a, c, scale, source);
	source->pid = t->pid;
	snprintf(source->name, sizeof(source->name), "%s", t->comm);
	snprintf(source->why, sizeof(source->why), "ran %.4g ms in %llu runs where %.4g ms in %.0f detours are expected",
		 (double)t->run_ns * 1e-6, t->slices, c->all.lost * scale * 1e3, (double)c->all.count * scale);
	return true;
}
