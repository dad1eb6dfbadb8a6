#include "group.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "trusted.h"

#define NAME "/syscheck_"

/* Nothing that a name of the file could lead elsewhere: what root writes into is a group of ours. */
static int is_group(const char *path)
{
	const char *name = strrchr(path, '/');

	if (path[0] != '/' || strstr(path, "/../") != NULL || strncmp(name, NAME, sizeof(NAME) - 1) != 0)
		return 0;
	name += sizeof(NAME) - 1;
	return name[0] != '\0' && name[strspn(name, "0123456789")] == '\0';
}

int group_path(char *out, size_t size, const char *file, uid_t owner)
{
	const int rc = trusted_line(out, size, file, owner);

	return rc < 0 || is_group(out) ? rc : -EINVAL;
}

int group_join(const char *group, pid_t pid)
{
	int dir, fd = -1, rc = 0, n;
	char text[16];

	dir = open(group, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	/* No O_CREAT: where the group is gone there is nothing to write to. */
	fd = openat(dir, "tasks", O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		rc = -errno;
		goto fail;
	}
	n = snprintf(text, sizeof(text), "%d\n", (int)pid);
	if (write(fd, text, (size_t)n) != n)
		rc = errno != 0 ? -errno : -EIO;

fail:
	if (fd >= 0)
		close(fd);
	close(dir);
	return rc;
}

int group_mark(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}
