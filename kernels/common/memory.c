#include "memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static bool read_number(const char *dir, const char *file, size_t *value)
{
	char path[4400], text[64];
	FILE *f;
	bool good;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	/* "max" is no number: no limit. */
	good = fgets(text, sizeof(text), f) != NULL && text[0] >= '0' && text[0] <= '9';
	if (good)
		*value = strtoull(text, NULL, 10);
	fclose(f);
	return good;
}

/* The number after a word at the start of a line, 0 without one. */
static unsigned long long read_field(const char *path, const char *word)
{
	unsigned long long value = 0;
	size_t length = strlen(word);
	char line[256];
	FILE *f = fopen(path, "re");

	if (f == NULL)
		return 0;
	while (fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, word, length) == 0 && strchr(" :", line[length]) != NULL && line[length] != '\0')
			value = strtoull(line + length + 1, NULL, 10);
	fclose(f);
	return value;
}

/* The files of a memory controller. */
struct controller {
	const char *mount, *limit, *throttle, *usage, *cache;
};

static const struct controller v1 = { "/sys/fs/cgroup/memory", "memory.limit_in_bytes", NULL, "memory.usage_in_bytes",
				      "total_inactive_file" };
static const struct controller v2 = { "/sys/fs/cgroup", "memory.max", "memory.high", "memory.current", "inactive_file" };

/*
 * What is left in one group. Above memory.high a process is slowed down, as good as
 * stopped; inactive file pages count as used, but go as soon as somebody wants memory.
 */
static size_t group_room(const char *dir, const struct controller *c)
{
	size_t limit = SIZE_MAX, high, usage, cache;
	char path[4400];

	if (!read_number(dir, c->limit, &limit))
		limit = SIZE_MAX;
	if (c->throttle && read_number(dir, c->throttle, &high) && high < limit)
		limit = high;
	if (limit == SIZE_MAX || !read_number(dir, c->usage, &usage))
		return SIZE_MAX;
	snprintf(path, sizeof(path), "%s/memory.stat", dir);
	cache = (size_t)read_field(path, c->cache);
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
	size_t machine = (size_t)read_field("/proc/meminfo", "MemAvailable") * 1024, group = memory_group_room("");

	return group < machine ? group : machine;
}

double memory_huge_pct(void)
{
	const double all = (double)read_field("/proc/self/smaps_rollup", "Anonymous");

	return all > 0 ? 100 * (double)read_field("/proc/self/smaps_rollup", "AnonHugePages") / all : NAN;
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
