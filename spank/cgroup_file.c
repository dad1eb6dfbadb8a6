#include "cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* io.stat of a node with hundreds of devices; the other files have a few lines. */
#define TEXT_MAX 65536
#define GROUPS_MAX 1024

bool cg_file(char *text, size_t size, int dir, const char *name)
{
	size_t len = 0;
	ssize_t n = 0;
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return false;
	while (len < size - 1 && (n = read(fd, text + len, size - 1 - len)) != 0) {
		if (n > 0)
			len += (size_t)n;
		else if (errno != EINTR)
			break;
	}
	close(fd);
	/* Its group went away meanwhile. */
	if (n < 0)
		return false;
	/* Of a line that did not fit, half a number would be another one. */
	if (len == size - 1) {
		while (len > 0 && text[len - 1] != '\n')
			len--;
	}
	text[len] = '\0';
	return true;
}

/* A controller that is off has no file; then nothing changes. */
static uint64_t keyed_file(char *text, int dir, const char *name, const char *key)
{
	return cg_file(text, TEXT_MAX, dir, name) ? cg_keyed(text, key) : CG_UNKNOWN;
}

static uint64_t micro(uint64_t nano)
{
	return nano == CG_UNKNOWN ? nano : nano / 1000;
}

static uint64_t throttled(char *text, int dir, enum cg_hierarchy hierarchy)
{
	return hierarchy == CG_UNIFIED ? keyed_file(text, dir, "cpu.stat", "throttled_usec")
				       : micro(keyed_file(text, dir, "cpu.stat", "throttled_time"));
}

static void read_unified(struct cg_values *values, int dir, cg_device_counts counts, char *text)
{
	uint64_t *v = values->v;

	if (cg_file(text, TEXT_MAX, dir, "cpu.stat")) {
		v[CG_CPU_US] = cg_keyed(text, "usage_usec");
		v[CG_CPU_THROTTLED_US] = cg_keyed(text, "throttled_usec");
	}
	if (cg_file(text, TEXT_MAX, dir, "io.stat"))
		cg_io_v2(text, counts, &v[CG_READ_BYTES], &v[CG_WRITTEN_BYTES]);
	if (cg_file(text, TEXT_MAX, dir, "io.pressure")) {
		v[CG_IO_SOME_US] = cg_pressure(text, "some");
		v[CG_IO_FULL_US] = cg_pressure(text, "full");
	}
	if (cg_file(text, TEXT_MAX, dir, "memory.peak"))
		v[CG_MEMORY_PEAK_BYTES] = cg_number(text);
	if (cg_file(text, TEXT_MAX, dir, "memory.pressure"))
		v[CG_MEMORY_SOME_US] = cg_pressure(text, "some");
	v[CG_OOM_KILLS] = keyed_file(text, dir, "memory.events", "oom_kill");
}

void cg_read(struct cg_values *values, int dir, enum cg_hierarchy hierarchy, cg_device_counts counts)
{
	char *text = malloc(TEXT_MAX);
	uint64_t *v = values->v;

	if (text == NULL)
		return;
	switch (hierarchy) {
	case CG_UNIFIED:
		read_unified(values, dir, counts, text);
		break;
	case CG_CPU:
		v[CG_CPU_THROTTLED_US] = throttled(text, dir, hierarchy);
		break;
	case CG_CPUACCT:
		if (cg_file(text, TEXT_MAX, dir, "cpuacct.usage"))
			v[CG_CPU_US] = micro(cg_number(text));
		break;
	case CG_BLKIO:
		/* Of this group and those below it; older kernels know the group's own only. */
		if (cg_file(text, TEXT_MAX, dir, "blkio.throttle.io_service_bytes_recursive"))
			cg_io_v1(text, counts, &v[CG_READ_BYTES], &v[CG_WRITTEN_BYTES]);
		break;
	case CG_MEMORY:
		if (cg_file(text, TEXT_MAX, dir, "memory.max_usage_in_bytes"))
			v[CG_MEMORY_PEAK_BYTES] = cg_number(text);
		v[CG_OOM_KILLS] = keyed_file(text, dir, "memory.oom_control", "oom_kill");
		break;
	case CG_HIERARCHIES:
		break;
	}
	free(text);
}

static void add_own(struct cg_values *values, int dir, enum cg_hierarchy hierarchy, char *text)
{
	uint64_t *v = values->v;

	if (hierarchy == CG_MEMORY)
		v[CG_OOM_KILLS] = cg_add(v[CG_OOM_KILLS], keyed_file(text, dir, "memory.oom_control", "oom_kill"));
	else
		v[CG_CPU_THROTTLED_US] = cg_add(v[CG_CPU_THROTTLED_US], throttled(text, dir, hierarchy));
}

static void walk(struct cg_values *values, int dir, enum cg_hierarchy hierarchy, char *text, int depth,
		 int *left)
{
	struct dirent *entry;
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (list == NULL) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(list)) != NULL && *left > 0) {
		int child;

		if (entry->d_name[0] == '.' || (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN))
			continue;
		child = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (child < 0)
			continue;
		(*left)--;
		add_own(values, child, hierarchy, text);
		if (depth > 1)
			walk(values, child, hierarchy, text, depth - 1, left);
		close(child);
	}
	closedir(list);
}

void cg_read_below(struct cg_values *values, int dir, enum cg_hierarchy hierarchy)
{
	char *text;
	int left = GROUPS_MAX;

	if (hierarchy != CG_UNIFIED && hierarchy != CG_CPU && hierarchy != CG_MEMORY)
		return;
	text = malloc(TEXT_MAX);
	if (text == NULL)
		return;
	walk(values, dir, hierarchy, text, 2, &left);
	free(text);
}
