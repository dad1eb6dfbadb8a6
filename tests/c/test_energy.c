/* Energy by the kernel's perf events: their description, and counting by one that every machine has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "energy.h"
#include "tree.h"

static char dir[] = "/tmp/energy.XXXXXX";
static struct energy energy;

static void put(const char *name, const char *text)
{
	tree_put(dir, name, text);
}

/* PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK: a CPU's time in ns. One watt, so to speak. */
static int describe(void **state)
{
	char events[64];

	(void)state;
	snprintf(events, sizeof(events), "%s/events", dir);
	mkdir(events, 0755);
	put("type", "1\n");
	put("cpumask", "0\n");
	put("events/energy-pkg", "event=0x00\n");
	put("events/energy-pkg.scale", "1e-9\n");
	put("events/energy-pkg.unit", "Joules\n");
	return 0;
}

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) == NULL;
}

static int remove_dir(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static void test_config(void **state)
{
	uint64_t config;

	(void)state;
	assert_int_equal(energy_config("event=0x02\n", &config), 0);
	assert_int_equal(config, 2);
	assert_int_equal(energy_config("event=0x02,umask=0x1\n", &config), -EINVAL);
	assert_int_equal(energy_config("event=2\n", &config), -EINVAL);
	assert_int_equal(energy_config("event=0x", &config), -EINVAL);
	assert_int_equal(energy_config("event=0xfffffffffffffffff", &config), -EINVAL);
	assert_int_equal(energy_config("", &config), -EINVAL);
}

static void test_counts_while_it_is_open(void **state)
{
	struct timespec from, to;
	double before, after;
	uint64_t uj;

	(void)state;
	clock_gettime(CLOCK_MONOTONIC, &from);
	if (energy_open(&energy, dir) < 0)
		skip(); /* perf events are not allowed here */
	clock_gettime(CLOCK_MONOTONIC, &to);
	before = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
	usleep(20000);
	uj = energy_close(&energy);
	clock_gettime(CLOCK_MONOTONIC, &to);
	after = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
	assert_true((double)uj >= (0.02 - before) * 1e6 && (double)uj <= 1.01 * after * 1e6);
	assert_true(energy_close(&energy) == UINT64_MAX);
}

static void test_a_description_that_is_none(void **state)
{
	static const char *const bad[][2] = {
		{ "type", "x\n" },
		{ "type", "" },
		{ "type", "99999999999\n" },
		{ "cpumask", "\n" },
		{ "cpumask", "0-999\n" },
		{ "cpumask", "999999\n" }, /* no such CPU */
		{ "events/energy-pkg", "umask=0x1\n" },
		{ "events/energy-pkg.scale", "2.3e-10 J\n" },
		{ "events/energy-pkg.scale", "nan\n" },
		{ "events/energy-pkg.scale", "0\n" },
		{ "events/energy-pkg.scale", "-1\n" },
		{ "events/energy-pkg.unit", "Watts\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		describe(NULL);
		put(bad[i][0], bad[i][1]);
		assert_true(energy_open(&energy, dir) < 0);
		assert_true(energy_close(&energy) == UINT64_MAX);
	}
	assert_int_equal(energy_open(&energy, "/nowhere"), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_config),
		cmocka_unit_test_setup(test_counts_while_it_is_open, describe),
		cmocka_unit_test_setup(test_a_description_that_is_none, describe),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
