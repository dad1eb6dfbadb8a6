#include "stepd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <slurm/slurm.h>

#include "group.h"
#include "sentence.h"
#include "status.h"
#include "submit.h"

/* A stopped terminal or a full FIFO may not take the line: the job starts without it. */
#define PRINT_TIMEOUT_MS 1000

/* Of a larger job the others' files are not read: they would hold up its first step. */
#define NODES_MAX 1024

static struct {
	uint32_t step;
	bool show; /* this step prints what there is to say */
	struct status status;
	char sentence[SENTENCE_MAX + 1]; /* of the job, on its first node; else empty */
} ctx;

int stepd_init(spank_t sp)
{
	spank_option_register(sp, &syscheck_option);
	return 0;
}

/* The submitting job's results are not this one's. */
static void forget(spank_t sp)
{
	char level[16], checked[16];

	if (spank_getenv(sp, "SYSCHECK_LEVEL", level, sizeof(level)) == ESPANK_SUCCESS &&
	    spank_getenv(sp, "SYSCHECK_CHECKED", checked, sizeof(checked)) == ESPANK_SUCCESS &&
	    strcmp(level, checked) == 0)
		spank_unsetenv(sp, "SYSCHECK_LEVEL");
	spank_unsetenv(sp, "SYSCHECK_STATUS");
	spank_unsetenv(sp, "SYSCHECK_CHECKED");
}

static void export(spank_t sp, const struct status *st)
{
	spank_setenv(sp, "SYSCHECK_STATUS", st->name, 1);
	spank_setenv(sp, "SYSCHECK_LEVEL", level_name(st->level), 1);
	/* Equal to the level: how a nested sbatch knows that it is no request. */
	spank_setenv(sp, "SYSCHECK_CHECKED", level_name(st->level), 1);
}

static enum level from_env(spank_t sp, const char *name)
{
	char value[24];
	bool verbose;

	return spank_getenv(sp, name, value, sizeof(value)) == ESPANK_SUCCESS
		       ? level_from_request(value, &verbose)
		       : LEVEL_INVALID;
}

/*
 * What the user asked for, where the prolog has left no answer. A batch job's request is in
 * its steps' environment, an srun's own in the option, or in what it was submitted with.
 * LEVEL_INVALID: nothing.
 */
static enum level asked(spank_t sp)
{
	enum level level = from_env(sp, "SLURM_SPANK_SYSCHECK");

	if (level == LEVEL_INVALID)
		level = submit_forwarded();
	if (level == LEVEL_INVALID && from_env(sp, "SYSCHECK_LEVEL") != from_env(sp, "SYSCHECK_CHECKED"))
		level = from_env(sp, "SYSCHECK_LEVEL");
	return level;
}

static bool is_script(void)
{
	return ctx.step == SLURM_BATCH_SCRIPT || ctx.step == SLURM_INTERACTIVE_STEP;
}

