/* What a driver may write to fabric, and what it may not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fabric/plan.h"

static struct fabric_plan plan;
static char error[ERROR_SIZE];

/* Lines up to the first that is not FABRIC_MORE, as rank 2 of 6; then what came of it. */
static enum fabric_next feed(const char *text)
{
	static char lines[8192];
	enum fabric_next next = FABRIC_MORE;
	char *line = lines, *newline;

	assert_true(strlen(text) < sizeof(lines));
	memcpy(lines, text, strlen(text) + 1);
	fabric_plan_init(&plan, 2, 6);
	error[0] = '\0';
	for (; next == FABRIC_MORE && (newline = strchr(line, '\n')) != NULL; line = newline + 1) {
		*newline = '\0';
		next = fabric_plan_line(&plan, line, error);
	}
	return next == FABRIC_MORE ? fabric_plan_eof(&plan, error) : next;
}

static void defaults(void **state)
{
	(void)state;
	assert_int_equal(feed("plan 7\nround 0-1\ngo\n"), FABRIC_GO);
	assert_int_equal(plan.id, 7);
	assert_int_equal(plan.rounds, 1);
	assert_true(plan.set.pingpongs == 1000);
	assert_true(plan.set.latency_s == 0.05);
	assert_true(plan.set.seconds == 0.1);
	assert_true(plan.set.work_us == 1000);
	assert_true(plan.set.window == 16);
	assert_true(plan.set.bytes == 1 << 20);
	assert_true(plan.set.share == 1);
}

static void rounds(void **state)
{
	(void)state;
	assert_int_equal(feed("plan 0\nset seconds 2.5\nset window 64\nset bytes 16777216\nset seconds 1e0\n"
			      "round 0-3 1-2 5-4\nround 2-5\nround 1-0 5-4\ngo\n"), FABRIC_GO);
	assert_true(plan.set.seconds == 1);
	assert_true(plan.set.window == 64);
	assert_true(plan.set.bytes == FABRIC_BYTES);
	assert_int_equal(plan.rounds, 3);
	assert_int_equal(plan.turns[0].partner, 1);
	assert_false(plan.turns[0].first);
	assert_int_equal(plan.turns[1].partner, 5);
	assert_true(plan.turns[1].first);
	assert_int_equal(plan.turns[2].partner, -1);
}

static void groups(void **state)
{
	const struct fabric_turn *turn = plan.turns;

	(void)state;
	assert_int_equal(feed("plan 0\nset work_us 100\nalltoall 0,1 5,2,3\nround 2-4\nalltoall 0,1\nallreduce 2,0\n"
			      "work 4,3,2 0,1\ngo\n"), FABRIC_GO);
	assert_int_equal(plan.rounds, 5);
	assert_true(plan.set.work_us == 100);
	assert_int_equal(turn[0].what, FABRIC_ALLTOALL);
	assert_int_equal(turn[0].size, 3);
	assert_int_equal(turn[0].place, 1);
	assert_int_equal(turn[0].members[0], 5);
	assert_int_equal(turn[0].members[2], 3);
	assert_int_equal(turn[1].what, FABRIC_PAIR);
	assert_int_equal(turn[1].partner, 4);
	assert_int_equal(turn[2].what, FABRIC_ALLTOALL);
	assert_int_equal(turn[2].size, 0);
	assert_int_equal(turn[3].what, FABRIC_ALLREDUCE);
	assert_int_equal(turn[3].place, 0);
	assert_int_equal(turn[3].members[1], 0);
	assert_int_equal(turn[4].what, FABRIC_WORK);
	assert_int_equal(turn[4].size, 3);
	assert_int_equal(turn[4].place, 2);
}

/* Groups of 16 and of all ranks; no more fits than there is room for. */
static void large_groups(void **state)
{
	static char line[FABRIC_LINE], copy[FABRIC_LINE];
	char first[] = "plan 1";
	size_t n = 9;

	(void)state;
	memcpy(line, "allreduce", n);
	for (int a = 0; a < FABRIC_RANKS; a++)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%c%d", a ? ',' : ' ', a);
	assert_true(n + 1 < sizeof(line));
	fabric_plan_init(&plan, 7, FABRIC_RANKS);
	assert_int_equal(fabric_plan_line(&plan, first, error), FABRIC_MORE);
	for (int i = 0; i < FABRIC_MEMBERS / FABRIC_RANKS; i++) {
		memcpy(copy, line, n + 1);
		assert_int_equal(fabric_plan_line(&plan, copy, error), FABRIC_MORE);
		assert_int_equal(plan.turns[i].size, FABRIC_RANKS);
	}
	assert_int_equal(fabric_plan_line(&plan, line, error), FABRIC_BAD);
	assert_string_equal(error, "stdin: too many ranks in a group, from: \"0\"");
	fabric_plan_init(&plan, 0, 20);
	snprintf(line, sizeof(line), "plan 2");
	assert_int_equal(fabric_plan_line(&plan, line, error), FABRIC_MORE);
	snprintf(line, sizeof(line), "alltoall 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15 16,17");
	assert_int_equal(fabric_plan_line(&plan, line, error), FABRIC_MORE);
	snprintf(line, sizeof(line), "alltoall 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16");
	assert_int_equal(fabric_plan_line(&plan, line, error), FABRIC_BAD);
	assert_string_equal(error, "stdin: too many ranks in a group, from: \"16\"");
}

