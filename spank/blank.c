#include "blank.h"

#include <stdio.h>
#include <string.h>

#include "level.h"

#define OPTION "--syscheck"

/* The word behind this one, NULL if it is the last, or was cut. */
static const char *next(const char *word, const char *end)
{
	const char *nul = memchr(word, '\0', (size_t)(end - word));

	if (nul == NULL || nul + 1 >= end || memchr(nul + 1, '\0', (size_t)(end - nul - 1)) == NULL)
		return NULL;
	return nul + 1;
}

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1] != '\0';
}

/*
 * Which options take a word of their own only Slurm knows. One behind "--name=value" or another
 * word is none's; behind "-p" it may be, and is the script's if there is such a file.
 */
static bool is_script(const char *before, const char *word, bool (*is_file)(const char *word))
{
	if (!is_option(before) || strchr(before, '=') != NULL)
		return true;
	return is_file(word);
}

const char *blank_word(const char *line, size_t size, bool (*is_file)(const char *word))
{
	const char *end = line + size;
	const char *before = line, *word = next(line, end);
	bool verbose;

	for (; word != NULL; before = word, word = next(word, end)) {
		if (strcmp(word, "--") == 0)
			return NULL;
		/* Parts of a heterogeneous job. */
		if (is_option(word) || strcmp(word, ":") == 0)
			continue;
		if (before != line && strcmp(before, OPTION) == 0)
			return level_from_request(word, &verbose) != LEVEL_INVALID && !is_file(word) ? word : NULL;
		if (before == line || is_script(before, word, is_file))
			return NULL;
	}
	return NULL;
}

void blank_hint(char *out, size_t size, const char *word)
{
	bool verbose;
	enum level level = level_from_request(word, &verbose);

	snprintf(out, size,
		 "syscheck: a level needs a \"=\": --syscheck=%s; after a blank \"%s\" is the script or command",
		 level_request(level, verbose), word);
}
