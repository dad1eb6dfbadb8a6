/* spank/level: what a user writes behind --syscheck. */
#include "fuzz.h"

#include "level.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *word = text_of(data, size), refusal[LEVEL_REFUSAL_SIZE];
	bool verbose;
	enum level level = level_from_option(word, &verbose);

	WANT(level >= LEVEL_INVALID && level < LEVEL_COUNT);
	WANT(level_from_name(word) == LEVEL_INVALID || strcmp(level_name(level), word) == 0);
	WANT(!verbose || strcmp(level_request(level, verbose), word) == 0 || strcmp(word, "verbose") == 0);
	if (level_suggest(word) != NULL)
		WANT(level_from_name(level_suggest(word)) != LEVEL_INVALID);
	level_refusal(refusal, sizeof(refusal), "SYSCHECK_LEVEL", word);
	want_line(refusal, sizeof(refusal));
	WANT(strstr(refusal, "(none, passive, quick, full") != NULL);
	free(word);
	return 0;
}