static void plans(void **state)
{
	char next[] = "plan 2", set[] = "set share 0.5", go[] = "go", end[] = "end";

	(void)state;
	assert_int_equal(feed("plan 1\nset seconds 5\nround 2-1\ngo\n"), FABRIC_GO);
	fabric_plan_ran(&plan);
	assert_int_equal(fabric_plan_eof(&plan, error), FABRIC_END);
	/* The next one begins with the default settings and no round. */
	assert_int_equal(fabric_plan_line(&plan, next, error), FABRIC_MORE);
	assert_true(plan.set.seconds == 0.1);
	assert_int_equal(plan.rounds, 0);
	assert_int_equal(fabric_plan_line(&plan, set, error), FABRIC_MORE);
	assert_int_equal(fabric_plan_line(&plan, go, error), FABRIC_GO);
	fabric_plan_ran(&plan);
	assert_int_equal(fabric_plan_line(&plan, end, error), FABRIC_END);
	assert_int_equal(feed(""), FABRIC_END);
	assert_int_equal(feed("end\n"), FABRIC_END);
}

/* As large as can be: 4,096 ranks in 4,096 rounds, and no more. */
static void largest(void **state)
{
	static char round[FABRIC_LINE], line[FABRIC_LINE];
	char first[] = "plan 1";
	size_t n = 5;

	(void)state;
	memcpy(round, "round", n);
	for (int a = 0; a < FABRIC_RANKS; a += 2)
		n += (size_t)snprintf(round + n, sizeof(round) - n, " %d-%d", a, a + 1);
	assert_true(n + 1 < sizeof(round));
	fabric_plan_init(&plan, FABRIC_RANKS - 1, FABRIC_RANKS);
	assert_int_equal(fabric_plan_line(&plan, first, error), FABRIC_MORE);
	for (int i = 0; i < FABRIC_ROUNDS; i++) {
		memcpy(line, round, n + 1);
		assert_int_equal(fabric_plan_line(&plan, line, error), FABRIC_MORE);
		assert_int_equal(plan.turns[i].partner, FABRIC_RANKS - 2);
	}
	assert_int_equal(fabric_plan_line(&plan, round, error), FABRIC_BAD);
	assert_string_equal(error, "stdin: too many rounds in one plan: \"round\"");
}

