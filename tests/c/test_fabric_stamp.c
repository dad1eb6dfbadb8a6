/* What fabric's messages carry, and that every change of it is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fabric/stamp.h"

#define PAGE 4096
#define PAGES 3
#define BYTES ((size_t)(PAGES * PAGE))
#define GUARD PAGE

static const struct stamp one = { .round = 5, .number = 7, .phase = 2, .burst = 11, .from = 3 };

/* At an odd address: MPI gives what memory it likes. */
static unsigned char memory[1 + BYTES + GUARD];
static unsigned char *const message = memory + 1;
static char error[ERROR_SIZE];

static int prepare(void **state)
{
	(void)state;
	memset(memory, 0, sizeof(memory));
	stamp_fill(message, BYTES);
	stamp_put(message, BYTES, one);
	error[0] = '\0';
	return 0;
}

static bool check(struct stamp want, bool whole)
{
	return stamp_check(message, BYTES, want, whole, error);
}

static uint64_t word_at(size_t byte)
{
	uint64_t word;

	memcpy(&word, message + byte, sizeof(word));
	return word;
}

static void change(size_t byte, uint64_t word)
{
	memcpy(message + byte, &word, sizeof(word));
}

static void as_sent(void **state)
{
	(void)state;
	assert_true(check(one, false));
	assert_true(check(one, true));
	assert_string_equal(error, "");
}

static void says_which_message_it_is(void **state)
{
	const struct stamp got = stamp_get(message), last = stamp_get(message + 2 * PAGE);

	(void)state;
	assert_true(got.round == 5);
	assert_true(got.number == 7);
	assert_int_equal(got.phase, 2);
	assert_int_equal(got.burst, 11);
	assert_int_equal(got.from, 3);
	assert_int_equal(got.page, 0);
	assert_int_equal(last.page, 2);
}

/* One that is late, or of another rank, round, phase or burst. */
static void another_message(void **state)
{
	struct stamp wanted[] = { one, one, one, one, one };

	(void)state;
	wanted[0].round++;
	wanted[1].number--;
	wanted[2].phase++;
	wanted[3].burst = 0;
	wanted[4].from = 0;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		error[0] = '\0';
		assert_false(check(wanted[i], false));
		assert_string_not_equal(error, "");
		assert_false(check(wanted[i], true));
	}
}

/* The page that is wanted is set by the check. */
static void a_page_in_anothers_place(void **state)
{
	struct stamp want = one;

	(void)state;
	want.page = 2;
	assert_true(check(want, true));
	change(0, 0);
	assert_false(check(want, true));
	stamp_put(message, BYTES, one);
	memcpy(message + PAGE, message + 2 * PAGE, PAGE);
	assert_false(check(one, false));
	assert_non_null(strstr(error, "message 7 from rank 3: byte "));
	/* Its words are those of its place, too. */
	stamp_put(message, BYTES, one);
	assert_true(check(one, false));
	assert_false(check(one, true));
}

/* A page of an older message in the middle of a new one. */
static void part_of_an_older_message(void **state)
{
	struct stamp newer = one;
	unsigned char old[PAGE];

	(void)state;
	memcpy(old, message + 2 * PAGE, PAGE);
	newer.number++;
	stamp_put(message, BYTES, newer);
	assert_true(check(newer, true));
	memcpy(message + 2 * PAGE, old, PAGE);
	assert_false(check(newer, false));
}

static void says_what_differs(void **state)
{
	const size_t byte = PAGE + 512;
	const uint64_t was = word_at(byte);
	char want[ERROR_SIZE];

	(void)state;
	change(byte, was ^ 1);
	change(byte + 8, ~word_at(byte + 8)); /* the first one is named */
	assert_false(check(one, true));
	snprintf(want, sizeof(want), "message 7 from rank 3: byte 4608 is 0x%016llx, not 0x%016llx",
		 (unsigned long long)(was ^ 1), (unsigned long long)was);
	assert_string_equal(error, want);
}

/* Each bit of a word counts, in the first, the last and all between; a check of stamps alone does not look there. */
static void one_bit_anywhere(void **state)
{
	(void)state;
	for (size_t byte = 0; byte < BYTES; byte += 8) {
		const uint64_t was = word_at(byte);
		const bool in_stamp = byte % PAGE < sizeof(struct stamp);

		change(byte, was ^ (uint64_t)1 << byte / 8 % 64);
		assert_false(check(one, true));
		assert_true(check(one, false) == !in_stamp);
		change(byte, was);
	}
	assert_true(check(one, true));
}

/* What memory may hold anyway. */
static void memory_that_was_not_written(void **state)
{
	(void)state;
	for (int value = 0; value <= 255; value += 255) {
		memset(message, value, BYTES);
		assert_false(check(one, false));
		stamp_put(message, BYTES, one);
		assert_true(check(one, false));
		assert_false(check(one, true));
	}
}

/* A shift by any number of words would not be seen if words came again. */
static void no_word_comes_twice(void **state)
{
	(void)state;
	for (size_t a = 0; a < BYTES; a += 8) {
		if (a % PAGE < sizeof(struct stamp))
			continue;
		for (size_t b = a + 8; b < BYTES; b += 8)
			assert_true(word_at(a) != word_at(b));
	}
}

/* Words once, stamps for each message: neither touches the other's, or what is behind. */
static void each_writes_its_own(void **state)
{
	const struct stamp next = { .round = 6, .number = 1, .from = 1 };
	static unsigned char before[sizeof(memory)];

	(void)state;
	stamp_put(message, BYTES, next);
	assert_true(check(next, true));
	memcpy(before, memory, sizeof(memory));
	stamp_fill(message, BYTES);
	assert_memory_equal(memory, before, sizeof(memory));
	memset(message, 0, BYTES);
	stamp_fill(message, BYTES);
	for (size_t page = 0; page < PAGES; page++)
		for (size_t i = 0; i < sizeof(struct stamp); i++)
			assert_int_equal(message[page * PAGE + i], 0);
	for (size_t i = 0; i < GUARD; i++)
		assert_int_equal(message[BYTES + i], 0);
	assert_int_equal(memory[0], 0);
}

/* Of a message shorter than the memory only its own pages count. */
static void no_more_than_its_bytes(void **state)
{
	(void)state;
	change(PAGE, 0);
	change(PAGE + 512, 0);
	assert_true(stamp_check(message, PAGE, one, true, error));
	assert_false(stamp_check(message, 2 * PAGE, one, false, error));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(as_sent, prepare),
		cmocka_unit_test_setup(says_which_message_it_is, prepare),
		cmocka_unit_test_setup(another_message, prepare),
		cmocka_unit_test_setup(a_page_in_anothers_place, prepare),
		cmocka_unit_test_setup(part_of_an_older_message, prepare),
		cmocka_unit_test_setup(says_what_differs, prepare),
		cmocka_unit_test_setup(one_bit_anywhere, prepare),
		cmocka_unit_test_setup(memory_that_was_not_written, prepare),
		cmocka_unit_test_setup(no_word_comes_twice, prepare),
		cmocka_unit_test_setup(each_writes_its_own, prepare),
		cmocka_unit_test_setup(no_more_than_its_bytes, prepare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
