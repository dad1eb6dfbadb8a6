/*
 * The memory controllers' counters: how the kernel describes them, and counting by an event that every machine has,
 * page faults, in their place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/uncore.h"
#include "memory.h"
#include "stream/traffic.h"
#include "tree.h"

#define PAGES 4096
#define FAULT_BYTES 65536.0 /* what one stands for: 0.0625 MiB */

static char dir[] = "/tmp/uncore.XXXXXX";
static struct uncore uncore;

static void put(const char *name, const char *text)
{
	tree_put(dir, name, text);
}

static void put_event(const char *name, const char *event, const char *scale, const char *unit)
{
	char path[128];

	snprintf(path, sizeof(path), "uncore_imc_0/events/%s", name);
	put(path, event);
	snprintf(path, sizeof(path), "uncore_imc_0/events/%s.scale", name);
	put(path, scale);
	snprintf(path, sizeof(path), "uncore_imc_0/events/%s.unit", name);
	put(path, unit);
}

static void make(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(mkdir(path, 0755), 0);
}

/* PERF_TYPE_SOFTWARE; reads are PERF_COUNT_SW_PAGE_FAULTS, writes are PERF_COUNT_SW_EMULATION_FAULTS: none. */
static int describe(void **state)
{
	(void)state;
	if (mkdtemp(dir) == NULL)
		return 1;
	make("uncore_imc_0");
	make("uncore_imc_0/events");
	make("uncore_imc_0/format");
	put("uncore_imc_0/type", "1\n");
	put("uncore_imc_0/cpumask", "0\n");
	put("uncore_imc_0/format/event", "config:0-7\n");
	put("uncore_imc_0/format/umask", "config:8-15\n");
	put("uncore_imc_0/format/split", "config1:0,4-6,63\n");
	put("uncore_imc_0/format/odd", "config3:0-7\n");
	put("uncore_imc_0/format/far", "config:60-64\n");
	put_event("cas_count_read", "event=0x02,umask=0x00\n", "0.0625\n", "MiB\n");
	put_event("cas_count_write", "event=8\n", "0.0625\n", "MiB\n");
	/* Others' PMUs, and those of other names. */
	make("uncore_imc_free_running_0");
	make("uncore_imc_1x");
	make("cpu");
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	uncore_close(&uncore);
	return tree_remove(dir);
}

static void test_cpus(void **state)
{
	int cpus[4];

	(void)state;
	assert_int_equal(uncore_cpus("0\n", cpus, 4), 1);
	assert_int_equal(uncore_cpus("0,28", cpus, 4), 2);
	assert_int_equal(cpus[1], 28);
	assert_int_equal(uncore_cpus("2-3,7\n", cpus, 4), 3);
	assert_int_equal(cpus[0], 2);
	assert_int_equal(cpus[2], 7);
	/* One package less would be a wrong sum. */
	static const char *const bad[] = { "0-4", "", "\n", "0,", "3-1", "0x", "-1", "99999999999999999999" };
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(uncore_cpus(bad[i], cpus, 4), 0);
}

static void test_config(void **state)
{
	uint64_t config[3];
	char path[64];
	int formats;

	(void)state;
	snprintf(path, sizeof(path), "%s/uncore_imc_0/format", dir);
	formats = open(path, O_RDONLY | O_DIRECTORY);
	assert_true(formats >= 0);
	assert_int_equal(uncore_config(config, "event=0x05,umask=0xcf", formats), 0);
	assert_int_equal(config[0], 0xcf05);
	assert_int_equal(uncore_config(config, "umask=3,split=0x15", formats), 0);
	assert_int_equal(config[0], 0x300);
	assert_true(config[1] == (UINT64_C(1) << 63 | 1 << 5 | 1));
	assert_int_equal(uncore_config(config, "umask", formats), 0);
	assert_int_equal(config[0], 0x100);
	static const char *const bad[] = { "", ",", "event=", "event=x", "event=0x", "event=0x100", "event=-1", "event=1 ", "none=1",
					   "../format/event=1", "odd=1", "far=1", "event=0xfffffffffffffffff", "event=1,=2" };
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(uncore_config(config, bad[i], formats), strcmp(bad[i], ",") == 0 ? 0 : -EINVAL);
	close(formats);
}

