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
	{ "work_us", offsetof(struct fabric_settings, work_us), 10, 1e6, 1000, false },
	{ "window", offsetof(struct fabric_settings, window), 1, FABRIC_WINDOW, 16, true },
	{ "bytes", offsetof(struct fabric_settings, bytes), 4096, FABRIC_BYTES, 1 << 20, true },
	{ "share", offsetof(struct fabric_settings, share), 0.01, 1, 1, false },
	{ "io_seconds", offsetof(struct fabric_settings, io_seconds), 0.1, 600, 5, false },
	{ "io_mb", offsetof(struct fabric_settings, io_mb), 1, 1e7, 1024, false },
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
	p->n_members = 0;
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

/* False: this round named it before. */
static bool name_rank(struct fabric_plan *p, int rank)
{
	const uint16_t round = (uint16_t)(p->rounds + 1);

	if (p->named_in[rank] == round)
		return false;
	p->named_in[rank] = round;
	return true;
}

static enum fabric_next take_pair(struct fabric_plan *p, struct fabric_turn *turn, const char *pair, char error[ERROR_SIZE])
{
	const char *dash = strchr(pair, '-');
	const int most = p->ranks - 1;
	int a, b;

	if (dash == NULL || !whole_number(pair, dash, most, &a) || !whole_number(dash + 1, dash + strlen(dash), most, &b))
		return bad(error, "want two ranks of the job, like 0-3, not", pair);
	if (a == b || !name_rank(p, a) || !name_rank(p, b))
		return bad(error, "a rank is named twice in one round", pair);
	if (a == p->rank || b == p->rank)
		*turn = (struct fabric_turn){ .partner = (int16_t)(a == p->rank ? b : a), .first = a == p->rank };
	return FABRIC_MORE;
}

/* Ranks between commas. What is kept is the group that this rank is in. */
static enum fabric_next take_group(struct fabric_plan *p, struct fabric_turn *turn, char *group, char error[ERROR_SIZE])
{
	const int most = turn->what == FABRIC_ALLTOALL ? FABRIC_GROUP : FABRIC_RANKS;
	int16_t *const members = p->members + p->n_members;
	int size = 0, place = -1, rank;
	char *rest = NULL;

	for (const char *one = strtok_r(group, ",", &rest); one; one = strtok_r(NULL, ",", &rest), size++) {
		if (!whole_number(one, one + strlen(one), p->ranks - 1, &rank))
			return bad(error, "want ranks of the job, like 0,3,4, not", one);
		if (!name_rank(p, rank))
			return bad(error, "a rank is named twice in one round", one);
		if (size == most || p->n_members + size == FABRIC_MEMBERS)
			return bad(error, "too many ranks in a group, from", one);
		if (rank == p->rank)
			place = size;
		members[size] = (int16_t)rank;
	}
	if (size < 2)
		return bad(error, "a group has two ranks or more, not", group);
	/* The library opens it for all of its world. */
	if (turn->what == FABRIC_FILE && size != p->ranks)
		return bad(error, "one file is for all ranks of the job, not", group);
	if (place >= 0) {
		turn->members = members;
		turn->size = size;
		turn->place = place;
		p->n_members += size;
	}
	return FABRIC_MORE;
}

static enum fabric_next take_round(struct fabric_plan *p, enum fabric_what what, char **rest, char error[ERROR_SIZE])
{
	struct fabric_turn turn = { .what = what, .partner = -1 };
	int parts = 0;

	if (p->rounds == FABRIC_ROUNDS)
		return bad(error, "too many rounds in one plan", "round");
	for (char *part; (part = strtok_r(NULL, " ", rest)) != NULL; parts++)
		if ((what == FABRIC_PAIR ? take_pair(p, &turn, part, error) : take_group(p, &turn, part, error)) ==
		    FABRIC_BAD)
			return FABRIC_BAD;
	if (parts == 0)
		return bad(error, "no ranks in it", "round");
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
	static const struct {
		const char *word;
		enum fabric_what what;
	} rounds[] = { { "round", FABRIC_PAIR }, { "alltoall", FABRIC_ALLTOALL }, { "allreduce", FABRIC_ALLREDUCE },
		       { "work", FABRIC_WORK }, { "files", FABRIC_FILES }, { "file", FABRIC_FILE } };
	enum fabric_next next;
	char *rest = NULL;
	const char *word = strtok_r(line, " ", &rest), *name;

	if (word == NULL)
		return bad(error, "an empty line", "");
	if (strcmp(word, "plan") != 0 && strcmp(word, "end") != 0 && p->id < 0)
		return bad(error, "want plan or end, not", word);
	for (size_t i = 0; i < sizeof(rounds) / sizeof(rounds[0]); i++)
		if (strcmp(word, rounds[i].word) == 0)
			return take_round(p, rounds[i].what, &rest, error);
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
		return bad(error, "want set, a round or go, not", word);
	}
	word = next == FABRIC_BAD ? NULL : strtok_r(NULL, " ", &rest);
	return word ? bad(error, "more than is wanted on a line", word) : next;
}

enum fabric_next fabric_plan_eof(const struct fabric_plan *p, char error[ERROR_SIZE])
{
	return p->id < 0 ? FABRIC_END : bad(error, "ended within a plan, before its go", "end");
}
