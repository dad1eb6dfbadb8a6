#include "cgroup.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* "8:16 ", and whether that device counts. Not sscanf: it measures all that follows, for
 * each line, and its blank goes on into the next one. */
static bool device(const char *line, cg_device_counts counts, const char **rest)
{
	unsigned int number[2];

	for (int i = 0; i < 2; i++) {
		size_t digits = strspn(line, "0123456789");

		if (digits == 0 || digits > 9 || line[digits] != ": "[i])
			return false;
		number[i] = (unsigned int)strtoul(line, NULL, 10);
		line += digits + 1;
	}
	*rest = line;
	return counts == NULL || counts(number[0], number[1]);
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
