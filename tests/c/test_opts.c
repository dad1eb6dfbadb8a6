/* The kernels' command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/opts.h"

static double extra_value;
static const char *extra_text;
static bool extra_flag;
#define LONG_NAME "a-name-of-forty-characters-and-then-some"
static const char *const many[] = { LONG_NAME "1", LONG_NAME "2", LONG_NAME "3", LONG_NAME "4", LONG_NAME "5",
				    LONG_NAME "6", NULL };
static const char *const choices[] = { "auto", "avx2", NULL };
static const struct opts_extra extra[] = {
	{ .name = "--max-memory", .help = "", .low = 1, .high = 1e9, .value = &extra_value },
	{ .name = "--isa", .help = "", .choices = choices, .text = &extra_text },
	{ .name = "--dir", .help = "", .text = &extra_text },
	{ .name = "--many", .help = "", .choices = many, .text = &extra_text },
	{ .name = "--attribute", .help = "", .flag = &extra_flag },
	{ 0 },
};

static bool parse(struct opts *o, char *error, const char *a, const char *b, const char *c)
{
	char *argv[] = { (char *)"k", (char *)a, (char *)b, (char *)c, NULL };
	int argc = 1 + (a != NULL) + (b != NULL) + (c != NULL);

	*o = (struct opts){ .seconds = 2 };
	return opts_parse(o, extra, argc, argv, error);
}

static void good(void **state)
{
	struct opts o;
	char error[ERROR_SIZE];

	(void)state;
	assert_true(parse(&o, error, NULL, NULL, NULL));
	assert_true(o.seconds == 2);
	assert_true(o.cpus == NULL);
	assert_false(o.help);
	assert_true(parse(&o, error, "--seconds", "0.5", NULL));
	assert_true(o.seconds == 0.5);
	assert_true(parse(&o, error, "--seconds=1e1", NULL, NULL));
	assert_true(o.seconds == 10);
	assert_true(parse(&o, error, "--cpus=0-3", NULL, NULL));
	assert_string_equal(o.cpus, "0-3");
	assert_true(parse(&o, error, "--max-memory", "64", "--help"));
	assert_true(extra_value == 64);
	assert_true(o.help);
	assert_true(parse(&o, error, "--isa", "avx2", NULL));
	assert_string_equal(extra_text, "avx2");
	assert_true(parse(&o, error, "--dir=/a=b", NULL, NULL));
	assert_string_equal(extra_text, "/a=b");
	assert_true(parse(&o, error, "--attribute", "--seconds", "3"));
	assert_true(extra_flag);
	assert_true(o.seconds == 3);
}

static void bad(void **state)
{
	static const struct {
		const char *a, *b, *says;
	} cases[] = {
		{ "--seconds", "0", "--seconds: want a number from 0.05 to 600, not \"0\"" },
		{ "--seconds", "-1", "not \"-1\"" },
		{ "--seconds", "1e9", "not \"1e9\"" },
		{ "--seconds", "two", "not \"two\"" },
		{ "--seconds", "nan", "not \"nan\"" },
		{ "--seconds", "inf", "not \"inf\"" },
		{ "--seconds", "0x2", "not \"0x2\"" },
		{ "--seconds", " 2", "not \" 2\"" },
		{ "--seconds", "2s", "not \"2s\"" },
		{ "--seconds", "1,5", "not \"1,5\"" },
		{ "--seconds", "", "not \"\"" },
		{ "--seconds", "2\n\033[2J", "not \"2??[2J\"" },
		{ "--seconds", NULL, "--seconds: a value is missing" },
		{ "--cpus", NULL, "--cpus: a value is missing" },
		{ "--max-memory", "0", "--max-memory: want a number from 1 to 1e+09" },
		{ "--isa", "avx3", "--isa: want auto, avx2, not \"avx3\"" },
		{ "--isa", "", "--isa: want auto, avx2, not \"\"" },
		{ "--many", "x", "--many: want " LONG_NAME "1, " LONG_NAME "2, " },
		{ "--dir", "", "--dir: want a value, not \"\"" },
		{ "--cpus", "", "--cpus: want a value" },
		{ "--attribute=1", NULL, "--attribute takes no value" },
		{ "--help=x", NULL, "--help takes no value" },
		{ "--second", "2", "unknown option \"--second\"" },
		{ "--seconds2", "2", "unknown option" },
		{ "-s", "2", "unknown option" },
		{ "2", NULL, "no operand is wanted, got \"2\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct opts o;
		char error[ERROR_SIZE] = "";

		assert_false(parse(&o, error, cases[i].a, cases[i].b, NULL));
		if (!strstr(error, cases[i].says))
			fail_msg("case %zu says: %s", i, error);
		assert_null(strchr(error, '\n'));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(good), cmocka_unit_test(bad) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
