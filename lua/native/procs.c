#include "procs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"

/* The kernel keeps so many characters of a name (TASK_COMM_LEN - 1). */
#define COMM 15
/* Of a command line: an interpreter and its options may stand before a script. */
#define COMMAND_WORDS 8

/* A small file's text; the number of bytes, -1: errno. */
static ssize_t read_text(int dir, const char *pid, const char *file, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", pid, file);
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, text, size - 1);
	close(fd);
	if (n >= 0)
		text[n] = '\0';
	return n;
}

bool procs_alive(const char *text)
{
	/* The name may hold anything. */
	const char *after = strrchr(text, ')');

	return after && after[1] == ' ' && after[2] != '\0' && !strchr("ZXx", after[2]);
}

/* Its name, without the line's end. */
static bool read_name(int dir, const char *pid, char name[64])
{
	ssize_t n = read_text(dir, pid, "comm", name, 64);

	if (n > 0 && name[n - 1] == '\n')
		name[n - 1] = '\0';
	return n > 0;
}

/* One that has ended and was not waited for does nothing any more. */
static bool is_alive(int dir, const char *pid)
{
	char text[512];

	return read_text(dir, pid, "stat", text, sizeof(text)) > 0 && procs_alive(text);
}

bool procs_in_job(const char *text)
{
	for (const char *at = text; (at = strstr(at, "/job_")) != NULL;) {
		at += 5;
		if (isdigit((unsigned char)*at))
			return true;
	}
	return false;
}

/* The next word of a command line: its file's name, without the colon of a title ("nginx: worker"). */
static size_t next_word(const char **at, const char *end, const char **name)
{
	const char *word = *at + strspn(*at, " "), *stop = word + strcspn(word, " ");

	*at = *stop || stop >= end ? stop : stop + 1; /* words end with a NUL, in a title with a blank */
	*name = word;
	for (const char *c = word; c < stop; c++)
		if (*c == '/')
			*name = c + 1;
	return (size_t)(stop - *name) - (stop > *name && stop[-1] == ':');
}

bool procs_is_long_name(const char *text, size_t length, const char *wanted)
{
	const char *at = text, *end = text + length, *name;

	for (int i = 0; i < COMMAND_WORDS && at < end; i++) {
		size_t n = next_word(&at, end, &name);

		if (n >= COMM && strncmp(name, wanted, COMM) == 0)
			return n == strlen(wanted) && strncmp(name, wanted, n) == 0;
	}
	return true;
}

/* Whether a process whose name begins so is one of this name, which is longer than the kernel's. */
static bool is_long_name(int dir, const char *pid, const char *name, const char *wanted)
{
	char text[4096];
	ssize_t n;

	if (strncmp(name, wanted, COMM) != 0)
		return false;
	if (strlen(name) > COMM)
		return strcmp(name, wanted) == 0; /* a thread of the kernel */
	n = read_text(dir, pid, "cmdline", text, sizeof(text));
	return procs_is_long_name(text, n > 0 ? (size_t)n : 0, wanted);
}

static bool is_wanted(int dir, const char *pid, const char *name, const char *wanted)
{
	return strlen(wanted) <= COMM ? strcmp(name, wanted) == 0 : is_long_name(dir, pid, name, wanted);
}

static void count(struct procs *p, int of, unsigned uid, const char *name, long pid)
{
	for (int i = 0; i < p->answer.n_found; i++)
		if (p->answer.found[i].of == of && p->answer.found[i].uid == uid) {
			p->answer.found[i].count++;
			return;
		}
	if (p->answer.n_found < PROCS_FOUND) {
		struct procs_found *f = &p->answer.found[p->answer.n_found++];

		*f = (struct procs_found){ .of = of, .uid = uid, .count = 1, .pid = pid };
		snprintf(f->name, sizeof(f->name), "%s", name);
	}
}

/* Who runs it: /proc's own owner is root where it may not be traced. -1: it has ended. */
static long user_of(int dir, const char *pid)
{
	char text[4096], *at;

	if (read_text(dir, pid, "status", text, sizeof(text)) <= 0 || (at = strstr(text, "\nUid:")) == NULL)
		return -1;
	return strtol(at + 5, NULL, 10);
}

/* systemd's own for a user, which is there from his first login until some time after his last. */
bool procs_is_manager(const char *text)
{
	const char *user = strstr(text, "/user@");

	return user && strstr(user, ".service/init.scope");
}

/* Numbers that systemd gives to services for a while (61184 to 65519), Debian to Slurm (64030), nobody's. */
static bool is_of_service(unsigned uid)
{
	return uid >= 61184 && uid <= 65535;
}

static void look(struct procs *p, int dir, const char *pid)
{
	char groups[8192], name[64];
	struct stat st;
	long uid = -2; /* not asked yet */

	if (p->users && fstatat(dir, pid, &st, 0) == 0 && st.st_uid >= p->min_uid && !is_of_service(st.st_uid) &&
	    read_text(dir, pid, "cgroup", groups, sizeof(groups)) >= 0 && !procs_in_job(groups) && !procs_is_manager(groups) &&
	    read_name(dir, pid, name) && is_alive(dir, pid))
		count(p, -1, st.st_uid, name, strtol(pid, NULL, 10));
	/* `stat` of each takes three times as long as its name. */
	if (p->n_names == 0 || !read_name(dir, pid, name))
		return;
	for (int i = 0; i < p->n_names; i++) {
		if (!is_wanted(dir, pid, name, p->names[i]))
			continue;
		if (uid == -2)
			uid = is_alive(dir, pid) ? user_of(dir, pid) : -1;
		if (uid >= 0)
			count(p, i, (unsigned)uid, p->names[i], strtol(pid, NULL, 10));
	}
}

bool procs_read(struct procs *p)
{
	char path[4096];
	struct dirent *entry;
	bool in_time = true;
	DIR *list;

	snprintf(path, sizeof(path), "%s/proc", p->root);
	list = opendir(path);
	if (!list)
		return false;
	while (in_time && (entry = readdir(list)) != NULL) {
		if (isdigit((unsigned char)entry->d_name[0]) && strlen(entry->d_name) < 12)
			look(p, dirfd(list), entry->d_name);
		in_time = clock_now() < p->end;
	}
	closedir(list);
	errno = ETIMEDOUT; /* of half of them nothing is known */
	return in_time;
}

/* apart.h's work. */
static void read_all(void *of)
{
	struct procs *p = of;

	p->answer.error = procs_read(p) ? 0 : errno;
}

/* A process' command line waits for its memory's lock, its groups for theirs; its name, state and user for nothing. */
static bool may_hang(const struct procs *p)
{
	for (int i = 0; i < p->n_names; i++)
		if (strlen(p->names[i]) > COMM)
			return true;
	return p->users;
}

bool procs_start(struct procs *p)
{
	p->apart = (struct apart){ .name = "syscheck-procs", .work = read_all, .what = p, .answer = &p->answer,
		.size = sizeof(p->answer) };
	return may_hang(p) ? apart_start(&p->apart) : apart_here(&p->apart);
}
