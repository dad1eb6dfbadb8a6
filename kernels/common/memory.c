#include "memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "read.h"

/* The files of a memory controller. */
struct controller {
	const char *mount, *limit, *throttle, *usage, *cache;
};

static const struct controller v1 = { "/sys/fs/cgroup/memory", "memory.limit_in_bytes", NULL, "memory.usage_in_bytes",
				      "total_inactive_file" };
static const struct controller v2 = { "/sys/fs/cgroup", "memory.max", "memory.high", "memory.current", "inactive_file" };

/*
 * What is left in one group. Above memory.high a process is slowed down, as good as
 * stopped; inactive file pages count as used, but are the first to be reclaimed.
 */
static size_t group_room(const char *dir, const struct controller *c)
{
	size_t limit = SIZE_MAX, high, usage, cache = 0;

	(void)read_number(&limit, NULL, "%s/%s", dir, c->limit);
	if (c->throttle && read_number(&high, NULL, "%s/%s", dir, c->throttle) && high < limit)
		limit = high;
	if (limit == SIZE_MAX || !read_number(&usage, NULL, "%s/%s", dir, c->usage))
		return SIZE_MAX;
	(void)read_number(&cache, c->cache, "%s/memory.stat", dir);
	usage = usage > cache ? usage - cache : 0;
	return limit > usage ? limit - usage : 0;
}

/* The smallest room from a group up to the hierarchy's root. */
static size_t groups_room(const char *root, const char *group, const struct controller *c)
{
	size_t least = SIZE_MAX, root_length;
	char dir[4300];

	root_length = (size_t)snprintf(dir, sizeof(dir), "%s%s", root, c->mount);
	if (root_length >= sizeof(dir))
		return least;
	snprintf(dir + root_length, sizeof(dir) - root_length, "%s", group);
	for (;;) {
		size_t room = group_room(dir, c);
		char *slash;

		if (room < least)
			least = room;
		slash = strrchr(dir, '/');
		if (slash == NULL || (size_t)(slash - dir) < root_length)
			return least;
		*slash = '\0';
	}
}

size_t memory_group_room(const char *root)
{
	size_t least = SIZE_MAX;
	char line[4096], path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	f = fopen(path, "re");
	if (f == NULL)
		return least;
	while (fgets(line, sizeof(line), f) != NULL) {
		char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
		size_t room = SIZE_MAX;

		if (group == NULL)
			continue;
		*group++ = '\0';
		group[strcspn(group, "\n")] = '\0';
		if (strcmp(controllers + 1, "memory") == 0)
			room = groups_room(root, group, &v1);
		else if (controllers[1] == '\0')
			room = groups_room(root, group, &v2);
		if (room < least)
			least = room;
	}
	fclose(f);
	return least;
}

size_t memory_available(void)
{
	size_t kib = 0, group = memory_group_room("");

	(void)read_number(&kib, "MemAvailable", "/proc/meminfo");
	return group / 1024 < kib ? group : kib * 1024;
}

double memory_most_mb;

size_t memory_most(void)
{
	return memory_most_mb > 0 ? (size_t)(memory_most_mb * 1e6) : SIZE_MAX;
}

double memory_huge_pct(void)
{
	static const char rollup[] = "/proc/self/smaps_rollup";
	size_t all = 0, huge = 0;

	return read_number(&all, "Anonymous", "%s", rollup) && read_number(&huge, "AnonHugePages", "%s", rollup) && all > 0 ?
		       100.0 * (double)huge / (double)all : NAN;
}

void *memory_map(size_t bytes)
{
	const size_t more = bytes >= MEMORY_HUGE ? MEMORY_HUGE : 0;
	char *p = mmap(NULL, bytes + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t before;

	if (p == MAP_FAILED)
		return NULL;
	before = more ? (MEMORY_HUGE - (uintptr_t)p % MEMORY_HUGE) % MEMORY_HUGE : 0;
	if (before > 0)
		munmap(p, before);
	p += before;
	if (more > before)
		munmap(p + bytes, more - before);
	/* Advice for this range, not a setting of the host; it may be refused. */
	(void)madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}