/* On the CPU that is counted. */
static void take_faults(int n)
{
	char *pages = mmap(NULL, PAGES * 4096UL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cpu_set_t set;

	assert_ptr_not_equal(pages, MAP_FAILED);
	/* One fault a page. */
	madvise(pages, PAGES * 4096UL, MADV_NOHUGEPAGE);
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
	for (int i = 0; i < n; i++) {
		if (i % PAGES == 0)
			madvise(pages, PAGES * 4096UL, MADV_DONTNEED);
		pages[(size_t)(i % PAGES) * 4096] = 1;
	}
	munmap(pages, PAGES * 4096UL);
}

static void test_counts_while_it_is_open(void **state)
{
	uint64_t bytes[UNCORE_DOMAINS], ns, later;
	const int n = 50 * PAGES;
	int rc;

	(void)state;
	rc = uncore_open(&uncore, dir);
	if (rc == -EACCES || rc == -EPERM || rc == -ENOSYS)
		skip();
	assert_int_equal(rc, 0);
	assert_int_equal(uncore.events, 2);
	assert_int_equal(uncore.domains, 1);
	assert_int_equal(uncore.cpus[0], 0);
	take_faults(n);
	assert_int_equal(uncore_read(&uncore, bytes, &ns), 0);
	/* Others have faults there, too. */
	assert_true((double)bytes[0] >= n * FAULT_BYTES);
	assert_true((double)bytes[0] < 100.0 * n * FAULT_BYTES);
	assert_true(ns > 0);
	assert_int_equal(uncore_read(&uncore, bytes, &later), 0);
	assert_true(later > ns);
	uncore_close(&uncore);
	assert_int_equal(uncore.events, 0);
}

static void test_traffic_is_by_perf_where_there_is_no_resctrl(void **state)
{
	static struct traffic traffic;
	uint64_t from[TRAFFIC_CACHES], to[TRAFFIC_CACHES];
	char error[ERROR_SIZE] = "";

	(void)state;
	if (!traffic_open(&traffic, dir, error)) {
		assert_non_null(strstr(error, "CAP_PERFMON"));
		skip();
	}
	assert_true(traffic.perf);
	assert_int_equal(traffic.caches, 1);
	assert_true(traffic_read(&traffic, from, error));
	take_faults(PAGES);
	assert_true(traffic_read(&traffic, to, error));
	assert_true((double)(to[0] - from[0]) >= PAGES * FAULT_BYTES);
	traffic_close(&traffic);
}

static void test_what_is_not_understood_is_no_counter(void **state)
{
	static struct traffic traffic;
	static const struct {
		const char *name, *text, *good;
	} bad[] = {
		{ "type", "x\n", "1\n" },	   { "type", "99999999999\n", "1\n" },
		{ "cpumask", "\n", "0\n" },	   { "cpumask", "0-16\n", "0\n" },
		{ "events/cas_count_read", "event=x\n", "event=0x02\n" },
		{ "events/cas_count_read.scale", "-1\n", "0.0625\n" },
		{ "events/cas_count_read.scale", "1e9\n", "0.0625\n" },
		{ "events/cas_count_read.scale", "nan\n", "0.0625\n" },
		{ "events/cas_count_read.unit", "Joules\n", "MiB\n" },
		{ "format/event", "config9:0-7\n", "config:0-7\n" },
	};
	char path[128], error[ERROR_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(path, sizeof(path), "uncore_imc_0/%s", bad[i].name);
		put(path, bad[i].text);
		assert_int_equal(uncore_open(&uncore, dir), -EINVAL);
		assert_int_equal(uncore.events, 0);
		put(path, bad[i].good);
	}
	/* Reads alone are half of it. */
	snprintf(path, sizeof(path), "%s/uncore_imc_0/events/cas_count_write", dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(uncore_open(&uncore, dir), -EINVAL);
	assert_false(traffic_open(&traffic, dir, error));
	assert_non_null(strstr(error, "describes a memory controller otherwise"));
	put("uncore_imc_0/events/cas_count_write", "event=8\n");
	/* A CPU that there is not. */
	put("uncore_imc_0/cpumask", "99999\n");
	assert_true(uncore_open(&uncore, dir) < 0);
	put("uncore_imc_0/cpumask", "0\n");
	snprintf(path, sizeof(path), "%s/cpu", dir);
	assert_int_equal(uncore_open(&uncore, path), -ENOENT);
	assert_false(traffic_open(&traffic, path, error));
	assert_string_equal(error, "perf: no counters of memory controllers here");
	assert_int_equal(uncore_open(&uncore, "/nonexistent"), -ENOENT);
}

static void test_amd(void **state)
{
	char path[64], hidden[64];

	(void)state;
	snprintf(path, sizeof(path), "%s/uncore_imc_0", dir);
	snprintf(hidden, sizeof(hidden), "%s/hidden", dir);
	assert_int_equal(rename(path, hidden), 0);
	make("amd_umc_0");
	put("amd_umc_0/type", "1\n");
	put("amd_umc_0/cpumask", "0\n");
	make("amd_umc_11");
	put("amd_umc_11/type", "1\n");
	put("amd_umc_11/cpumask", "0\n");
	/* 0x0a of software events is BPF's output. */
	const int rc = uncore_open(&uncore, dir);
	if (rc == 0) {
		assert_int_equal(uncore.events, 2);
		assert_true(uncore.event[1].bytes == 64.0);
	} else {
		assert_true(rc == -EACCES || rc == -EPERM || rc == -EINVAL);
	}
	uncore_close(&uncore);
	assert_int_equal(rename(hidden, path), 0);
}

static size_t text_of(const char *path, char *out, size_t size)
{
	FILE *f = fopen(path, "r");
	size_t n;

	assert_non_null(f);
	n = fread(out, 1, size - 1, f);
	out[n] = '\0';
	fclose(f);
	return n;
}

static void test_what_the_plugin_leaves(void **state)
{
	char wanted[64], file[64], text[1024], target[64];
	struct stat sb;
	uint64_t ns, bytes;
	int cpu, rc;

	(void)state;
	snprintf(wanted, sizeof(wanted), "%s/7.uncore", dir);
	snprintf(file, sizeof(file), "%s/7.traffic", dir);
	snprintf(target, sizeof(target), "%s/target", dir);
	assert_int_equal(memory_begin(&uncore, wanted, getuid()), -ENOENT);
	put("7.uncore", "relative\n");
	assert_int_equal(memory_begin(&uncore, wanted, getuid()), -EINVAL);
	put("7.uncore", "/nonexistent\n");
	assert_int_equal(memory_begin(&uncore, wanted, getuid()), -ENODEV);
	assert_int_equal(memory_begin(&uncore, wanted, getuid() + 1), -EPERM);
	/* Through no link. */
	assert_int_equal(symlink(target, file), 0);
	assert_int_equal(memory_end(&uncore, -ENODEV, file), 0);
	assert_int_equal(lstat(target, &sb), -1);
	text_of(file, text, sizeof(text));
	assert_string_equal(text, "error 19\n");
	snprintf(text, sizeof(text), "%s\n", dir);
	put("7.uncore", text);
	rc = memory_begin(&uncore, wanted, getuid());
	if (rc == -EACCES || rc == -EPERM)
		skip();
	assert_int_equal(rc, 0);
	take_faults(PAGES);
	assert_int_equal(memory_end(&uncore, 0, file), 0);
	assert_int_equal(stat(file, &sb), 0);
	assert_int_equal(sb.st_mode & 07777, 0600);
	text_of(file, text, sizeof(text));
	assert_int_equal(sscanf(text, "ns %lu\n%d %lu\n", &ns, &cpu, &bytes), 3);
	assert_int_equal(cpu, 0);
	assert_true(ns > 0 && (double)bytes >= PAGES * FAULT_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpus),
		cmocka_unit_test(test_config),
		cmocka_unit_test(test_counts_while_it_is_open),
		cmocka_unit_test(test_traffic_is_by_perf_where_there_is_no_resctrl),
		cmocka_unit_test(test_what_is_not_understood_is_no_counter),
		cmocka_unit_test(test_amd),
		cmocka_unit_test(test_what_the_plugin_leaves),
	};

	return cmocka_run_group_tests(tests, describe, remove_dir);
}
