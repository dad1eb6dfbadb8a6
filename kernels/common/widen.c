#include "widen.h"

#include <fcntl.h>
#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "topo.h"

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

static void allow(const char *list)
{
	hwloc_bitmap_t wanted = hwloc_bitmap_alloc();
	int *cpus = NULL, cpu, n = 0;
	cpu_set_t *set = NULL;
	size_t size;

	if (wanted && topo_parse(wanted, list))
		cpus = calloc((size_t)hwloc_bitmap_weight(wanted), sizeof(*cpus));
	if (cpus) {
		hwloc_bitmap_foreach_begin(cpu, wanted)
			cpus[n++] = cpu;
		hwloc_bitmap_foreach_end();
		set = topo_set(cpus, n, &size);
	}
	/* Of these the kernel takes what the cpuset allows. */
	if (set)
		(void)!sched_setaffinity(0, size, set);
	CPU_FREE(set);
	free(cpus);
	hwloc_bitmap_free(wanted);
}

void widen(const char *list, const char *cgroup)
{
	if (cgroup)
		join(cgroup);
	if (list) {
		allow(list);
		/* numactl --membind of whoever started slurmd. */
		(void)!set_mempolicy(MPOL_DEFAULT, NULL, 0);
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
