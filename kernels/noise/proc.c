#include "proc.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"

#define ROWS_MOST 8192
#define THREADS_MOST 262144

/* A whole file, NUL-ended; NULL if it is empty or cannot be read. */
static char *slurp(const char *path)
{
	FILE *f = fopen(path, "re");
	size_t room = 0;
	char *text = NULL;

	if (f && getdelim(&text, &room, '\0', f) < 0) {
		free(text);
		text = NULL;
	}
	if (f)
		fclose(f);
	return text;
}

/* A short file's first bytes. */
static bool peek(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* The last column; numbered interrupts say there which device, others what they are. */
static void name_row(struct row *row, const char *text)
{
	const char *from = text, *two;
	size_t length = strlen(text);

	while (length > 0 && isspace((unsigned char)text[length - 1]))
		length--;
	if (isdigit((unsigned char)row->label[0]))
		while ((two = strstr(from, "  ")) && two < text + length)
			from = two + 2;
	while (isspace((unsigned char)*from))
		from++;
	if (from >= text + length)
		snprintf(row->name, sizeof(row->name), "%s", row->label);
	else
		snprintf(row->name, sizeof(row->name), "%s: %.*s", row->label, (int)(text + length - from), from);
}

/* `column_of[i]`: the place of the file's i-th CPU among the sampled ones, or -1. */
static bool read_row(struct row *row, char *line, const int *column_of, size_t columns)
{
	char *colon = strchr(line, ':'), *at, *end;

	while (*line == ' ')
		line++;
	if (!colon || colon == line)
		return false;
	*colon = '\0';
	snprintf(row->label, sizeof(row->label), "%s", line);
	at = colon + 1;
	for (size_t i = 0; i < columns; i++, at = end) {
		unsigned long long count = strtoull(at, &end, 10);

		/* ERR and MIS have one number for all CPUs: of which is not known. */
		if (end == at)
			return false;
		if (column_of[i] >= 0) {
			row->counts[column_of[i]] = count;
			row->sum += count;
		}
	}
	name_row(row, at);
	return true;
}

static size_t read_header(char *line, const struct topo *topo, int *column_of, size_t most)
{
	size_t columns = 0;
	char *save = NULL;

	for (char *word = strtok_r(line, " ", &save); word && columns < most; word = strtok_r(NULL, " ", &save)) {
		int cpu = strncmp(word, "CPU", 3) == 0 ? (int)strtol(word + 3, NULL, 10) : -1;

		column_of[columns] = -1;
		for (int i = 0; i < topo->n; i++)
			if (topo->cpus[i] == cpu)
				column_of[columns] = i;
		columns++;
	}
	return columns;
}

void table_free(struct table *t)
{
	free(t->rows);
	free(t->counts);
	*t = (struct table){ 0 };
}

void table_parse(struct table *t, char *text, const struct topo *topo)
{
	char *save = NULL, *line = strtok_r(text, "\n", &save);
	size_t lines = 0, words = 1, columns;
	int *column_of = NULL;

	*t = (struct table){ 0 };
	if (!line)
		goto end;
	for (const char *c = save; *c != '\0'; c++)
		lines += *c == '\n';
	for (const char *c = line; *c != '\0'; c++)
		words += *c == ' ';
	lines = lines < ROWS_MOST ? lines + 1 : ROWS_MOST;
	column_of = calloc(words, sizeof(*column_of));
	t->rows = calloc(lines, sizeof(*t->rows));
	t->counts = calloc(lines * (size_t)topo->n, sizeof(*t->counts));
	if (!column_of || !t->rows || !t->counts) {
		table_free(t);
		goto end;
	}
	columns = read_header(line, topo, column_of, words);
	while (t->n < lines && (line = strtok_r(NULL, "\n", &save))) {
		struct row *row = &t->rows[t->n];

		*row = (struct row){ .counts = t->counts + t->n * (size_t)topo->n };
		if (read_row(row, line, column_of, columns))
			t->n++;
		else
			memset(row->counts, 0, (size_t)topo->n * sizeof(*row->counts));
	}
end:
	free(column_of);
}

void table_read(struct table *t, const char *path, const struct topo *topo)
{
	char *text = slurp(path), none[] = "";

	table_parse(t, text ? text : none, topo);
	free(text);
}

static int by_sum(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return (x->sum < y->sum) - (x->sum > y->sum);
}

/* `now` minus `t`, into `t`; the most first. Rows that came or went meanwhile are left out. */
void table_subtract(struct table *t, struct table *now, const struct topo *topo)
{
	for (size_t i = 0; i < now->n; i++) {
		struct row *row = &now->rows[i], *old = NULL;

		for (size_t k = 0; k < t->n && !old; k++) {
			size_t guess = (i + k) % t->n; /* mostly the same line */

			old = strcmp(t->rows[guess].label, row->label) == 0 ? &t->rows[guess] : NULL;
		}
		row->sum = 0;
		for (int c = 0; c < topo->n; c++) {
			row->counts[c] = old && row->counts[c] >= old->counts[c] ? row->counts[c] - old->counts[c] : 0;
			row->sum += row->counts[c];
		}
	}
	if (now->n > 0)
		qsort(now->rows, now->n, sizeof(*now->rows), by_sum);
	table_free(t);
	*t = *now;
}

static bool threads_add(struct threads *t, const struct thread *one)
{
	if (t->n == t->room) {
		size_t room = t->room ? t->room * 2 : 1024;
		struct thread *grown = room > THREADS_MOST ? NULL : realloc(t->list, room * sizeof(*t->list));

		if (!grown)
			return false;
		t->list = grown;
		t->room = room;
	}
	t->list[t->n++] = *one;
	return true;
}

static bool read_process(struct threads *t, const char *pid)
{
	char path[96], text[96];
	struct dirent *entry;
	bool all = true;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%.16s/task", pid);
	tasks = opendir(path);
	/* It has ended, or is another user's on a system that hides them. */
	while (tasks && all && (entry = readdir(tasks))) {
		struct thread one = { .pid = (int)strtol(pid, NULL, 10), .cpu = -1 };

		one.tid = (int)strtol(entry->d_name, NULL, 10);
		if (one.tid <= 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%.16s/task/%.16s/schedstat", pid, entry->d_name);
		if (peek(path, text, sizeof(text)) && sscanf(text, "%llu %*u %llu", &one.run_ns, &one.slices) == 2)
			all = threads_add(t, &one);
	}
	if (tasks)
		closedir(tasks);
	return all;
}

/* Every thread but our own. False: not all of them. */
bool threads_read(struct threads *t, double deadline)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	bool all = proc != NULL;

	*t = (struct threads){ 0 };
	while (all && (entry = readdir(proc))) {
		long pid = strtol(entry->d_name, NULL, 10);

		if (pid <= 0 || pid == getpid())
			continue;
		all = clock_now() < deadline && read_process(t, entry->d_name);
	}
	if (proc)
		closedir(proc);
	return all;
}

static int by_tid(const void *a, const void *b)
{
	return ((const struct thread *)a)->tid - ((const struct thread *)b)->tid;
}

static int by_run(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	return (x->run_ns < y->run_ns) - (x->run_ns > y->run_ns);
}

void threads_sort(struct threads *t)
{
	if (t->n > 0)
		qsort(t->list, t->n, sizeof(*t->list), by_run);
}

void threads_subtract(struct threads *t, struct threads *now, bool complete)
{
	size_t n = 0;

	if (t->n > 0)
		qsort(t->list, t->n, sizeof(*t->list), by_tid);
	for (size_t i = 0; i < now->n; i++) {
		struct thread *one = &now->list[i];
		const struct thread *old = t->n ? bsearch(one, t->list, t->n, sizeof(*t->list), by_tid) : NULL;

		/* A new thread ran all of its time meanwhile; one with less than before has taken another's number. */
		if (old && old->pid == one->pid && old->run_ns <= one->run_ns && old->slices <= one->slices) {
			one->run_ns -= old->run_ns;
			one->slices -= old->slices;
		}
		if (one->run_ns > 0 && (old || complete))
			now->list[n++] = *one;
	}
	now->n = n;
	threads_sort(now);
	free(t->list);
	*t = *now;
}

void thread_parse(struct thread *t, char *text, bool process)
{
	/* pid (comm) state ...: a comm may hold anything, ") " too, so its end is the last one. */
	char *from = strchr(text, '('), *end = from ? strrchr(from, ')') : NULL;

	if (!end) {
		snprintf(t->comm, sizeof(t->comm), "(ended)");
		t->cpu = -1;
		return;
	}
	*end = '\0';
	snprintf(t->comm, sizeof(t->comm), "%s", from + 1);
	/* Field 39 of proc(5); field 3 comes next. */
	for (int field = 2; field < 39 && end; field++)
		end = strchr(end + 1, ' ');
	t->cpu = end && !process ? (int)strtol(end + 1, NULL, 10) : -1;
}

void thread_name(struct thread *t, bool process)
{
	char path[96], text[512];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", t->pid, process ? t->pid : t->tid);
	if (!peek(path, text, sizeof(text)))
		text[0] = '\0';
	thread_parse(t, text, process);
}
