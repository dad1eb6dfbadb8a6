#include "status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "trusted.h"

static const char *const statuses[] = { "pass", "warn", "fail", "unknown", "unrated", "skipped" };

/* Text within a buffer, not terminated. */
struct span {
	const char *at;
	size_t len;
};

static bool span_is(struct span s, const char *word)
{
	return s.len == strlen(word) && memcmp(s.at, word, s.len) == 0;
}

static enum level find_level(struct span value)
{
	for (int i = 0; i < LEVEL_COUNT; i++) {
		if (span_is(value, level_name(i)))
			return i;
	}
	return LEVEL_INVALID;
}

static const char *find_status(struct span value)
{
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		if (span_is(value, statuses[i]))
			return statuses[i];
	}
	return NULL;
}

bool status_is_unusual(const struct status *st)
{
	return st->name != NULL && (strcmp(st->name, "warn") == 0 || strcmp(st->name, "fail") == 0 ||
				    strcmp(st->name, "unknown") == 0);
}

static uint32_t to_number(struct span value)
{
	uint32_t n = 0;

	if (value.len == 0 || value.len > 9)
		return 0;
	for (size_t i = 0; i < value.len; i++) {
		if (value.at[i] < '0' || value.at[i] > '9')
			return 0;
		n = n * 10 + (uint32_t)(value.at[i] - '0');
	}
	return n;
}

/* It ends up on a terminal: nothing but printable ASCII. `out` has room for most + 1. */
static void copy_text(char *out, size_t most, struct span value)
{
	size_t n = value.len < most ? value.len : most;

	for (size_t i = 0; i < n; i++) {
		char c = value.at[i];

		out[i] = '?';
		if (c >= ' ' && c <= '~')
			out[i] = c;
	}
	out[n] = '\0';
}

static void parse_pair(struct status *st, struct span key, struct span value)
{
	if (span_is(key, "level"))
		st->level = find_level(value);
	else if (span_is(key, "status"))
		st->name = find_status(value);
	else if (span_is(key, "asked"))
		st->asked = span_is(value, "1");
	else if (span_is(key, "verbose"))
		st->verbose = span_is(value, "1");
	else if (span_is(key, "first"))
		st->first = span_is(value, "1");
	else if (span_is(key, "partly"))
		st->partly = span_is(value, "1");
	else if (span_is(key, "restarts"))
		st->restarts = to_number(value);
	else if (span_is(key, "nodes"))
		st->nodes = to_number(value);
	else if (span_is(key, "off"))
		st->off = to_number(value);
	else if (span_is(key, "line"))
		copy_text(st->line, STATUS_LINE_MAX, value);
	else if (span_is(key, "brief"))
		copy_text(st->brief, STATUS_BRIEF_MAX, value);
	else if (span_is(key, "note"))
		copy_text(st->note, STATUS_NOTE_MAX, value);
	else if (span_is(key, "list") && value.len <= STATUS_LIST_MAX)
		copy_text(st->list, STATUS_LIST_MAX, value);
}

int status_parse(struct status *st, const char *text, size_t len)
{
	const char *end = text + len;

	*st = (struct status){ .level = LEVEL_INVALID };
	for (const char *p = text, *eol; p < end; p = eol + 1) {
		const char *eq;

		eol = memchr(p, '\n', (size_t)(end - p));
		if (eol == NULL)
			eol = end;
		eq = memchr(p, '=', (size_t)(eol - p));
		if (eq != NULL)
			parse_pair(st, (struct span){ p, (size_t)(eq - p) },
				   (struct span){ eq + 1, (size_t)(eol - eq - 1) });
	}
	return st->level == LEVEL_INVALID || st->name == NULL ? -EINVAL : 0;
}

int status_read(struct status *st, const char *path, uid_t owner)
{
	char text[STATUS_FILE_MAX + 1];
	const int fd = trusted_open(path, owner);
	size_t len = 0;
	ssize_t n;
	int rc;

	if (fd < 0)
		return fd;
	while (len < sizeof(text) && (n = read(fd, text + len, sizeof(text) - len)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			rc = -errno;
			goto fail;
		}
		len += (size_t)n;
	}
	rc = len > STATUS_FILE_MAX ? -EFBIG : status_parse(st, text, len);

fail:
	close(fd);
	return rc;
}

/* A path component, so that a name can lead nowhere else. */
static bool is_component(const char *name)
{
	return name != NULL && name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL;
}

int status_path(char *out, size_t size, const char *dir, const char *node, uint32_t job,
		const char *suffix)
{
	size_t used = 0;
	int n;

	for (const char *p = dir; *p != '\0'; ) {
		bool is_node = strncmp(p, "%n", 2) == 0;
		const char *from = is_node ? node : p;
		size_t len;

		if (is_node && !is_component(node))
			return -EINVAL;
		len = is_node ? strlen(node) : 1;
		if (len >= size - used)
			return -EINVAL;
		memcpy(out + used, from, len);
		used += len;
		p += is_node ? 2 : 1;
	}
	n = snprintf(out + used, size - used, "/%u%s", job, suffix);
	return n < 0 || (size_t)n >= size - used ? -EINVAL : 0;
}
