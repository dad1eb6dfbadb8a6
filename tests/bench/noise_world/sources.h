/* What takes cores from a job in a world: each source with the nodes that have it, and how. Drawn by seed. */
#ifndef NOISE_WORLD_SOURCES_H
#define NOISE_WORLD_SOURCES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define SOURCES 48

enum when { PERIODIC, POISSON };
enum shape { LOGNORMAL, PARETO, BETWEEN };
enum where {
	EACH,	/* every core its own */
	ONE,	/* one core, always the same on a node */
	MOVING, /* one core, another each time */
	ALL,	/* all cores at the same moment, equally long */
};

struct source {
	char name[32];
	enum when when;
	double every;	 /* s; the mean of what is not periodic, on each core where it is EACH */
	double late;	 /* s: mean by which an event comes late, the next is not later for it */
	enum shape shape;
	double length;	 /* s: log-normal: median; Pareto: least; BETWEEN: least */
	double spread;	 /* log-normal: sigma; Pareto: alpha; BETWEEN: most */
	double most;	 /* s: cut there */
	enum where where;
	int core;	 /* ONE: this one; -1: drawn by node */
	bool stagger;	 /* periodic on EACH: cores one after the other, not all at once */
	bool in_phase;	 /* all nodes at the same moment of the wall clock */
	double phase;	 /* in_phase: s */
	double share;	 /* of the nodes have it */
	int nth;	 /* only every nth node; 0: by share */
	int only;	 /* only this node; -1: by nth or share */
	bool ticking;	 /* not on tickless nodes */
	bool broken;	 /* its node is to be found */
};

struct world {
	uint64_t seed;
	int nodes, cores;
	double seconds, tickless;
	int n;
	struct source sources[SOURCES];
};

void sources_draw(struct world *w);

/* Whether this node has source number i; the same at each call. */
bool source_is_on(const struct world *w, int i, int node);

/* {"seconds":..,"sources":[..]} */
void sources_write(const struct world *w, FILE *f);

#endif
