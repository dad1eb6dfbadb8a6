/* What the prolog leaves for the job's steps: its text, its file, its path. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "status.h"

#define GOOD "level=full\nstatus=pass\nasked=1\nline=n1: pass, triad 98.1 GB/s\n"

static int parse(struct status *st, const char *text)
{
	return status_parse(st, text, strlen(text));
}

static void test_parse(void **state)
{
	struct status st;

	(void)state;
	assert_int_equal(parse(&st, GOOD), 0);
	assert_int_equal(st.level, LEVEL_FULL);
	assert_string_equal(st.name, "pass");
	assert_true(st.asked);
	assert_string_equal(st.line, "n1: pass, triad 98.1 GB/s");
}

static void test_parse_any_order(void **state)
{
	struct status st;

	(void)state;
	/* Unknown keys, lines without a value, no newline at the end. */
	assert_int_equal(parse(&st, "v=2\n\nnoise\n=x\nline=a=b\nstatus=skipped\nlevelx=full\nlevel=none"), 0);
	assert_int_equal(st.level, LEVEL_NONE);
	assert_string_equal(st.name, "skipped");
	assert_string_equal(st.line, "a=b");
	assert_false(st.asked);
}

static void test_parse_statuses(void **state)
{
	const char *known[] = { "pass", "warn", "fail", "unknown", "unrated", "skipped" };
	struct status st;
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		snprintf(text, sizeof(text), "level=quick\nstatus=%s\n", known[i]);
		assert_int_equal(parse(&st, text), 0);
		assert_string_equal(st.name, known[i]);
	}
}

static void test_parse_refuses(void **state)
{
	const char *bad[] = {
		"",
		"\n\n\n",
		"level=full\n",
		"status=pass\n",
		"level=full\nstatus=\n",
		"level=\nstatus=pass\n",
		"level=Full\nstatus=pass\n",
		"level=full\nstatus=passed\n",
		"level=full\nstatus=pas\n",
		"level=full\r\nstatus=pass\r\n",
		"level = full\nstatus=pass\n",
		" level=full\nstatus=pass\n",
		"level=full status=pass\n",
		"level=full;reboot\nstatus=pass\n",
		/* The last one counts. */
		"level=full\nlevel=bad\nstatus=pass\n",
	};
	struct status st;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (parse(&st, bad[i]) != -EINVAL)
			fail_msg("accepted: %s", bad[i]);
	}
}

/* What the sentence to the job's user is made of. */
static void test_parse_parts(void **state)
{
	struct status st;
	char text[STATUS_LIST_MAX + 128];

	(void)state;
	assert_int_equal(parse(&st, "nodes=64\nfirst=1\nlist=n[1-64]\nverbose=1\noff=41\nbrief=b\x1b\nnote=c\n" GOOD), 0);
	assert_int_equal(st.nodes, 64);
	assert_int_equal(st.off, 41);
	assert_true(st.first && st.verbose);
	assert_string_equal(st.list, "n[1-64]");
	assert_string_equal(st.brief, "b?");
	assert_string_equal(st.note, "c");
	/* What an older prolog left says none of it. */
	assert_int_equal(parse(&st, GOOD), 0);
	assert_int_equal(st.nodes, 0);
	assert_false(st.first || st.verbose);
	assert_int_equal(parse(&st, "nodes=-1\noff=1e3\nfirst=yes\nnodes=9999999999\n" GOOD), 0);
	assert_int_equal(st.nodes, 0);
	assert_int_equal(st.off, 0);
	assert_false(st.first);
	/* A list that was cut would name other nodes. */
	snprintf(text, sizeof(text), GOOD "list=%0*d\n", STATUS_LIST_MAX + 1, 1);
	assert_int_equal(parse(&st, text), 0);
	assert_string_equal(st.list, "");
}

static void test_unusual(void **state)
{
	struct status st = { 0 };

	(void)state;
	assert_false(status_is_unusual(&st));
	assert_int_equal(parse(&st, GOOD), 0);
	assert_false(status_is_unusual(&st));
	for (size_t i = 0; i < 3; i++) {
		st.name = (const char *[]){ "warn", "fail", "unknown" }[i];
		assert_true(status_is_unusual(&st));
	}
	st.name = "unrated";
	assert_false(status_is_unusual(&st));
}

