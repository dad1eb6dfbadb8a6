#include "nodes.h"

#include <math.h>
#include <numa.h>
#include <numaif.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "read.h"

#define PAGES 1024

bool nodes_load(struct nodes *nodes, const struct topo *topo)
{
	struct bitmask *allowed = NULL;
	int most;

	*nodes = (struct nodes){ .bound = numa_available() >= 0 };
	most = nodes->bound ? numa_max_node() + 1 : topo->n_nodes;
	nodes->ids = calloc((size_t)most, sizeof(*nodes->ids));
	if (nodes->bound)
		allowed = numa_get_mems_allowed();
	for (int i = 0; nodes->ids && i < most; i++) {
		if (!nodes->bound)
			nodes->ids[nodes->n++] = topo->nodes[i];
		else if (allowed && numa_bitmask_isbitset(allowed, (unsigned)i) && numa_node_size64(i, NULL) > 0)
			nodes->ids[nodes->n++] = i;
	}
	if (allowed)
		numa_bitmask_free(allowed);
	return nodes->n > 0;
}

size_t nodes_available(int id)
{
	static const char *const names[] = { "MemFree", "Inactive(file)" };
	size_t kib, sum = 0;
	bool found = false;
	char word[40];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(word, sizeof(word), "Node %d %s", id, names[i]);
		if (read_number(&kib, word, "/sys/devices/system/node/node%d/meminfo", id)) {
			sum += kib * 1024;
			found = true;
		}
	}
	return found ? sum : SIZE_MAX;
}

static bool bind(void *p, size_t bytes, int id, int mode)
{
	struct bitmask *mask = numa_allocate_nodemask();
	long rc;

	numa_bitmask_setbit(mask, (unsigned)id);
	/* Linux reads one bit less than maxnode. */
	rc = mbind(p, bytes, mode, mask->maskp, mask->size + 1, 0);
	numa_bitmask_free(mask);
	return rc == 0;
}

bool nodes_bind(void *p, size_t bytes, int id)
{
	return bind(p, bytes, id, MPOL_BIND);
}

bool nodes_room(int id, size_t bytes)
{
	return nodes_available(id) / 2 >= bytes;
}

void nodes_place(void *p, size_t bytes, int id, bool strict)
{
	if (numa_available() < 0 || (strict && bind(p, bytes, id, MPOL_BIND)))
		return;
	(void)bind(p, bytes, id, MPOL_PREFERRED);
}

double nodes_misplaced(void *p, size_t bytes, int id)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), all = bytes / page;
	const size_t n = all < PAGES ? all : PAGES;
	void *pages[PAGES];
	int status[PAGES], elsewhere = 0, touched = 0;

	if (numa_available() < 0)
		return NAN;
	for (size_t i = 0; i < n; i++)
		pages[i] = (char *)p + all * i / n * page;
	if (n == 0 || move_pages(0, n, pages, NULL, status, 0) < 0)
		return NAN;
	for (size_t i = 0; i < n; i++) {
		touched += status[i] >= 0;
		elsewhere += status[i] >= 0 && status[i] != id;
	}
	return touched > 0 ? 100.0 * elsewhere / touched : NAN;
}
