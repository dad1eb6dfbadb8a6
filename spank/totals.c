#include "totals.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "syscheck-steps 1"
#define TAIL "end\n"
#define U64 "%" PRIu64

void totals_clear(struct totals *totals)
{
	memset(totals, 0, sizeof(*totals));
	cg_clear(&totals->step);
	cg_clear(&totals->tasks);
	for (int i = 0; i < CG_FIELDS; i++)
		totals->job[i].value = CG_UNKNOWN;
	totals->outer.value = CG_UNKNOWN;
	totals->stopped_ms = totals->energy_uj = CG_UNKNOWN;
	totals->array_job = totals->array_task = totals->restart = TOTALS_NONE;
}

void totals_name(struct totals *totals, const char *name)
{
	totals->name_len = name != NULL ? strnlen(name, TOTALS_NAME_MAX) : 0;
	if (name != NULL)
		memcpy(totals->name, name, totals->name_len);
}

/* ---- adding up ---- */

static void merge_values(struct cg_values *sum, const struct cg_values *more)
{
	for (int i = 0; i < CG_FIELDS; i++) {
		if (i == CG_MEMORY_PEAK_BYTES)
			sum->v[i] = cg_max(sum->v[i], more->v[i]);
		else
			sum->v[i] = cg_add(sum->v[i], more->v[i]);
	}
}

/* `peak`: a group's maximum does not add up with that of the one before. */
static void merge_cell(struct cg_cell *sum, const struct cg_cell *more, bool peak)
{
	if (more->value == CG_UNKNOWN)
		return;
	if (sum->group == more->group || peak) {
		sum->value = cg_max(sum->value, more->value);
	} else {
		sum->past = cg_add(sum->past, sum->value);
		sum->value = more->value;
	}
	sum->group = more->group;
}

/* The group above outlives the job: only what came since its first reading counts. */
static void merge_outer(struct totals *sum, const struct totals *more)
{
	bool known = sum->outer.value != CG_UNKNOWN;

	if (more->outer.value == CG_UNKNOWN)
		return;
	if (known && sum->outer.group == more->outer.group) {
		sum->outer.value = cg_max(sum->outer.value, more->outer.value);
		if (more->outer_begin < sum->outer_begin)
			sum->outer_begin = more->outer_begin;
		return;
	}
	if (known && sum->outer.value > sum->outer_begin)
		sum->outer.past = cg_add(sum->outer.past, sum->outer.value - sum->outer_begin);
	sum->outer.group = more->outer.group;
	sum->outer.value = more->outer.value;
	sum->outer_begin = more->outer_begin;
}

/* Who suspends a job stops all its steps. One step may be stopped by its user and the job goes on, so that the
 * batch step's, which is there all the time, counts; else the longest. */
static void merge_stopped(struct totals *sum, const struct totals *more)
{
	if (sum->sure == more->sure || sum->stopped_ms == CG_UNKNOWN)
		sum->stopped_ms = cg_max(sum->stopped_ms, more->stopped_ms);
	else if (more->sure && more->stopped_ms != CG_UNKNOWN)
		sum->stopped_ms = more->stopped_ms;
}

static void merge_identity(struct totals *sum, const struct totals *more)
{
	bool better = more->sure && !sum->sure;

	if (more->name_len > 0 && (better || sum->name_len == 0)) {
		memcpy(sum->name, more->name, more->name_len);
		sum->name_len = more->name_len;
	}
	if (better || (sum->array_task == TOTALS_NONE && !sum->sure)) {
		sum->array_job = more->array_job;
		sum->array_task = more->array_task;
	}
	if (better || (sum->restart == TOTALS_NONE && !sum->sure))
		sum->restart = more->restart;
	sum->sure = sum->sure || more->sure;
}

void totals_merge(struct totals *sum, const struct totals *more)
{
	if (more->version != 0)
		sum->version = more->version;
	if (sum->steps <= UINT32_MAX - more->steps)
		sum->steps += more->steps;
	merge_values(&sum->step, &more->step);
	merge_values(&sum->tasks, &more->tasks);
	for (int i = 0; i < CG_FIELDS; i++)
		merge_cell(&sum->job[i], &more->job[i], i == CG_MEMORY_PEAK_BYTES);
	merge_outer(sum, more);
	merge_stopped(sum, more);
	sum->energy_uj = cg_max(sum->energy_uj, more->energy_uj);
	merge_identity(sum, more);
}

/* ---- the text ---- */

struct writer {
	char *out;
	size_t used;
};

/* All of it always fits: 1024 bytes of a name are 2048 digits, the numbers at most
 * 1700 (test_totals.c writes the longest there is). */
__attribute__((format(printf, 2, 3)))
static void put(struct writer *w, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(w->out + w->used, TOTALS_FILE_SIZE - w->used, format, args);
	va_end(args);
	if (n > 0)
		w->used += (size_t)n;
	if (w->used > TOTALS_FILE_SIZE - 1)
		w->used = TOTALS_FILE_SIZE - 1;
}

static void put_values(struct writer *w, const char *scope, const struct cg_values *values)
{
	for (int i = 0; i < CG_FIELDS; i++) {
		if (values->v[i] != CG_UNKNOWN)
			put(w, "%s %s " U64 "\n", scope, cg_name(i), values->v[i]);
	}
}

