/* What a dgemm core's calls say of its rate. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dgemm/rate.h"

#define BOX 1.0

static const struct dgemm_size large = { .n = 1152, .k = 384 }, least = { .n = 384, .k = 384 };

struct row {
	const char *what;
	bool late;
	struct dgemm_size size; /* n = 0: none was chosen yet */
	struct dgemm_done done;
	enum dgemm_basis basis;
	double calls, seconds; /* that the rate is of */
};

static void check(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct row *r = &rows[i];
		const struct dgemm_time time = { .box = BOX, .all = r->late ? 1.25 : 1.01, .late = r->late };
		const double want = dgemm_flop(r->basis == DGEMM_SHORT ? least : r->size) * r->calls / r->seconds;
		double rate = NAN;
		const enum dgemm_basis basis = dgemm_rate(&r->done, r->size, time, &rate);

		if (basis != r->basis)
			fail_msg("%s: %d", r->what, (int)basis);
		if (basis != DGEMM_NOTHING && !(fabs(rate / want - 1) < 1e-9))
			fail_msg("%s: %g FLOP/s, not %g", r->what, rate, want);
	}
}

static void on_time(void **state)
{
	const struct row rows[] = {
		{ .what = "all work over all time", .size = large,
		  .done = { .begun = 11, .counted = 10, .seconds = 0.5 }, .basis = DGEMM_RATE, .calls = 10, .seconds = 0.5 },
		{ .what = "large calls that are short count", .size = large,
		  .done = { .begun = 2, .counted = 1, .seconds = 0.02 }, .basis = DGEMM_RATE, .calls = 1, .seconds = 0.02 },
		{ .what = "a tenth of the box is enough", .size = least,
		  .done = { .begun = 41, .counted = 40, .seconds = 0.1 }, .basis = DGEMM_RATE, .calls = 40, .seconds = 0.1 },
		{ .what = "less is a moment: of all of the time, with the warm-up and as much for set-up", .size = least,
		  .done = { .begun = 31, .counted = 30, .seconds = 0.099 }, .basis = DGEMM_SHORT, .calls = 32, .seconds = 1.01 },
		{ .what = "no call, as a first result was wrong", .size = least, .done = { .begun = 1 }, .basis = DGEMM_NOTHING },
	};

	(void)state;
	check(rows, sizeof(rows) / sizeof(rows[0]));
}

static void late(void **state)
{
	const struct row rows[] = {
		{ .what = "what was begun counts as done", .late = true, .size = large,
		  .done = { .begun = 2, .seconds = 0.9 }, .basis = DGEMM_MOST, .calls = 2, .seconds = 0.9 },
		{ .what = "at the least size, too", .late = true, .size = least,
		  .done = { .begun = 1, .seconds = 0.2 }, .basis = DGEMM_MOST, .calls = 1, .seconds = 0.2 },
		{ .what = "a call that has just begun is not a fast one", .late = true, .size = least,
		  .done = { .begun = 1, .seconds = 0.002 }, .basis = DGEMM_SHORT, .calls = 2, .seconds = 1.25 },
		{ .what = "nor are some in one burst", .late = true, .size = least,
		  .done = { .begun = 4, .seconds = 0.01 }, .basis = DGEMM_SHORT, .calls = 5, .seconds = 1.25 },
		{ .what = "no call was begun", .late = true, .size = least,
		  .done = { .probe = 1e9 }, .basis = DGEMM_SHORT, .calls = 2, .seconds = 1.25 },
		{ .what = "nor a size chosen", .late = true, .size = { 0 }, .basis = DGEMM_SHORT, .calls = 2, .seconds = 1.25 },
		{ .what = "set-up of large matrices may take long", .late = true, .size = large,
		  .done = { .probe = 1e9 }, .basis = DGEMM_NOTHING },
		{ .what = "a call that begins now", .late = true, .size = large, .done = { .begun = 1 }, .basis = DGEMM_NOTHING },
		{ .what = "waits after its warm-up: not slow", .late = true, .size = least,
		  .done = { .begun = 1, .seconds = 0.002, .waits = true }, .basis = DGEMM_MOST, .calls = 1, .seconds = 0.002 },
		{ .what = "waits before it: its probe, of half the rate of large calls", .late = true, .size = least,
		  .done = { .probe = 1e9, .waits = true }, .basis = DGEMM_MOST, .calls = 2e9 / (2.0 * 384 * 384 * 384),
		  .seconds = 1 },
		{ .what = "waits before its probe", .late = true, .size = { 0 }, .done = { .waits = true }, .basis = DGEMM_NOTHING },
	};

	(void)state;
	check(rows, sizeof(rows) / sizeof(rows[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(on_time), cmocka_unit_test(late) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
