/* Memory of NUMA nodes: which there are, how much each can give, binding. */
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
void nodes_free(struct nodes *nodes);

/*
 * Bytes of a node that can be taken without pushing out more than file pages not
 * lately used. SIZE_MAX if it cannot be told.
 */
size_t nodes_available(int id);

/* Strictly: a page comes from this node or not at all. False (errno). */
bool nodes_bind(void *p, size_t bytes, int id);

/* How many of up to 1024 pages, evenly spread, lie on another node; -1 (errno) if it cannot be told. */
int nodes_misplaced(void *p, size_t bytes, int id);

/* Share of this process' memory that is in huge pages, in %; NaN if it cannot be told. */
double nodes_huge_pct(void);

#endif
