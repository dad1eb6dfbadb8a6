#include "totals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "trusted.h"

/* Who holds the lock needs microseconds; one that was stopped must not stop a step. */
#define LOCK_TRIES 200
#define LOCK_PAUSE_NS 5000000

static int lock(int fd)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };

	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		nanosleep(&pause, NULL);
	}
	return -EAGAIN;
}

int totals_add(const char *dir, const char *name, uid_t owner, const struct totals *more)
{
	char text[TOTALS_FILE_SIZE];
	struct totals *sum = NULL;
	struct stat sb;
	ssize_t n;
	int dirfd = -1, fd = -1, rc;

	dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dirfd < 0 || fstat(dirfd, &sb) < 0) {
		rc = -errno;
		goto fail;
	}
	rc = -EPERM;
	if (!trusted_stat(&sb, owner))
		goto fail;
	/* O_NONBLOCK: a FIFO in its place must not hold up the step's end. */
	fd = openat(dirfd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
	if (fd < 0 || fstat(fd, &sb) < 0) {
		rc = -errno;
		goto fail;
	}
	if (!S_ISREG(sb.st_mode) || sb.st_nlink > 1 || !trusted_stat(&sb, owner))
		goto fail;
	rc = lock(fd);
	if (rc < 0)
		goto fail;

	rc = -ENOMEM;
	sum = malloc(sizeof(*sum));
	if (sum == NULL)
		goto fail;
	n = pread(fd, text, sizeof(text), 0);
	if (n < 0 || totals_parse(sum, text, (size_t)n) < 0)
		totals_clear(sum);
	totals_merge(sum, more);
	totals_format(text, sum);
	n = pwrite(fd, text, sizeof(text), 0);
	rc = n < 0 ? -errno : 0;
	if (n >= 0 && n != sizeof(text))
		rc = -ENOSPC;

fail:
	free(sum);
	if (fd >= 0)
		close(fd);
	if (dirfd >= 0)
		close(dirfd);
	return rc;
}
