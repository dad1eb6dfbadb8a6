#include "widen.h"

#include <fcntl.h>
#include <numa.h>
#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "topo.h"

#define SET_CPUS 65536 /* sched_getaffinity wants room for all that the system could have */

static void join(const char *cgroup)
{
	char path[4400];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	/* 0 is the process that writes. */
	(void)!write(fd, "0", 1);
	close(fd);
}

/* Of the list the kernel takes what the cpuset allows. True: that is all of it. */
static bool allow(const char *list)
{
	hwloc_bitmap_t wanted = hwloc_bitmap_alloc();
	int *cpus = NULL, cpu, n = 0;
	cpu_set_t *set = NULL, *got = CPU_ALLOC(SET_CPUS);
	bool all = false;
	size_t size;

	if (wanted && topo_parse(wanted, list))
		cpus = calloc((size_t)hwloc_bitmap_weight(wanted), sizeof(*cpus));
	if (cpus) {
		hwloc_bitmap_foreach_begin(cpu, wanted)
			cpus[n++] = cpu;
		hwloc_bitmap_foreach_end();
		set = topo_set(cpus, n, &size);
	}
	if (set && got && sched_setaffinity(0, size, set) == 0 &&
	    sched_getaffinity(0, CPU_ALLOC_SIZE(SET_CPUS), got) == 0) {
		all = true;
		for (int i = 0; i < n; i++)
			all = all && CPU_ISSET_S((size_t)cpus[i], CPU_ALLOC_SIZE(SET_CPUS), got);
	}
	CPU_FREE(got);
	CPU_FREE(set);
	free(cpus);
	hwloc_bitmap_free(wanted);
	return all;
}

/* Whether there is a NUMA node with memory that this process may not use. */
static bool lacks_memory(void)
{
	struct bitmask *allowed = numa_available() < 0 ? NULL : numa_get_mems_allowed();
	bool lacks = false;

	for (int i = 0; allowed && i <= numa_max_node(); i++)
		lacks = lacks || (numa_node_size64(i, NULL) > 0 && !numa_bitmask_isbitset(allowed, (unsigned)i));
	if (allowed)
		numa_bitmask_free(allowed);
	return lacks;
}

void widen(const char *list, const char *cgroup)
{
	if (list == NULL)
		return;
	/* numactl --membind of whoever started slurmd. */
	(void)!set_mempolicy(MPOL_DEFAULT, NULL, 0);
	/* Only a cpuset has to be left, an affinity has not. */
	if ((!allow(list) || lacks_memory()) && cgroup) {
		join(cgroup);
		allow(list);
	}
}

bool widen_mems(char *list, size_t size)
{
	static const char word[] = "Mems_allowed_list:\t";
	bool good = false;
	FILE *f = fopen("/proc/self/status", "re");
	char line[4096];

	while (f && !good && fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, word, strlen(word)) != 0)
			continue;
		line[strcspn(line, "\n")] = '\0';
		good = (size_t)snprintf(list, size, "%s", line + strlen(word)) < size;
	}
	if (f)
		fclose(f);
	return good;
}
