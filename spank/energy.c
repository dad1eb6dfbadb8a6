#include "energy.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cgroup.h"
#include "common/uncore.h"

int energy_config(const char *text, uint64_t *config)
{
	static const char prefix[] = "event=0x";
	const char *digits = text + sizeof(prefix) - 1;
	char *end;

	if (strncmp(text, prefix, sizeof(prefix) - 1) != 0 || !isxdigit((unsigned char)*digits))
		return -EINVAL;
	errno = 0;
	*config = strtoull(digits, &end, 16);
	return errno == 0 && (*end == '\n' || *end == '\0') ? 0 : -EINVAL;
}

/* Its kernel docs: Documentation/ABI/testing/sysfs-bus-event_source-devices-events. */
static int describe(int dir, struct perf_event_attr *attr, double *joules, int *cpus, size_t *count)
{
	char type[32], mask[4096], event[64], scale[64], unit[32];
	uint64_t config, number;
	char *end;

	if (!cg_file(type, sizeof(type), dir, "type") || !cg_file(mask, sizeof(mask), dir, "cpumask") ||
	    !cg_file(event, sizeof(event), dir, "events/energy-pkg") ||
	    !cg_file(scale, sizeof(scale), dir, "events/energy-pkg.scale") ||
	    !cg_file(unit, sizeof(unit), dir, "events/energy-pkg.unit"))
		return -ENOENT;
	number = cg_number(type);
	*count = uncore_cpus(mask, cpus, ENERGY_PACKAGES_MAX);
	*joules = strtod(scale, &end);
	if (number > UINT32_MAX || *count == 0 || energy_config(event, &config) < 0 || strncmp(unit, "Joules", 6) != 0 ||
	    !(*joules > 0 && *joules < 1) || (*end != '\n' && *end != '\0'))
		return -EINVAL;
	attr->type = (uint32_t)number;
	attr->config = config;
	return 0;
}

int energy_open(struct energy *energy, const char *path)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	int cpus[ENERGY_PACKAGES_MAX];
	size_t count = 0;
	int dir, rc;

	energy->packages = 0;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	rc = describe(dir, &attr, &energy->joules, cpus, &count);
	close(dir);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpus[i], -1, PERF_FLAG_FD_CLOEXEC);

		if (fd < 0)
			rc = -errno;
		else
			energy->fd[energy->packages++] = fd;
	}
	if (rc < 0)
		energy_close(energy);
	return rc;
}

uint64_t energy_close(struct energy *energy)
{
	bool known = energy->packages > 0;
	double sum = 0;

	for (size_t i = 0; i < energy->packages; i++) {
		uint64_t count;

		if (read(energy->fd[i], &count, sizeof(count)) == (ssize_t)sizeof(count))
			sum += (double)count * energy->joules;
		else
			known = false; /* of a CPU that went offline: end of file */
		close(energy->fd[i]);
	}
	energy->packages = 0;
	return known && sum < 1e12 ? (uint64_t)(sum * 1e6) : UINT64_MAX;
}
