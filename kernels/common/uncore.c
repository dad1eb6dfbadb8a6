#include "uncore.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CPU_MAX 1000000
#define TEXT 4096 /* of a file: a page of sysfs */

static bool take_cpu(const char **p, long *cpu)
{
	char *end;

	if (!isdigit((unsigned char)**p))
		return false;
	errno = 0;
	*cpu = strtol(*p, &end, 10);
	*p = end;
	return errno == 0 && *cpu <= CPU_MAX;
}

size_t uncore_cpus(const char *text, int *cpus, size_t max)
{
	const char *p = text;
	size_t n = 0;
	long first, last;

	while (take_cpu(&p, &first)) {
		last = first;
		if (*p == '-') {
			p++;
			if (!take_cpu(&p, &last) || last < first)
				return 0;
		}
		for (; first <= last; first++) {
			if (n == max)
				return 0;
			cpus[n++] = (int)first;
		}
		if (*p == '\0' || *p == '\n')
			return n;
		if (*p++ != ',')
			return 0;
	}
	return 0;
}

/* A line of a file of sysfs, without its end; false where there is none, or it has more than fits. */
static bool line_of(char *out, size_t size, int dir, const char *name)
{
	const int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	const ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

	if (fd >= 0)
		close(fd);
	if (n < 0 || (size_t)n == size - 1)
		return false;
	out[n] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return true;
}

/* Puts a value's bits where a format wants them, lowest first: "config:0-7,32". */
static int place(uint64_t config[3], const char *format, uint64_t value)
{
	static const char *const words[] = { "config:", "config1:", "config2:" };
	const char *p = NULL;
	int bits[64];
	size_t word = 0, n;

	for (; word < 3 && p == NULL; word++)
		p = strncmp(format, words[word], strlen(words[word])) == 0 ? format + strlen(words[word]) : NULL;
	n = p ? uncore_cpus(p, bits, 64) : 0; /* of the same grammar */
	if (n == 0)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (bits[i] > 63)
			return -EINVAL;
		config[word - 1] |= (value >> i & 1) << bits[i];
	}
	return n < 64 && value >> n != 0 ? -EINVAL : 0;
}

int uncore_config(uint64_t config[3], const char *event, int formats)
{
	char text[256], format[TEXT], *rest = NULL;

	memset(config, 0, 3 * sizeof(*config));
	if (event[0] == '\0' || strlen(event) >= sizeof(text))
		return -EINVAL;
	memcpy(text, event, strlen(event) + 1);
	for (char *term = strtok_r(text, ",", &rest); term != NULL; term = strtok_r(NULL, ",", &rest)) {
		char *equals = strchr(term, '='), *end = NULL;
		uint64_t value = 1;

		if (equals != NULL) {
			*equals = '\0';
			if (!isdigit((unsigned char)equals[1]))
				return -EINVAL;
			errno = 0;
			value = strtoull(equals + 1, &end, 0);
			if (errno != 0 || *end != '\0')
				return -EINVAL;
		}
		/* A name is a file of `formats`, and no way to others. */
		if (term[0] == '\0' || term[strspn(term, "abcdefghijklmnopqrstuvwxyz0123456789_")] != '\0' ||
		    !line_of(format, sizeof(format), formats, term) || place(config, format, value) < 0)
			return -EINVAL;
	}
	return 0;
}

