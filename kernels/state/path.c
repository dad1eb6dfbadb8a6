#include "path.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "mounts.h"

/* Of a lock's name: what is no letter or digit is %xx; the end of a long path, which is where paths differ. */
#define NAME_MOST 200

/* The lock's file of a path, opened; -1: errno. */
static int open_lock(const char *locks, const char *path)
{
	char name[3 * 4096 + 1], file[4096 + NAME_MOST + 16];
	size_t n = 0;

	for (; *path && n + 4 < sizeof(name); path++) {
		bool plain = (*path >= 'a' && *path <= 'z') || (*path >= 'A' && *path <= 'Z') ||
			     (*path >= '0' && *path <= '9') || *path == '-';

		n += (size_t)snprintf(name + n, sizeof(name) - n, plain ? "%c" : "%%%02x", (unsigned char)*path);
	}
	name[n] = '\0';
	if ((size_t)snprintf(file, sizeof(file), "%s/path-%s", locks, name + (n > NAME_MOST ? n - NAME_MOST : 0)) >=
	    sizeof(file)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open(file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/*
 * Takes the lock, which is given back when this process ends. Another one that looks at the same moment has it for a
 * moment; one that has it for longer than the box already hangs. One that comes to hang beside this one, be it of the
 * same call, does not: that is for the next to say. Looked at a moment later, as who has just taken the lock may not
 * have said so. False: `a` says which.
 */
static bool take_lock(struct path_answer *a, const char *locks, const char *path, double seconds)
{
	/* Longer than anybody waits for it, or it would be taken for one that failed. */
	const double end = clock_now() + 2 * seconds;
	int fd = open_lock(locks, path);

	for (int tries = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0; tries++) {
		struct timespec now, moment = { .tv_nsec = 5000000 };
		struct stat st;

		if (errno != EWOULDBLOCK || fstat(fd, &st) != 0)
			break;
		clock_gettime(CLOCK_REALTIME, &now);
		a->held_s = (double)(now.tv_sec - st.st_mtim.tv_sec) + 1e-9 * (double)(now.tv_nsec - st.st_mtim.tv_nsec);
		a->held = tries == 1 && a->held_s > seconds;
		if (a->held)
			return false;
		if (clock_now() > end)
			_exit(0); /* nobody waits for it any more */
		nanosleep(&moment, NULL);
	}
	/* Since when it is held. */
	if (fd >= 0 && futimens(fd, NULL) == 0)
		return true;
	a->lock_error = errno;
	return false;
}

/* 0: it may be this user's trouble. */
static int of_everybody(int error)
{
	return error == EROFS || error == EIO || error == ENOSPC ? error : 0;
}

/*
 * A file without a name, so that nothing is left there whatever happens; one block of it, as a full file system lets
 * files be made. Only what says that nobody can write counts: many file systems have no such files (NFS, Lustre), and
 * root may be nobody to a server.
 */
static int try_to_write(const char *path)
{
	static const char block[4096];
	int error, fd = open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	ssize_t n;

	if (fd < 0)
		return of_everybody(errno);
	n = write(fd, block, sizeof(block));
	error = n < 0 ? of_everybody(errno) : n < (ssize_t)sizeof(block) ? ENOSPC : 0;
	close(fd);
	return error;
}

static void look(const struct path *p, struct path_answer *a)
{
	struct statvfs fs;
	struct stat st;

	if (stat(p->path, &st) != 0) {
		a->error = errno;
		return;
	}
	a->mode = st.st_mode;
	a->uid = st.st_uid;
	a->gid = st.st_gid;
	a->size = (uint64_t)st.st_size;
	a->modified = st.st_mtim.tv_sec;
	if (statvfs(p->path, &fs) == 0) {
		double unit = (double)(fs.f_frsize ? fs.f_frsize : fs.f_bsize);

		a->has_fs = true;
		a->read_only = (fs.f_flag & ST_RDONLY) != 0;
		a->total = (double)fs.f_blocks * unit;
		a->available = (double)fs.f_bavail * unit;
		a->inodes = (double)fs.f_files;
		a->inodes_available = (double)fs.f_favail;
	}
	if (p->write && S_ISDIR(st.st_mode))
		a->write_error = try_to_write(p->path);
}

static void child(const struct path *p, const char *locks, double seconds, int out)
{
	struct path_answer a = { 0 };
	int null;

	/* Of a session of its own, as it may outlive who looks; and nobody waits for the end of its output. */
	setsid();
	null = open("/dev/null", O_RDWR);
	for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	if (!locks || take_lock(&a, locks, p->path, seconds))
		look(p, &a);
	(void)!write(out, &a, sizeof(a));
	_exit(0);
}

bool path_start(struct path *p, const char *locks, double seconds)
{
	int ends[2];

	p->fd = -1;
	p->state = PATH_WAITS;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	p->pid = fork();
	if (p->pid == 0)
		child(p, locks, seconds, ends[1]);
	close(ends[1]);
	if (p->pid < 0) {
		close(ends[0]);
		return false;
	}
	p->fd = ends[0];
	return true;
}

static void take_answer(struct path *p)
{
	/* Less than PIPE_BUF: it comes whole or not at all. */
	ssize_t n = read(p->fd, &p->answer, sizeof(p->answer));

	p->state = PATH_FAILED;
	if (n == (ssize_t)sizeof(p->answer) && p->answer.lock_error == 0)
		p->state = p->answer.held ? PATH_HUNG_BEFORE : PATH_ANSWERED;
	close(p->fd);
	p->fd = -1;
	waitpid(p->pid, NULL, 0);
}

void path_collect(struct path *list, int n, double end, bool locks)
{
	struct pollfd fds[PATHS_MOST];
	int waiting;

	do {
		double left = end - clock_now();

		waiting = 0;
		for (int i = 0; i < n; i++) {
			fds[i] = (struct pollfd){ .fd = list[i].fd, .events = POLLIN }; /* below 0: left out */
			waiting += list[i].fd >= 0;
		}
		if (waiting == 0 || left <= 0 || poll(fds, (nfds_t)n, (int)(1000 * left) + 1) < 0)
			break;
		for (int i = 0; i < n; i++)
			if (list[i].fd >= 0 && fds[i].revents)
				take_answer(&list[i]);
	} while (waiting > 0);
	for (int i = 0; i < n; i++) {
		if (list[i].fd < 0)
			continue;
		list[i].state = PATH_HANGS;
		close(list[i].fd);
		if (!locks)
			kill(list[i].pid, SIGKILL); /* one that cannot be killed is init's from now on */
	}
}

static const char *type_name(uint32_t mode)
{
	return S_ISREG(mode)  ? "file"
	       : S_ISDIR(mode) ? "directory"
	       : S_ISCHR(mode) ? "character"
	       : S_ISBLK(mode) ? "block"
	       : S_ISFIFO(mode) ? "fifo"
				: "socket";
}

static void report_answer(struct result *r, const struct path *p)
{
	const struct path_answer *a = &p->answer;

	if (a->error) {
		result_string(r, "error", strerror(a->error));
		result_bool(r, "absent", a->error == ENOENT || a->error == ENOTDIR);
		return;
	}
	result_string(r, "kind", type_name(a->mode));
	result_integer(r, "mode", a->mode & 07777);
	result_integer(r, "uid", a->uid);
	result_integer(r, "gid", a->gid);
	result_integer(r, "size", (long long)a->size);
	result_integer(r, "modified", a->modified);
	if (p->write)
		result_bool(r, "writable", !a->read_only && a->write_error == 0);
	if (p->write && a->write_error)
		result_string(r, "write_error", strerror(a->write_error));
	if (a->has_fs && a->total > 0) {
		result_number(r, "free_pct", 100 * a->available / a->total);
		result_number(r, "free_gib", a->available / 1073741824);
	}
	if (a->has_fs && a->inodes > 0) {
		result_number(r, "inodes_pct", 100 * a->inodes_available / a->inodes);
		result_number(r, "inodes", a->inodes_available);
	}
}

void path_report(struct result *r, const struct path *list, int n, const char *mounts)
{
	result_list_begin(r, "paths");
	for (int i = 0; i < n; i++) {
		static const char *const states[] = { "failed", "answered", "hangs", "hung before", "failed" };
		const struct path *p = &list[i];
		struct mount_line m;

		result_object_begin(r);
		result_string(r, "path", p->path);
		result_string(r, "state", states[p->state]);
		if (mounts_find(&m, mounts, p->path)) {
			result_string(r, "type", m.type);
			result_string(r, "source", m.source);
			result_string(r, "options", m.options);
			result_bool(r, "read_only", m.read_only || (p->state == PATH_ANSWERED && p->answer.read_only));
		}
		if (p->state == PATH_HUNG_BEFORE)
			result_number(r, "hung_s", p->answer.held_s);
		if (p->state == PATH_FAILED && p->answer.lock_error)
			result_string(r, "error", strerror(p->answer.lock_error));
		if (p->state == PATH_ANSWERED)
			report_answer(r, p);
		result_object_end(r);
	}
	result_list_end(r);
}
