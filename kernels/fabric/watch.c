#include "watch.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/opts.h"
#include "common/version.h"

/*
 * The deadline must be seen to be over this often, 0.1 s apart: a process that was stopped, or a node that was
 * suspended, finds every deadline over when it goes on, and the main thread needs a moment to find that, too. So does
 * one that is good and calls a node of which packets are lost for the first time: MPI asks PMIx for its address in a
 * call that cannot be interrupted, PMIx asks Slurm, and Slurm asks that node, by a new connection.
 */
#define OVER_MOST 100
#define STEP_NS 100000000

static struct {
	int rank;
	atomic_int plan, round, partner, code;
	atomic_bool leaving;
	_Atomic(const char *) phase;
	_Atomic double deadline;
} w;

static int put_known(char *text, size_t size, const char *key, int value)
{
	return value < 0 ? 0 : snprintf(text, size, ",\"%s\":%d", key, value);
}

/* By hand, not by result.h: its memory comes from malloc, whose lock the stuck thread may hold. */
static void say_stuck(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };
	char text[512];
	size_t n;

	n = (size_t)snprintf(text, sizeof(text), "{\"kernel\":\"fabric\",\"v\":1,\"version\":\"%s\",\"event\":\"stuck\",\"rank\":%d",
			     syscheck_version, w.rank);
	n += (size_t)put_known(text + n, sizeof(text) - n, "plan", w.plan);
	n += (size_t)put_known(text + n, sizeof(text) - n, "round", w.round);
	n += (size_t)put_known(text + n, sizeof(text) - n, "partner", w.partner);
	n += (size_t)snprintf(text + n, sizeof(text) - n, ",\"phase\":\"%s\"}\n", (const char *)w.phase);
	/* Nobody may be reading any more. */
	if (poll(&out, 1, 0) > 0)
		(void)!write(STDOUT_FILENO, text, n);
}

static void *watch(void *unused)
{
	const struct timespec step = { .tv_nsec = STEP_NS };
	int over = 0;

	while (over < OVER_MOST) {
		clock_nanosleep(CLOCK_MONOTONIC, 0, &step, NULL);
		over = clock_now() > w.deadline ? over + 1 : 0;
	}
	if (!w.leaving)
		say_stuck();
	_exit(w.leaving ? w.code : EXIT_COULD_NOT);
	return unused;
}

bool watch_start(int rank)
{
	sigset_t all, before;
	pthread_t thread;
	int failed;

	w.rank = rank;
	w.plan = w.round = w.partner = -1;
	/* Signals are the main thread's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(&thread, NULL, watch, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return !failed && pthread_detach(thread) == 0;
}

void watch_round(int plan, int round, int partner)
{
	w.plan = plan;
	w.round = round;
	w.partner = partner;
}

void watch_phase(const char *phase, double deadline)
{
	w.phase = phase;
	w.deadline = deadline;
}

void watch_leave(double deadline, int code)
{
	w.code = code;
	w.leaving = true;
	w.deadline = deadline;
}
