/* What /proc says of threads and interrupts: names in it are others' text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "noise/proc.h"

static void names(void **state)
{
	static const struct {
		const char *text, *comm;
		int cpu;
	} cases[] = {
		{ "7 (kworker/0:1) S 2 0 0", "kworker/0:1", -1 },
		{ "7 (a) b (c) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 "
		  "37 38 5 40",
		  "a) b (c", 5 },
		{ "7 (a", "(ended)", -1 },
		{ "7 a)", "(ended)", -1 },
		{ "7 ) (", "(ended)", -1 },
		{ "7 )(", "(ended)", -1 },
		{ "", "(ended)", -1 },
		{ "7 (more than nineteen characters) S", "more than nineteen ", -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct thread t = { .pid = 7, .cpu = 99 };
		char text[512];

		strcpy(text, cases[i].text);
		thread_parse(&t, text, false);
		assert_string_equal(t.comm, cases[i].comm);
		assert_int_equal(t.cpu, cases[i].cpu);
	}
}

static void tables(void **state)
{
	char good[] = "           CPU0       CPU2\n  0:         31          4   IO-APIC   2-edge      timer\n"
		      " 24:          5          6   PCI-MSI 524288-edge  \n"
		      "LOC:        100        200   Local timer interrupts\nERR:          1\nMCP\n:\n";
	char no_end[] = "CPU0\n 1: 2", empty[] = "", no_columns[] = "\n1: 2\n";
	int cpus[] = { 2, 5 };
	const struct topo topo = { .n = 2, .cpus = cpus };
	struct table t;

	(void)state;
	table_parse(&t, good, &topo);
	assert_int_equal(t.n, 3);
	assert_string_equal(t.rows[0].name, "0: timer");
	assert_int_equal(t.rows[0].counts[0], 4);
	assert_int_equal(t.rows[0].counts[1], 0);
	assert_string_equal(t.rows[2].name, "LOC: Local timer interrupts");
	assert_int_equal(t.rows[2].sum, 200);
	table_free(&t);
	table_parse(&t, no_end, &topo);
	assert_int_equal(t.n, 1);
	table_free(&t);
	table_parse(&t, empty, &topo);
	assert_int_equal(t.n, 0);
	table_free(&t);
	table_parse(&t, no_columns, &topo);
	table_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(names), cmocka_unit_test(tables) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
