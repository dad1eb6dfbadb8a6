/* What the files of a cgroup say, of both versions and of none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cgroup.h"

static void test_number(void **state)
{
	const struct {
		const char *text;
		uint64_t want;
	} cases[] = {
		{ "0\n", 0 },
		{ "52465664\n", 52465664 },
		{ "18446744073709551614", UINT64_MAX - 1 },
		{ "18446744073709551616\n", CG_UNKNOWN },
		{ "max\n", CG_UNKNOWN },
		{ "", CG_UNKNOWN },
		{ "\n", CG_UNKNOWN },
		{ "-1\n", CG_UNKNOWN },
		{ "+1\n", CG_UNKNOWN },
		{ " 1\n", CG_UNKNOWN },
		{ "12x\n", CG_UNKNOWN },
		{ "0x10\n", CG_UNKNOWN },
		{ "1.5\n", CG_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (cg_number(cases[i].text) != cases[i].want)
			fail_msg("\"%s\"", cases[i].text);
	}
}

static void test_keyed(void **state)
{
	const char *stat = "usage_usec 1080727\nuser_usec 9\nthrottled_usec 42\n";
	const char *events = "low 0\nhigh 0\nmax 17\noom 1\noom_kill 3\noom_group_kill 5\n";
	const char *control = "oom_kill_disable 0\nunder_oom 1\noom_kill 2\n";

	(void)state;
	assert_int_equal(cg_keyed(stat, "usage_usec"), 1080727);
	assert_int_equal(cg_keyed(stat, "throttled_usec"), 42);
	assert_int_equal(cg_keyed(events, "oom_kill"), 3);
	assert_int_equal(cg_keyed(control, "oom_kill"), 2);
	assert_true(cg_keyed(control, "oom_group_kill") == CG_UNKNOWN);
	/* Nothing of a name within another, no number, no end. */
	assert_true(cg_keyed("xoom_kill 3\n", "oom_kill") == CG_UNKNOWN);
	assert_true(cg_keyed("oom_kill\t3\n", "oom_kill") == CG_UNKNOWN);
	assert_true(cg_keyed("oom_kill\n3\n", "oom_kill") == CG_UNKNOWN);
	assert_true(cg_keyed("oom_kill ", "oom_kill") == CG_UNKNOWN);
	assert_true(cg_keyed("", "oom_kill") == CG_UNKNOWN);
	assert_int_equal(cg_keyed("\n\noom_kill 7", "oom_kill"), 7);
}

static void test_pressure(void **state)
{
	const char *text = "some avg10=0.00 avg60=1.50 avg300=0.31 total=150757784\n"
			   "full avg10=0.00 avg60=0.00 avg300=0.10 total=92218861\n";

	(void)state;
	assert_int_equal(cg_pressure(text, "some"), 150757784);
	assert_int_equal(cg_pressure(text, "full"), 92218861);
	assert_true(cg_pressure("some avg10=0.00\nfull total=5\n", "some") == CG_UNKNOWN);
	assert_true(cg_pressure("some avg10=0.00 total=x\n", "some") == CG_UNKNOWN);
	assert_true(cg_pressure("some subtotal=4\n", "some") == CG_UNKNOWN);
	assert_true(cg_pressure("", "some") == CG_UNKNOWN);
}

/* Device mapper, over the disk below it. */
static bool is_disk(unsigned int major, unsigned int minor)
{
	(void)minor;
	return major == 8;
}

