#include "place.h"

#include <stdio.h>
#include <string.h>

#define STEP "/step_"
#define SLUID_LEN 14

/* What Slurm 26.05 calls a job's group of v2 by default: "s" and 13 digits to base 32
 * (slurm: print_sluid). */
static bool is_sluid(const char *name, size_t len)
{
	if (len != SLUID_LEN || name[0] != 's')
		return false;
	return strspn(name + 1, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") >= len - 1;
}

/* Of `path`, the length up to the end of the job's group and of the step below it; the
 * last such pair counts. False if there is none. */
static bool find_step(const char *path, size_t len, uint32_t job, size_t *job_end, size_t *step_end)
{
	const char *p = path, *end = path + len;
	char name[32];
	size_t n = (size_t)snprintf(name, sizeof(name), "job_%u", job);
	bool found = false;

	while ((p = memmem(p, (size_t)(end - p), STEP, sizeof(STEP) - 1)) != NULL) {
		const char *slash = memrchr(path, '/', (size_t)(p - path));
		const char *group = slash != NULL ? slash + 1 : p;
		size_t size = (size_t)(p - group);
		const char *at = p;

		p += sizeof(STEP) - 1;
		if (p == end || *p == '/' ||
		    !((size == n && memcmp(group, name, n) == 0) || is_sluid(group, size)))
			continue;
		slash = memchr(p, '/', (size_t)(end - p));
		*job_end = (size_t)(at - path);
		*step_end = slash != NULL ? (size_t)(slash - path) : len;
		found = true;
	}
	return found;
}

/* \040 and the like, as the kernel writes white space. False if it is too long. */
static bool unescape(char *out, size_t size, const char *from, size_t len)
{
	size_t used = 0;

	for (size_t i = 0; i < len; i++) {
		char c = from[i];

		if (c == '\\' && i + 3 < len && from[i + 1] >= '0' && from[i + 1] <= '3' &&
		    from[i + 2] >= '0' && from[i + 2] <= '7' && from[i + 3] >= '0' && from[i + 3] <= '7') {
			c = (char)((from[i + 1] - '0') * 64 + (from[i + 2] - '0') * 8 + (from[i + 3] - '0'));
			i += 3;
		}
		if (used + 1 >= size)
			return false;
		out[used++] = c;
	}
	out[used] = '\0';
	return true;
}

/* Whether `list` ("rw,cpu,cpuacct") up to its end at a blank or newline has `word`. */
static bool has_word(const char *list, size_t len, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i + n <= len; i++) {
		if ((i == 0 || list[i - 1] == ',') && strncmp(list + i, word, n) == 0 &&
		    (i + n == len || list[i + n] == ','))
			return true;
	}
	return false;
}

static const char *const controllers[CG_HIERARCHIES] = {
	[CG_UNIFIED] = NULL,
	[CG_CPU] = "cpu",
	[CG_CPUACCT] = "cpuacct",
	[CG_BLKIO] = "blkio",
	[CG_MEMORY] = "memory",
};

/* A mount of a hierarchy of cgroups: its point, and the group that is its root. */
struct mount {
	char point[CG_PATH_MAX];
	char root[CG_PATH_MAX];
};

#define MOUNT_FIELDS 5

/*
 * One line of mountinfo: ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [FIELD...] - TYPE
 * SOURCE SUPEROPTIONS. False if it is not the hierarchy of that controller; NULL: v2's.
 */
static bool parse_mount(struct mount *mount, const char *line, const char *controller)
{
	const char *eol = strchrnul(line, '\n');
	const char *at[MOUNT_FIELDS + 1], *p = line, *type, *options;
	size_t len;

	for (int i = 0; i <= MOUNT_FIELDS; i++) {
		at[i] = p;
		p = memchr(p, ' ', (size_t)(eol - p));
		if (p == NULL)
			return false;
		p++;
	}
	/* No field holds a blank, so this is the separator. */
	type = memmem(p - 1, (size_t)(eol - p + 1), " - ", 3);
	if (type == NULL)
		return false;
	type += 3;
	if (controller == NULL) {
		if (strncmp(type, "cgroup2 ", 8) != 0)
			return false;
	} else {
		if (strncmp(type, "cgroup ", 7) != 0)
			return false;
		options = memrchr(type, ' ', (size_t)(eol - type));
		len = (size_t)(eol - options - 1);
		if (!has_word(options + 1, len, controller))
			return false;
	}
	return unescape(mount->root, sizeof(mount->root), at[3], (size_t)(at[4] - at[3] - 1)) &&
	       unescape(mount->point, sizeof(mount->point), at[4], (size_t)(at[5] - at[4] - 1));
}

/* The file name of group `path` below the first mount that shows it and, of it, the group
 * that its first `shown` characters name. */
static bool resolve(char *out, size_t *mount_len, const char *mounts, const char *controller,
		    const char *path, size_t shown)
{
	struct mount mount;

	/* Outside of this process' cgroup namespace. */
	if (strstr(path, "/..") != NULL)
		return false;
	for (const char *line = mounts; line != NULL; line = cg_next_line(line)) {
		size_t root;
		int n;

		if (!parse_mount(&mount, line, controller) || mount.point[0] != '/')
			continue;
		root = strcmp(mount.root, "/") == 0 ? 0 : strlen(mount.root);
		if (root > shown || strncmp(path, mount.root, root) != 0 || (path[root] != '/' && path[root] != '\0'))
			continue;
		n = snprintf(out, CG_PATH_MAX, "%s%s", mount.point, path + root);
		if (n > 0 && n < CG_PATH_MAX) {
			*mount_len = strlen(mount.point);
			return true;
		}
	}
	out[0] = '\0';
	return false;
}

