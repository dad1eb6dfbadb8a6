#include "cgroup.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* io.stat of a node with hundreds of devices; the other files have a few lines. */
#define TEXT_MAX 65536
#define GROUPS_MAX 1024

static const char *const names[CG_FIELDS] = {
	[CG_CPU_US] = "cpu_us",
	[CG_CPU_THROTTLED_US] = "cpu_throttled_us",
	[CG_IO_SOME_US] = "io_some_us",
	[CG_IO_FULL_US] = "io_full_us",
	[CG_READ_BYTES] = "read_bytes",
	[CG_WRITTEN_BYTES] = "written_bytes",
	[CG_MEMORY_PEAK_BYTES] = "memory_peak_bytes",
	[CG_MEMORY_SOME_US] = "memory_some_us",
	[CG_OOM_KILLS] = "oom_kills",
};

const char *cg_name(enum cg_field field)
{
	return names[field];
}

void cg_clear(struct cg_values *values)
{
	for (int i = 0; i < CG_FIELDS; i++)
		values->v[i] = CG_UNKNOWN;
}

uint64_t cg_add(uint64_t a, uint64_t b)
{
	if (a == CG_UNKNOWN)
		return b;
	if (b == CG_UNKNOWN)
		return a;
	return a < CG_UNKNOWN - 1 - b ? a + b : CG_UNKNOWN - 1;
}

uint64_t cg_max(uint64_t a, uint64_t b)
{
	if (a == CG_UNKNOWN)
		return b;
	return b == CG_UNKNOWN || a > b ? a : b;
}

uint64_t cg_number(const char *text)
{
	char *end;
	unsigned long long n;

	if (!isdigit((unsigned char)*text))
		return CG_UNKNOWN;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno != 0 || (*end != '\0' && !isspace((unsigned char)*end)))
		return CG_UNKNOWN;
	return n;
}

const char *cg_next_line(const char *line)
{
	const char *eol = strchr(line, '\n');

	return eol != NULL && eol[1] != '\0' ? eol + 1 : NULL;
}

const char *cg_after(const char *line, const char *word)
{
	size_t len = strlen(word);

	return strncmp(line, word, len) == 0 && line[len] == ' ' ? line + len + 1 : NULL;
}

uint64_t cg_keyed(const char *text, const char *key)
{
	for (const char *line = text; line != NULL; line = cg_next_line(line)) {
		const char *value = cg_after(line, key);

		if (value != NULL)
			return cg_number(value);
	}
	return CG_UNKNOWN;
}

/* The number behind " KEY=" in this line. */
static uint64_t pair(const char *line, const char *key)
{
	size_t len = strlen(key);

	for (const char *p = line; *p != '\0' && *p != '\n'; p++) {
		if (*p == ' ' && strncmp(p + 1, key, len) == 0 && p[1 + len] == '=')
			return cg_number(p + 1 + len + 1);
	}
	return CG_UNKNOWN;
}

uint64_t cg_pressure(const char *text, const char *kind)
{
	for (const char *line = text; line != NULL; line = cg_next_line(line)) {
		if (cg_after(line, kind) != NULL)
			return pair(line, "total");
	}
	return CG_UNKNOWN;
}

/* "8:16 ", and whether that device counts. */
static bool device(const char *line, cg_device_counts counts, const char **rest)
{
	unsigned int major, minor;
	int used = 0;

	if (sscanf(line, "%9u:%9u %n", &major, &minor, &used) != 2 || used == 0)
		return false;
	*rest = line + used;
	return counts == NULL || counts(major, minor);
}

void cg_io_v2(const char *text, cg_device_counts counts, uint64_t *read, uint64_t *written)
{
	const char *rest;

	/* A group that has moved nothing has an empty file. */
	*read = *written = 0;
	for (const char *line = text; line != NULL; line = cg_next_line(line)) {
		if (!device(line, counts, &rest))
			continue;
		/* From the space before the first pair on. */
		*read = cg_add(*read, pair(rest - 1, "rbytes"));
		*written = cg_add(*written, pair(rest - 1, "wbytes"));
	}
}

void cg_io_v1(const char *text, cg_device_counts counts, uint64_t *read, uint64_t *written)
{
	const char *rest;

	*read = *written = 0;
	for (const char *line = text; line != NULL; line = cg_next_line(line)) {
		if (!device(line, counts, &rest))
			continue;
		if (cg_after(rest, "Read") != NULL)
			*read = cg_add(*read, cg_number(cg_after(rest, "Read")));
		else if (cg_after(rest, "Write") != NULL)
			*written = cg_add(*written, cg_number(cg_after(rest, "Write")));
	}
}

void cg_io_process(const char *text, uint64_t *read, uint64_t *written)
{
	*read = cg_keyed(text, "read_bytes:");
	*written = cg_keyed(text, "write_bytes:");
}

/* ---- reading ---- */

bool cg_file(char *text, size_t size, int dir, const char *name)
{
	size_t len = 0;
	ssize_t n;
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return false;
	while (len < size - 1 && (n = read(fd, text + len, size - 1 - len)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			/* Its group went away meanwhile. */
			close(fd);
			return false;
		}
		len += (size_t)n;
	}
	close(fd);
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

static void read_memory_v1(struct cg_values *values, int dir, char *text)
{
	if (cg_file(text, TEXT_MAX, dir, "memory.max_usage_in_bytes"))
		values->v[CG_MEMORY_PEAK_BYTES] = cg_number(text);
	values->v[CG_OOM_KILLS] = keyed_file(text, dir, "memory.oom_control", "oom_kill");
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
		v[CG_CPU_THROTTLED_US] = micro(keyed_file(text, dir, "cpu.stat", "throttled_time"));
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
		read_memory_v1(values, dir, text);
		break;
	case CG_HIERARCHIES:
		break;
	}
	free(text);
}

static void add_own(struct cg_values *values, int dir, enum cg_hierarchy hierarchy, char *text)
{
	uint64_t *v = values->v;
	uint64_t value;

	if (hierarchy == CG_MEMORY) {
		value = keyed_file(text, dir, "memory.oom_control", "oom_kill");
		v[CG_OOM_KILLS] = cg_add(v[CG_OOM_KILLS], value);
	} else if (hierarchy == CG_UNIFIED) {
		value = keyed_file(text, dir, "cpu.stat", "throttled_usec");
		v[CG_CPU_THROTTLED_US] = cg_add(v[CG_CPU_THROTTLED_US], value);
	} else {
		value = micro(keyed_file(text, dir, "cpu.stat", "throttled_time"));
		v[CG_CPU_THROTTLED_US] = cg_add(v[CG_CPU_THROTTLED_US], value);
	}
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
