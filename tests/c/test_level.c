/* What --syscheck takes, from the table that the Lua parser is tested with too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "level.h"

#define MEGABYTE (1024 * 1024)

static char *megabyte(void)
{
	char *word = malloc(MEGABYTE + 1);

	assert_non_null(word);
	memset(word, 'a', MEGABYTE);
	word[MEGABYTE] = '\0';
	return word;
}

static int unhex(char c)
{
	const char *digits = "0123456789abcdef";
	const char *at = memchr(digits, c, 16);

	if (at == NULL)
		fail_msg("not a hexadecimal digit: %c", c);
	return (int)(at - digits);
}

/* The value that an input column stands for; the caller frees it. */
static char *unescape(const char *in)
{
	char *out, *o;

	if (strcmp(in, "<nil>") == 0)
		return NULL;
	if (strcmp(in, "<1M>") == 0)
		return megabyte();

	o = out = malloc(strlen(in) + 1);
	assert_non_null(out);
	while (*in != '\0') {
		if (*in != '\\') {
			*o++ = *in++;
			continue;
		}
		switch (in[1]) {
		case 'x':
			*o++ = (char)(unhex(in[2]) * 16 + unhex(in[3]));
			in += 4;
			continue;
		case 'n':
			*o++ = '\n';
			break;
		case 't':
			*o++ = '\t';
			break;
		case '\\':
			*o++ = '\\';
			break;
		default:
			fail_msg("unknown escape in %s", in);
		}
		in += 2;
	}
	*o = '\0';
	return out;
}

static void check_row(const char *file, int number, char *row)
{
	const char *input = strsep(&row, "\t");
	const char *level = strsep(&row, "\t");
	const char *suggestion = strsep(&row, "\t");
	char *value = unescape(input);
	bool verbose;
	enum level got = level_from_option(value, &verbose);
	const char *got_name = got == LEVEL_INVALID ? "!" : level_request(got, verbose);
	const char *got_suggestion;

	if (level == NULL || suggestion == NULL || row != NULL)
		fail_msg("%s:%d: not three columns", file, number);
	if (strcmp(got_name, level) != 0)
		fail_msg("%s:%d: '%s' is %s, not %s", file, number, input, got_name, level);

	got_suggestion = got == LEVEL_INVALID ? level_suggest(value) : NULL;
	if (got_suggestion == NULL)
		got_suggestion = "-";
	if (strcmp(got_suggestion, suggestion) != 0)
		fail_msg("%s:%d: '%s' suggests %s, not %s", file, number, input, got_suggestion,
			 suggestion);
	free(value);
}

static void test_table(void **state)
{
	const char *dir = getenv("FIXTURES");
	char path[4096], row[4096];
	int number = 0, rows = 0;
	FILE *fp;

	(void)state;
	snprintf(path, sizeof(path), "%s/levels.tsv", dir ? dir : "tests/fixtures");
	fp = fopen(path, "r");
	if (fp == NULL)
		fail_msg("cannot read %s", path);
	while (fgets(row, sizeof(row), fp) != NULL) {
		number++;
		row[strcspn(row, "\n")] = '\0';
		if (row[0] == '#')
			continue;
		check_row(path, number, row);
		rows++;
	}
	fclose(fp);
	assert_true(rows >= 40);
}

/* The environment's default and the prolog's files name a level or say nothing. */
static void test_from_name(void **state)
{
	(void)state;
	assert_int_equal(level_from_name("full"), LEVEL_FULL);
	assert_int_equal(level_from_name(NULL), LEVEL_INVALID);
	assert_int_equal(level_from_name(""), LEVEL_INVALID);
	assert_int_equal(level_from_name("(null)"), LEVEL_INVALID);
	assert_int_equal(level_from_name("Full"), LEVEL_INVALID);
	assert_int_equal(level_from_name("full,verbose"), LEVEL_INVALID);
}

static void assert_refusal(const char *source, const char *value, const char *want)
{
	char got[LEVEL_REFUSAL_SIZE];

	level_refusal(got, sizeof(got), source, value);
	assert_string_equal(got, want);
}

#define LEVELS " (none, passive, quick, full)"

static void test_refusal(void **state)
{
	(void)state;
	assert_refusal("--syscheck", "ful",
		       "--syscheck: unknown level \"ful\", did you mean \"full\"?" LEVELS);
	assert_refusal("--syscheck", "xyzzy", "--syscheck: unknown level \"xyzzy\"" LEVELS);
	assert_refusal("SYSCHECK_LEVEL", "pasive",
		       "SYSCHECK_LEVEL: unknown level \"pasive\", did you mean \"passive\"?" LEVELS);
}

static void test_refusal_shows_hostile_bytes_as_hex(void **state)
{
	(void)state;
	assert_refusal("--syscheck", "quick\n",
		       "--syscheck: unknown level \"quick\\x0a\", did you mean \"quick\"?" LEVELS);
	assert_refusal("--syscheck", "\x1b[2J\x7f\xff",
		       "--syscheck: unknown level \"\\x1b[2J\\x7f\\xff\"" LEVELS);
	assert_refusal("--syscheck", "a\"b\\c", "--syscheck: unknown level \"a\\x22b\\x5cc\"" LEVELS);
	assert_refusal("--syscheck", "%s%n%p", "--syscheck: unknown level \"%s%n%p\"" LEVELS);
	assert_refusal("--syscheck", "$(reboot)", "--syscheck: unknown level \"$(reboot)\"" LEVELS);
}

static void test_refusal_is_short(void **state)
{
	char *word = megabyte();

	(void)state;
	assert_refusal("--syscheck", "0123456789012345678901234567890x",
		       "--syscheck: unknown level \"0123456789012345678901234567890x\"" LEVELS);
	assert_refusal("--syscheck", "0123456789012345678901234567890xy",
		       "--syscheck: unknown level \"0123456789012345678901234567890x...\"" LEVELS);
	/* An escape is shown whole or not at all. */
	assert_refusal("--syscheck", "012345678901234567890123456789\n",
		       "--syscheck: unknown level \"012345678901234567890123456789...\"" LEVELS);
	assert_refusal("SYSCHECK_LEVEL", word,
		       "SYSCHECK_LEVEL: unknown level \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...\"" LEVELS);
	free(word);
}

/* The longest that there can be fits into what callers reserve. */
static void test_refusal_fits(void **state)
{
	char big[2 * LEVEL_REFUSAL_SIZE];

	(void)state;
	level_refusal(big, sizeof(big), "SYSCHECK_LEVEL", "PASSIVE\n\n");
	assert_non_null(strstr(big, "\"passive\"?"));
	assert_true(strlen(big) + 32 + strlen("...") < LEVEL_REFUSAL_SIZE);
	level_refusal(big, sizeof(big), "SYSCHECK_LEVEL", "PASSIVE\n\n,verbose");
	assert_non_null(strstr(big, "\"passive\"? (none, passive, quick, full, each also with ,verbose)"));
	assert_true(strlen(big) + 32 + strlen("...") < LEVEL_REFUSAL_SIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_from_name),
		cmocka_unit_test(test_refusal),
		cmocka_unit_test(test_refusal_shows_hostile_bytes_as_hex),
		cmocka_unit_test(test_refusal_is_short),
		cmocka_unit_test(test_refusal_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
