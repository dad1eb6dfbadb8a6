#include "topo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Larger than any CPU number: a bound against "0-4294967295". */
#define MAX_CPU 65535

bool topo_parse(hwloc_bitmap_t set, const char *text)
{
	const char *p = text;

	hwloc_bitmap_zero(set);
	do {
		char *end;
		unsigned long from, to;

		if (*p < '0' || *p > '9')
			return false;
		from = to = strtoul(p, &end, 10);
		if (*end == '-') {
			p = end + 1;
			if (*p < '0' || *p > '9')
				return false;
			to = strtoul(p, &end, 10);
		}
		if (to > MAX_CPU || from > to)
			return false;
		hwloc_bitmap_set_range(set, (unsigned)from, (int)to);
		p = end;
	} while (*p++ == ',');
	return p[-1] == '\0';
}

static bool restrict_to(hwloc_bitmap_t set, const char *cpus, char error[ERROR_SIZE])
{
	hwloc_bitmap_t wanted = hwloc_bitmap_alloc();
	bool good = false;
	char *have = NULL, shown[41];

	opts_show(shown, sizeof(shown), cpus);
	if (wanted == NULL) {
		snprintf(error, ERROR_SIZE, "out of memory");
		return false;
	}
	if (!topo_parse(wanted, cpus)) {
		snprintf(error, ERROR_SIZE, "--cpus: want a list like 0-3,7, not \"%s\"", shown);
	} else if (!hwloc_bitmap_isincluded(wanted, set)) {
		hwloc_bitmap_list_asprintf(&have, set);
		snprintf(error, ERROR_SIZE, "--cpus: %s is not among the allowed CPUs %.100s", shown,
			 have ? have : "?");
	} else {
		hwloc_bitmap_copy(set, wanted);
		good = true;
	}
	free(have);
	hwloc_bitmap_free(wanted);
	return good;
}

/* Bytes of the largest caches on the way up from each CPU, each cache once. */
static size_t last_level_caches(hwloc_topology_t machine, const struct topo *t)
{
	size_t sum = 0;
	hwloc_obj_t *seen = calloc((size_t)t->n, sizeof(hwloc_obj_t));
	int n_seen = 0;

	for (int i = 0; seen && i < t->n; i++) {
		hwloc_obj_t o = hwloc_get_pu_obj_by_os_index(machine, (unsigned)t->cpus[i]), last = NULL;
		bool known = false;

		for (; o; o = o->parent)
			if (hwloc_obj_type_is_dcache(o->type))
				last = o;
		for (int j = 0; j < n_seen; j++)
			known = known || seen[j] == last;
		if (last && !known) {
			seen[n_seen++] = last;
			sum += last->attr->cache.size;
		}
	}
	free(seen);
	return sum;
}

static void caches_of(hwloc_topology_t machine, struct topo *t)
{
	hwloc_obj_t o = hwloc_get_pu_obj_by_os_index(machine, (unsigned)t->cpus[0]);

	for (; o; o = o->parent)
		if (hwloc_obj_type_is_dcache(o->type) && o->attr->cache.depth < TOPO_LEVELS)
			t->cache[o->attr->cache.depth] = o->attr->cache.size;
}

/*
 * The nodes of the cores. A core with several (memory of two kinds beside it) counts
 * to the first: the one that its threads' memory comes from by default.
 */
static bool numa_nodes(struct topo *t, hwloc_topology_t machine)
{
	hwloc_bitmap_t near = hwloc_bitmap_alloc(), all = hwloc_bitmap_alloc();
	bool good = near && all;
	int node, n = 0;

	t->node_of = calloc((size_t)t->n, sizeof(*t->node_of));
	t->rank = calloc((size_t)t->n, sizeof(*t->rank));
	good = good && t->node_of && t->rank;
	for (int i = 0; good && i < t->n; i++) {
		hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(machine, (unsigned)t->cpus[i]);

		if (pu)
			hwloc_cpuset_to_nodeset(machine, pu->cpuset, near);
		node = pu ? hwloc_bitmap_first(near) : 0;
		t->node_of[i] = node < 0 ? 0 : node;
		hwloc_bitmap_set(all, (unsigned)t->node_of[i]);
	}
	t->n_nodes = good ? hwloc_bitmap_weight(all) : 0;
	t->nodes = calloc((size_t)t->n_nodes + 1, sizeof(*t->nodes));
	t->cores = calloc((size_t)t->n_nodes + 1, sizeof(*t->cores));
	good = good && t->nodes && t->cores;
	if (good) {
		hwloc_bitmap_foreach_begin(node, all)
			t->nodes[n++] = node;
		hwloc_bitmap_foreach_end();
	}
	for (int i = 0; good && i < t->n; i++) {
		int j = 0;

		while (t->nodes[j] != t->node_of[i])
			j++;
		t->node_of[i] = j;
		t->rank[i] = t->cores[j]++;
	}
	hwloc_bitmap_free(near);
	hwloc_bitmap_free(all);
	return good;
}

