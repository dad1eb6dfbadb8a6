#include "traffic.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CACHE "mon_L3_"

static bool failed(char error[ERROR_SIZE], const char *what, const char *why)
{
	char shown[64];

	opts_show(shown, sizeof(shown), why);
	snprintf(error, ERROR_SIZE, "%s: %s", what, shown);
	return false;
}

/* "mon_L3_07" -> 7; -1 for any other name (mon_sub_L3_..., mon_PERF_PKG_...). */
static int cache_id(const char *name)
{
	char *end;
	long id;

	if (strncmp(name, CACHE, sizeof(CACHE) - 1) != 0 || !isdigit((unsigned char)name[sizeof(CACHE) - 1]))
		return -1;
	id = strtol(name + sizeof(CACHE) - 1, &end, 10);
	return *end == '\0' && id <= INT_MAX ? (int)id : -1;
}

/* The place of a cache, a new one where it has none yet. */
static size_t place_of(struct traffic *t, int id)
{
	size_t i = 0;

	while (i < t->caches && t->ids[i] != id)
		i++;
	if (i == t->caches && i < TRAFFIC_CACHES)
		t->ids[t->caches++] = id;
	return i;
}

/* The counters of one control group; its monitoring groups are in it. */
static bool add_group(struct traffic *t, const char *group, char error[ERROR_SIZE])
{
	struct dirent *entry;
	char path[PATH_MAX];
	bool good = true;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/mon_data", group);
	dir = opendir(path);
	while (dir != NULL && good && (entry = readdir(dir)) != NULL) {
		const int id = cache_id(entry->d_name);
		size_t at;

		if (id < 0)
			continue;
		at = place_of(t, id);
		good = t->files < TRAFFIC_FILES && at < TRAFFIC_CACHES;
		if (!good) {
			(void)failed(error, "resctrl", "more groups and caches than can be read at once");
		} else if (asprintf(&t->paths[t->files], "%s/mon_data/%s/mbm_total_bytes", group, entry->d_name) < 0) {
			t->paths[t->files] = NULL;
			good = failed(error, "resctrl", "out of memory");
		} else {
			t->cache_of[t->files++] = at;
		}
	}
	if (dir != NULL)
		closedir(dir);
	return good;
}

static bool is_group(const char *name)
{
	return name[0] != '.' && strcmp(name, "info") != 0 && strcmp(name, "mon_data") != 0 &&
	       strcmp(name, "mon_groups") != 0;
}

static bool perf_failed(char error[ERROR_SIZE], int rc)
{
	switch (-rc) {
	case ENOENT:
		return failed(error, "perf", "no counters of memory controllers here");
	case EINVAL:
		return failed(error, "perf", "the kernel describes a memory controller otherwise than is known here");
	case EACCES:
	case EPERM:
		return failed(error, "perf", "not allowed: it takes CAP_PERFMON, or perf_event_paranoid is against it");
	case EBUSY:
		return failed(error, "perf", "others count with the same counters");
	default:
		return failed(error, "perf", strerror(-rc));
	}
}

static bool open_perf(struct traffic *t, const char *dir, char error[ERROR_SIZE])
{
	const int rc = uncore_open(&t->uncore, dir);

	if (rc < 0)
		return perf_failed(error, rc);
	t->perf = true;
	t->caches = t->uncore.domains;
	memcpy(t->ids, t->uncore.cpus, t->caches * sizeof(*t->ids));
	return true;
}

bool traffic_open(struct traffic *t, const char *path, char error[ERROR_SIZE])
{
	struct dirent *entry;
	char group[PATH_MAX];
	bool good;
	DIR *dir = opendir(path);

	memset(t, 0, sizeof(*t));
	if (dir == NULL)
		return failed(error, path, strerror(errno));
	snprintf(group, sizeof(group), "%s/mon_data", path);
	if (access(group, F_OK) != 0) {
		closedir(dir);
		return open_perf(t, path, error);
	}
	good = add_group(t, path, error);
	while (good && (entry = readdir(dir)) != NULL) {
		if (!is_group(entry->d_name) || snprintf(group, sizeof(group), "%s/%s", path, entry->d_name) >= PATH_MAX)
			continue;
		good = add_group(t, group, error);
	}
	closedir(dir);
	if (good && t->files == 0)
		good = failed(error, "resctrl", "no monitoring of memory bandwidth here");
	if (!good)
		traffic_close(t);
	return good;
}

static bool read_one(const char *path, uint64_t *value, char text[64])
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, text, 63);
	char *end;

	if (n < 0)
		snprintf(text, 64, "%s", strerror(errno));
	else
		text[n] = '\0';
	if (fd >= 0)
		close(fd);
	text[strcspn(text, "\n")] = '\0';
	if (n <= 0 || !isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0';
}

bool traffic_read(const struct traffic *t, uint64_t bytes[TRAFFIC_CACHES], char error[ERROR_SIZE])
{
	memset(bytes, 0, TRAFFIC_CACHES * sizeof(*bytes));
	if (t->perf) {
		uint64_t ns;
		const int rc = uncore_read(&t->uncore, bytes, &ns);

		return rc == 0 || perf_failed(error, rc);
	}
	for (size_t i = 0; i < t->files; i++) {
		char text[64], name[32];
		uint64_t value;

		if (!read_one(t->paths[i], &value, text)) {
			snprintf(name, sizeof(name), "L3 cache %d", t->ids[t->cache_of[i]]);
			return failed(error, name, text);
		}
		bytes[t->cache_of[i]] += value;
	}
	return true;
}

void traffic_close(struct traffic *t)
{
	uncore_close(&t->uncore);
	for (size_t i = 0; i < t->files; i++)
		free(t->paths[i]);
	t->files = t->caches = 0;
}
