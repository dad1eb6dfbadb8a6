#include "trusted.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int trusted_line(char *out, size_t size, const char *file, uid_t owner)
{
	struct stat sb;
	ssize_t n;
	int rc = -EINVAL, fd;

	/* O_NONBLOCK: a FIFO in its place must not hold up the job. */
	fd = open(file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &sb) < 0) {
		rc = -errno;
		goto fail;
	}
	if (!S_ISREG(sb.st_mode) || sb.st_uid != owner || (sb.st_mode & (S_IWGRP | S_IWOTH))) {
		rc = -EPERM;
		goto fail;
	}
	n = read(fd, out, size - 1);
	if (n < 0) {
		rc = -errno;
		goto fail;
	}
	out[n] = '\0';
	/* A line that is cut has no end. */
	if (strchr(out, '\n') == NULL)
		goto fail;
	out[strcspn(out, "\n")] = '\0';
	rc = 0;

fail:
	close(fd);
	return rc;
}
