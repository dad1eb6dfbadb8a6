#include "stopped.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>

/* Most of what a thread that only waits could need. */
#define STACK_SIZE 65536
/* Between two looks at whether a debugger's stop was fetched. */
#define TRAPPED_NS 20000000

static struct {
	bool on;
	_Atomic uint32_t alive;
	_Atomic uint64_t since; /* all have been stopped, ms of the kernel's clock; 0: not all are */
	_Atomic uint64_t sum;
} ctx;

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void *watch(void *arg)
{
	uint32_t stopped = 0;
	siginfo_t info;

	(void)arg;
	for (;;) {
		if (waitid(P_ALL, 0, &info, WSTOPPED | WCONTINUED | WNOWAIT) < 0) {
			if (errno == EINTR)
				continue;
			return NULL; /* the last has ended */
		}
		/* A task that starts below a debugger: slurmstepd waits for that (its pdebug.c). */
		if (info.si_code == CLD_TRAPPED) {
			nanosleep(&(struct timespec){ .tv_nsec = TRAPPED_NS }, NULL);
			continue;
		}
		/* None: somebody else has it by now. */
		if (waitid(P_PID, (id_t)info.si_pid, &info, WSTOPPED | WCONTINUED | WNOHANG) < 0 || info.si_pid == 0)
			continue;
		if (info.si_code == CLD_STOPPED) {
			stopped++;
			if (ctx.since == 0 && stopped >= ctx.alive)
				ctx.since = now_ms();
		} else if (info.si_code == CLD_CONTINUED) {
			stopped -= stopped > 0;
			if (ctx.since != 0)
				ctx.sum += now_ms() - ctx.since;
			ctx.since = 0;
		}
	}
}

int stopped_watch(uint32_t tasks)
{
	pthread_attr_t attr;
	sigset_t all, before;
	pthread_t thread;
	int rc;

	if (ctx.on || tasks == 0)
		return 0;
	ctx.alive = tasks;
	rc = pthread_attr_init(&attr);
	if (rc != 0)
		return -rc;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&thread, &attr, watch, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	ctx.on = rc == 0;
	return -rc;
}

void stopped_ended(void)
{
	if (ctx.alive > 0)
		ctx.alive--;
}

uint64_t stopped_ms(void)
{
	uint64_t since = ctx.since;

	if (!ctx.on)
		return UINT64_MAX;
	return ctx.sum + (since != 0 ? now_ms() - since : 0);
}
