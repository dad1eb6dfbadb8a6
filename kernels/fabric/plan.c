#include "plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN 40
#define ID_MOST 999999999

static const struct setting {
	const char *name;
	size_t offset;
	double low, high, usual;
	bool whole;
} settings[] = {
	{ "pingpongs", offsetof(struct fabric_settings, pingpongs), 1, 100000, 1000, true },
	{ "latency_s", offsetof(struct fabric_settings, latency_s), 0.001, 10, 0.05, false },
	{ "seconds", offsetof(struct fabric_settings, seconds), 0.01, 60, 0.1, false },
	{ "window", offsetof(struct fabric_settings, window), 1, FABRIC_WINDOW, 16, true },
	{ "bytes", offsetof(struct fabric_settings, bytes), 4096, FABRIC_BYTES, 1 << 20, true },
	{ "share", offsetof(struct fabric_settings, share), 0.01, 1, 1, false },
};
#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

static double *value_of(struct fabric_settings *set, const struct setting *s)
{
	return (double *)((char *)set + s->offset);
}

static enum fabric_next bad(char error[ERROR_SIZE], const char *what, const char *text)
{
	char shown[SHOWN];

	opts_show(shown, sizeof(shown), text);
	snprintf(error, ERROR_SIZE, "stdin: %s: \"%s\"", what, shown);
	return FABRIC_BAD;
}

/* Decimal digits from *text to `end` and nothing else, 0 to `most`. */
static bool whole_number(const char *text, const char *end, int most, int *value)
{
	int v = 0;

	if (text == end || end - text > 9)
		return false;
	for (; text < end; text++) {
		if (*text < '0' || *text > '9')
			return false;
		v = v * 10 + (*text - '0');
	}
	*value = v;
	return v <= most;
}

static enum fabric_next take_plan(struct fabric_plan *p, const char *id, char error[ERROR_SIZE])
{
	if (p->id >= 0)
		return bad(error, "a plan within a plan", id ? id : "");
	if (id == NULL || !whole_number(id, id + strlen(id), ID_MOST, &p->id)) {
		p->id = -1;
		return bad(error, "want a plan's number from 0 to 999999999, not", id ? id : "");
	}
	for (size_t i = 0; i < SETTINGS; i++)
		*value_of(&p->set, &settings[i]) = settings[i].usual;
	p->rounds = 0;
	memset(p->named_in, 0, sizeof(p->named_in));
	return FABRIC_MORE;
}

static enum fabric_next take_set(struct fabric_plan *p, const char *name, const char *text, char error[ERROR_SIZE])
{
	const struct setting *s = settings;
	char want[80];
	char *end;
	double v;

	if (p->rounds > 0)
		return bad(error, "a setting comes before the rounds", name ? name : "");
	while (name && s < settings + SETTINGS && strcmp(s->name, name) != 0)
		s++;
	if (name == NULL || s == settings + SETTINGS)
		return bad(error, "no such setting", name ? name : "");
	/* strtod would take hex, "inf" and "nan", too. */
	if (text && text[0] && strspn(text, "0123456789.eE+-") == strlen(text)) {
		v = strtod(text, &end);
		if (*end == '\0' && isfinite(v) && v >= s->low && v <= s->high && (!s->whole || v == floor(v))) {
			*value_of(&p->set, s) = v;
			return FABRIC_MORE;
		}
	}
	snprintf(want, sizeof(want), "%s: want a %snumber from %g to %.8g, not", s->name, s->whole ? "whole " : "", s->low,
		 s->high);
	return bad(error, want, text ? text : "");
}

static enum fabric_next take_pair(struct fabric_plan *p, struct fabric_turn *turn, const char *pair, char error[ERROR_SIZE])
{
	const char *dash = strchr(pair, '-');
	const int most = p->ranks - 1, round = p->rounds + 1;
	int a, b;

	if (dash == NULL || !whole_number(pair, dash, most, &a) || !whole_number(dash + 1, dash + strlen(dash), most, &b))
		return bad(error, "want two ranks of the job, like 0-3, not", pair);
	if (a == b || p->named_in[a] == round || p->named_in[b] == round)
		return bad(error, "a rank is named twice in one round", pair);
	p->named_in[a] = p->named_in[b] = (uint16_t)round;
	if (a == p->rank || b == p->rank)
		*turn = (struct fabric_turn){ .partner = (int16_t)(a == p->rank ? b : a), .first = a == p->rank };
	return FABRIC_MORE;
}

static enum fabric_next take_round(struct fabric_plan *p, char **rest, char error[ERROR_SIZE])
{
	struct fabric_turn turn = { .partner = -1 };
	int pairs = 0;

	if (p->rounds == FABRIC_ROUNDS)
		return bad(error, "too many rounds in one plan", "round");
	for (const char *pair; (pair = strtok_r(NULL, " ", rest)) != NULL; pairs++)
		if (take_pair(p, &turn, pair, error) == FABRIC_BAD)
			return FABRIC_BAD;
	if (pairs == 0)
		return bad(error, "no pair of ranks in it", "round");
	p->turns[p->rounds++] = turn;
	return FABRIC_MORE;
}

void fabric_plan_init(struct fabric_plan *p, int rank, int ranks)
{
	*p = (struct fabric_plan){ .rank = rank, .ranks = ranks, .id = -1 };
}

void fabric_plan_ran(struct fabric_plan *p)
{
	p->id = -1;
}

enum fabric_next fabric_plan_line(struct fabric_plan *p, char *line, char error[ERROR_SIZE])
{
	enum fabric_next next;
	char *rest = NULL;
	const char *word = strtok_r(line, " ", &rest), *name;

	if (word == NULL)
		return bad(error, "an empty line", "");
	if (strcmp(word, "plan") != 0 && strcmp(word, "end") != 0 && p->id < 0)
		return bad(error, "want plan or end, not", word);
	if (strcmp(word, "round") == 0)
		return take_round(p, &rest, error);
	if (strcmp(word, "plan") == 0) {
		next = take_plan(p, strtok_r(NULL, " ", &rest), error);
	} else if (strcmp(word, "set") == 0) {
		name = strtok_r(NULL, " ", &rest);
		next = take_set(p, name, strtok_r(NULL, " ", &rest), error);
	} else if (strcmp(word, "go") == 0) {
		next = FABRIC_GO;
	} else if (strcmp(word, "end") == 0) {
		next = fabric_plan_eof(p, error);
	} else {
		return bad(error, "want set, round or go, not", word);
	}
	word = next == FABRIC_BAD ? NULL : strtok_r(NULL, " ", &rest);
	return word ? bad(error, "more than is wanted on a line", word) : next;
}

enum fabric_next fabric_plan_eof(const struct fabric_plan *p, char error[ERROR_SIZE])
{
	return p->id < 0 ? FABRIC_END : bad(error, "ended within a plan, before its go", "end");
}
