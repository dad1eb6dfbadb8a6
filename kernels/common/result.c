#include "result.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "version.h"

static void append(struct result *r, const char *text, size_t length)
{
	if (r->failed)
		return;
	if (r->length + length + 1 > r->size) {
		size_t size = (r->length + length + 1) * 2;
		char *grown = realloc(r->text, size);

		if (grown == NULL) {
			r->failed = true;
			return;
		}
		r->text = grown;
		r->size = size;
	}
	memcpy(r->text + r->length, text, length);
	r->length += length;
	r->text[r->length] = '\0';
}

static void put(struct result *r, const char *text)
{
	append(r, text, strlen(text));
}

static void quote(struct result *r, const char *text)
{
	put(r, "\"");
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;
		char escape[8];

		if (c == '"' || c == '\\')
			snprintf(escape, sizeof(escape), "\\%c", c);
		else if (c < ' ' || c > '~')
			snprintf(escape, sizeof(escape), "\\u%04x", c);
		else
			snprintf(escape, sizeof(escape), "%c", c);
		put(r, escape);
	}
	put(r, "\"");
}

static void key_put(struct result *r, const char *key)
{
	if (r->comma)
		put(r, ",");
	r->comma = true;
	quote(r, key);
	put(r, ":");
}

void result_begin(struct result *r, const char *kernel)
{
	*r = (struct result){ 0 };
	put(r, "{");
	result_string(r, "kernel", kernel);
	result_integer(r, "v", 1);
	result_string(r, "version", syscheck_version);
}

static void number_put(struct result *r, double value, int digits)
{
	char text[32] = "null";

	/* Never another locale's decimal comma: no kernel calls setlocale. */
	if (isfinite(value))
		snprintf(text, sizeof(text), "%.*g", digits, value);
	put(r, text);
}

void result_number(struct result *r, const char *key, double value)
{
	key_put(r, key);
	number_put(r, value, 6);
}

void result_known(struct result *r, const char *key, double value)
{
	if (isfinite(value))
		result_number(r, key, value);
}

void result_integer(struct result *r, const char *key, long long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", value);
	key_put(r, key);
	put(r, text);
}

void result_string(struct result *r, const char *key, const char *value)
{
	key_put(r, key);
	if (value)
		quote(r, value);
	else
		put(r, "null");
}

void result_bool(struct result *r, const char *key, bool value)
{
	key_put(r, key);
	put(r, value ? "true" : "false");
}

void result_list_begin(struct result *r, const char *key)
{
	key_put(r, key);
	put(r, "[");
	r->comma = false;
}

void result_object_begin(struct result *r)
{
	if (r->comma)
		put(r, ",");
	put(r, "{");
	r->comma = false;
}

void result_object_end(struct result *r)
{
	put(r, "}");
	r->comma = true;
}

void result_list_integer(struct result *r, long long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%s%lld", r->comma ? "," : "", value);
	put(r, text);
	r->comma = true;
}

void result_list_number(struct result *r, double value, int digits)
{
	if (r->comma)
		put(r, ",");
	number_put(r, value, digits);
	r->comma = true;
}

void result_list_end(struct result *r)
{
	put(r, "]");
	r->comma = true;
}

bool result_write(struct result *r, int fd)
{
	size_t done = 0;
	bool good;

	put(r, "}\n");
	good = !r->failed;
	if (!good)
		errno = ENOMEM;
	while (good && done < r->length) {
		ssize_t n = write(fd, r->text + done, r->length - done);

		if (n > 0)
			done += (size_t)n;
		else if (errno != EINTR)
			good = false;
	}
	free(r->text);
	r->text = NULL;
	return good;
}
