#include "parts.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/clock.h"
#include "common/memory.h"
#include "common/nodes.h"

/* Element i starts as 1 + (i mod 1024): a value that came to the wrong place shows, too. */
#define PATTERN 1024

/* Smaller pages than this exist nowhere that this runs. */
#define PAGE_DOUBLES (4096 / sizeof(double))

static double pattern(size_t i)
{
	return 1.0 + (double)(i % PATTERN);
}

static size_t bytes_of(const struct parts *p)
{
	return 3 * p->size.elements * sizeof(double);
}

static bool node_has_room(const struct parts *p, const struct topo *topo, int node)
{
	size_t cores = 0;

	for (int i = 0; i < topo->n; i++)
		cores += topo->node_of[i] == node;
	return nodes_room(topo->nodes[node], cores * bytes_of(p));
}

bool parts_map(struct parts *p, const struct topo *topo, struct stream_size size)
{
	bool *strict = calloc((size_t)topo->n_nodes, sizeof(*strict));

	p->size = size;
	p->of = aligned_alloc(128, sizeof(*p->of) * (size_t)topo->n);
	if (!p->of || !strict) {
		free(strict);
		return false;
	}
	memset(p->of, 0, sizeof(*p->of) * (size_t)topo->n);
	for (int node = 0; node < topo->n_nodes; node++)
		strict[node] = node_has_room(p, topo, node);
	for (int i = 0; i < topo->n; i++) {
		struct part *part = &p->of[i];
		const int node = topo->node_of[i];

		part->a = memory_map(bytes_of(p));
		if (!part->a)
			break;
		part->b = part->a + size.elements;
		part->c = part->b + size.elements;
		nodes_place(part->a, bytes_of(p), topo->nodes[node], strict[node]);
	}
	free(strict);
	return p->of[topo->n - 1].a != NULL;
}

/* The part of the member's node that is furthest behind: its own, if none is further. */
static struct part *behind(struct parts *p, const struct topo *topo, int member)
{
	struct part *least = &p->of[member];
	size_t claimed = atomic_load_explicit(&least->claimed, memory_order_relaxed);

	for (int i = 0; i < topo->n; i++) {
		size_t here;

		if (topo->node_of[i] != topo->node_of[member])
			continue;
		here = atomic_load_explicit(&p->of[i].claimed, memory_order_relaxed);
		if (here < claimed) {
			least = &p->of[i];
			claimed = here;
		}
	}
	return least;
}

/* The system zeroes the pages; b and c are written first by the operations. */
static void touch_step(struct part *part, size_t from, size_t step)
{
	for (size_t i = from; i < from + step; i++)
		part->a[i] = pattern(i);
	for (size_t i = from; i < from + step; i += PAGE_DOUBLES)
		part->b[i] = part->c[i] = 0;
}

/*
 * Whoever is ahead helps the last of its node: one slow core (a busy neighbour, a stopped
 * one) would cut everybody's arrays, since parts are equal.
 */
void parts_touch(struct parts *p, const struct topo *topo, int member)
{
	for (;;) {
		struct part *part = behind(p, topo, member);
		size_t at = atomic_load(&part->claimed);

		if (at >= p->size.elements || (at > 0 && clock_now() >= (at < p->size.least ? p->hard : p->soft)))
			return;
		at = atomic_fetch_add(&part->claimed, p->size.step);
		if (at < p->size.elements)
			touch_step(part, at, p->size.step);
	}
}

void parts_touched(struct parts *p, const struct topo *topo)
{
	p->n = p->size.elements;
	for (int i = 0; i < topo->n; i++) {
		size_t touched = atomic_load(&p->of[i].claimed);

		p->n = touched < p->n ? touched : p->n;
	}
	if (p->n < p->size.elements)
		p->size.limit = stream_limit_time(p->size.limit);
}

void parts_locate(struct parts *p, const struct topo *topo, int member)
{
	struct part *part = &p->of[member];

	part->misplaced = nodes_misplaced(part->a, bytes_of(p), topo->nodes[topo->node_of[member]]);
}

double parts_misplaced(const struct parts *p, const struct topo *topo, int *member)
{
	double most = NAN;

	for (int i = 0; i < topo->n; i++)
		if (isnan(most) || p->of[i].misplaced > most) {
			most = p->of[i].misplaced;
			*member = i;
		}
	return most;
}

static void wrong(struct part *part, size_t i, char array, double got, double expected)
{
	part->bad = i;
	part->bad_array = array;
	part->got = got;
	part->expected = expected;
}

void parts_verify(struct parts *p, int member, long cycles)
{
	const double sign = cycles % 2 ? -1 : 1;
	struct part *part = &p->of[member];

	part->bad = SIZE_MAX;
	for (size_t i = 0; i < p->n; i++) {
		double a = sign * pattern(i), b = -STREAM_SCALE * a, c = -(1 + STREAM_SCALE) * a;

		if (part->a[i] == a && part->b[i] == b && part->c[i] == c)
			continue;
		if (part->a[i] != a)
			wrong(part, i, 'a', part->a[i], a);
		else if (part->b[i] != b)
			wrong(part, i, 'b', part->b[i], b);
		else
			wrong(part, i, 'c', part->c[i], c);
		return;
	}
}

bool parts_wrong(const struct parts *p, const struct topo *topo, char text[ERROR_SIZE])
{
	for (int i = 0; i < topo->n; i++) {
		const struct part *part = &p->of[i];

		if (part->bad == SIZE_MAX)
			continue;
		snprintf(text, ERROR_SIZE, "cpu %d: %c[%zu] is %.17g, expected %.17g", topo->cpus[i], part->bad_array,
			 part->bad, part->got, part->expected);
		return true;
	}
	return false;
}

void parts_unmap(struct parts *p, int member)
{
	munmap(p->of[member].a, bytes_of(p));
}
