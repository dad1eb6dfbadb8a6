/* What cgroups leave of memory, in prepared trees of /proc and /sys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "common/memory.h"

#define MIB ((size_t)1 << 20)

static char root[] = "/tmp/syscheck-memory.XXXXXX";

static int make_root(void **state)
{
	(void)state;
	memcpy(root + sizeof(root) - 7, "XXXXXX", 6);
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r '%s'", root);
	return system(command);
}

/* A file below the root, with the directories that lead to it. */
static void file(const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s%s", root, name);
	for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(path, 0700);
		*p = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void no_groups(void **state)
{
	(void)state;
	assert_true(memory_group_room(root) == SIZE_MAX);
	file("/proc/self/cgroup", "nonsense\n0::/nowhere\n1:memory:/nowhere\n");
	assert_true(memory_group_room(root) == SIZE_MAX);
}

static void unified(void **state)
{
	(void)state;
	file("/proc/self/cgroup", "0::/a/b\n");
	file("/sys/fs/cgroup/a/b/memory.max", "max\n");
	file("/sys/fs/cgroup/a/b/memory.high", "max\n");
	file("/sys/fs/cgroup/a/b/memory.current", "10485760\n");
	assert_true(memory_group_room(root) == SIZE_MAX);
	file("/sys/fs/cgroup/a/b/memory.max", "104857600\n");
	assert_int_equal(memory_group_room(root), 90 * MIB);
	/* Pages that can go are not in the way; words that only begin alike are others. */
	file("/sys/fs/cgroup/a/b/memory.stat", "anon 2097152\ninactive_file 8388608\ninactive_file_x 1\nactive_file 7\n");
	assert_int_equal(memory_group_room(root), 98 * MIB);
	file("/sys/fs/cgroup/a/b/memory.high", "52428800\n");
	assert_int_equal(memory_group_room(root), 48 * MIB);
	/* Only the throttle. */
	file("/sys/fs/cgroup/a/b/memory.max", "max\n");
	assert_int_equal(memory_group_room(root), 48 * MIB);
	/* A parent has less, with pages of its own. */
	file("/sys/fs/cgroup/a/memory.max", "41943040\n");
	file("/sys/fs/cgroup/a/memory.current", "31457280\n");
	assert_int_equal(memory_group_room(root), 10 * MIB);
	file("/sys/fs/cgroup/a/memory.stat", "inactive_file 10485760\n");
	assert_int_equal(memory_group_room(root), 20 * MIB);
	/* Beyond the limit, and more pages than use: never negative. */
	file("/sys/fs/cgroup/a/memory.current", "99999999999\n");
	assert_int_equal(memory_group_room(root), 0);
	file("/sys/fs/cgroup/a/memory.current", "1048576\n");
	assert_int_equal(memory_group_room(root), 40 * MIB);
}

static void separate(void **state)
{
	(void)state;
	file("/proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/job\n0::/x\n");
	file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	file("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1048576\n");
	file("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "67108864\n");
	file("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "62914560\n");
	file("/sys/fs/cgroup/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 20971520\n");
	assert_int_equal(memory_group_room(root), 24 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_groups, make_root, remove_root),
		cmocka_unit_test_setup_teardown(unified, make_root, remove_root),
		cmocka_unit_test_setup_teardown(separate, make_root, remove_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
