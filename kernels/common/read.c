#include "read.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool read_number(size_t *value, const char *word, const char *format, ...)
{
	const size_t length = word ? strlen(word) : 0;
	char path[4400], line[256];
	bool good = false;
	va_list args;
	FILE *f;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	f = fopen(path, "re");
	while (f && !good && fgets(line, sizeof(line), f) != NULL) {
		const char *at = line + length;

		if (word && (strncmp(line, word, length) != 0 || (*at != ' ' && *at != ':')))
			continue;
		at += word ? 1 + strspn(at + 1, " \t") : 0;
		good = isdigit((unsigned char)*at);
		if (good)
			*value = strtoull(at, NULL, 10);
		if (!word)
			break;
	}
	if (f)
		fclose(f);
	return good;
}
