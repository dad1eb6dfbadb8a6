/* A directory of traces: one file a node, lines "cpu start length" in s. Times are ns here: sums are exact. */
#ifndef NOISE_WORLD_TRACES_H
#define NOISE_WORLD_TRACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct detour {
	int64_t start, length;
};

struct core {
	int cpu;
	size_t n, room;
	struct detour *detours; /* ascending, none overlaps the next */
};

struct node {
	char name[64]; /* the file's without ".trace" */
	int n;
	struct core *cores; /* those with a detour: the others never wait */
};

struct pool {
	size_t n;
	struct node *nodes; /* by name */
	double seconds;     /* the window, of truth.json; 0: not said there */
};

/* All DIR/n*.trace but those of `without` ("n0001,n0002" or NULL). False: said on stderr. */
bool pool_read(struct pool *p, const char *dir, const char *without);

void pool_free(struct pool *p);

#endif
