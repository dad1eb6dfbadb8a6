#include "dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEP (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* openat2(RESOLVE_NO_SYMLINKS) would do, but not on the kernels of RHEL 8 (4.18). */
int dir_open(const char *path, char error[ERROR_SIZE])
{
	int dir = open(path[0] == '/' ? "/" : ".", STEP);

	while (dir >= 0) {
		char part[NAME_MAX + 1];
		struct stat st;
		size_t length;
		int next, why;

		path += strspn(path, "/");
		length = strcspn(path, "/");
		if (length == 0)
			return dir;
		next = -1;
		errno = ENAMETOOLONG;
		if (length <= NAME_MAX) {
			memcpy(part, path, length);
			part[length] = '\0';
			next = openat(dir, part, STEP);
		}
		why = errno;
		if (next < 0 && why == ENOTDIR && fstatat(dir, part, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
			why = ELOOP;
		close(dir);
		dir = next;
		path += length;
		errno = why;
	}
	snprintf(error, ERROR_SIZE, "%s", errno == ELOOP ? "it is or leads over a link, and none is followed: name the real path" :
							    strerror(errno));
	return -1;
}
