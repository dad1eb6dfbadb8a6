/* The agent at a step's end: bounded, whatever it does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tell.h"

static struct {
	char dir[64];
	char agent[80];
	int out[2];
} tmp;

static int make(void **state)
{
	(void)state;
	snprintf(tmp.dir, sizeof(tmp.dir), "/tmp/test_tell.XXXXXX");
	if (mkdtemp(tmp.dir) == NULL || pipe(tmp.out) < 0)
		return -1;
	snprintf(tmp.agent, sizeof(tmp.agent), "%s/agent", tmp.dir);
	return 0;
}

static int remove_all(void **state)
{
	(void)state;
	close(tmp.out[0]);
	close(tmp.out[1]);
	unlink(tmp.agent);
	return rmdir(tmp.dir);
}

/* What `tell` returns where the agent is this script. */
static int tell_by(const char *script)
{
	int fd = open(tmp.agent, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, script, strlen(script)), strlen(script));
	close(fd);
	return tell(tmp.agent, "n1", 17, tmp.out[1]);
}

/* What has been printed, and whether anybody can still print. */
static void assert_out(const char *want)
{
	char got[256];
	ssize_t n;

	close(tmp.out[1]);
	n = read(tmp.out[0], got, sizeof(got) - 1);
	assert_true(n >= 0);
	got[n] = '\0';
	assert_string_equal(got, want);
	tmp.out[1] = open("/dev/null", O_WRONLY);
}

static void test_told(void **state)
{
	(void)state;
	assert_int_equal(tell_by("#!/bin/sh\necho \"$1 $SLURM_JOB_ID $SLURMD_NODENAME\"\necho trouble >&2\n"), 0);
	assert_out("stepend 17 n1\n");
}

/* Of the step's environment, of its descriptors nothing. */
static void test_nothing_is_inherited(void **state)
{
	(void)state;
	setenv("LUA_INIT", "os.exit(1)", 1);
	assert_int_equal(dup2(tmp.out[0], 42), 42);
	assert_int_equal(tell_by("#!/bin/sh\n[ -e /proc/$$/fd/1 ] && [ ! -e /proc/$$/fd/42 ] && echo \"${LUA_INIT-none}\"\n"),
			 0);
	unsetenv("LUA_INIT");
	close(42);
	assert_out("none\n");
}

static void test_one_that_fails(void **state)
{
	(void)state;
	assert_int_equal(tell_by("#!/bin/sh\nexit 3\n"), -ECHILD);
	assert_int_equal(tell_by("#!/bin/sh\nkill -9 $$\n"), -ECHILD);
	assert_int_equal(tell_by("no script"), -ECHILD);
	assert_int_equal(tell("/nonexistent", "n1", 17, tmp.out[1]), -ECHILD);
	assert_int_equal(tell("/dev", "n1", 17, tmp.out[1]), -ECHILD);
	assert_out("");
}

/* It and what it started: the pipe's end says that nobody is left. */
static void test_one_that_hangs(void **state)
{
	(void)state;
	assert_int_equal(tell_by("#!/bin/sh\ntrap '' TERM INT HUP\nsleep 100 &\nsleep 100\n"), -ETIMEDOUT);
	alarm(30);
	assert_out("");
	alarm(0);
}

/* A reader that takes nothing: the agent is not begun, or ended while it writes. */
static void test_nobody_reads(void **state)
{
	char block[4096] = { 0 };

	(void)state;
	assert_int_equal(tell_by("#!/bin/sh\nexec cat /dev/zero\n"), -ETIMEDOUT);
	assert_int_equal(fcntl(tmp.out[1], F_SETFL, O_NONBLOCK), 0);
	while (write(tmp.out[1], block, sizeof(block)) > 0)
		;
	assert_int_equal(tell_by("#!/bin/sh\nexit 0\n"), -EAGAIN);
}

static void test_a_reader_that_is_gone(void **state)
{
	(void)state;
	close(tmp.out[0]);
	assert_int_equal(tell_by("#!/bin/sh\necho x\n"), -ECHILD);
	tmp.out[0] = open("/dev/null", O_RDONLY);
}

static void test_a_long_name(void **state)
{
	char name[300];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(tell("/bin/true", name, 17, tmp.out[1]), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_told, make, remove_all),
		cmocka_unit_test_setup_teardown(test_nothing_is_inherited, make, remove_all),
		cmocka_unit_test_setup_teardown(test_one_that_fails, make, remove_all),
		cmocka_unit_test_setup_teardown(test_one_that_hangs, make, remove_all),
		cmocka_unit_test_setup_teardown(test_nobody_reads, make, remove_all),
		cmocka_unit_test_setup_teardown(test_a_reader_that_is_gone, make, remove_all),
		cmocka_unit_test_setup_teardown(test_a_long_name, make, remove_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
