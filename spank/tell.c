#include "tell.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How often it is looked after. Shorter than what starting the agent takes. */
#define LOOK_MS 2

/* Descriptors beyond this slurmstepd does not have, where the kernel cannot close a range. */
#define FD_MAX 1024

/* Between fork and exec, with other threads in the parent: only what is safe in a signal handler. */
void tell_exec(const char *agent, const char *stage, char *const *env, int out)
{
	char *argv[] = { (char *)agent, (char *)stage, NULL };
	sigset_t none;
	int null = open("/dev/null", O_RDWR);

	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	/* `out` may be 2 itself. */
	if (null < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(null, STDERR_FILENO) < 0)
		_exit(1);
	if (syscall(SYS_close_range, 3, ~0U, 0) != 0) {
		for (int fd = 3; fd < FD_MAX; fd++)
			close(fd);
	}
	execve(agent, argv, env);
	_exit(1);
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* 1: ended; 0: not within the time; or a negative errno. */
static int wait_until(pid_t pid, long until, int *status)
{
	for (;;) {
		pid_t ended = waitpid(pid, status, WNOHANG);

		if (ended == pid)
			return 1;
		if (ended < 0 && errno != EINTR)
			return -errno;
		if (now_ms() >= until)
			return 0;
		nanosleep(&(struct timespec){ .tv_nsec = LOOK_MS * 1000000L }, NULL);
	}
}

int tell(const char *agent, const char *node, uint32_t job, int out)
{
	struct pollfd ready = { .fd = out, .events = POLLOUT };
	char id[32], name[256 + sizeof("SLURMD_NODENAME=")];
	char *env[] = { (char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin", (char *)"LC_ALL=C", id, name, NULL };
	long until = now_ms() + TELL_MS;
	int status = 0, rc, n;
	pid_t pid;

	if (poll(&ready, 1, 0) != 1 || !(ready.revents & POLLOUT))
		return -EAGAIN;
	snprintf(id, sizeof(id), "SLURM_JOB_ID=%u", job);
	n = snprintf(name, sizeof(name), "SLURMD_NODENAME=%s", node);
	if (n < 0 || (size_t)n >= sizeof(name))
		return -ENAMETOOLONG;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		tell_exec(agent, "stepend", env, out);

	rc = wait_until(pid, until, &status);
	if (rc == 0) {
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL); /* before it has its group */
		/* One that hangs in the kernel is left behind: the step ends. */
		wait_until(pid, now_ms() + TELL_MS / 10, &status);
		return -ETIMEDOUT;
	}
	if (rc < 0)
		return rc;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ECHILD;
}