static void test_parse_asked(void **state)
{
	const char *no[] = { "", "0", "10", "yes", " 1", "1 " };
	struct status st;
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
		snprintf(text, sizeof(text), "level=quick\nstatus=pass\nasked=%s\n", no[i]);
		assert_int_equal(parse(&st, text), 0);
		assert_false(st.asked);
	}
}

static void test_parse_line_is_printable(void **state)
{
	const char text[] = "level=quick\nstatus=pass\nline=a\x1b[31m\t\xc3\xa9\x7f\r\0b\n";
	struct status st;

	(void)state;
	assert_int_equal(status_parse(&st, text, sizeof(text) - 1), 0);
	assert_string_equal(st.line, "a?[31m??????b");
}

static void test_parse_line_is_short(void **state)
{
	char text[1024] = "level=quick\nstatus=pass\nline=";
	struct status st;
	size_t head = strlen(text);

	(void)state;
	memset(text + head, 'x', sizeof(text) - head);
	assert_int_equal(status_parse(&st, text, sizeof(text)), 0);
	assert_int_equal(strlen(st.line), STATUS_LINE_MAX);

	assert_int_equal(status_parse(&st, text, head + STATUS_LINE_MAX), 0);
	assert_int_equal(strlen(st.line), STATUS_LINE_MAX);
	assert_int_equal(status_parse(&st, text, head + STATUS_LINE_MAX - 1), 0);
	assert_int_equal(strlen(st.line), STATUS_LINE_MAX - 1);
}

static void test_parse_nul_ends_nothing(void **state)
{
	const char in_level[] = "level=full\0\nstatus=pass\n";
	const char between[] = "\0\nlevel=full\n\0\nstatus=pass\n";
	struct status st;

	(void)state;
	assert_int_equal(status_parse(&st, in_level, sizeof(in_level) - 1), -EINVAL);
	assert_int_equal(status_parse(&st, between, sizeof(between) - 1), 0);
}

/* The file tests: a directory of their own, a path to put something at. */
static struct {
	char dir[64];
	char path[80];
	char other[80];
} tmp;

static int make_dir(void **state)
{
	(void)state;
	snprintf(tmp.dir, sizeof(tmp.dir), "/tmp/test_status.XXXXXX");
	if (mkdtemp(tmp.dir) == NULL)
		return -1;
	snprintf(tmp.path, sizeof(tmp.path), "%s/17", tmp.dir);
	snprintf(tmp.other, sizeof(tmp.other), "%s/other", tmp.dir);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	unlink(tmp.path);
	rmdir(tmp.path);
	unlink(tmp.other);
	return rmdir(tmp.dir);
}

static void write_file(const char *path, const char *text, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, 0644), 0);
	assert_int_equal(write(fd, text, len), len);
	close(fd);
}

static void assert_read(int want)
{
	struct status st;

	assert_int_equal(status_read(&st, tmp.path, getuid()), want);
}

static void test_read(void **state)
{
	struct status st;

	(void)state;
	write_file(tmp.path, GOOD, strlen(GOOD));
	assert_int_equal(status_read(&st, tmp.path, getuid()), 0);
	assert_int_equal(st.level, LEVEL_FULL);
	assert_string_equal(st.line, "n1: pass, triad 98.1 GB/s");
	assert_int_equal(chmod(tmp.path, 0600), 0);
	assert_read(0);
}

static void test_read_missing(void **state)
{
	(void)state;
	assert_read(-ENOENT);
}

static void test_read_symlink(void **state)
{
	(void)state;
	write_file(tmp.other, GOOD, strlen(GOOD));
	assert_int_equal(symlink(tmp.other, tmp.path), 0);
	assert_read(-ELOOP);
}

/* Returns at all: nobody ever writes into it. */
static void test_read_fifo(void **state)
{
	(void)state;
	assert_int_equal(mkfifo(tmp.path, 0600), 0);
	alarm(5);
	assert_read(-EPERM);
	alarm(0);
}

static void test_read_directory(void **state)
{
	(void)state;
	assert_int_equal(mkdir(tmp.path, 0755), 0);
	assert_read(-EPERM);
}

