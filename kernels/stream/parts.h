/* stream's memory: each core's part of the three arrays, from its mapping to its verification. */
#ifndef SYSCHECK_STREAM_PARTS_H
#define SYSCHECK_STREAM_PARTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/opts.h"
#include "common/stream_size.h"
#include "common/topo.h"

/*
 * scale: b = 3c, triad: a = b - c. One cycle is c = a, b = 3a, c = a + b = 4a,
 * a = b - c = -a: nothing grows, and a write that was lost shows as a wrong sign.
 */
#define STREAM_SCALE 3.0
#define STREAM_TRIAD (-1.0)

enum { COPY, SCALED, ADD, TRIADED, OPS };

/* Cache lines of its own for each thread's times. */
struct part {
	double *a, *b, *c;        /* one mapping, one array after the other */
	atomic_size_t claimed;    /* elements, by the threads that touch */
	double from[OPS], to[OPS];
	double misplaced;         /* % on another NUMA node, or NaN */
	size_t bad;               /* index of the first wrong element, or SIZE_MAX */
	char bad_array;
	double expected, got;
} __attribute__((aligned(128)));

struct parts {
	struct part *of; /* each member of the team */
	struct stream_size size;
	size_t n;        /* after parts_touched: elements of each array in each part that are used */
	double soft, hard;
};

/* Maps all, each bound to its core's node; untouched. False (errno). */
bool parts_map(struct parts *p, const struct topo *topo, struct stream_size size);

/*
 * Every member: until all parts of its node are touched, or `soft` (clock_now), or `hard`
 * while all parts together are not larger than the caches.
 */
void parts_touch(struct parts *p, const struct topo *topo, int member);

/* One member, when all have touched: what is used of all. */
void parts_touched(struct parts *p, const struct topo *topo);

/* Every member, then: where its part lies. */
void parts_locate(struct parts *p, const struct topo *topo, int member);

/* The largest misplaced share in % of a part, and whose; NaN if no part's can be told. */
double parts_misplaced(const struct parts *p, const struct topo *topo, int *member);

/* Every member: its part after so many cycles. */
void parts_verify(struct parts *p, int member, long cycles);

/* After that: "cpu 3: a[5] is 1, expected 2" in `text`, if an element is wrong. */
bool parts_wrong(const struct parts *p, const struct topo *topo, char text[ERROR_SIZE]);

/* Every member: gives its part back. All threads at once, that is faster than the end of the process. */
void parts_unmap(struct parts *p, int member);

#endif
