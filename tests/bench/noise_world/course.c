#include "course.h"

#include <stdlib.h>

/* One core's detours within the window. */
struct way {
	size_t n;
	int64_t *start, *length;
	int64_t *work;  /* what was done before detour k begins; ascending, equal where one follows at once */
	int64_t *still; /* how long it stood still before detour k; [n]: in all */
	size_t begun;   /* detours that have begun at the moment looked at */
	size_t met;     /* that a quantum begun then has met when it ends */
};

static void way_free(struct way *w)
{
	free(w->start);
	free(w->length);
	free(w->work);
	free(w->still);
}

static bool way_make(struct way *w, const struct core *core, int64_t begin, int64_t end)
{
	int64_t still = 0;

	*w = (struct way){ .n = 0 };
	w->start = malloc((core->n + 1) * sizeof(int64_t));
	w->length = malloc((core->n + 1) * sizeof(int64_t));
	w->work = malloc((core->n + 1) * sizeof(int64_t));
	w->still = malloc((core->n + 1) * sizeof(int64_t));
	if (!w->start || !w->length || !w->work || !w->still)
		return false;
	for (size_t i = 0; i < core->n; i++) {
		int64_t from = core->detours[i].start, to = from + core->detours[i].length;

		from = from < begin ? begin : from;
		to = to > end ? end : to;
		if (from >= to)
			continue;
		w->start[w->n] = from;
		w->length[w->n] = to - from;
		w->work[w->n] = from - begin - still;
		w->still[w->n] = still;
		still += to - from;
		w->n++;
	}
	w->still[w->n] = still;
	return true;
}

/* How many of `work` are <= x */
static size_t upto(const struct way *w, int64_t x)
{
	size_t lo = 0, hi = w->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (w->work[mid] <= x)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The last moment at which no more than x was done. */
static int64_t moment_of(const struct way *w, int64_t begin, int64_t x)
{
	return begin + x + w->still[upto(w, x)];
}

static int by_time(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Where the delay may jump or change its slope, sorted, each once; NULL: no memory. */
static int64_t *breaks_of(const struct way *ways, int cores, const struct course *c, int64_t g, size_t *n)
{
	size_t room = 1, kept = 0, all = 0;
	int64_t *at;

	for (int i = 0; i < cores; i++)
		room += 3 * ways[i].n;
	at = malloc(room * sizeof(*at));
	if (!at)
		return NULL;
	at[all++] = c->begin;
	for (int i = 0; i < cores; i++)
		for (size_t k = 0; k < ways[i].n; k++) {
			at[all++] = ways[i].start[k];
			at[all++] = ways[i].start[k] + ways[i].length[k];
			/* A quantum begun before then is done when this detour begins. */
			if (ways[i].work[k] >= g)
				at[all++] = moment_of(&ways[i], c->begin, ways[i].work[k] - g);
		}
	qsort(at, all, sizeof(*at), by_time);
	for (size_t i = 0; i < all; i++)
		if (at[i] >= c->begin && at[i] < c->last && (kept == 0 || at[i] != at[kept - 1]))
			at[kept++] = at[i];
	*n = kept;
	return at;
}

/* The delay just after t, until the next break; `falls`: by 1 s per s. */
static int64_t delay_after(struct way *w, int64_t begin, int64_t t, int64_t g, bool *falls)
{
	int64_t done;

	while (w->begun < w->n && w->start[w->begun] <= t)
		w->begun++;
	*falls = w->begun > 0 && t < w->start[w->begun - 1] + w->length[w->begun - 1];
	done = *falls ? w->work[w->begun - 1] : t - begin - w->still[w->begun];
	/* Standing still, it ends with the work of just this moment; otherwise a bit more was done. */
	while (w->met < w->n && (*falls ? w->work[w->met] < done + g : w->work[w->met] <= done + g))
		w->met++;
	return begin + done + w->still[w->met] - t;
}

static void put(struct course *c, int64_t from, int64_t delay, bool falls)
{
	const struct piece *p = c->n ? &c->pieces[c->n - 1] : NULL;

	if (p && p->falls == falls && p->delay - (falls ? from - p->from : 0) == delay)
		return;
	c->pieces[c->n++] = (struct piece){ .from = from, .delay = delay, .falls = falls };
}

bool course_make(struct course *c, const struct node *node, int64_t begin, int64_t end, int64_t g)
{
	struct way *ways = calloc((size_t)node->n + 1, sizeof(*ways));
	int64_t *at = NULL;
	bool good = false;
	size_t n = 0;

	*c = (struct course){ .begin = begin, .last = end - g };
	if (!ways)
		goto fail;
	for (int i = 0; i < node->n; i++) {
		int64_t spare, last;

		if (!way_make(&ways[i], &node->cores[i], begin, end))
			goto fail;
		spare = end - begin - ways[i].still[ways[i].n] - g;
		last = spare < 0 ? begin - 1 : moment_of(&ways[i], begin, spare);
		c->last = last < c->last ? last : c->last;
	}
	good = true;
	if (c->last <= begin)
		goto fail;
	at = breaks_of(ways, node->n, c, g, &n);
	c->pieces = malloc((2 * n + 1) * sizeof(*c->pieces));
	good = at && c->pieces;
	for (size_t i = 0; i < n && good; i++) {
		int64_t to = i + 1 < n ? at[i + 1] : c->last, flat = 0, steep = 0;

		for (int k = 0; k < node->n; k++) {
			bool falls;
			int64_t d = delay_after(&ways[k], begin, at[i], g, &falls);
			int64_t *most = falls ? &steep : &flat;

			*most = d > *most ? d : *most;
		}
		if (steep <= flat) {
			put(c, at[i], flat, false);
			continue;
		}
		put(c, at[i], steep, true);
		if (at[i] + steep - flat < to)
			put(c, at[i] + steep - flat, flat, false);
	}
fail:
	for (int i = 0; ways && i < node->n; i++)
		way_free(&ways[i]);
	free(ways);
	free(at);
	return good;
}

double course_at(const struct course *c, double t)
{
	size_t lo = 0, hi = c->n;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if ((double)c->pieces[mid].from <= t)
			lo = mid;
		else
			hi = mid;
	}
	return (double)c->pieces[lo].delay - (c->pieces[lo].falls ? t - (double)c->pieces[lo].from : 0);
}

void course_free(struct course *c)
{
	free(c->pieces);
	*c = (struct course){ .n = 0 };
}

double walk(const struct node *node, double t, double g)
{
	double most = 0;

	for (int i = 0; i < node->n; i++) {
		const struct core *core = &node->cores[i];
		double now = t, left = g;

		for (size_t k = 0; k < core->n; k++) {
			double start = (double)core->detours[k].start;
			double end = start + (double)core->detours[k].length;

			if (end <= now)
				continue;
			if (now + left <= start)
				break;
			if (start > now)
				left -= start - now;
			now = end;
		}
		if (now + left - t - g > most)
			most = now + left - t - g;
	}
	return most;
}