/* The line of /proc/PID/cgroup of a hierarchy: "4:cpu,cpuacct:/path"; the path into
 * `path`. Slurm's paths hold no newline, and nobody else's matter. */
static bool group_of(char *path, const char *cgroup, enum cg_hierarchy hierarchy)
{
	for (const char *line = cgroup; line != NULL; line = cg_next_line(line)) {
		const char *eol = strchrnul(line, '\n');
		const char *list = memchr(line, ':', (size_t)(eol - line));
		const char *group = list != NULL ? memchr(list + 1, ':', (size_t)(eol - list - 1)) : NULL;
		size_t len;

		if (group == NULL)
			continue;
		len = (size_t)(group - list - 1);
		group++;
		if (hierarchy == CG_UNIFIED ? len != 0 || line[0] != '0'
					    : !has_word(list + 1, len, controllers[hierarchy]))
			continue;
		len = (size_t)(eol - group);
		if (len == 0 || len >= CG_PATH_MAX || group[0] != '/')
			return false;
		memcpy(path, group, len);
		path[len] = '\0';
		return true;
	}
	return false;
}

/* A path of the job's step in any hierarchy of v1, cut behind the step. */
static bool any_step(char *path, const char *cgroup, uint32_t job, size_t *job_end)
{
	for (const char *line = cgroup; line != NULL; line = cg_next_line(line)) {
		const char *eol = strchrnul(line, '\n');
		const char *group = memchr(line, ':', (size_t)(eol - line));
		size_t step_end, len;

		group = group != NULL ? memchr(group + 1, ':', (size_t)(eol - group - 1)) : NULL;
		if (group == NULL || strncmp(line, "0::", 3) == 0)
			continue;
		group++;
		len = (size_t)(eol - group);
		if (len >= CG_PATH_MAX || group[0] != '/' || !find_step(group, len, job, job_end, &step_end))
			continue;
		memcpy(path, group, step_end);
		path[step_end] = '\0';
		return true;
	}
	return false;
}

static void place(struct cg_place *at, const char *mounts, enum cg_hierarchy hierarchy, const char *step,
		  size_t job_end)
{
	/* What is behind the job in `step` is behind it in the file's name, too. */
	if (resolve(at->step, &at->mount, mounts, controllers[hierarchy], step, job_end))
		at->job = strlen(at->step) - (strlen(step) - job_end);
}

void cg_locate(struct cg_places *places, const char *cgroup, const char *mounts, uint32_t job)
{
	char path[CG_PATH_MAX];
	size_t job_end, step_end;

	memset(places, 0, sizeof(*places));
	if (group_of(path, cgroup, CG_CPU))
		resolve(places->at[CG_CPU].own, &places->at[CG_CPU].own_mount, mounts, controllers[CG_CPU], path, strlen(path));
	if (group_of(path, cgroup, CG_UNIFIED) && find_step(path, strlen(path), job, &job_end, &step_end)) {
		path[step_end] = '\0';
		places->version = 2;
		place(&places->at[CG_UNIFIED], mounts, CG_UNIFIED, path, job_end);
		return;
	}
	if (!any_step(path, cgroup, job, &job_end))
		return;
	places->version = 1;
	for (int i = CG_CPU; i < CG_HIERARCHIES; i++)
		place(&places->at[i], mounts, i, path, job_end);
}

#define PROCS "/cgroup.procs"
#define UID "/uid_"

/* Of a line of /proc/PID/cgroup, "4:cpu,cpuacct:/path", the first controller ("" in v2) and the path. */
static bool split_line(const char *line, char *controller, size_t size, char *path)
{
	const char *eol = strchrnul(line, '\n');
	const char *list = memchr(line, ':', (size_t)(eol - line));
	const char *group = list != NULL ? memchr(list + 1, ':', (size_t)(eol - list - 1)) : NULL;
	size_t len, word;

	if (group == NULL || group[1] != '/')
		return false;
	len = (size_t)(eol - group - 1);
	word = strcspn(list + 1, ",:\n");
	if (len >= CG_PATH_MAX || word >= size)
		return false;
	memcpy(path, group + 1, len);
	path[len] = '\0';
	memcpy(controller, list + 1, word);
	controller[word] = '\0';
	return true;
}

static bool append(char path[CG_PATH_MAX], const char *name)
{
	size_t len = strlen(path), more = strlen(name) + 1;

	if (len + more > CG_PATH_MAX)
		return false;
	memcpy(path + len, name, more);
	return true;
}

int cg_exits(struct cg_exit *exits, int most, const char *cgroup, const char *mounts, uint32_t job)
{
	int found = 0;

	for (const char *line = cgroup; line != NULL && *line != '\0'; line = cg_next_line(line)) {
		char path[CG_PATH_MAX], controller[64], *slash;
		struct cg_exit *at = &exits[found];
		size_t job_end, step_end, mount;

		if (!split_line(line, controller, sizeof(controller), path))
			return -1;
		if (!find_step(path, strlen(path), job, &job_end, &step_end))
			continue;
		path[job_end] = '\0';
		if (found == most ||
		    !resolve(at->above, &mount, mounts, controller[0] != '\0' ? controller : NULL, path,
			     (size_t)(strrchr(path, '/') - path)))
			return -1;
		memcpy(at->top, at->above, mount);
		at->top[mount] = '\0';
		*strrchr(at->above, '/') = '\0';
		/* Slurm removes a user's group with his last job. */
		slash = strrchr(at->above, '/');
		if (slash != NULL && strncmp(slash, UID, sizeof(UID) - 1) == 0)
			*slash = '\0';
		/* No group of v2 has both processes and groups; slurmstepd itself waits in this one. */
		if (!append(at->above, controller[0] != '\0' ? PROCS : "/system" PROCS) || !append(at->top, PROCS))
			return -1;
		found++;
	}
	return found;
}