/* Intel's description of an event, in `pmu`; -ENOENT: it has none of that name. */
static int describe(struct perf_event_attr *attr, double *bytes, int pmu, const char *name)
{
	char path[64], text[256], *end;
	uint64_t config[3];
	int formats, rc;

	snprintf(path, sizeof(path), "events/%s", name);
	if (!line_of(text, sizeof(text), pmu, path))
		return -ENOENT;
	formats = openat(pmu, "format", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = formats < 0 ? -EINVAL : uncore_config(config, text, formats);
	if (formats >= 0)
		close(formats);
	if (rc < 0)
		return rc;
	attr->config = config[0];
	attr->config1 = config[1];
	attr->config2 = config[2];
	snprintf(path, sizeof(path), "events/%s.scale", name);
	if (!line_of(text, sizeof(text), pmu, path))
		return -EINVAL;
	*bytes = strtod(text, &end);
	snprintf(path, sizeof(path), "events/%s.unit", name);
	if (*end != '\0' || !line_of(text, sizeof(text), pmu, path) || strcmp(text, "MiB") != 0)
		return -EINVAL;
	*bytes *= 1048576;
	return *bytes >= 1 && *bytes < 1e9 ? 0 : -EINVAL;
}

static size_t domain_of(struct uncore *u, int cpu)
{
	size_t i = 0;

	while (i < u->domains && u->cpus[i] != cpu)
		i++;
	if (i == u->domains && i < UNCORE_DOMAINS)
		u->cpus[u->domains++] = cpu;
	return i;
}

static int open_event(struct uncore *u, struct perf_event_attr *attr, double bytes, const int *cpus, size_t n)
{
	attr->size = sizeof(*attr);
	attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	for (size_t i = 0; i < n; i++) {
		const size_t domain = domain_of(u, cpus[i]);
		int fd;

		if (u->events == UNCORE_EVENTS || domain == UNCORE_DOMAINS)
			return -E2BIG;
		fd = (int)syscall(SYS_perf_event_open, attr, -1, cpus[i], -1, PERF_FLAG_FD_CLOEXEC);
		if (fd < 0)
			return -errno;
		u->event[u->events++] = (struct uncore_event){ .fd = fd, .domain = domain, .bytes = bytes };
	}
	return 0;
}

static int open_pmu(struct uncore *u, int pmu, bool amd)
{
	static const char *const intel[] = { "cas_count_read", "cas_count_write" };
	char text[TEXT], *end;
	int cpus[UNCORE_DOMAINS], rc = 0;
	unsigned long type;
	size_t n;

	if (!line_of(text, sizeof(text), pmu, "type") || !isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	type = strtoul(text, &end, 10);
	if (errno != 0 || *end != '\0' || type > UINT32_MAX || !line_of(text, sizeof(text), pmu, "cpumask"))
		return -EINVAL;
	n = uncore_cpus(text, cpus, UNCORE_DOMAINS);
	if (n == 0)
		return -EINVAL;
	for (size_t i = 0; rc == 0 && i < (amd ? 1 : 2); i++) {
		struct perf_event_attr attr = { .type = (uint32_t)type, .config = 0x0a };
		double bytes = 64;

		rc = amd ? 0 : describe(&attr, &bytes, pmu, intel[i]);
		if (rc == -ENOENT && i == 0)
			return 0; /* counts something else, as uncore_imc_free_running does */
		rc = rc < 0 ? -EINVAL : open_event(u, &attr, bytes, cpus, n);
	}
	return rc;
}

static bool is_named(const char *name, const char *prefix)
{
	const size_t n = strlen(prefix);

	if (strncmp(name, prefix, n) != 0)
		return false;
	name += n;
	return name[0] == '\0' || (name[0] == '_' && name[1] != '\0' && name[1 + strspn(name + 1, "0123456789")] == '\0');
}

int uncore_open(struct uncore *u, const char *dir)
{
	DIR *pmus = opendir(dir);
	struct dirent *entry;
	int rc = 0;

	u->events = u->domains = 0;
	if (pmus == NULL)
		return -errno;
	while (rc == 0 && (entry = readdir(pmus)) != NULL) {
		const bool amd = is_named(entry->d_name, "amd_umc");
		int pmu;

		if (!amd && !is_named(entry->d_name, "uncore_imc"))
			continue;
		pmu = openat(dirfd(pmus), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		rc = pmu < 0 ? -errno : open_pmu(u, pmu, amd);
		if (pmu >= 0)
			close(pmu);
	}
	closedir(pmus);
	if (rc == 0 && u->events == 0)
		rc = -ENOENT;
	if (rc < 0)
		uncore_close(u);
	return rc;
}

int uncore_read(const struct uncore *u, uint64_t bytes[UNCORE_DOMAINS], uint64_t *ns)
{
	memset(bytes, 0, UNCORE_DOMAINS * sizeof(*bytes));
	*ns = 0;
	for (size_t i = 0; i < u->events; i++) {
		uint64_t read_[3]; /* count, ns enabled, ns running */
		const ssize_t n = read(u->event[i].fd, read_, sizeof(read_));

		if (n != (ssize_t)sizeof(read_))
			return n < 0 ? -errno : -ENODEV;
		if (read_[2] < read_[1])
			return -EBUSY;
		bytes[u->event[i].domain] += (uint64_t)((double)read_[0] * u->event[i].bytes);
		*ns = read_[1] > *ns ? read_[1] : *ns;
	}
	return 0;
}

void uncore_close(struct uncore *u)
{
	for (size_t i = 0; i < u->events; i++)
		close(u->event[i].fd);
	u->events = u->domains = 0;
}
