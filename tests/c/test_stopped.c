/* For how long all children are stopped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "stopped.h"

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static pid_t make_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	return pid;
}

/* Until it is known: the kernel's news comes to another thread. */
static void wait_until(uint64_t low)
{
	while (stopped_ms() < low)
		usleep(1000);
}

static void wait_until_still(void)
{
	uint64_t before;

	do {
		before = stopped_ms();
		usleep(20000);
	} while (stopped_ms() != before);
}

/* srun below a debugger: slurmstepd itself waits for the stop of a traced task. */
static void check_traced(void)
{
	pid_t traced = fork();
	int status;

	if (traced == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(3);
		raise(SIGSTOP);
		_exit(7);
	}
	/* Long enough for the thread to take it. */
	usleep(100000);
	alarm(30);
	assert_int_equal(waitpid(traced, &status, WUNTRACED), traced);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 3) {
		alarm(0);
		print_message("no ptrace here (an emulator, a container): a traced task is left out\n");
		return;
	}
	assert_true(WIFSTOPPED(status));
	assert_int_equal(ptrace(PTRACE_CONT, traced, NULL, NULL), 0);
	assert_int_equal(waitpid(traced, &status, 0), traced);
	assert_int_equal(WEXITSTATUS(status), 7);
	alarm(0);
}

static void test_stopped(void **state)
{
	pid_t a = make_child(), b = make_child();
	uint64_t from, sum;
	int status;

	(void)state;
	assert_true(stopped_ms() == UINT64_MAX);
	assert_int_equal(stopped_watch(2), 0);
	assert_int_equal(stopped_watch(2), 0);
	assert_int_equal(stopped_ms(), 0);
	check_traced();
	/* One of two is not the step. */
	kill(a, SIGSTOP);
	usleep(30000);
	assert_int_equal(stopped_ms(), 0);
	from = now_ms();
	kill(b, SIGSTOP);
	wait_until(50);
	kill(a, SIGCONT);
	kill(b, SIGCONT);
	wait_until_still();
	sum = stopped_ms();
	assert_true(sum >= 50 && sum <= now_ms() - from);
	/* Stopped again, and no longer stopped than that: the two times add up. */
	from = now_ms();
	kill(a, SIGSTOP);
	kill(b, SIGSTOP);
	wait_until(sum + 30);
	kill(a, SIGCONT);
	kill(b, SIGCONT);
	wait_until_still();
	assert_true(stopped_ms() - sum >= 30 && stopped_ms() - sum <= now_ms() - from);
	/* One ends; its end is left to who waits for it, and the other is the step now. */
	kill(a, SIGKILL);
	assert_int_equal(waitpid(a, &status, 0), a);
	assert_true(WIFSIGNALED(status));
	stopped_ended();
	sum = stopped_ms();
	kill(b, SIGSTOP);
	wait_until(sum + 10);
	/* Killed while it is stopped. */
	kill(b, SIGKILL);
	assert_int_equal(waitpid(b, &status, 0), b);
	stopped_ended();
	assert_true(stopped_ms() >= sum + 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_stopped) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
