#include "sentence.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* More bad nodes than these are only counted: each has a line of its own. */
#define NAMED_MAX 3

/* Less below its class, in a tenth of a percent, is not worth a word. */
#define OFF_MIN 10

struct text {
	char *at;
	size_t left;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *to, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(to->at, to->left, format, args);
	va_end(args);
	if (n < 0)
		return;
	if ((size_t)n >= to->left)
		n = to->left > 0 ? (int)to->left - 1 : 0;
	to->at += n;
	to->left -= (size_t)n;
}

static bool is(const struct status *st, const char *name)
{
	return strcmp(st->name, name) == 0;
}

static void add_unusual(struct text *to, const struct checked *one)
{
	const struct status *st = one->st;
	const char *what = is(st, "fail") ? "bad" : is(st, "warn") ? "not as it should be" : "not fully checked";

	add(to, "%s %s", one->node, what);
	if (st->brief[0] != '\0')
		add(to, ": %s", st->brief);
}

/* How much is known of a node without anything unusual, the least first. */
enum known { NONE, COUNTERS, MEASURED, PARTLY, FINE };

static enum known known(const struct status *st)
{
	if (st->level == LEVEL_NONE)
		return NONE;
	if (st->level < LEVEL_QUICK)
		return COUNTERS;
	if (!is(st, "pass"))
		return MEASURED;
	return st->partly ? PARTLY : FINE;
}

static const char *const words[] = {
	[NONE] = "not checked",
	[COUNTERS] = "not measured, counters and hardware fine",
	[MEASURED] = "measured, nothing to compare with yet",
	[PARTLY] = "checked, fine as far as there are limits",
	[FINE] = "checked, all fine",
};

/* Of several that are not alike: so many of them, and the others. */
static void add_fine(struct text *to, const struct checked *all, size_t n)
{
	size_t of[FINE + 1] = { 0 }, said = 0;

	for (size_t i = 0; i < n; i++)
		of[known(all[i].st)] += !status_is_unusual(all[i].st);
	for (int k = FINE; k >= NONE; k--) {
		if (of[k] == 0)
			continue;
		if (of[k] == n)
			add(to, "%zu nodes %s", n, words[k]);
		else
			add(to, "%s%zu of %zu nodes %s", said > 0 ? "; " : "", of[k], n, words[k]);
		said++;
	}
}

void sentence(char *out, size_t size, const struct checked *all, size_t n)
{
	struct text to = { .at = out, .left = size };
	const struct status *own = all[0].st;
	bool know_all = own->nodes <= n;
	const struct checked *slowest = NULL;
	size_t bad = 0, named = 0;

	if (size == 0)
		return;
	out[0] = '\0';
	if (!know_all)
		n = 1;
	for (size_t i = 0; i < n; i++) {
		if (status_is_unusual(all[i].st))
			bad++;
		else if (all[i].st->off >= OFF_MIN && (slowest == NULL || all[i].st->off > slowest->st->off))
			slowest = &all[i];
	}

	add(&to, "syscheck: ");
	if (n == 1 && bad == 0)
		add(&to, "%s %s", all[0].node, words[known(own)]);
	else if (n > bad)
		add_fine(&to, all, n);
	else if (n > 1)
		add(&to, "none of %zu nodes fine", n);
	if (n > 1 && bad > 0)
		add(&to, "; ");
	for (size_t i = 0; i < n && named < NAMED_MAX; i++) {
		if (!status_is_unusual(all[i].st))
			continue;
		add(&to, "%s", named > 0 ? "; " : "");
		add_unusual(&to, &all[i]);
		named++;
	}
	if (bad > named)
		add(&to, "; and %zu more", bad - named);
	if (slowest != NULL && n == 1)
		add(&to, " (%s)", slowest->st->brief);
	else if (slowest != NULL && bad == 0)
		add(&to, " (slowest %s: %s)", slowest->node, slowest->st->brief);
	if (own->note[0] != '\0')
		add(&to, " (%s)", own->note);
	if (!know_all)
		add(&to, ", and %u other node%s: %s with anything unusual say%s so below", own->nodes - 1,
		    own->nodes == 2 ? "" : "s", own->nodes == 2 ? "one" : "those", own->nodes == 2 ? "s" : "");
}

void sentence_requeued(char *out, size_t size, uint32_t job, uint32_t restarts)
{
	size_t used = strnlen(out, size);
	struct text to = { .at = out + used, .left = size - used };

	if (used > 0 && restarts > 0)
		add(&to, "; this job was restarted%s: if a bad node was why, AdminComment in \"scontrol show job %u\" says so",
		    restarts > 1 ? " again" : "", job);
}
