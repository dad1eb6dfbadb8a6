#include "sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tell.h"

/* It writes what it has after each sample: nothing is lost that is worth a wait. */
#define STOP_MS 200
#define LOOK_MS 2

int sampler_wanted(const char *path, uid_t owner)
{
	struct stat sb;

	return lstat(path, &sb) == 0 && S_ISREG(sb.st_mode) && sb.st_uid == owner && !(sb.st_mode & (S_IWGRP | S_IWOTH));
}

pid_t sampler_start(const char *agent, const char *node, uint32_t job)
{
	char id[32], name[256 + sizeof("SLURMD_NODENAME=")];
	char *env[] = { (char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin", (char *)"LC_ALL=C", id, name, NULL };
	const pid_t parent = getpid();
	pid_t pid;
	int n, null;

	snprintf(id, sizeof(id), "SLURM_JOB_ID=%u", job);
	n = snprintf(name, sizeof(name), "SLURMD_NODENAME=%s", node);
	if (n < 0 || (size_t)n >= sizeof(name))
		return -ENAMETOOLONG;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid > 0)
		return pid;
	/* Whatever becomes of slurmstepd: nobody else would end it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
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
