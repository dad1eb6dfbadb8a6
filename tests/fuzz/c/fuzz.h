/* What the C fuzzers share: an input as a text of its own, and what must hold. */
#ifndef SYSCHECK_FUZZ_H
#define SYSCHECK_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WANT(condition)                                                           \
	do {                                                                      \
		if (!(condition)) {                                               \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                  \
		}                                                                 \
	} while (0)

/* Its own memory, as long as the text: the sanitizer sees a byte too far. */
static inline char *text_of(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	WANT(text != NULL);
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

/* One line that a terminal can show, shorter than `size`. */
static inline void want_line(const char *text, size_t size)
{
	WANT(strnlen(text, size) < size);
	for (; *text != '\0'; text++)
		WANT(*text >= ' ' && *text <= '~');
}

#endif
