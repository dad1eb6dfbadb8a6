#include "mounts.h"

#include <stdio.h>
#include <string.h>

/* The next word of a line, its octal escapes (\040) undone where `decode`; cut to fit. NULL: there is none. */
static const char *word(char *out, size_t size, const char *at, bool decode)
{
	size_t n = 0;

	while (*at == ' ')
		at++;
	if (*at == '\0' || *at == '\n')
		return NULL;
	for (; *at != '\0' && *at != ' ' && *at != '\n'; at++) {
		char c = *at;

		if (decode && c == '\\' && strspn(at + 1, "01234567") >= 3) {
			c = (char)((at[1] - '0') * 64 + (at[2] - '0') * 8 + (at[3] - '0'));
			at += 3;
		}
		if (n + 1 < size)
			out[n++] = c;
	}
	out[n] = '\0';
	return at;
}

/* Whether `wanted` is one of the options of a list with commas. */
static bool has_option(const char *list, const char *wanted)
{
	size_t length = strlen(wanted);

	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, wanted, length) == 0 && (at[length] == ',' || at[length] == '\0'))
			return true;
	}
	return false;
}

static bool same_path(const char *a, const char *b)
{
	size_t n = strlen(b);

	while (n > 1 && b[n - 1] == '/')
		n--;
	return strlen(a) == n && strncmp(a, b, n) == 0;
}

/* 36 35 98:0 /root /mount/point rw,noatime master:1 - ext4 /dev/root rw,errors=continue */
static bool parse(struct mount_line *out, const char *line, const char *path)
{
	char skipped[MOUNT_TEXT], point[4096], options[MOUNT_TEXT], super[MOUNT_TEXT];
	const char *at = line;

	for (int i = 0; i < 4 && at; i++)
		at = word(skipped, sizeof(skipped), at, false);
	at = at ? word(point, sizeof(point), at, true) : NULL;
	if (!at || !same_path(point, path))
		return false;
	at = word(options, sizeof(options), at, false);
	do
		at = at ? word(skipped, sizeof(skipped), at, false) : NULL;
	while (at && strcmp(skipped, "-") != 0);
	at = at ? word(out->type, sizeof(out->type), at, true) : NULL;
	at = at ? word(out->source, sizeof(out->source), at, true) : NULL;
	if (!at)
		return false;
	if (!word(super, sizeof(super), at, false))
		super[0] = '\0';
	out->read_only = has_option(options, "ro") || has_option(super, "ro");
	snprintf(out->options, sizeof(out->options), "%s%s%s", options, super[0] ? "," : "", super);
	return true;
}

bool mounts_find(struct mount_line *out, const char *text, const char *path)
{
	struct mount_line one;
	bool found = false;

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (parse(&one, line, path)) {
			*out = one;
			found = true;
		}
	}
	return found;
}
