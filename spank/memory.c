#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "trusted.h"

/* 16 domains of 30 characters. */
#define TEXT 1024

int memory_begin(struct uncore *uncore, const char *file, uid_t owner)
{
	char dir[PATH_MAX];
	int rc = trusted_line(dir, sizeof(dir), file, owner);

	if (rc < 0)
		return rc;
	rc = dir[0] == '/' ? uncore_open(uncore, dir) : -EINVAL;
	/* The file is there. */
	return rc == -ENOENT ? -ENODEV : rc;
}

static int put(const char *file, const char *text, size_t length)
{
	int fd, rc = 0;

	/* Of an earlier run of the job; root's directory, so nobody puts a link here in between. */
	if (unlink(file) < 0 && errno != ENOENT)
		return -errno;
	fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (write(fd, text, length) != (ssize_t)length)
		rc = errno != 0 ? -errno : -EIO;
	close(fd);
	return rc;
}

int memory_end(struct uncore *uncore, int rc, const char *file)
{
	uint64_t bytes[UNCORE_DOMAINS] = { 0 }, ns = 0;
	char text[TEXT];
	size_t n;

	if (rc == 0)
		rc = uncore_read(uncore, bytes, &ns);
	if (rc < 0) {
		n = (size_t)snprintf(text, sizeof(text), "error %d\n", -rc);
	} else {
		n = (size_t)snprintf(text, sizeof(text), "ns %" PRIu64 "\n", ns);
		for (size_t i = 0; i < uncore->domains; i++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%d %" PRIu64 "\n", uncore->cpus[i], bytes[i]);
	}
	uncore_close(uncore);
	errno = 0;
	return put(file, text, n);
}
