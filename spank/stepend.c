#include "stepend.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <slurm/slurm.h>

#include "cgroup.h"
#include "energy.h"
#include "memory.h"
#include "place.h"
#include "sampler.h"
#include "status.h"
#include "stopped.h"
#include "tell.h"
#include "totals.h"

/* A node with thousands of mounts. */
#define MOUNTS_MAX 1048576
#define SMALL_MAX 16384
/* Levels of groups above the job's. */
#define LEVELS_MAX 32

/* Nothing that a shorter step went through is worth its user's attention, nor what looking costs. */
#define TELL_AFTER_S 5

/* Documentation/admin-guide/devices.txt: what is only stacked on other devices. */
#define RAMDISK 1
#define LOOP 7
#define MD 9

static struct {
	bool on;
	uint32_t job;
	uint32_t step;
	pid_t stepd;
	const char *agent; /* see args.h */
	time_t began;      /* seconds of the kernel's clock */
	uint32_t tasks;    /* of this node */
	uint32_t ended;
	char dir[PATH_MAX];
	char file[32];
	char outer[CG_PATH_MAX]; /* the lowest group above the job's that may have a quota */
	size_t outer_mount;      /* of it, the mount point */
	enum cg_hierarchy outer_hierarchy;
	uint64_t read, written; /* slurmstepd's own, before its tasks */
	struct cg_places places;
	struct energy energy; /* of the extern step */
	struct uncore uncore; /* likewise, where the prolog wants it */
	int uncore_rc;
	pid_t sampler;	      /* likewise; 0: none */
	struct totals totals;
} ctx;

/* ---- reading ---- */

static bool is_leaf(unsigned int major, unsigned int minor)
{
	char path[64];
	struct dirent *entry;
	bool leaf = true;
	DIR *below;

	if (major == RAMDISK || major == LOOP || major == MD)
		return false;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/slaves", major, minor);
	below = opendir(path);
	if (below == NULL)
		return true;
	while ((entry = readdir(below)) != NULL) {
		if (entry->d_name[0] != '.')
			leaf = false;
	}
	closedir(below);
	return leaf;
}

