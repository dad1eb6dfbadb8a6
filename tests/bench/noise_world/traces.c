#define _GNU_SOURCE
#include "traces.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS 1000000000
#define MAX_SECONDS 100000000

/* "12.000000345" in ns; NULL: no such number. Text, because a double of a long uptime loses the ns. */
static const char *read_ns(const char *s, int64_t *ns)
{
	int64_t whole = 0, part = 0, unit = NS;

	if (*s < '0' || *s > '9')
		return NULL;
	for (; *s >= '0' && *s <= '9'; s++) {
		whole = whole * 10 + (*s - '0');
		if (whole > MAX_SECONDS)
			return NULL;
	}
	if (*s == '.')
		for (s++; *s >= '0' && *s <= '9'; s++) {
			unit /= 10;
			part += unit * (*s - '0');
		}
	*ns = whole * NS + part;
	return s;
}

static bool read_line(const char *s, int *cpu, struct detour *d)
{
	char *end;
	long n = strtol(s, &end, 10);

	if (end == s || n < 0 || n > INT_MAX || *end != ' ')
		return false;
	*cpu = (int)n;
	s = read_ns(end + 1, &d->start);
	if (!s || *s != ' ')
		return false;
	s = read_ns(s + 1, &d->length);
	return s && (*s == '\n' || *s == '\0');
}

static struct core *core_of(struct node *node, int cpu)
{
	struct core *more;

	/* A file lists one core after the other. */
	for (int i = node->n - 1; i >= 0; i--)
		if (node->cores[i].cpu == cpu)
			return &node->cores[i];
	more = realloc(node->cores, (size_t)(node->n + 1) * sizeof(*more));
	if (!more)
		return NULL;
	node->cores = more;
	node->cores[node->n] = (struct core){ .cpu = cpu };
	return &node->cores[node->n++];
}

/* Why the detour cannot be there, or NULL. */
static const char *add(struct core *c, struct detour d)
{
	if (c->n && c->detours[c->n - 1].start + c->detours[c->n - 1].length > d.start)
		return "begins before the one above it has ended";
	if (c->n == c->room) {
		size_t room = c->room ? 2 * c->room : 256;
		struct detour *more = realloc(c->detours, room * sizeof(*more));

		if (!more)
			return "no memory";
		c->detours = more;
		c->room = room;
	}
	if (d.length > 0)
		c->detours[c->n++] = d;
	return NULL;
}

static bool node_read(struct node *node, const char *path)
{
	FILE *f = fopen(path, "r");
	char line[256];
	long number = 0;
	const char *wrong = NULL;

	if (!f) {
		perror(path);
		return false;
	}
	while (!wrong && fgets(line, sizeof(line), f)) {
		struct detour d;
		struct core *core;
		int cpu;

		number++;
		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (!read_line(line, &cpu, &d))
			wrong = "not \"cpu start length\"";
		else
			wrong = (core = core_of(node, cpu)) ? add(core, d) : "no memory";
	}
	if (!wrong && ferror(f))
		wrong = "cannot be read";
	fclose(f);
	if (wrong)
		fprintf(stderr, "%s:%ld: %s\n", path, number, wrong);
	return !wrong;
}

static bool is_named(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = list; at && (at = strstr(at, name)); at += n)
		if ((at == list || at[-1] == ',') && (at[n] == ',' || at[n] == '\0'))
			return true;
	return false;
}

static double seconds_of(const char *dir)
{
	char path[PATH_MAX], line[512];
	double seconds = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/truth.json", dir);
	f = fopen(path, "r");
	if (!f)
		return 0;
	/* It is the first key of what world writes. */
	if (fgets(line, sizeof(line), f) && sscanf(line, "{\"seconds\":%lf", &seconds) != 1)
		seconds = 0;
	fclose(f);
	return seconds;
}

bool pool_read(struct pool *p, const char *dir, const char *without)
{
	char pattern[PATH_MAX];
	glob_t found;
	bool good = true;

	*p = (struct pool){ .seconds = seconds_of(dir) };
	snprintf(pattern, sizeof(pattern), "%s/n*.trace", dir);
	if (glob(pattern, 0, NULL, &found) != 0) {
		fprintf(stderr, "%s: no n*.trace\n", dir);
		return false;
	}
	p->nodes = calloc(found.gl_pathc, sizeof(*p->nodes));
	for (size_t i = 0; i < found.gl_pathc && good && p->nodes; i++) {
		struct node *node = &p->nodes[p->n];
		const char *name = strrchr(found.gl_pathv[i], '/') + 1;

		snprintf(node->name, sizeof(node->name), "%.*s", (int)(strlen(name) - strlen(".trace")), name);
		if (is_named(without, node->name))
			continue;
		p->n++;
		good = node_read(node, found.gl_pathv[i]);
	}
	globfree(&found);
	if (good && p->n == 0)
		fprintf(stderr, "%s: no node is left\n", dir);
	if (!good || p->n == 0)
		pool_free(p);
	return p->n > 0;
}

void pool_free(struct pool *p)
{
	for (size_t i = 0; i < p->n; i++) {
		for (int c = 0; c < p->nodes[i].n; c++)
			free(p->nodes[i].cores[c].detours);
		free(p->nodes[i].cores);
	}
	free(p->nodes);
	*p = (struct pool){ .n = 0 };
}
