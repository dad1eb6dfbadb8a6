#include "exact.h"

#include <math.h>
#include <stdlib.h>

static int by_delay(const void *a, const void *b)
{
	double x = ((const struct edge *)a)->x, y = ((const struct edge *)b)->x;

	return (x > y) - (x < y);
}

static void add(struct exact *e, double x, double mass, double slope)
{
	e->edges[e->n++] = (struct edge){ .x = x, .mass = mass, .slope = slope };
}

bool exact_make(struct exact *e, const struct course *courses, size_t n)
{
	size_t pieces = 0, kept = 0;

	for (size_t i = 0; i < n; i++)
		pieces += courses[i].n;
	*e = (struct exact){ .edges = malloc((2 * pieces + 1) * sizeof(*e->edges)) };
	if (!e->edges)
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct course *c = &courses[i];
		double per_ns = 1 / ((double)(c->last - c->begin) * (double)n), flat0 = 0;

		for (size_t k = 0; k < c->n; k++) {
			const struct piece *p = &c->pieces[k];
			double ns = (double)((k + 1 < c->n ? c->pieces[k + 1].from : c->last) - p->from);
			double d = (double)p->delay;

			if (p->falls) {
				add(e, d - ns, 0, per_ns);
				add(e, d, 0, -per_ns);
			} else if (p->delay == 0) {
				flat0 += ns * per_ns;
			} else {
				add(e, d, ns * per_ns, 0);
			}
		}
		add(e, 0, flat0, 0);
	}
	qsort(e->edges, e->n, sizeof(*e->edges), by_delay);
	for (size_t i = 0; i < e->n; i++) {
		if (kept && e->edges[kept - 1].x == e->edges[i].x) {
			e->edges[kept - 1].mass += e->edges[i].mass;
			e->edges[kept - 1].slope += e->edges[i].slope;
		} else {
			e->edges[kept++] = e->edges[i];
		}
	}
	e->n = kept;
	return true;
}

/* Integrals of 1 - F^n and of 2x (1 - F^n) from x0 to x0 + w, F rising from f0 to f1: Gauss's 5 points. */
static void part(double x0, double w, double f0, double f1, double n, long double *one, long double *two)
{
	static const double at[5] = { 0.046910077030668, 0.230765344947158, 0.5, 0.769234655052842,
				      0.953089922969332 };
	static const double weight[5] = { 0.118463442528095, 0.239314335249683, 0.284444444444444,
					  0.239314335249683, 0.118463442528095 };

	for (int i = 0; i < 5; i++) {
		double x = x0 + w * at[i], f = f0 + (f1 - f0) * at[i];
		/* 1 - F^n, also where F is all but 1 */
		double above = f <= 0 ? 1 : f >= 1 ? 0 : -expm1(n * log(f));

		*one += weight[i] * w * above;
		*two += weight[i] * w * 2 * x * above;
	}
}

void exact_most(const struct exact *e, double n, double *mean, double *sd)
{
	long double f = 0, slope = 0, one = 0, two = 0;

	for (size_t i = 0; i + 1 < e->n; i++) {
		double w = e->edges[i + 1].x - e->edges[i].x, rise;
		long steps;

		f += e->edges[i].mass;
		slope += e->edges[i].slope;
		rise = (double)slope * w;
		/* F^n is smooth where n ln F changes by less than 1. */
		steps = f > 0 ? (long)fmin(n * rise / (double)f, 2000) + 1 : rise > 0 ? 2000 : 1;
		for (long k = 0; k < steps; k++)
			part(e->edges[i].x + w * (double)k / (double)steps, w / (double)steps,
			     (double)f + rise * (double)k / (double)steps,
			     (double)f + rise * (double)(k + 1) / (double)steps, n, &one, &two);
		f += (long double)slope * w;
	}
	*mean = (double)one;
	*sd = sqrt(fmax(0, (double)(two - one * one)));
}

void exact_free(struct exact *e)
{
	free(e->edges);
	*e = (struct exact){ .n = 0 };
}
