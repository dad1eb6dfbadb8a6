#include "pools.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "nodes.h"

bool pools_map(struct pools *p, const struct topo *topo, size_t elements, char error[ERROR_SIZE])
{
	const size_t n = (size_t)topo->n;

	p->size = stream_size(topo->llc, memory_available(), memory_most(), topo->n);
	p->of = calloc((size_t)topo->n_nodes, sizeof(*p->of));
	p->misplaced = calloc(n, sizeof(*p->misplaced));
	if (!p->of || !p->misplaced) {
		snprintf(error, ERROR_SIZE, "out of memory");
		return false;
	}
	for (int node = 0; node < topo->n_nodes; node++) {
		const size_t cores = (size_t)topo->cores[node], blocks = p->size.elements * cores / elements;
		struct pool *pool = &p->of[node];

		if (blocks < cores) {
			snprintf(error, ERROR_SIZE, "not enough memory: %d threads need %.1f MB", topo->n,
				 (double)(POOL_ARRAYS * elements * sizeof(double) * n) / 1e6);
			return false;
		}
		if (!pool_map(pool, blocks, elements, true)) {
			snprintf(error, ERROR_SIZE, "memory cannot be mapped: %s", strerror(errno));
			return false;
		}
		nodes_place(pool->memory, pool->bytes, topo->nodes[node], nodes_room(topo->nodes[node], pool->bytes));
	}
	return true;
}

/* One member, when all have touched. */
static void touched(struct pools *p, const struct topo *topo)
{
	p->share = SIZE_MAX;
	for (int node = 0; node < topo->n_nodes; node++) {
		struct pool *pool = &p->of[node];
		const size_t mapped = pool->blocks;
		size_t share;

		pool_touched(pool);
		if (pool->blocks < mapped)
			p->size.limit = stream_limit_time(p->size.limit);
		share = pool->blocks / (size_t)topo->cores[node];
		p->share = share < p->share ? share : p->share;
	}
}

size_t pools_first(const struct pools *p, const struct topo *topo, int member)
{
	return (size_t)topo->rank[member] * p->share;
}

static double misplaced(const struct pools *p, const struct topo *topo, int member)
{
	const int node = topo->node_of[member];
	const struct pool *pool = &p->of[node];
	double sum = 0;

	for (int array = 0; array < POOL_ARRAYS; array++)
		sum += nodes_misplaced(pool_array(pool, pools_first(p, topo, member), array),
				       p->share * pool->elements * sizeof(double), topo->nodes[node]);
	return sum / POOL_ARRAYS;
}

bool pools_touch(struct pools *p, struct team *team, int member)
{
	const struct topo *topo = team->topo;
	const int node = topo->node_of[member];
	struct pool *pool = &p->of[node];
	const size_t cores = (size_t)topo->cores[node], least = (p->size.least * cores + pool->elements - 1) / pool->elements;

	pool_touch(pool, cores, SIZE_MAX, p->until);
	pool_touch(pool, cores, least, p->latest);
	team_meet(team);
	if (member == 0)
		touched(p, topo);
	team_meet(team);
	p->misplaced[member] = misplaced(p, topo, member);
	team_meet(team);
	return !(pools_misplaced(p, topo) > NODES_MISPLACED_MOST);
}

/* The member of whose share most is misplaced. */
static int worst_placed(const struct pools *p, const struct topo *topo)
{
	int worst = 0;

	for (int i = 1; i < topo->n; i++)
		if (isnan(p->misplaced[worst]) || p->misplaced[i] > p->misplaced[worst])
			worst = i;
	return worst;
}

double pools_misplaced(const struct pools *p, const struct topo *topo)
{
	return p->misplaced[worst_placed(p, topo)];
}

bool pools_placed(const struct pools *p, const struct topo *topo, char error[ERROR_SIZE])
{
	const int worst = worst_placed(p, topo);
	const double most = p->misplaced[worst];

	if (!(most > NODES_MISPLACED_MOST))
		return true;
	snprintf(error, ERROR_SIZE, "cpu %d: %.0f %% of its memory lies on another NUMA node than %d, which has too little free",
		 topo->cpus[worst], most, topo->nodes[topo->node_of[worst]]);
	return false;
}

bool pools_wrong(const struct pools *p, const struct topo *topo, char error[ERROR_SIZE])
{
	for (int node = 0; node < topo->n_nodes; node++)
		if (pool_wrong(&p->of[node], topo->nodes[node], error))
			return true;
	return false;
}

void pools_unmap(struct pools *p, const struct topo *topo, int member)
{
	const int node = topo->node_of[member];

	pool_unmap(&p->of[node], topo->rank[member], topo->cores[node]);
}
