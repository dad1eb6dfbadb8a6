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

static size_t mem_available(void)
{
	char line[256];
	unsigned long long kib = 0;
	FILE *f = fopen("/proc/meminfo", "re");

	if (f == NULL)
		return 0;
	while (fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, "MemAvailable:", 13) == 0)
			kib = strtoull(line + 13, NULL, 10);
	fclose(f);
	return (size_t)kib * 1024;
}

/* The smallest room from this group up to the hierarchy's root. */
static size_t group_room(char *dir, size_t root_length, const char *limit_file, const char *usage_file)
{
	size_t least = SIZE_MAX;

	for (;;) {
		size_t limit, usage;
		char *slash;

		if (read_number(dir, limit_file, &limit) && read_number(dir, usage_file, &usage)) {
			size_t room = limit > usage ? limit - usage : 0;

			if (room < least)
				least = room;
		}
		slash = strrchr(dir, '/');
		if (slash == NULL || (size_t)(slash - dir) < root_length)
			return least;
		*slash = '\0';
	}
}

static size_t cgroup_room(void)
{
	size_t least = SIZE_MAX;
	char line[4096], dir[4300];
	FILE *f = fopen("/proc/self/cgroup", "re");

	if (f == NULL)
		return least;
	while (fgets(line, sizeof(line), f) != NULL) {
		char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
		size_t room = SIZE_MAX;

		if (path == NULL)
			continue;
		*path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		if (strcmp(controllers + 1, "memory") == 0) {
			static const char root[] = "/sys/fs/cgroup/memory";

			snprintf(dir, sizeof(dir), "%s%s", root, path);
			room = group_room(dir, sizeof(root) - 1, "memory.limit_in_bytes", "memory.usage_in_bytes");
		} else if (controllers[1] == '\0') {
			static const char root[] = "/sys/fs/cgroup";

			snprintf(dir, sizeof(dir), "%s%s", root, path);
			room = group_room(dir, sizeof(root) - 1, "memory.max", "memory.current");
		}
		if (room < least)
			least = room;
	}
	fclose(f);
	return least;
}

size_t memory_available(void)
{
	size_t machine = mem_available(), group = cgroup_room();

	return group < machine ? group : machine;
}

double memory_huge_pct(void)
{
	char line[256];
	double all = 0, huge = NAN;
	FILE *f = fopen("/proc/self/smaps_rollup", "re");

	if (f == NULL)
		return NAN;
	while (fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, "Anonymous:", 10) == 0)
			all = strtod(line + 10, NULL);
		else if (strncmp(line, "AnonHugePages:", 14) == 0)
			huge = strtod(line + 14, NULL);
	}
	fclose(f);
	return all > 0 ? 100 * huge / all : NAN;
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