static void test_io(void **state)
{
	const char *v2 = "8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0\n"
			 "253:0 rbytes=1459200 wbytes=314773504 rios=1 wios=1\n"
			 "8:0 rbytes=90430464 wbytes=299008000\n";
	const char *v1 = "8:0 Read 100\n8:0 Write 200\n8:0 Sync 1\n8:0 Async 299\n8:0 Total 300\n"
			 "253:0 Read 100\n253:0 Write 200\n8:16 Read 1\n8:16 Write 2\nTotal 606\n";
	uint64_t read, written;

	(void)state;
	cg_io_v2(v2, is_disk, &read, &written);
	assert_int_equal(read, 1459200 + 90430464);
	assert_int_equal(written, 314773504 + 299008000);
	cg_io_v2(v2, NULL, &read, &written);
	assert_int_equal(read, 2 * 1459200 + 90430464);
	cg_io_v1(v1, is_disk, &read, &written);
	assert_int_equal(read, 101);
	assert_int_equal(written, 202);
	/* Nothing moved is zero; garbage is no device. */
	cg_io_v2("", NULL, &read, &written);
	assert_int_equal(read + written, 0);
	cg_io_v2("8:0\n8: rbytes=1\nx:0 rbytes=1\n8:0 rbytes=-1 wbytes=4\n8:0 xrbytes=3\n", NULL, &read, &written);
	assert_int_equal(read, 0);
	assert_int_equal(written, 4);
	cg_io_v1("8:0 Read\n8:0 Write x\n8:0 Reading 5\n:: Read 1\n", NULL, &read, &written);
	assert_int_equal(read + written, 0);
	/* A line is its own: a device alone on one is not the next line's. */
	cg_io_v1("8:0\nRead 5\n8:0 \nWrite 6\n", NULL, &read, &written);
	assert_int_equal(read + written, 0);
	/* Never wraps, never becomes "unknown". */
	cg_io_v1("8:0 Read 18446744073709551614\n8:1 Read 18446744073709551614\n", NULL, &read, &written);
	assert_true(read == UINT64_MAX - 1);
	cg_io_process("rchar: 5\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 1\n", &read, &written);
	assert_int_equal(read, 4096);
	assert_int_equal(written, 8192);
}

/* ---- files ---- */

static char top[64];

static int make_tree(void **state)
{
	(void)state;
	snprintf(top, sizeof(top), "/tmp/test_cgroup.XXXXXX");
	return mkdtemp(top) == NULL ? -1 : 0;
}

static int remove_one(const char *path, const struct stat *sb, int type, struct FTW *ftw)
{
	(void)sb, (void)type, (void)ftw;
	return remove(path);
}