static void test_read_writable_by_others(void **state)
{
	(void)state;
	write_file(tmp.path, GOOD, strlen(GOOD));
	assert_int_equal(chmod(tmp.path, 0664), 0);
	assert_read(-EPERM);
	assert_int_equal(chmod(tmp.path, 0646), 0);
	assert_read(-EPERM);
	assert_int_equal(chmod(tmp.path, 0644), 0);
	assert_read(0);
}

static void test_read_not_root_owned(void **state)
{
	struct status st;

	(void)state;
	if (getuid() != 0)
		skip();
	write_file(tmp.path, GOOD, strlen(GOOD));
	assert_int_equal(status_read(&st, tmp.path, 0), 0);
	assert_int_equal(chown(tmp.path, 65534, 0), 0);
	assert_int_equal(status_read(&st, tmp.path, 0), -EPERM);
}

static void test_read_oversize(void **state)
{
	char text[STATUS_FILE_MAX + 1];

	(void)state;
	memset(text, '\n', sizeof(text));
	memcpy(text, GOOD, strlen(GOOD));
	write_file(tmp.path, text, STATUS_FILE_MAX);
	assert_read(0);
	write_file(tmp.path, text, STATUS_FILE_MAX + 1);
	assert_read(-EFBIG);
}

static void test_read_empty(void **state)
{
	(void)state;
	write_file(tmp.path, "", 0);
	assert_read(-EINVAL);
}

static void test_read_nul(void **state)
{
	const char text[] = "level=full\nstatus=pass\nline=a\0b\n";
	struct status st;

	(void)state;
	write_file(tmp.path, text, sizeof(text) - 1);
	assert_int_equal(status_read(&st, tmp.path, getuid()), 0);
	assert_string_equal(st.line, "a?b");
}

static void test_path(void **state)
{
	char path[32];

	(void)state;
	assert_int_equal(status_path(path, sizeof(path), "/run/syscheck", NULL, 17, ""), 0);
	assert_string_equal(path, "/run/syscheck/17");
	assert_int_equal(status_path(path, sizeof(path), "/r/%n", "s1", 4294967295U, ".shown"), 0);
	assert_string_equal(path, "/r/s1/4294967295.shown");
	assert_int_equal(status_path(path, sizeof(path), "/%n/%d%n", "a.b-c", 1, ""), 0);
	assert_string_equal(path, "/a.b-c/%da.b-c/1");
}

static void test_path_refuses(void **state)
{
	const char *bad[] = { NULL, "", ".", "..", ".hidden", "a/b", "/" };
	char path[32], exact[sizeof("/run/s1/17")];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(status_path(path, sizeof(path), "/r/%n", bad[i], 1, ""), -EINVAL);

	assert_int_equal(status_path(exact, sizeof(exact), "/run/%n", "s1", 17, ""), 0);
	assert_int_equal(status_path(exact, sizeof(exact) - 1, "/run/%n", "s1", 17, ""), -EINVAL);
	assert_int_equal(status_path(exact, 6, "/run/%n", "s1", 17, ""), -EINVAL);
	assert_int_equal(status_path(exact, 4, "/run/s1", NULL, 17, ""), -EINVAL);
}

#define FILE_TEST(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_parse_any_order),
		cmocka_unit_test(test_parse_statuses),
		cmocka_unit_test(test_parse_refuses),
		cmocka_unit_test(test_parse_parts),
		cmocka_unit_test(test_unusual),
		cmocka_unit_test(test_parse_asked),
		cmocka_unit_test(test_parse_line_is_printable),
		cmocka_unit_test(test_parse_line_is_short),
		cmocka_unit_test(test_parse_nul_ends_nothing),
		FILE_TEST(test_read),
		FILE_TEST(test_read_missing),
		FILE_TEST(test_read_symlink),
		FILE_TEST(test_read_fifo),
		FILE_TEST(test_read_directory),
		FILE_TEST(test_read_writable_by_others),
		FILE_TEST(test_read_not_root_owned),
		FILE_TEST(test_read_oversize),
		FILE_TEST(test_read_empty),
		FILE_TEST(test_read_nul),
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_path_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
