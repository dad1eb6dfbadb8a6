/* spank/level: what a user writes behind --syscheck. */
#include "fuzz.h"

#include "level.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *word = text_of(data, size), refusal[LEVEL_REFUSAL_SIZE];
	enum level level = level_from_option(word);

	WANT(level >= LEVEL_INVALID && level < LEVEL_COUNT);
	WANT(level_from_name(word) == LEVEL_INVALID || strcmp(level_name(level), word) == 0);
	if (level_suggest(word) != NULL)
		WANT(level_from_name(level_suggest(word)) != LEVEL_INVALID);
	level_refusal(refusal, sizeof(refusal), "SYSCHECK_LEVEL", word);
	want_line(refusal, sizeof(refusal));
	WANT(strstr(refusal, "passive, quick, full)") != NULL);
	free(word);
	return 0;
}
