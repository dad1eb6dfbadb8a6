#include "sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cgroup.h"
#include "place.h"
#include "tell.h"
#include "trusted.h"

/* It writes what it has after each sample: nothing is lost that is worth a wait. */
#define STOP_MS 200
#define LOOK_MS 2

#define MOUNTS_MAX 1048576
#define SMALL_MAX 16384
/* Linux 6 has 15 controllers. */
#define EXITS_MAX 16

int sampler_wanted(const char *path, uid_t owner)
{
	struct stat sb;

	return lstat(path, &sb) == 0 && S_ISREG(sb.st_mode) && trusted_stat(&sb, owner);
}

/* The ways out of the job's cgroups. NULL: out of memory, or not known. */
static struct cg_exit *find_exits(uint32_t job, int *n)
{
	char *mounts = malloc(MOUNTS_MAX), *groups = malloc(SMALL_MAX);
	struct cg_exit *exits = malloc(EXITS_MAX * sizeof(*exits));

	*n = -1;
	if (mounts != NULL && groups != NULL && exits != NULL &&
	    cg_file(mounts, MOUNTS_MAX, AT_FDCWD, "/proc/self/mountinfo") &&
	    cg_file(groups, SMALL_MAX, AT_FDCWD, "/proc/self/cgroup"))
		*n = cg_exits(exits, EXITS_MAX, groups, mounts, job);
	free(mounts);
	free(groups);
	if (*n < 0) {
		free(exits);
		exits = NULL;
	}
	return exits;
}

static bool join(const char *procs)
{
	int fd = open(procs, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
	bool joined = fd >= 0 && write(fd, "0", 1) == 1;

	if (fd >= 0)
		close(fd);
	return joined;
}

/*
 * Before slurmstepd calls us at its end it waits until nobody else is in the step's cgroups, and drains the node where
 * that takes UnkillableStepTimeout; with cgroup.kill (25.05 and cgroup v2) it ends nobody who is in its own. So whoever
 * cannot leave them does not run. Nor is the job to pay for the memory.
 */
static bool leave(const struct cg_exit *exits, int n)
{
	for (int i = 0; i < n; i++) {
		if (!join(exits[i].above) && !join(exits[i].top))
			return false;
	}
	return true;
}

pid_t sampler_start(const char *agent, const char *node, uint32_t job)
{
	char id[32], name[256 + sizeof("SLURMD_NODENAME=")];
	char *env[] = { (char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin", (char *)"LC_ALL=C", id, name, NULL };
	const pid_t parent = getpid();
	struct cg_exit *exits;
	pid_t pid;
	int n, null;

	snprintf(id, sizeof(id), "SLURM_JOB_ID=%u", job);
	n = snprintf(name, sizeof(name), "SLURMD_NODENAME=%s", node);
	if (n < 0 || (size_t)n >= sizeof(name))
		return -ENAMETOOLONG;
	exits = find_exits(job, &n);
	if (exits == NULL)
		return -ENOENT;
	pid = fork();
	if (pid != 0) {
		pid = pid < 0 ? -errno : pid;
		free(exits);
		return pid;
	}
	/* Whatever becomes of slurmstepd: nobody else would end it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent || !leave(exits, n))
		_exit(1);
	null = open("/dev/null", O_WRONLY);
	tell_exec(agent, "sample", env, null);
	_exit(1);
}

void sampler_stop(pid_t pid)
{
	int left = STOP_MS / LOOK_MS;

	if (pid <= 0 || waitpid(pid, NULL, WNOHANG) != 0)
		return;
	/* With all that it may have started: it has a group of its own. */
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, WNOHANG) == 0 && left-- > 0)
		nanosleep(&(struct timespec){ .tv_nsec = LOOK_MS * 1000000L }, NULL);
}