void totals_format(char out[TOTALS_FILE_SIZE], const struct totals *totals)
{
	struct writer w = { .out = out };

	put(&w, HEAD "\nversion %d\nsteps %" PRIu32 "\nsure %d\n", totals->version, totals->steps, totals->sure);
	if (totals->array_task != TOTALS_NONE)
		put(&w, "array %" PRIu32 " %" PRIu32 "\n", totals->array_job, totals->array_task);
	if (totals->restart != TOTALS_NONE)
		put(&w, "restart %" PRIu32 "\n", totals->restart);
	if (totals->name_len > 0) {
		/* In hex: it may hold any byte but NUL, a newline too. */
		put(&w, "name ");
		for (size_t i = 0; i < totals->name_len; i++)
			put(&w, "%02x", (unsigned char)totals->name[i]);
		put(&w, "\n");
	}
	put_values(&w, "step", &totals->step);
	put_values(&w, "tasks", &totals->tasks);
	for (int i = 0; i < CG_FIELDS; i++) {
		const struct cg_cell *cell = &totals->job[i];

		if (cell->value != CG_UNKNOWN)
			put(&w, "job %s " U64 " " U64 " " U64 "\n", cg_name(i), cell->value, cell->group, cell->past);
	}
	if (totals->outer.value != CG_UNKNOWN)
		put(&w, "outer " U64 " " U64 " " U64 " " U64 "\n", totals->outer.value, totals->outer.group,
		    totals->outer.past, totals->outer_begin);
	if (totals->stopped_ms != CG_UNKNOWN)
		put(&w, "stopped " U64 "\n", totals->stopped_ms);
	if (totals->energy_uj != CG_UNKNOWN)
		put(&w, "energy " U64 "\n", totals->energy_uj);
	memset(out + w.used, '\n', TOTALS_FILE_SIZE - w.used);
	memcpy(out + TOTALS_FILE_SIZE - sizeof(TAIL) + 1, TAIL, sizeof(TAIL) - 1);
}

/* The next word of the line, its digits as a number. */
static bool take(const char **p, uint64_t *value)
{
	char *end;

	if (!isdigit((unsigned char)**p))
		return false;
	errno = 0;
	*value = strtoull(*p, &end, 10);
	if (errno != 0 || (*end != ' ' && *end != '\n' && *end != '\0'))
		return false;
	*p = *end == ' ' ? end + 1 : end;
	return true;
}

static bool take_u32(const char **p, uint32_t *value)
{
	uint64_t n;

	if (!take(p, &n) || n > UINT32_MAX)
		return false;
	*value = (uint32_t)n;
	return true;
}

static bool take_cell(const char **p, struct cg_cell *cell)
{
	return take(p, &cell->value) && take(p, &cell->group) && take(p, &cell->past);
}

/* "cpu_us ": its field, CG_FIELDS for none. */
static int take_field(const char **p)
{
	for (int i = 0; i < CG_FIELDS; i++) {
		size_t len = strlen(cg_name(i));

		if (strncmp(*p, cg_name(i), len) == 0 && (*p)[len] == ' ') {
			*p += len + 1;
			return i;
		}
	}
	return CG_FIELDS;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool take_name(struct totals *totals, const char *p)
{
	size_t len = 0;

	for (; *p != '\n' && *p != '\0'; p += 2) {
		int high = digit(p[0]), low = high < 0 ? -1 : digit(p[1]);

		if (low < 0 || len == TOTALS_NAME_MAX)
			return false;
		totals->name[len++] = (char)(high * 16 + low);
	}
	totals->name_len = len;
	return true;
}

static bool parse_line(struct totals *t, const char *line)
{
	const char *p;
	uint32_t n;
	int field;

	if ((p = cg_after(line, "step")) != NULL)
		return (field = take_field(&p)) < CG_FIELDS && take(&p, &t->step.v[field]);
	if ((p = cg_after(line, "tasks")) != NULL)
		return (field = take_field(&p)) < CG_FIELDS && take(&p, &t->tasks.v[field]);
	if ((p = cg_after(line, "job")) != NULL)
		return (field = take_field(&p)) < CG_FIELDS && take_cell(&p, &t->job[field]);
	if ((p = cg_after(line, "outer")) != NULL)
		return take_cell(&p, &t->outer) && take(&p, &t->outer_begin);
	if ((p = cg_after(line, "stopped")) != NULL)
		return take(&p, &t->stopped_ms);
	if ((p = cg_after(line, "energy")) != NULL)
		return take(&p, &t->energy_uj);
	if ((p = cg_after(line, "name")) != NULL)
		return take_name(t, p);
	if ((p = cg_after(line, "steps")) != NULL)
		return take_u32(&p, &t->steps);
	if ((p = cg_after(line, "array")) != NULL)
		return take_u32(&p, &t->array_job) && take_u32(&p, &t->array_task);
	if ((p = cg_after(line, "restart")) != NULL)
		return take_u32(&p, &t->restart);
	if ((p = cg_after(line, "sure")) != NULL && take_u32(&p, &n)) {
		t->sure = n == 1;
		return n <= 1;
	}
	if ((p = cg_after(line, "version")) != NULL && take_u32(&p, &n)) {
		t->version = (int)n;
		return n <= 2;
	}
	return line[0] == '\n';
}

int totals_parse(struct totals *totals, const char *text, size_t len)
{
	char copy[TOTALS_FILE_SIZE + 1];

	totals_clear(totals);
	if (len != TOTALS_FILE_SIZE || memchr(text, '\0', len) != NULL ||
	    strncmp(text, HEAD "\n", sizeof(HEAD)) != 0)
		return -EINVAL;
	memcpy(copy, text, len);
	copy[len] = '\0';
	for (char *line = copy + sizeof(HEAD); line[0] != '\0'; line = strchr(line, '\n') + 1) {
		if (strcmp(line, TAIL) == 0)
			return 0;
		if (strchr(line, '\n') == NULL || !parse_line(totals, line))
			break;
	}
	totals_clear(totals);
	return -EINVAL;
}