static void bad(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "\n", "an empty line" },
		{ "hello\n", "want plan or end, not: \"hello\"" },
		{ "go\n", "want plan or end" },
		{ "round 0-1\n", "want plan or end" },
		{ "plan\n", "want a plan's number from 0 to 999999999, not: \"\"" },
		{ "plan x\n", "not: \"x\"" },
		{ "plan -1\n", "not: \"-1\"" },
		{ "plan 1000000000\n", "not: \"1000000000\"" },
		{ "plan 1 2\n", "more than is wanted on a line: \"2\"" },
		{ "plan 1\nplan 2\n", "a plan within a plan: \"2\"" },
		{ "plan 1\n", "ended within a plan" },
		{ "plan 1\nend\n", "ended within a plan" },
		{ "plan 1\nstop\n", "want set, a round or go, not: \"stop\"" },
		{ "plan 1\n\033[2J\n", "not: \"?[2J\"" },
		{ "plan 1\ngo now\n", "more than is wanted on a line: \"now\"" },
		{ "plan 1\nset\n", "no such setting: \"\"" },
		{ "plan 1\nset speed 1\n", "no such setting: \"speed\"" },
		{ "plan 1\nset seconds\n", "seconds: want a number from 0.01 to 60, not: \"\"" },
		{ "plan 1\nset seconds 0\n", "not: \"0\"" },
		{ "plan 1\nset seconds 61\n", "not: \"61\"" },
		{ "plan 1\nset seconds nan\n", "not: \"nan\"" },
		{ "plan 1\nset seconds inf\n", "not: \"inf\"" },
		{ "plan 1\nset seconds 0x1\n", "not: \"0x1\"" },
		{ "plan 1\nset seconds 1s\n", "not: \"1s\"" },
		{ "plan 1\nset seconds 1 2\n", "more than is wanted on a line: \"2\"" },
		{ "plan 1\nset window 0\n", "window: want a whole number from 1 to 64, not: \"0\"" },
		{ "plan 1\nset window 1.5\n", "not: \"1.5\"" },
		{ "plan 1\nset window 65\n", "not: \"65\"" },
		{ "plan 1\nset bytes 4095\n", "bytes: want a whole number from 4096 to 16777216, not" },
		{ "plan 1\nset bytes 16777217\n", "not: \"16777217\"" },
		{ "plan 1\nset pingpongs 100001\n", "want a whole number from 1 to 100000, not" },
		{ "plan 1\nset latency_s 0\n", "latency_s: want" },
		{ "plan 1\nset share 0\n", "share: want a number from 0.01 to 1, not" },
		{ "plan 1\nset share 1.01\n", "share: want" },
		{ "plan 1\nround 0-1\nset seconds 1\n", "a setting comes before the rounds" },
		{ "plan 1\nalltoall\n", "no ranks in it" },
		{ "plan 1\nalltoall 2\n", "a group has two ranks or more, not: \"2\"" },
		{ "plan 1\nalltoall 0,1 2\n", "a group has two ranks or more, not: \"2\"" },
		{ "plan 1\nalltoall 0-1\n", "want ranks of the job, like 0,3,4, not: \"0-1\"" },
		{ "plan 1\nallreduce 0,6\n", "want ranks of the job, like 0,3,4, not: \"6\"" },
		{ "plan 1\nallreduce 0,1 1,2\n", "a rank is named twice in one round: \"1\"" },
		{ "plan 1\nallreduce 2,2\n", "a rank is named twice in one round: \"2\"" },
		{ "plan 1\nfile 0,1,2\n", "one file is for all ranks of the job, not: \"0\"" },
		{ "plan 1\nfiles 0\n", "a group has two ranks or more" },
		{ "plan 1\nwork\n", "no ranks in it" },
		{ "plan 1\nwork 2\n", "a group has two ranks or more, not: \"2\"" },
		{ "plan 1\nwork 0,6\n", "want ranks of the job, like 0,3,4, not: \"6\"" },
		{ "plan 1\nset work_us 9\n", "work_us: want a number from 10 to 1000000, not: \"9\"" },
		{ "plan 1\nset work_us 1000001\n", "not: \"1000001\"" },
		{ "plan 1\nset io_mb 0\n", "io_mb: want a number from 1 to 10000000, not: \"0\"" },
		{ "plan 1\nset io_seconds 601\n", "io_seconds: want a number from 0.1 to 600, not: \"601\"" },
		{ "plan 1\nround\n", "no ranks in it" },
		{ "plan 1\nround 0\n", "want two ranks of the job, like 0-3, not: \"0\"" },
		{ "plan 1\nround 0-6\n", "not: \"0-6\"" },
		{ "plan 1\nround 6-0\n", "not: \"6-0\"" },
		{ "plan 1\nround -1-0\n", "not: \"-1-0\"" },
		{ "plan 1\nround 0-1-2\n", "not: \"0-1-2\"" },
		{ "plan 1\nround 0-\n", "not: \"0-\"" },
		{ "plan 1\nround 0-1x\n", "not: \"0-1x\"" },
		{ "plan 1\nround 0-+1\n", "not: \"0-+1\"" },
		{ "plan 1\nround 0-4294967297\n", "not: \"0-4294967297\"" },
		{ "plan 1\nround 0-1,2-3\n", "not: \"0-1,2-3\"" },
		{ "plan 1\nround 3-3\n", "named twice in one round: \"3-3\"" },
		{ "plan 1\nround 0-1 1-2\n", "named twice in one round: \"1-2\"" },
		{ "plan 1\nround 0-1\nround 0-1 4-0\n", "named twice in one round: \"4-0\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(feed(cases[i].text), FABRIC_BAD);
		if (!strstr(error, cases[i].says))
			fail_msg("case %zu says: %s", i, error);
		assert_null(strchr(error, '\n'));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults), cmocka_unit_test(rounds),  cmocka_unit_test(groups), cmocka_unit_test(large_groups), cmocka_unit_test(plans),
		cmocka_unit_test(largest),  cmocka_unit_test(bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
