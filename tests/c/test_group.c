/* A job's monitoring group: which file is believed, which directory joined. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "group.h"

static char dir[] = "/tmp/group.XXXXXX";
static char file[64], out[256];

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int make_dir(void **state)
{
	(void)state;
	umask(022);
	if (mkdtemp(dir) == NULL)
		return 1;
	snprintf(file, sizeof(file), "%s/7.group", dir);
	return 0;
}

static int remove_dir(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static int named(const char *text)
{
	put(file, text);
	return group_path(out, sizeof(out), file, getuid());
}

static void a_file_of_roots_names_a_group(void **state)
{
	char longer[512];

	(void)state;
	assert_int_equal(group_path(out, sizeof(out), "/nonexistent/7.group", getuid()), -ENOENT);
	assert_int_equal(named("/sys/fs/resctrl/mon_groups/syscheck_4711\n"), 0);
	assert_string_equal(out, "/sys/fs/resctrl/mon_groups/syscheck_4711");
	static const char *const bad[] = { "", "\n", "/sys/fs/resctrl/mon_groups/syscheck_4711", "syscheck_1\n",
					   "/sys/fs/cgroup/init.scope\n", "/x/syscheck_\n", "/x/syscheck_1x\n",
					   "/x/syscheck_1/tasks\n", "/x/../y/syscheck_1\n", "/x/syscheck_-1\n" };
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(named(bad[i]), -EINVAL);
	memset(longer, 'x', sizeof(longer));
	longer[0] = '/';
	memcpy(longer + sizeof(longer) - 14, "/syscheck_1\n", 13);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(named(longer), -EINVAL);
}

static void anybody_elses_file_is_none(void **state)
{
	char link[64];

	(void)state;
	assert_int_equal(named("/x/syscheck_1\n"), 0);
	assert_int_equal(group_path(out, sizeof(out), file, getuid() + 1), -EPERM);
	assert_int_equal(chmod(file, 0664), 0);
	assert_int_equal(group_path(out, sizeof(out), file, getuid()), -EPERM);
	assert_int_equal(chmod(file, 0644), 0);
	snprintf(link, sizeof(link), "%s/link", dir);
	assert_int_equal(symlink(file, link), 0);
	assert_int_equal(group_path(out, sizeof(out), link, getuid()), -ELOOP);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(mkfifo(link, 0600), 0);
	assert_int_equal(group_path(out, sizeof(out), link, getuid()), -EPERM);
	assert_int_equal(group_path(out, sizeof(out), dir, getuid()), -EPERM);
}

static void a_task_joins(void **state)
{
	char group[64], tasks[80], other[80], text[32] = "";
	FILE *f;

	(void)state;
	snprintf(group, sizeof(group), "%s/syscheck_1", dir);
	assert_int_equal(group_join(group, 42), -ENOENT);
	assert_int_equal(mkdir(group, 0755), 0);
	/* Of a group that goes away nothing stays. */
	assert_int_equal(group_join(group, 42), -ENOENT);
	snprintf(tasks, sizeof(tasks), "%s/tasks", group);
	put(tasks, "");
	assert_int_equal(group_join(group, 42), 0);
	f = fopen(tasks, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	assert_string_equal(text, "42\n");
	/* Through no link, neither of the group nor in it. */
	snprintf(other, sizeof(other), "%s/syscheck_2", dir);
	assert_int_equal(symlink(group, other), 0);
	assert_int_equal(group_join(other, 42), -ENOTDIR);
	assert_int_equal(unlink(tasks), 0);
	assert_int_equal(symlink("/dev/full", tasks), 0);
	assert_int_equal(group_join(group, 42), -ELOOP);
}

static void a_mark_is_left_once_or_twice(void **state)
{
	char path[64], target[64];
	struct stat sb;

	(void)state;
	snprintf(path, sizeof(path), "%s/7.counted", dir);
	assert_int_equal(group_mark(path), 0);
	assert_int_equal(group_mark(path), 0);
	assert_int_equal(stat(path, &sb), 0);
	assert_int_equal(sb.st_size, 0);
	assert_int_equal(unlink(path), 0);
	snprintf(target, sizeof(target), "%s/elsewhere", dir);
	assert_int_equal(symlink(target, path), 0);
	assert_int_equal(group_mark(path), -ELOOP);
	assert_int_equal(stat(target, &sb), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_of_roots_names_a_group),
		cmocka_unit_test(anybody_elses_file_is_none),
		cmocka_unit_test(a_task_joins),
		cmocka_unit_test(a_mark_is_left_once_or_twice),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
