#include "trusted.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool trusted_stat(const struct stat *sb, uid_t owner)
{
	return sb->st_uid == owner && !(sb->st_mode & (S_IWGRP | S_IWOTH));
}

int trusted_open(const char *file, uid_t owner)
{
	struct stat sb;
	int fd, rc;

	/* O_NONBLOCK: a FIFO in its place must not hold up the job. */
	fd = open(file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	rc = fstat(fd, &sb) < 0 ? -errno : -EPERM;
	if (rc == -EPERM && S_ISREG(sb.st_mode) && trusted_stat(&sb, owner))
		return fd;
	close(fd);
	return rc;
}

int trusted_line(char *out, size_t size, const char *file, uid_t owner)
{
	const int fd = trusted_open(file, owner);
	ssize_t n;
	int rc = 0;

	if (fd < 0)
		return fd;
	n = read(fd, out, size - 1);
	if (n < 0)
		rc = -errno;
	close(fd);
	if (rc < 0)
		return rc;
	out[n] = '\0';
	/* A line that is cut has no end. */
	if (strchr(out, '\n') == NULL)
		return -EINVAL;
	out[strcspn(out, "\n")] = '\0';
	return 0;
}
