/* "--syscheck full": where a word behind a blank is told to be a level, and where it is left alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "blank.h"

static bool is_file(const char *word)
{
	return strcmp(word, "job.sh") == 0 || strcmp(word, "passive") == 0;
}

/* `words` as /proc/PID/cmdline has them, with a blank for each NUL. */
static const char *found(const char *words)
{
	static char line[256];
	size_t size = strlen(words) + 1;

	assert_true(size <= sizeof(line));
	for (size_t i = 0; i < size; i++)
		line[i] = words[i] == ' ' ? '\0' : words[i];
	return blank_word(line, size, is_file);
}

static void test_told(void **state)
{
	(void)state;
	assert_string_equal(found("sbatch --syscheck full job.sh"), "full");
	assert_string_equal(found("sbatch --syscheck FULL"), "FULL");
	assert_string_equal(found("srun -n1 -p main --exclusive --syscheck quick,verbose hostname"), "quick,verbose");
	assert_string_equal(found("sbatch --partition=main --syscheck none"), "none");
	assert_string_equal(found("salloc -n1 : -n2 --syscheck full bash"), "full");
}

static void test_left_alone(void **state)
{
	(void)state;
	assert_null(found("sbatch --syscheck job.sh"));
	assert_null(found("sbatch --syscheck=full job.sh"));
	assert_null(found("sbatch --syscheck fulll"));
	assert_null(found("sbatch --syscheck"));
	assert_null(found("sbatch --syscheck -n1 full"));
	assert_null(found("sbatch full"));
	assert_null(found("sbatch"));
	/* A file of that name. */
	assert_null(found("sbatch --syscheck passive"));
	/* The script's own arguments. */
	assert_null(found("sbatch job.sh --syscheck full"));
	assert_null(found("srun hostname --syscheck full"));
	assert_null(found("sbatch --exclusive job.sh --syscheck full"));
	assert_null(found("sbatch -p main x.sh --syscheck full"));
	assert_null(found("sbatch --time=5 x.sh --syscheck full"));
	assert_null(found("srun -- --syscheck full"));
}

/* Of a line that is longer than what was read. */
static void test_cut(void **state)
{
	static const char line[] = "sbatch\0--syscheck\0full";

	(void)state;
	assert_string_equal(blank_word(line, sizeof(line), is_file), "full");
	for (size_t size = 0; size < sizeof(line); size++)
		assert_null(blank_word(line, size, is_file));
}

static void test_hint(void **state)
{
	char out[BLANK_HINT_SIZE];

	(void)state;
	blank_hint(out, sizeof(out), "PASSIVE,verbose");
	assert_string_equal(out, "syscheck: a level needs a \"=\": --syscheck=passive,verbose; after a blank "
				 "\"PASSIVE,verbose\" is the script or command");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_told),
		cmocka_unit_test(test_left_alone),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_hint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
