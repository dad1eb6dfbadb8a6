#include "apart.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"

void apart_close_from(unsigned first)
{
#ifdef SYS_close_range
	if (syscall(SYS_close_range, first, ~0U, 0) == 0)
		return;
#endif
	for (unsigned fd = first; fd < 1024; fd++)
		close((int)fd);
}

/* All but `out` is given back, and the caller's handlers, which are libuv's. */
static void settle(const char *name, int *out)
{
	sigset_t none;
	int null;

	setsid();
	prctl(PR_SET_NAME, name);
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	null = open("/dev/null", O_RDWR);
	/* Nobody waits for the end of its output. */
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (null < 0 || (fd != *out && dup2(null, fd) < 0))
			_exit(1);
	if (*out != STDERR_FILENO + 1 && dup2(*out, STDERR_FILENO + 1) < 0)
		_exit(1);
	*out = STDERR_FILENO + 1;
	apart_close_from((unsigned)*out + 1);
}

static _Noreturn void child(const struct apart *a, pid_t parent, int out)
{
	settle(a->name, &out);
	if (!a->stays && (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent))
		_exit(1);
	a->work(a->what);
	for (size_t done = 0; done < a->size;) {
		ssize_t n = write(out, (const char *)a->answer + done, a->size - done);

		if (n < 0 && errno != EINTR)
			break;
		done += n > 0 ? (size_t)n : 0;
	}
	_exit(0);
}

bool apart_start(struct apart *a)
{
	const pid_t parent = getpid();
	sigset_t all, mask;
	int ends[2], error;

	a->pid = a->fd = -1;
	a->got = 0;
	a->hangs = false;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	/* What arrives before it has settled would run the caller's handlers. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	a->pid = fork();
	error = errno;
	if (a->pid == 0)
		child(a, parent, ends[1]);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	close(ends[1]);
	if (a->pid < 0) {
		close(ends[0]);
		errno = error;
		return false;
	}
	a->fd = ends[0];
	return true;
}

bool apart_here(struct apart *a)
{
	a->pid = a->fd = -1;
	a->hangs = false;
	a->work(a->what);
	a->got = a->size;
	return true;
}

bool apart_answered(const struct apart *a)
{
	return a->got == a->size;
}

static void reap(const struct apart *a)
{
	/* Not waited for: what has answered may yet hang as it ends. What is left is init's. */
	if (a->pid > 0)
		waitpid(a->pid, NULL, WNOHANG);
}

static void take(struct apart *a)
{
	ssize_t n = read(a->fd, (char *)a->answer + a->got, a->size - a->got);

	if (n < 0 && errno == EINTR)
		return;
	a->got += n > 0 ? (size_t)n : 0;
	if (n > 0 && !apart_answered(a))
		return;
	close(a->fd);
	a->fd = -1;
}

/* Waits for one of them at least, and takes what is there. 0: none is left to wait for; -1: it cannot wait. */
static int collect(struct apart *const *list, int n, double left)
{
	struct apart *waiting[APART_MOST];
	struct pollfd fds[APART_MOST];
	nfds_t most = 0;

	for (int i = 0; i < n; i++)
		if (list[i]->fd >= 0) {
			fds[most] = (struct pollfd){ .fd = list[i]->fd, .events = POLLIN };
			waiting[most++] = list[i];
		}
	if (most == 0)
		return 0;
	if (poll(fds, most, left > 0 ? (int)(1000 * left) + 1 : 0) < 0)
		return errno == EINTR ? 1 : -1;
	for (nfds_t i = 0; i < most; i++)
		if (fds[i].revents)
			take(waiting[i]);
	return 1;
}

void apart_collect(struct apart *const *list, int n, double end)
{
	double left;
	int more;

	/* Once at least: what has answered in time counts, however late this process is. */
	do {
		left = end - clock_now();
		more = collect(list, n, left);
	} while (more > 0 && left > 0);
	for (int i = 0; i < n; i++) {
		struct apart *a = list[i];

		if (a->fd >= 0) {
			a->hangs = more >= 0;
			close(a->fd);
			a->fd = -1;
			if (!a->stays)
				kill(a->pid, SIGKILL);
		}
		reap(a);
	}
}