static int open_dir(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void locate(const char *cgroup)
{
	char *mounts = malloc(MOUNTS_MAX), *groups = malloc(SMALL_MAX);

	if (mounts != NULL && groups != NULL && cg_file(mounts, MOUNTS_MAX, AT_FDCWD, "/proc/self/mountinfo") &&
	    cg_file(groups, SMALL_MAX, AT_FDCWD, cgroup))
		cg_locate(&ctx.places, groups, mounts, ctx.job);
	free(mounts);
	free(groups);
}

/* What quotas took from this group and all above it, microseconds. */
static uint64_t outer_throttled(struct cg_cell *cell)
{
	char path[CG_PATH_MAX];
	uint64_t sum = CG_UNKNOWN;

	memcpy(path, ctx.outer, sizeof(path));
	for (int i = 0; i < LEVELS_MAX && path[0] != '\0' && strlen(path) >= ctx.outer_mount; i++) {
		struct cg_values values;
		struct stat sb;
		int dir = open_dir(path);
		char *slash = strrchr(path, '/');

		if (dir >= 0) {
			cg_clear(&values);
			cg_read(&values, dir, ctx.outer_hierarchy, is_leaf);
			sum = cg_add(sum, values.v[CG_CPU_THROTTLED_US]);
			if (i == 0 && fstat(dir, &sb) == 0)
				cell->group = sb.st_ino;
			close(dir);
		}
		if (slash == NULL)
			break;
		*slash = '\0';
	}
	return sum;
}

/* Where slurmstepd is before it has tasks: above the job's groups, or in them. */
static void find_outer(void)
{
	bool v2 = ctx.places.version == 2;
	const struct cg_place *at = &ctx.places.at[v2 ? CG_UNIFIED : CG_CPU];

	ctx.outer_hierarchy = v2 ? CG_UNIFIED : CG_CPU;
	ctx.outer_mount = v2 ? at->mount : at->own_mount;
	memcpy(ctx.outer, v2 ? at->step : at->own, sizeof(ctx.outer));
	if (v2 && at->job > 0) {
		/* The directory above the job's. */
		ctx.outer[at->job] = '\0';
		*strrchr(ctx.outer, '/') = '\0';
	}
}

static void read_step(void)
{
	struct cg_values sum;

	cg_clear(&sum);
	for (int i = 0; i < CG_HIERARCHIES; i++) {
		const char *path = ctx.places.at[i].step;
		int dir = path[0] != '\0' ? open_dir(path) : -1;

		if (dir < 0)
			continue;
		cg_read(&sum, dir, i, is_leaf);
		cg_read_below(&sum, dir, i);
		close(dir);
	}
	ctx.totals.step = sum;
}

static void read_job(void)
{
	for (int i = 0; i < CG_HIERARCHIES; i++) {
		const struct cg_place *at = &ctx.places.at[i];
		struct cg_values values;
		struct stat sb;
		char path[CG_PATH_MAX];
		int dir;

		if (at->step[0] == '\0')
			continue;
		memcpy(path, at->step, at->job);
		path[at->job] = '\0';
		dir = open_dir(path);
		if (dir < 0)
			continue;
		cg_clear(&values);
		cg_read(&values, dir, i, is_leaf);
		/* v1 counts a kill where it was, not above. */
		if (ctx.places.version == 1)
			values.v[CG_OOM_KILLS] = CG_UNKNOWN;
		for (int f = 0; f < CG_FIELDS && fstat(dir, &sb) == 0; f++) {
			if (values.v[f] != CG_UNKNOWN)
				ctx.totals.job[f] = (struct cg_cell){ .group = sb.st_ino, .value = values.v[f] };
		}
		close(dir);
	}
}

static void read_io(uint64_t *read, uint64_t *written)
{
	char text[1024];

	*read = *written = CG_UNKNOWN;
	if (cg_file(text, sizeof(text), AT_FDCWD, "/proc/self/io"))
		cg_io_process(text, read, written);
}

static uint64_t since(uint64_t now, uint64_t before)
{
	if (now == CG_UNKNOWN || before == CG_UNKNOWN)
		return CG_UNKNOWN;
	return now > before ? now - before : 0;
}

/* The tasks' own accounting, for what no group counts: processes that ended and were
 * waited for, up to slurmstepd. */
static void read_tasks(void)
{
	uint64_t *v = ctx.totals.tasks.v;
	uint64_t read, written;
	struct rusage used;

	read_io(&read, &written);
	v[CG_READ_BYTES] = since(read, ctx.read);
	v[CG_WRITTEN_BYTES] = since(written, ctx.written);
	if (getrusage(RUSAGE_CHILDREN, &used) == 0)
		v[CG_CPU_US] = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
			       (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* ---- who ---- */

/* From the environment itself: spank_getenv() has nothing to say of a value that is
 * longer than its buffer. */
static const char *find_env(char **env, const char *name)
{
	size_t len = strlen(name);

	for (; env != NULL && *env != NULL; env++) {
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return *env + len + 1;
	}
	return NULL;
}

static uint32_t to_u32(const char *text)
{
	char *end;
	unsigned long n;

	if (text == NULL || text[0] < '0' || text[0] > '9')
		return TOTALS_NONE;
	errno = 0;
	n = strtoul(text, &end, 10);
	return errno == 0 && *end == '\0' && n < TOTALS_NONE ? (uint32_t)n : TOTALS_NONE;
}

/*
 * Of the batch step, Slurm's own: the array's numbers are in its launch message, the
 * name and the restart count are written into its environment. Any other step has what
 * its srun was given, the array's numbers too (slurm: stepd_step_rec_create), and so
 * what the user likes.
 */
static void identify(spank_t sp)
{
	uint32_t array = 0, task = NO_VAL;
	char **env = NULL;

	ctx.totals.sure = ctx.step == SLURM_BATCH_SCRIPT;
	if (spank_get_item(sp, S_JOB_ENV, &env) == ESPANK_SUCCESS) {
		totals_name(&ctx.totals, find_env(env, "SLURM_JOB_NAME"));
		ctx.totals.restart = to_u32(find_env(env, "SLURM_RESTART_COUNT"));
	}
	if (spank_get_item(sp, S_JOB_ARRAY_ID, &array) == ESPANK_SUCCESS &&
	    spank_get_item(sp, S_JOB_ARRAY_TASK_ID, &task) == ESPANK_SUCCESS && array != 0 && task != NO_VAL) {
		ctx.totals.array_job = array;
		ctx.totals.array_task = task;
	}
}

/* ---- the job's output ---- */

static time_t now_s(void)
{
	struct timespec now;

	return clock_gettime(CLOCK_MONOTONIC, &now) == 0 ? now.tv_sec : 0;
}

/* Slurm has made the first task's stderr slurmstepd's own, and takes it away before
 * slurm_spank_exit. A step's stdout may be captured: x=$(srun ...). */
static void tell_user(void)
{
	const char *node = getenv("SLURMD_NODENAME");
	int rc;

	if (ctx.agent == NULL || node == NULL || now_s() - ctx.began < TELL_AFTER_S)
		return;
	rc = tell(ctx.agent, node, ctx.job, STDERR_FILENO);
	if (rc < 0)
		slurm_debug("syscheck: what was out of line during the job is not told: %s", strerror(-rc));
}

/* A file of the job's beside its totals. */
static bool job_file(char path[PATH_MAX], const char *suffix)
{
	const int n = snprintf(path, PATH_MAX, "%s/%u%s", ctx.dir, ctx.job, suffix);

	return n > 0 && n < PATH_MAX;
}

static void begin_memory(void)
{
	char path[PATH_MAX];

	ctx.uncore_rc = -ENOENT;
	if (!job_file(path, ".uncore"))
		return;
	ctx.uncore_rc = memory_begin(&ctx.uncore, path, 0);
	if (ctx.uncore_rc < 0 && ctx.uncore_rc != -ENOENT)
		slurm_debug("syscheck: memory traffic of job %u is not counted: %s", ctx.job, strerror(-ctx.uncore_rc));
}

static void end_memory(void)
{
	char path[PATH_MAX];
	int rc;

	/* Nothing of an extern step that never began is known. */
	if (ctx.dir[0] == '\0' || ctx.uncore_rc == -ENOENT || !job_file(path, ".traffic"))
		return;
	rc = memory_end(&ctx.uncore, ctx.uncore_rc, path);
	if (rc < 0)
		slurm_debug("syscheck: %s: %s", path, strerror(-rc));
}

static void begin_samples(struct args args)
{
	const char *node = getenv("SLURMD_NODENAME");
	char path[PATH_MAX];

	if (args.agent == NULL || node == NULL || !job_file(path, ".sample") || !sampler_wanted(path, 0))
		return;
	ctx.sampler = sampler_start(args.agent, node, ctx.job);
	if (ctx.sampler < 0)
		slurm_debug("syscheck: job %u is not sampled: %s", ctx.job, strerror(-ctx.sampler));
}

/* ---- the hooks ---- */

int stepend_begin(spank_t sp, struct args args)
{
	char path[PATH_MAX], *slash;

	if (spank_get_item(sp, S_JOB_ID, &ctx.job) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_STEPID, &ctx.step) != ESPANK_SUCCESS)
		return 0;
	if (status_path(path, sizeof(path), args.status_dir, getenv("SLURMD_NODENAME"), ctx.job, ".steps") < 0)
		return 0;
	slash = strrchr(path, '/');
	*slash = '\0';
	snprintf(ctx.dir, sizeof(ctx.dir), "%s", path);
	snprintf(ctx.file, sizeof(ctx.file), "%s", slash + 1);
	totals_clear(&ctx.totals);
	/* No task of the user's, and its groups are gone before it could look. But it lasts as long as
	 * the job. */
	if (ctx.step == SLURM_EXTERN_CONT) {
		ctx.on = energy_open(&ctx.energy, ENERGY_DIR) == 0;
		begin_memory();
		begin_samples(args);
		return 0;
	}
	if (spank_get_item(sp, S_JOB_LOCAL_TASK_COUNT, &ctx.tasks) != ESPANK_SUCCESS)
		ctx.tasks = 0;
	ctx.stepd = getpid();
	ctx.agent = args.agent;
	ctx.began = now_s();

	ctx.totals.steps = 1;
	locate("/proc/self/cgroup");
	find_outer();
	ctx.totals.outer_begin = outer_throttled(&ctx.totals.outer);
	read_io(&ctx.read, &ctx.written);
	ctx.on = true;
	return 0;
}

int stepend_task_forked(spank_t sp)
{
	struct cg_places *places = &ctx.places;
	char path[64];
	pid_t pid;

	if (!ctx.on || ctx.step == SLURM_EXTERN_CONT)
		return 0;
	/* Where the job has namespaces of its own, newer Slurms call this in a clone of slurmstepd. */
	if (getpid() == ctx.stepd && stopped_watch(ctx.tasks) < 0)
		slurm_debug("syscheck: for how long step %u is stopped will not be known", ctx.step);
	if (places->version != 0 || spank_get_item(sp, S_TASK_PID, &pid) != ESPANK_SUCCESS)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	locate(path);
	return 0;
}

int stepend_task_exit(spank_t sp)
{
	(void)sp;
	stopped_ended();
	/* The step's groups count for all its tasks: the last one reads them. */
	if (!ctx.on || ctx.step == SLURM_EXTERN_CONT || ++ctx.ended < ctx.tasks)
		return 0;
	read_step();
	read_job();
	tell_user();
	return 0;
}

/* All that a step of the user's has. */
static void read_all(spank_t sp)
{
	uint64_t throttled;

	/* Again: what outlived its task was killed meanwhile. */
	read_job();
	read_tasks();
	throttled = outer_throttled(&ctx.totals.outer);
	if (throttled != CG_UNKNOWN && ctx.totals.outer_begin != CG_UNKNOWN)
		ctx.totals.outer.value = throttled;
	ctx.totals.version = ctx.places.version;
	ctx.totals.stopped_ms = stopped_ms();
	identify(sp);
}

int stepend_exit(spank_t sp)
{
	int rc;

	if (ctx.step == SLURM_EXTERN_CONT) {
		end_memory();
		sampler_stop(ctx.sampler);
	}
	if (!ctx.on)
		return 0;
	if (ctx.step == SLURM_EXTERN_CONT)
		ctx.totals.energy_uj = energy_close(&ctx.energy);
	else
		read_all(sp);
	rc = totals_add(ctx.dir, ctx.file, 0, &ctx.totals);
	if (rc < 0)
		slurm_debug("syscheck: %s/%s: what step %u used is not kept: %s", ctx.dir, ctx.file, ctx.step,
			    strerror(-rc));
	return 0;
}