bool topo_pick(struct topo *t, hwloc_topology_t machine, hwloc_const_cpuset_t allowed, const char *cpus,
	       char error[ERROR_SIZE])
{
	hwloc_bitmap_t set = hwloc_bitmap_dup(allowed), picked = hwloc_bitmap_alloc();
	hwloc_obj_t core = NULL;
	int total, i = 0, cpu;
	bool good = false;

	*t = (struct topo){ 0 };
	if (set == NULL || picked == NULL) {
		snprintf(error, ERROR_SIZE, "out of memory");
		goto end;
	}
	/* Offline CPUs are in no complete set of the topology's own. */
	hwloc_bitmap_and(set, set, hwloc_topology_get_topology_cpuset(machine));
	if (cpus && !restrict_to(set, cpus, error))
		goto end;
	while ((core = hwloc_get_next_obj_by_type(machine, HWLOC_OBJ_CORE, core)) != NULL) {
		hwloc_bitmap_t in_core = hwloc_bitmap_dup(core->cpuset);

		if (in_core) {
			hwloc_bitmap_and(in_core, in_core, set);
			if (!hwloc_bitmap_iszero(in_core))
				hwloc_bitmap_set(picked, (unsigned)hwloc_bitmap_first(in_core));
			hwloc_bitmap_free(in_core);
		}
	}
	/* No cores known (a container that hides them): every CPU is one. */
	if (hwloc_bitmap_iszero(picked))
		hwloc_bitmap_copy(picked, set);
	total = hwloc_bitmap_weight(picked);
	if (total <= 0) {
		snprintf(error, ERROR_SIZE, "no CPU is left to run on");
		goto end;
	}
	t->cpus = calloc((size_t)total, sizeof(*t->cpus));
	if (t->cpus == NULL || hwloc_bitmap_list_asprintf(&t->cpus_text, picked) < 0) {
		snprintf(error, ERROR_SIZE, "out of memory");
		topo_free(t);
		goto end;
	}
	hwloc_bitmap_foreach_begin(cpu, picked)
		t->cpus[i++] = cpu;
	hwloc_bitmap_foreach_end();
	t->n = total;
	if (!numa_nodes(t, machine)) {
		snprintf(error, ERROR_SIZE, "out of memory");
		topo_free(t);
		goto end;
	}
	t->llc = last_level_caches(machine, t);
	caches_of(machine, t);
	good = true;
end:
	hwloc_bitmap_free(set);
	hwloc_bitmap_free(picked);
	return good;
}

bool topo_load(struct topo *t, const char *cpus, char error[ERROR_SIZE])
{
	hwloc_topology_t machine = NULL;
	hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
	bool good = false;

	*t = (struct topo){ 0 };
	/*
	 * No I/O devices: looking for them takes most of hwloc's time. Disallowed ones too: a
	 * core beside a NUMA node whose memory this cpuset may not use still belongs to that node.
	 */
	if (allowed == NULL || hwloc_topology_init(&machine) != 0 ||
	    hwloc_topology_set_flags(machine, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0 ||
	    hwloc_topology_set_io_types_filter(machine, HWLOC_TYPE_FILTER_KEEP_NONE) != 0 ||
	    hwloc_topology_load(machine) != 0) {
		snprintf(error, ERROR_SIZE, "hwloc cannot read this machine's topology");
		goto end;
	}
	if (hwloc_get_cpubind(machine, allowed, HWLOC_CPUBIND_PROCESS) != 0) {
		snprintf(error, ERROR_SIZE, "the allowed CPUs cannot be read");
		goto end;
	}
	good = topo_pick(t, machine, allowed, cpus, error);
end:
	if (machine)
		hwloc_topology_destroy(machine);
	hwloc_bitmap_free(allowed);
	return good;
}

void topo_free(struct topo *t)
{
	free(t->cpus);
	free(t->node_of);
	free(t->rank);
	free(t->nodes);
	free(t->cores);
	free(t->cpus_text);
	*t = (struct topo){ 0 };
}

cpu_set_t *topo_set(const int *cpus, int n, size_t *size)
{
	cpu_set_t *set;
	int most = 0;

	for (int i = 0; i < n; i++)
		most = cpus[i] > most ? cpus[i] : most;
	set = CPU_ALLOC((size_t)most + 1);
	*size = CPU_ALLOC_SIZE((size_t)most + 1);
	if (set == NULL)
		return NULL;
	CPU_ZERO_S(*size, set);
	for (int i = 0; i < n; i++)
		CPU_SET_S((size_t)cpus[i], *size, set);
	return set;
}

bool topo_stay_on(const struct topo *topo)
{
	size_t size;
	cpu_set_t *set = topo_set(topo->cpus, topo->n, &size);
	const bool good = set && sched_setaffinity(0, size, set) == 0;

	CPU_FREE(set);
	return good;
}