static int remove_tree(void **state)
{
	(void)state;
	return nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void put(const char *dir, const char *name, const char *text)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", top, dir);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/%s/%s", top, dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static struct cg_values read_tree(enum cg_hierarchy hierarchy)
{
	struct cg_values values;
	int dir = open(top, O_RDONLY | O_DIRECTORY);

	assert_true(dir >= 0);
	cg_clear(&values);
	cg_read(&values, dir, hierarchy, NULL);
	cg_read_below(&values, dir, hierarchy);
	close(dir);
	return values;
}

static void test_read_v2(void **state)
{
	struct cg_values values;

	(void)state;
	put(".", "cpu.stat", "usage_usec 5000\nthrottled_usec 1\n");
	put(".", "io.stat", "8:0 rbytes=10 wbytes=20\n");
	put(".", "io.pressure", "some avg10=0.00 total=7\nfull avg10=0.00 total=6\n");
	put(".", "memory.peak", "4096\n");
	put(".", "memory.pressure", "some avg10=0.00 total=9\nfull total=8\n");
	put(".", "memory.events", "oom 1\noom_kill 2\n");
	/* Below: only each group's own throttled time is not in the sum above. */
	put("user", "cpu.stat", "usage_usec 4000\nthrottled_usec 10\n");
	put("user", "memory.events", "oom_kill 2\n");
	put("user/task_0", "cpu.stat", "throttled_usec 100\n");
	put("user/task_1", "cpu.stat", "throttled_usec 1000\n");
	values = read_tree(CG_UNIFIED);
	assert_int_equal(values.v[CG_CPU_US], 5000);
	assert_int_equal(values.v[CG_CPU_THROTTLED_US], 1111);
	assert_int_equal(values.v[CG_READ_BYTES], 10);
	assert_int_equal(values.v[CG_WRITTEN_BYTES], 20);
	assert_int_equal(values.v[CG_IO_SOME_US], 7);
	assert_int_equal(values.v[CG_IO_FULL_US], 6);
	assert_int_equal(values.v[CG_MEMORY_PEAK_BYTES], 4096);
	assert_int_equal(values.v[CG_MEMORY_SOME_US], 9);
	assert_int_equal(values.v[CG_OOM_KILLS], 2);
}

static void test_read_v1(void **state)
{
	struct cg_values values;

	(void)state;
	put(".", "memory.max_usage_in_bytes", "8192\n");
	put(".", "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
	put("task_0", "memory.oom_control", "oom_kill 2\n");
	put("task_1", "memory.oom_control", "oom_kill 4\n");
	put(".", "cpuacct.usage", "123456789\n");
	put(".", "cpu.stat", "nr_periods 1\nthrottled_time 5000\n");
	put(".", "blkio.throttle.io_service_bytes_recursive", "8:0 Read 3\n8:0 Write 4\nTotal 7\n");
	values = read_tree(CG_MEMORY);
	assert_int_equal(values.v[CG_MEMORY_PEAK_BYTES], 8192);
	assert_int_equal(values.v[CG_OOM_KILLS], 7);
	assert_true(values.v[CG_CPU_US] == CG_UNKNOWN);
	values = read_tree(CG_CPUACCT);
	assert_int_equal(values.v[CG_CPU_US], 123456);
	assert_true(values.v[CG_OOM_KILLS] == CG_UNKNOWN);
	values = read_tree(CG_CPU);
	assert_int_equal(values.v[CG_CPU_THROTTLED_US], 5);
	values = read_tree(CG_BLKIO);
	assert_int_equal(values.v[CG_READ_BYTES], 3);
	assert_int_equal(values.v[CG_WRITTEN_BYTES], 4);
}

static void test_read_nothing(void **state)
{
	char link[128];

	(void)state;
	put("elsewhere", "secret", "99\n");
	snprintf(link, sizeof(link), "%s/memory.peak", top);
	assert_int_equal(symlink("elsewhere/secret", link), 0);
	snprintf(link, sizeof(link), "%s/cpu.stat", top);
	assert_int_equal(mkfifo(link, 0600), 0);
	snprintf(link, sizeof(link), "%s/io.stat", top);
	assert_int_equal(mkdir(link, 0700), 0);
	put(".", "memory.events", "\n\xff\xfe oom_kill\noom_kill many\n");
	put(".", "io.pressure", "");
	for (int i = 0; i < CG_HIERARCHIES; i++) {
		struct cg_values values = read_tree(i);

		for (int f = 0; f < CG_FIELDS; f++) {
			if (values.v[f] != CG_UNKNOWN)
				fail_msg("%s is %llu", cg_name(f), (unsigned long long)values.v[f]);
		}
	}
}

static void test_file_is_bounded(void **state)
{
	char text[16];
	int dir = open(top, O_RDONLY | O_DIRECTORY);

	(void)state;
	put(".", "long", "a 1\nb 2\nc 123456789\n");
	assert_true(cg_file(text, sizeof(text), dir, "long"));
	/* Not "c 123456". */
	assert_string_equal(text, "a 1\nb 2\n");
	put(".", "line", "123456789012345678901234567890");
	assert_true(cg_file(text, sizeof(text), dir, "line"));
	assert_string_equal(text, "");
	close(dir);
}

static void test_add_and_max(void **state)
{
	(void)state;
	assert_int_equal(cg_add(1, 2), 3);
	assert_int_equal(cg_add(CG_UNKNOWN, 2), 2);
	assert_int_equal(cg_add(1, CG_UNKNOWN), 1);
	assert_true(cg_add(CG_UNKNOWN, CG_UNKNOWN) == CG_UNKNOWN);
	assert_true(cg_add(UINT64_MAX - 2, 5) == UINT64_MAX - 1);
	assert_int_equal(cg_max(1, 2), 2);
	assert_int_equal(cg_max(3, 2), 3);
	assert_int_equal(cg_max(CG_UNKNOWN, 2), 2);
	assert_int_equal(cg_max(1, CG_UNKNOWN), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_number),
		cmocka_unit_test(test_keyed),
		cmocka_unit_test(test_pressure),
		cmocka_unit_test(test_io),
		cmocka_unit_test_setup_teardown(test_read_v2, make_tree, remove_tree),
		cmocka_unit_test_setup_teardown(test_read_v1, make_tree, remove_tree),
		cmocka_unit_test_setup_teardown(test_read_nothing, make_tree, remove_tree),
		cmocka_unit_test_setup_teardown(test_file_is_bounded, make_tree, remove_tree),
		cmocka_unit_test(test_add_and_max),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
