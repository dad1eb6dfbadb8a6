/* Which CPUs a kernel runs on: one per physical core of the allowed set. */
#ifndef SYSCHECK_TOPO_H
#define SYSCHECK_TOPO_H

#include <stdbool.h>
#include <stddef.h>

#include <hwloc.h>
#include <sched.h>

#include "opts.h"

#define TOPO_LEVELS 6

struct topo {
	int *cpus;       /* OS index of each core's first allowed CPU, ascending by core */
	int n;           /* number of cores, > 0 */
	int *node_of;    /* each core's NUMA node, an index into `nodes` */
	int *rank;       /* each core's place among its node's cores, from 0 on */
	int *nodes;      /* OS index of each NUMA node that has one of the cores, ascending */
	int *cores;      /* how many cores each node has */
	int n_nodes;     /* > 0: a machine without NUMA is one node, 0 */
	size_t llc;      /* bytes: sum of the last-level caches that hold one of the CPUs */
	size_t cache[TOPO_LEVELS]; /* bytes of the first core's data cache of each level, 0: none; [0] is not used */
	char *cpus_text; /* `cpus` as a cpulist */
};

/*
 * Loads this machine's topology and picks CPUs: the process' own set, cut by
 * `cpus` (a cpulist, or NULL). False, and one line in `error`, if nothing is left
 * or the list is bad.
 */
bool topo_load(struct topo *t, const char *cpus, char error[ERROR_SIZE]);

/* The same on a loaded topology, with the allowed set given: for synthetic ones. */
bool topo_pick(struct topo *t, hwloc_topology_t machine, hwloc_const_cpuset_t allowed, const char *cpus,
	       char error[ERROR_SIZE]);

/* "0-3,7" and nothing else; hwloc's own parser forgives too much. */
bool topo_parse(hwloc_bitmap_t set, const char *list);

/* A set of n CPUs, `*size` bytes, for CPU_FREE. NULL: out of memory. */
cpu_set_t *topo_set(const int *cpus, int n, size_t *size);

/* Keeps this thread on any of the cores that were picked. False: errno. */
bool topo_stay_on(const struct topo *t);

void topo_free(struct topo *t);

#endif
