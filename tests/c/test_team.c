/* What a team lost because its members were not running. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/team.h"

enum { BEFORE, WHILE, ONE_EARLY, AFTER };

static void wait_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static void spin_ms(long ms)
{
	struct timespec from, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < ms);
}

/* A member that sleeps does not run, as one whose CPU somebody else has. */
static void work(struct team *team, int member, void *shared)
{
	const int when = *(int *)shared;

	if (when == BEFORE)
		wait_ms(400);
	team_meet(team);
	team_start(team);
	spin_ms(2);
	if (when == WHILE && member == team->topo->n - 1)
		wait_ms(400);
	if (when == ONE_EARLY) {
		if (member > 0)
			spin_ms(20);
		team_meet(team);
	}
	team_end();
	team_meet(team);
	if (when == AFTER)
		wait_ms(400);
	team_meet(team);
}

static struct team_lost lost_by(int when)
{
	char error[ERROR_SIZE];
	struct topo topo;

	assert_true(topo_load(&topo, NULL, error));
	assert_true(team_run(&topo, work, &when));
	topo_free(&topo);
	return team_lost();
}

static void no_team(void **state)
{
	(void)state;
	assert_int_equal(team_lost().cpu, -1);
}

static void what_a_member_waits_is_lost(void **state)
{
	struct team_lost lost = lost_by(WHILE);

	(void)state;
	/* With as many others: they work 2 ms. */
	assert_true(lost.share > 0 && lost.share <= 1);
	assert_true(lost.most > 0.9 && lost.cpu >= 0);
	assert_true(lost.seconds >= 0.4);
}

static void not_outside(int when)
{
	struct team_lost lost;

	for (int i = 0; i < 20; i++) {
		lost = lost_by(when);
		if (lost.share < 0.9 && lost.seconds < 0.4)
			return;
	}
	fail();
}

static void not_what_was_before_the_start(void **state)
{
	(void)state;
	not_outside(BEFORE);
}

static void in_all_what_was_before_the_start(void **state)
{
	(void)state;
	(void)lost_by(BEFORE);
	team_lost_in_all();
	assert_true(team_lost().share > 0.9 && team_lost().most > 0.9 && team_lost().cpu >= 0);
	assert_true(team_lost().seconds >= 0.4);
	/* Of the last team only. */
	not_outside(BEFORE);
}

static void not_what_comes_after_the_end(void **state)
{
	(void)state;
	not_outside(AFTER);
}

/* Members are at work when the time is over, one has ended. */
static void late(struct team *team, int member, void *shared)
{
	(void)shared;
	team_start(team);
	if (member == 0)
		wait_ms(400);
}

/* In a process of its own, which ends as a kernel does: all of this is still in use. */
static void of_those_that_are_late(void **state)
{
	const pid_t pid = fork();
	char error[ERROR_SIZE];
	struct topo topo;
	int status;

	(void)state;
	if (pid == 0) {
		const bool ended = topo_load(&topo, NULL, error) && team_run_until(&topo, late, NULL, clock_now() + 0.1);

		_exit(!ended && team_lost().share > 0.5 && team_lost().cpu == topo.cpus[0] ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Who has less to do than others and comes early has lost nothing. */
static void not_what_members_wait_for_each_other(void **state)
{
	struct team_lost lost;

	(void)state;
	for (int i = 0; i < 20; i++) {
		lost = lost_by(ONE_EARLY);
		/* It works 2 of 20 ms. */
		if (lost.most < 0.8)
			return;
	}
	fail();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_team),
		cmocka_unit_test(what_a_member_waits_is_lost),
		cmocka_unit_test(not_what_was_before_the_start),
		cmocka_unit_test(in_all_what_was_before_the_start),
		cmocka_unit_test(not_what_comes_after_the_end),
		cmocka_unit_test(not_what_members_wait_for_each_other),
		cmocka_unit_test(of_those_that_are_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
