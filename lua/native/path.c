#include "path.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/clock.h"

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

/* The longest that lies between taking a lock and saying so, on a busy node. */
#define JUST_TAKEN_S 0.1

/*
 * Takes the lock, which is given back when this process ends. Another one that looks at the same moment has it for a
 * moment; one that has it for longer than the box already hangs. One that comes to hang beside this one, be it of the
 * same call, does not: that is for the next to say. Looked at for a moment, as who has just taken the lock may not have
 * said so. False: `a` says which.
 */
static bool take_lock(struct path_answer *a, const char *locks, const char *path, double seconds)
{
	/* Longer than anybody waits for it, or it would be taken for one that failed. */
	const double began = clock_now(), end = began + 2 * seconds, judged = began + fmin(JUST_TAKEN_S, seconds / 4);
	bool asked = false;
	int fd = open_lock(locks, path);

	while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
		struct timespec now, moment = { .tv_nsec = 5000000 };
		struct stat st;

		if (errno != EWOULDBLOCK || fstat(fd, &st) != 0)
			break;
		clock_gettime(CLOCK_REALTIME, &now);
		a->held_s = (double)(now.tv_sec - st.st_mtim.tv_sec) + 1e-9 * (double)(now.tv_nsec - st.st_mtim.tv_nsec);
		/* Once: who is asked again later may have come to hang meanwhile. */
		a->held = !asked && clock_now() > judged && a->held_s - (clock_now() - began) > seconds;
		asked = clock_now() > judged;
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

/* apart.h's work. */
static void look_at(void *of)
{
	struct path *p = of;

	if (!p->locks || take_lock(&p->answer, p->locks, p->path, p->seconds))
		look(p, &p->answer);
}

bool path_start(struct path *p)
{
	p->apart = (struct apart){ .name = "syscheck-path", .work = look_at, .what = p, .answer = &p->answer,
		.size = sizeof(p->answer), .stays = p->locks != NULL };
	return apart_start(&p->apart);
}

const char *path_state(const struct path *p)
{
	if (p->apart.hangs)
		return "hangs";
	if (!apart_answered(&p->apart) || p->answer.lock_error)
		return "failed";
	return p->answer.held ? "hung before" : "answered";
}
