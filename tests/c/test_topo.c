/* One CPU per core of the allowed set, on machines that are not here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/topo.h"

static hwloc_topology_t machine(const char *synthetic)
{
	hwloc_topology_t m;

	assert_int_equal(hwloc_topology_init(&m), 0);
	assert_int_equal(hwloc_topology_set_synthetic(m, synthetic), 0);
	assert_int_equal(hwloc_topology_load(m), 0);
	return m;
}

static bool pick(struct topo *t, hwloc_topology_t m, const char *allowed, const char *cpus, char *error)
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	bool good;

	hwloc_bitmap_list_sscanf(set, allowed);
	good = topo_pick(t, m, set, cpus, error);
	hwloc_bitmap_free(set);
	return good;
}

/* 2 sockets, 64 cores each, 2 threads a core, one 256 MiB L3 a socket. */
#define BIG "pack:2 l3:1(size=268435456) core:64 pu:2"

static void one_per_core(void **state)
{
	char error[ERROR_SIZE] = "";
	hwloc_topology_t m = machine(BIG);
	struct topo t;

	(void)state;
	assert_true(pick(&t, m, "0-255", NULL, error));
	assert_int_equal(t.n, 128);
	assert_int_equal(t.cpus[0], 0);
	assert_int_equal(t.cpus[1], 2);
	assert_int_equal(t.cpus[127], 254);
	assert_int_equal(t.llc, 2u << 28);
	topo_free(&t);
	hwloc_topology_destroy(m);
}

static void parts(void **state)
{
	static const struct {
		const char *allowed, *cpus, *picked;
		size_t llc;
	} cases[] = {
		{ "1-255", NULL, "1-2,4", 2u << 28 },    /* core 0 has only its second thread left */
		{ "0-3", NULL, "0,2", 1u << 28 },      /* one socket's cache only */
		{ "0-255", "0,1", "0", 1u << 28 },     /* both threads of one core */
		{ "0-255", "0-3,2-5", "0,2,4", 1u << 28 }, /* overlapping */
		{ "128-255", NULL, "128,130", 1u << 28 },
		{ "0-999", NULL, "0,2", 2u << 28 },    /* allowed, but not there (offline) */
	};
	hwloc_topology_t m = machine(BIG);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char error[ERROR_SIZE] = "";
		struct topo t;
		size_t n = strlen(cases[i].picked);

		assert_true(pick(&t, m, cases[i].allowed, cases[i].cpus, error));
		if (strncmp(t.cpus_text, cases[i].picked, n) != 0 || t.llc != cases[i].llc)
			fail_msg("case %zu: %s, %zu", i, t.cpus_text, t.llc);
		topo_free(&t);
	}
	hwloc_topology_destroy(m);
}

static void refused(void **state)
{
	static const char *const bad[] = { "", ",", "0,", "a", "0-", "-1", "3-1", "0x1", " 0", "0 ", "99999999999", "0-256" };
	hwloc_topology_t m = machine(BIG);

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char error[ERROR_SIZE] = "";
		struct topo t;

		if (pick(&t, m, "0-255", bad[i], error))
			fail_msg("\"%s\" is taken", bad[i]);
		assert_non_null(strstr(error, "--cpus: "));
	}
	hwloc_topology_destroy(m);
}

static void nothing_left(void **state)
{
	char error[ERROR_SIZE] = "";
	hwloc_topology_t m = machine("pack:1 core:2 pu:1");
	struct topo t;

	(void)state;
	assert_false(pick(&t, m, "7", NULL, error));
	assert_string_equal(error, "no CPU is left to run on");
	/* No cache is shown: not known is 0, not a guess. */
	assert_true(pick(&t, m, "0-1", NULL, error));
	assert_int_equal(t.llc, 0);
	assert_int_equal(t.n_nodes, 1);
	assert_int_equal(t.nodes[0], 0);
	topo_free(&t);
	hwloc_topology_destroy(m);
}

static void numa(void **state)
{
	char error[ERROR_SIZE] = "";
	hwloc_topology_t m = machine("numa:8 l3:1(size=33554432) core:8 pu:1");
	struct topo t;

	(void)state;
	assert_true(pick(&t, m, "0-63", NULL, error));
	assert_int_equal(t.n, 64);
	assert_int_equal(t.llc, 8u << 25);
	assert_int_equal(t.n_nodes, 8);
	for (int i = 0; i < 64; i++)
		assert_int_equal(t.nodes[t.node_of[i]], i / 8);
	topo_free(&t);
	/* Nodes without one of the cores are not there; the index is not the OS's number. */
	assert_true(pick(&t, m, "0-63", "17,40-41", error));
	assert_int_equal(t.n_nodes, 2);
	assert_int_equal(t.nodes[0], 2);
	assert_int_equal(t.nodes[1], 5);
	assert_int_equal(t.node_of[0], 0);
	assert_int_equal(t.node_of[2], 1);
	topo_free(&t);
	hwloc_topology_destroy(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(one_per_core), cmocka_unit_test(parts),
					    cmocka_unit_test(refused), cmocka_unit_test(nothing_left),
					    cmocka_unit_test(numa) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