static int create(const char *path)
{
	return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* Who creates the marker shows the line: one step per job and node. */
static bool take_marker(char *path)
{
	int fd = create(path);
	char *slash = strrchr(path, '/');

	/* No prolog has made the directory since the boot. */
	if (fd < 0 && errno == ENOENT && slash != NULL) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
		fd = create(path);
	}
	if (fd < 0 && errno != EEXIST)
		slurm_debug("syscheck: %s: %s", path, strerror(errno));
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

struct others {
	size_t n; /* this node included */
	struct checked *all;
	struct status *of;
	char **names;
};

/*
 * What the other nodes' prologs left, where this node, the job's first, can read it: several
 * nodes on one machine, or a directory that they share. Nobody is called. false: not of all.
 */
static bool read_others(struct others *to, const char *dir, const char *node, uint32_t job)
{
	__typeof__(slurm_hostlist_create(NULL)) list = slurm_hostlist_create(ctx.status.list);
	char *first = list != NULL ? slurm_hostlist_shift(list) : NULL;
	bool is_own = first != NULL && strcmp(first, node) == 0;
	char path[PATH_MAX];

	to->all[0] = (struct checked){ .node = node, .st = &ctx.status };
	for (to->n = 1; is_own && to->n < ctx.status.nodes; to->n++) {
		size_t i = to->n;

		to->names[i] = slurm_hostlist_shift(list);
		if (to->names[i] == NULL || status_path(path, sizeof(path), dir, to->names[i], job, "") < 0 ||
		    status_read(&to->of[i], path, 0) < 0)
			break;
		to->all[i] = (struct checked){ .node = to->names[i], .st = &to->of[i] };
	}
	free(first);
	if (list != NULL)
		slurm_hostlist_destroy(list);
	return to->n == ctx.status.nodes;
}

static void compose(const char *dir, const char *node, uint32_t job)
{
	const struct status *own = &ctx.status;
	struct checked alone = { .node = node, .st = own };
	size_t nodes = own->nodes;
	struct others others = { 0 };
	bool can = nodes > 1 && nodes <= NODES_MAX && own->list[0] != '\0' && strstr(dir, "%n") != NULL;

	if (can) {
		others.all = calloc(nodes, sizeof(*others.all));
		others.of = calloc(nodes, sizeof(*others.of));
		others.names = calloc(nodes, sizeof(*others.names));
		can = others.all != NULL && others.of != NULL && others.names != NULL &&
		      read_others(&others, dir, node, job);
	}
	sentence(ctx.sentence, sizeof(ctx.sentence), can ? others.all : &alone, can ? others.n : 1);
	for (size_t i = 0; others.names != NULL && i < nodes; i++)
		free(others.names[i]);
	free(others.names);
	free(others.all);
	free(others.of);
}

/*
 * mpirun of Open MPI starts its daemons by an srun, whose stderr, and so the other nodes'
 * lines, it drops unless it is told not to.
 */
static void show_through_mpirun(spank_t sp)
{
	char nodes[16]; /* S_JOB_NNODES of a batch step is 1 */

	if (is_script() && spank_getenv(sp, "SLURM_JOB_NUM_NODES", nodes, sizeof(nodes)) == ESPANK_SUCCESS &&
	    strcmp(nodes, "1") != 0)
		spank_setenv(sp, "OMPI_MCA_orte_leave_session_attached", "1", 0);
}

/* Whether the node's own line is wanted, or tells of anything. */
static bool is_told(void)
{
	return ctx.status.line[0] != '\0' && (ctx.status.verbose || status_is_unusual(&ctx.status));
}

/* As root, before any task exists. */
int stepd_post_opt(spank_t sp, struct args args)
{
	/* Slurm's name of the node; the host's is another one with several slurmd to a host. */
	const char *node = getenv("SLURMD_NODENAME");
	char path[PATH_MAX], marker[PATH_MAX] = "";
	uint32_t job;
	int rc;

	if (spank_get_item(sp, S_JOB_ID, &job) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_STEPID, &ctx.step) != ESPANK_SUCCESS)
		return 0;
	/* No user's process ever runs in it. */
	if (ctx.step == SLURM_EXTERN_CONT)
		return 0;

	rc = status_path(path, sizeof(path), args.status_dir, node, job, "");
	if (rc == 0)
		rc = status_path(marker, sizeof(marker), args.status_dir, node, job, ".shown");
	if (rc == 0)
		rc = status_read(&ctx.status, path, 0);
	if (rc < 0) {
		/* None: the job was not checked, or the check could not say so. */
		if (rc != -ENOENT)
			slurm_debug("syscheck: status of job %u ignored: %s", job, strerror(-rc));
		ctx.status.level = asked(sp);
		ctx.status.asked = ctx.status.level > LEVEL_NONE;
		if (ctx.status.asked)
			ctx.status.name = "unknown";
		if (ctx.status.asked)
			snprintf(ctx.status.line, sizeof(ctx.status.line),
				 "syscheck: %s %s unknown  (no check has left its result; the node's syscheck.log may say why)",
				 node != NULL ? node : "?", level_name(ctx.status.level));
		forget(sp);
	} else {
		export(sp, &ctx.status);
	}
	/* Who asked for nothing is told nothing; who got none in place of what he asked has a note on that. */
	if (!ctx.status.asked ||
	    (ctx.status.level == LEVEL_NONE && !ctx.status.verbose && ctx.status.note[0] == '\0'))
		return 0;
	show_through_mpirun(sp);
	if (ctx.status.first || is_told())
		ctx.show = take_marker(marker);
	if (ctx.show && ctx.status.first) {
		compose(args.status_dir, node != NULL ? node : "?", job);
		sentence_requeued(ctx.sentence, sizeof(ctx.sentence), job, ctx.status.restarts);
	}
	return 0;
}

static void print(int fd, const char *text, size_t len)
{
	struct pollfd ready = { .fd = fd, .events = POLLOUT };
	struct sigaction ignore = { .sa_handler = SIG_IGN }, saved;

	if (poll(&ready, 1, PRINT_TIMEOUT_MS) != 1 || !(ready.revents & POLLOUT))
		return;
	/* Its reader may be gone, which is for the job to find out. */
	if (sigaction(SIGPIPE, &ignore, &saved) < 0)
		return;
	if (write(fd, text, len) < 0)
		slurm_debug("syscheck: line not shown: %s", strerror(errno));
	sigaction(SIGPIPE, &saved, NULL);
}

/*
 * A task that cannot join leaves its mark: the others' traffic alone would say that the job moves less than
 * it does. Nothing here holds up the task.
 */
int stepd_task_privileged(spank_t sp, struct args args)
{
	const char *node = getenv("SLURMD_NODENAME");
	char path[PATH_MAX], group[PATH_MAX];
	uint32_t job, step;
	int rc;

	if (spank_get_item(sp, S_JOB_ID, &job) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_STEPID, &step) != ESPANK_SUCCESS || step == SLURM_EXTERN_CONT ||
	    status_path(path, sizeof(path), args.status_dir, node, job, ".group") < 0)
		return 0;
	rc = group_path(group, sizeof(group), path, 0);
	if (rc == -ENOENT)
		return 0;
	if (rc == 0)
		rc = group_join(group, getpid());
	if (rc < 0)
		slurm_debug("syscheck: memory traffic of job %u is not counted for itself: %s", job, strerror(-rc));
	if (status_path(path, sizeof(path), args.status_dir, node, job, rc == 0 ? ".counted" : ".uncounted") == 0)
		rc = group_mark(path);
	if (rc < 0)
		slurm_debug("syscheck: %s: %s", path, strerror(-rc));
	return 0;
}

/* In the task as its user, after its stdin, stdout and stderr are in place. */
int stepd_task_init(spank_t sp)
{
	char text[SENTENCE_MAX + STATUS_LINE_MAX + 3] = "";
	int task, n;

	if (!ctx.show || spank_get_item(sp, S_TASK_ID, &task) != ESPANK_SUCCESS || task != 0)
		return 0;
	/* A batch script's stdout is the job's log; a step's may be captured: x=$(srun ...). */
	n = snprintf(text, sizeof(text), "%s%s%s%s", ctx.sentence, ctx.sentence[0] != '\0' ? "\n" : "",
		     is_told() ? ctx.status.line : "", is_told() ? "\n" : "");
	print(ctx.step == SLURM_BATCH_SCRIPT ? STDOUT_FILENO : STDERR_FILENO, text, (size_t)n);
	return 0;
}
