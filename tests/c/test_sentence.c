/* What a job's user is told of its nodes, in one sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sentence.h"

#define MOST 8

static struct status of[MOST];
static struct checked all[MOST];
static const char *const names[MOST] = { "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8" };

/* Text of a status file of each node, as the prolog leaves it, NULL behind the last. */
static void assert_sentence(const char *want, const char *const *texts)
{
	char got[SENTENCE_MAX + 1];
	size_t n = 0;

	for (; texts[n] != NULL; n++) {
		assert_int_equal(status_parse(&of[n], texts[n], strlen(texts[n])), 0);
		all[n] = (struct checked){ names[n], &of[n] };
	}
	sentence(got, sizeof(got), all, n);
	assert_string_equal(got, want);
}

#define SAYS(want, ...) assert_sentence("syscheck: " want, (const char *const[]){ __VA_ARGS__, NULL })

#define PASS(nodes) "level=full\nstatus=pass\nfirst=1\nnodes=" nodes "\n"
#define OFF(off, brief) "off=" off "\nbrief=" brief "\n"
#define BAD(status, brief) "level=full\nstatus=" status "\nnodes=1\nbrief=" brief "\n"

static void test_one_node(void **state)
{
	(void)state;
	SAYS("n1 checked, all fine", PASS("1"));
	SAYS("n1 checked, all fine", PASS("1") OFF("9", ""));
	SAYS("n1 checked, all fine (memory 4 % below its class)", PASS("1") OFF("40", "memory 4 % below its class"));
	SAYS("n1 checked, fine as far as there are limits", PASS("1") "partly=1\n");
	SAYS("n1 not checked (full asked, the partition's ceiling is none)",
	     "level=none\nstatus=unrated\nnodes=1\nnote=full asked, the partition's ceiling is none\n");
	SAYS("n1 measured, nothing to compare with yet", "level=quick\nstatus=unrated\nnodes=1\n");
	SAYS("n1 not measured, counters and hardware fine (quick needs the whole node; other jobs may run here)",
	     "level=passive\nstatus=pass\nnodes=1\nnote=quick needs the whole node; other jobs may run here\n");
}

static void test_one_node_with_something_unusual(void **state)
{
	(void)state;
	SAYS("n1 bad: memory 31 % below its class (limit 25 %) (observe: not drained)",
	     BAD("fail", "memory 31 % below its class (limit 25 %)") "note=observe: not drained\n");
	SAYS("n1 not as it should be: noise of the system 78 %, limit 5.0 %",
	     BAD("warn", "noise of the system 78 %, limit 5.0 %"));
	SAYS("n1 not fully checked: memory not measured", BAD("unknown", "memory not measured"));
	SAYS("n1 not fully checked", BAD("unknown", ""));
}

static void test_all_are_known(void **state)
{
	(void)state;
	SAYS("3 nodes checked, all fine", PASS("3"), PASS("3"), PASS("3"));
	SAYS("3 nodes checked, all fine (slowest n2: memory 4 % below its class)", PASS("3"),
	     PASS("3") OFF("41", "memory 4 % below its class"), PASS("3") OFF("12", "computing 1 % below its class"));
	SAYS("2 nodes checked, fine as far as there are limits", PASS("2") "partly=1\n", PASS("2") "partly=1\n");
	/* No more is claimed of a node than was looked at there. */
	SAYS("1 of 2 nodes checked, all fine; 1 of 2 nodes measured, nothing to compare with yet", PASS("2"),
	     "level=full\nstatus=unrated\n");
	SAYS("1 of 3 nodes checked, all fine; 1 of 3 nodes not measured, counters and hardware fine; 1 of 3 nodes not checked",
	     PASS("3"), "level=passive\nstatus=pass\n", "level=none\nstatus=unrated\n");
}

static void test_some_are_bad(void **state)
{
	(void)state;
	SAYS("2 of 3 nodes checked, all fine; n2 bad: memory 31 % below its class", PASS("3"),
	     BAD("fail", "memory 31 % below its class"), PASS("3") OFF("40", "memory 4 % below its class"));
	SAYS("none of 2 nodes fine; n1 not fully checked; n2 bad: computing gives wrong results",
	     "level=full\nstatus=unknown\nnodes=2\n", BAD("fail", "computing gives wrong results"));
	SAYS("1 of 5 nodes checked, all fine; n2 bad; n3 bad; n4 bad; and 1 more", PASS("5"), BAD("fail", ""),
	     BAD("fail", ""), BAD("fail", ""), BAD("fail", ""));
}

/* It claims nothing of nodes that it could not read. */
static void test_others_are_not_known(void **state)
{
	(void)state;
	SAYS("n1 checked, all fine (memory 4 % below its class), and 63 other nodes: those with anything unusual say so below",
	     PASS("64") OFF("40", "memory 4 % below its class"));
	SAYS("n1 checked, all fine, and 1 other node: one with anything unusual says so below", PASS("2"));
	SAYS("n1 bad: memory 31 % below its class, and 2 other nodes: those with anything unusual say so below",
	     "level=full\nstatus=fail\nnodes=3\nbrief=memory 31 % below its class\n");
	/* Two of three: as if none. */
	SAYS("n1 checked, all fine, and 2 other nodes: those with anything unusual say so below", PASS("3"),
	     BAD("fail", ""));
}

static void test_a_requeued_job(void **state)
{
	char text[128] = "syscheck: n1 checked, all fine", small[40] = "syscheck: n1 checked, all fine";

	(void)state;
	sentence_requeued(text, sizeof(text), 17, 0);
	assert_string_equal(text, "syscheck: n1 checked, all fine");
	sentence_requeued(text, sizeof(text), 17, 1);
	assert_string_equal(text, "syscheck: n1 checked, all fine; this job was restarted: if a bad node was why, "
				  "AdminComment in \"scontrol show job 17\" says so");
	sentence_requeued(small, sizeof(small), 17, 1);
	assert_string_equal(small, "syscheck: n1 checked, all fine; this jo");
	/* A node that is not the job's first says no sentence. */
	text[0] = '\0';
	sentence_requeued(text, sizeof(text), 17, 1);
	assert_string_equal(text, "");
}

static void test_cut_and_not_overrun(void **state)
{
	char text[512], small[20];

	(void)state;
	snprintf(text, sizeof(text), "level=full\nstatus=fail\nnodes=1\nbrief=%0120d\nnote=%0160d\n", 1, 2);
	assert_int_equal(status_parse(&of[0], text, strlen(text)), 0);
	all[0] = (struct checked){ "n1", &of[0] };
	sentence(small, sizeof(small), all, 1);
	assert_string_equal(small, "syscheck: n1 bad: 0");
	small[0] = 'x';
	sentence(small, 0, all, 1);
	assert_int_equal(small[0], 'x');
	sentence(small, 1, all, 1);
	assert_string_equal(small, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_node),
		cmocka_unit_test(test_one_node_with_something_unusual),
		cmocka_unit_test(test_all_are_known),
		cmocka_unit_test(test_some_are_bad),
		cmocka_unit_test(test_others_are_not_known),
		cmocka_unit_test(test_a_requeued_job),
		cmocka_unit_test(test_cut_and_not_overrun),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
