/* What a process leaves behind that ends without a word: nothing. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/janitor.h"

#define WAIT_MS 30000

static char top[] = "/tmp/test-janitor-XXXXXX";

enum kind { NOTHING, ONE_FILE, EMPTY_DIR, DIR_WITH_FILE, ENTERED, FORGOTTEN, NOT_OURS, FULL };

/* The process to be killed: makes what it is to leave, says its name, waits. */
static void leave(enum kind kind, int dir, int out)
{
	char copy[JANITOR_NAME_SIZE];
	struct janitor j;
	const char *name;
	int fd;

	const bool is_dir = kind != NOTHING && kind != ONE_FILE && kind != FORGOTTEN;

	if (!janitor_start(&j, dir) || (name = is_dir ? janitor_new_dir(&j) : janitor_name(&j)) == NULL)
		_exit(1);
	if (is_dir && kind != NOT_OURS)
		mkdirat(dir, name, 0700);
	else if (kind != NOTHING)
		close(openat(dir, name, O_CREAT | O_EXCL | O_WRONLY, 0600));
	if (kind == ENTERED) {
		snprintf(copy, sizeof(copy), "%s", name);
		janitor_enter_dir(&j, copy);
	}
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY);
	if (kind == DIR_WITH_FILE || kind == ENTERED || kind == FULL)
		close(openat(fd, janitor_inside(&j), O_CREAT | O_EXCL | O_WRONLY, 0600));
	if (kind == FULL)
		close(openat(fd, "another's", O_CREAT | O_EXCL | O_WRONLY, 0600));
	if (write(out, name, JANITOR_NAME_SIZE) != JANITOR_NAME_SIZE)
		_exit(1);
	if (kind == FORGOTTEN)
		janitor_forget(&j);
	if (write(out, "", 1) == 1)
		pause();
	_exit(1);
}

static bool there(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Whether what the killed process made is there in the end. */
static bool left(enum kind kind)
{
	const struct timespec step = { .tv_nsec = 1000000 };
	int dir = open(top, O_RDONLY | O_DIRECTORY), ends[2], fd;
	char name[JANITOR_NAME_SIZE], byte;
	bool is;
	pid_t pid;

	assert_true(dir >= 0);
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0)
		leave(kind, dir, ends[1]);
	close(ends[1]);
	assert_int_equal(read(ends[0], name, sizeof(name)), sizeof(name));
	assert_int_equal(read(ends[0], &byte, 1), 1);
	assert_int_equal(there(dir, name), kind != NOTHING);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	/* The janitor has the pipe's end until it ends itself. */
	assert_int_equal(read(ends[0], &byte, 1), 0);
	/* What stays is looked at once it is over: the janitor has ended by then, or a moment later. */
	for (int i = 0; i < (kind == FORGOTTEN || kind == NOT_OURS || kind == FULL ? 100 : WAIT_MS) && there(dir, name); i++)
		nanosleep(&step, NULL);
	is = there(dir, name);
	if (is && kind == FULL) {
		fd = openat(dir, name, O_RDONLY | O_DIRECTORY);
		assert_true(there(fd, "another's"));
		unlinkat(fd, "another's", 0);
		close(fd);
	}
	/* With FULL its own file went: the directory is empty now. */
	if (is && unlinkat(dir, name, 0) != 0)
		assert_int_equal(unlinkat(dir, name, AT_REMOVEDIR), 0);
	close(ends[0]);
	close(dir);
	return is;
}

static void killed(void **state)
{
	(void)state;
	assert_false(left(NOTHING));
	assert_false(left(ONE_FILE));
	assert_false(left(EMPTY_DIR));
	assert_false(left(DIR_WITH_FILE));
	assert_false(left(ENTERED));
}

/* What was unlinked and made by another under the same name is not its own any more. */
static void forgotten(void **state)
{
	(void)state;
	assert_true(left(FORGOTTEN));
}

/* Who owns the directory put something else in its place: a file for a directory, one with files of another. */
static void what_is_not_its_own(void **state)
{
	(void)state;
	assert_true(left(NOT_OURS));
	assert_true(left(FULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(killed), cmocka_unit_test(forgotten),
					    cmocka_unit_test(what_is_not_its_own) };
	int failed;

	if (mkdtemp(top) == NULL)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(top);
	return failed;
}
