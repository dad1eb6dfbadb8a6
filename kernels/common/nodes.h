/* Memory of NUMA nodes: which there are, how much is free, binding. */
#ifndef SYSCHECK_NODES_H
#define SYSCHECK_NODES_H

#include <stdbool.h>
#include <stddef.h>

#include "topo.h"

struct nodes {
	bool bound;  /* memory can be bound to a node; else it comes where it is first touched */
	int n;       /* > 0 */
	int *ids;    /* OS index of each node whose memory this process may use, ascending */
};

/*
 * The nodes with memory that the cpuset's `mems` allow, those without a core among
 * them. Where libnuma says that there is no NUMA: the cores' nodes. False: no memory.
 */
bool nodes_load(struct nodes *nodes, const struct topo *topo);

/* Bytes of a node that are free or in inactive file pages. SIZE_MAX if that cannot be read. */
size_t nodes_available(int id);

/* Strictly: a page comes from this node or not at all. False (errno). */
bool nodes_bind(void *p, size_t bytes, int id);

/* Twice `bytes` are available on a node: as much again is left for others. */
bool nodes_room(int id, size_t bytes);

/*
 * For a measurement that runs with or without: binds strictly if `strict` (only with
 * nodes_room: where no page is left, a strict one calls the OOM killer), else by
 * preference. Where neither is allowed, or libnuma says that there is no NUMA, pages come
 * from where they are first touched. nodes_misplaced says where they are.
 */
void nodes_place(void *p, size_t bytes, int id, bool strict);

/*
 * The share in % of up to 1024 pages, evenly spread over `bytes`, that lie on another
 * node; untouched ones do not count. NaN (errno) if that cannot be read.
 */
double nodes_misplaced(void *p, size_t bytes, int id);

/* More than this in % on another node, and a rate is no longer the node's: a remote page takes about twice as long. */
#define NODES_MISPLACED_MOST 3.0

#endif
