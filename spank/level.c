#include "level.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Longer words are near no level; this also bounds the work on a hostile one. */
#define WORD_MAX 16
#define EDITS_MAX 2
#define SHOWN_MAX 32

#define VERBOSE "verbose"

static const char *const names[LEVEL_COUNT] = {
	[LEVEL_NONE] = "none",
	[LEVEL_PASSIVE] = "passive",
	[LEVEL_QUICK] = "quick",
	[LEVEL_FULL] = "full",
};

const char *level_name(enum level level)
{
	return names[level];
}

enum level level_from_name(const char *name)
{
	if (name == NULL)
		return LEVEL_INVALID;
	for (int i = 0; i < LEVEL_COUNT; i++) {
		if (strcmp(name, names[i]) == 0)
			return i;
	}
	return LEVEL_INVALID;
}

static const char *const verbose_names[LEVEL_COUNT] = {
	[LEVEL_NONE] = "none," VERBOSE,
	[LEVEL_PASSIVE] = "passive," VERBOSE,
	[LEVEL_QUICK] = "quick," VERBOSE,
	[LEVEL_FULL] = "full," VERBOSE,
};

/* Not tolower(), strcasecmp(): the user's locale has no say (in Turkish the small letter of I is none of ours). */
static int lower(char c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static bool equal(const char *a, const char *b)
{
	while (*a != '\0' && lower(*a) == lower(*b)) {
		a++;
		b++;
	}
	return lower(*a) == lower(*b);
}

const char *level_request(enum level level, bool verbose)
{
	return verbose ? verbose_names[level] : names[level];
}

enum level level_from_request(const char *text, bool *verbose)
{
	*verbose = false;
	if (text == NULL)
		return LEVEL_INVALID;
	for (int i = 0; i < LEVEL_COUNT; i++) {
		if (equal(text, names[i]))
			return i;
	}
	*verbose = true;
	if (equal(text, VERBOSE))
		return LEVEL_QUICK;
	for (int i = 0; i < LEVEL_COUNT; i++) {
		if (equal(text, verbose_names[i]))
			return i;
	}
	*verbose = false;
	return LEVEL_INVALID;
}

enum level level_from_option(const char *arg, bool *verbose)
{
	*verbose = false;
	if (arg == NULL || arg[0] == '\0' || strcmp(arg, "(null)") == 0)
		return LEVEL_QUICK;
	return level_from_request(arg, verbose);
}

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Optimal string alignment; both words are at most WORD_MAX long. */
static size_t distance(const char *a, size_t alen, const char *b, size_t blen)
{
	size_t d[WORD_MAX + 1][WORD_MAX + 1];

	for (size_t i = 0; i <= alen; i++)
		d[i][0] = i;
	for (size_t j = 0; j <= blen; j++)
		d[0][j] = j;

	for (size_t i = 1; i <= alen; i++) {
		for (size_t j = 1; j <= blen; j++) {
			int x = lower(a[i - 1]), y = lower(b[j - 1]);

			d[i][j] = min(d[i - 1][j - 1] + (x != y), min(d[i - 1][j], d[i][j - 1]) + 1);
			if (i > 1 && j > 1 && x == lower(b[j - 2]) && lower(a[i - 2]) == y)
				d[i][j] = min(d[i][j], d[i - 2][j - 2] + 1);
		}
	}
	return d[alen][blen];
}

/* How many letters of a request are its level's, WORD_MAX + 1 at most. */
static size_t level_length(const char *word)
{
	const size_t tail = sizeof("," VERBOSE) - 1;
	size_t len = strnlen(word, WORD_MAX + tail + 1);

	if (len > tail && equal(word + len - tail, "," VERBOSE))
		len -= tail;
	return min(len, WORD_MAX + 1);
}

const char *level_suggest(const char *word)
{
	size_t len = level_length(word);
	size_t best = min(EDITS_MAX + 1, len);
	const char *name = NULL;

	if (len > WORD_MAX)
		return NULL;
	for (int i = 0; i < LEVEL_COUNT; i++) {
		size_t edits = distance(word, len, names[i], strlen(names[i]));

		if (edits < best) {
			best = edits;
			name = names[i];
		}
	}
	return name;
}

/* `out` has room for SHOWN_MAX characters, "..." and a NUL. */
static void show(char *out, const char *value)
{
	size_t used = 0;

	for (const char *p = value; *p != '\0'; p++) {
		unsigned char c = (unsigned char)*p;
		char shown[5];
		bool plain = c >= ' ' && c <= '~' && c != '"' && c != '\\';
		int n = snprintf(shown, sizeof(shown), plain ? "%c" : "\\x%02x", c);

		if (used + (size_t)n > SHOWN_MAX) {
			memcpy(out + used, "...", 3);
			used += 3;
			break;
		}
		memcpy(out + used, shown, (size_t)n);
		used += (size_t)n;
	}
	out[used] = '\0';
}

void level_refusal(char *out, size_t size, const char *source, const char *value)
{
	const char *meant = level_suggest(value);
	char shown[SHOWN_MAX + sizeof("...")];

	show(shown, value);
	snprintf(out, size, "%s: unknown level \"%s\"%s%s%s (%s, %s, %s, %s%s)", source, shown,
		 meant ? ", did you mean \"" : "", meant ? meant : "", meant ? "\"?" : "",
		 names[LEVEL_NONE], names[LEVEL_PASSIVE], names[LEVEL_QUICK], names[LEVEL_FULL],
		 strchr(value, ',') != NULL ? ", each also with ," VERBOSE : "");
}
