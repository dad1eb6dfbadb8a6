#include "memory.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "plan.h"

/* A node with less than this free is left out: it would be measured in a cache. */
#define LEAST_ROOM ((size_t)64 << 20)

/* One cache over several nodes is filled by the cores of any of them. */
static size_t cache_of_node(const struct topo *topo)
{
	size_t llc = topo->llc / (size_t)topo->n_nodes;

	for (int level = 1; level < TOPO_LEVELS; level++)
		llc = llc < topo->cache[level] ? topo->cache[level] : llc;
	return llc;
}

/* One full node must not make all the others unknown. */
static bool leave_out(struct numa_memory *m)
{
	int n = 0;

	m->left_out = calloc((size_t)m->nodes.n, sizeof(*m->left_out));
	if (!m->left_out)
		return false;
	for (int c = 0; c < m->nodes.n; c++) {
		const int id = m->nodes.ids[c];

		if (nodes_room(id, LEAST_ROOM))
			m->nodes.ids[n++] = id;
		else
			m->left_out[m->n_left_out++] = id;
	}
	m->nodes.n = n;
	return true;
}

static bool map(struct numa_memory *m, int column, size_t room, char error[ERROR_SIZE])
{
	const int id = m->nodes.ids[column];
	const size_t here = nodes_available(id) / 2;
	const struct plan_size size = plan_size(m->llc, room < here ? room : here, POOL_BLOCK);
	struct pool *p = &m->pools[column];

	if (size.limit == STREAM_LIMIT_MEMORY)
		m->limit = size.limit;
	if (size.bytes == 0) {
		snprintf(error, ERROR_SIZE, "not enough memory: node %d needs %.1f MB", id, POOL_BLOCK / 1e6);
		return false;
	}
	if (!pool_map(p, size.bytes / POOL_BLOCK, POOL_ELEMENTS, false)) {
		snprintf(error, ERROR_SIZE, "memory cannot be mapped: %s", strerror(errno));
		return false;
	}
	if (m->nodes.bound && !nodes_bind(p->memory, p->bytes, id)) {
		snprintf(error, ERROR_SIZE, "memory cannot be bound to node %d: %s", id, strerror(errno));
		return false;
	}
	return true;
}

bool numa_memory_map(struct numa_memory *m, const struct topo *topo, char error[ERROR_SIZE])
{
	const size_t half = memory_available() / 2, most = memory_most(), all = half < most ? half : most;

	*m = (struct numa_memory){ .llc = cache_of_node(topo), .limit = STREAM_LIMIT_LLC };
	if (!nodes_load(&m->nodes, topo)) {
		snprintf(error, ERROR_SIZE, "no node whose memory may be used");
		return false;
	}
	m->pools = calloc((size_t)m->nodes.n, sizeof(*m->pools));
	if (!m->pools || !leave_out(m)) {
		snprintf(error, ERROR_SIZE, "out of memory");
		return false;
	}
	if (m->nodes.n == 0) {
		snprintf(error, ERROR_SIZE, "not enough memory: no node has %zu MB free", 2 * (LEAST_ROOM >> 20));
		return false;
	}
	for (int c = 0; c < m->nodes.n; c++)
		if (!map(m, c, all / (size_t)m->nodes.n, error))
			return false;
	return true;
}

void numa_memory_touched(struct numa_memory *m, char error[ERROR_SIZE])
{
	for (int c = 0; c < m->nodes.n; c++) {
		struct pool *p = &m->pools[c];
		const size_t mapped = p->blocks;
		double misplaced = 0;

		pool_touched(p);
		if (p->blocks < mapped)
			m->limit = stream_limit_time(m->limit);
		if (m->nodes.bound)
			misplaced = nodes_misplaced(p->memory, pool_bytes(p), m->nodes.ids[c]);
		if (isnan(misplaced))
			snprintf(error, ERROR_SIZE, "where memory lies cannot be read: %s", strerror(errno));
		else if (misplaced > 0)
			snprintf(error, ERROR_SIZE, "memory bound to node %d lies on another", m->nodes.ids[c]);
	}
}
