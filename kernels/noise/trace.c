#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/dir.h"

/* Lines between two readings of the clock: some 100 us. */
#define LINES 64

bool trace_open(struct trace *t, const char *path, char error[ERROR_SIZE])
{
	const char *slash = strrchr(path, '/');
	char above[PATH_MAX] = ".";
	struct stat st;
	int fd;

	*t = (struct trace){ .dir = -1, .name = slash ? slash + 1 : path };
	if (slash && (size_t)(slash - path) + 2 > sizeof(above)) {
		snprintf(error, ERROR_SIZE, "%s", strerror(ENAMETOOLONG));
		return false;
	}
	/* With the slash: of "/file" it is the directory. */
	if (slash)
		snprintf(above, sizeof(above), "%.*s", (int)(slash - path) + 1, path);
	t->dir = dir_open(above, error);
	if (t->dir < 0)
		return false;
	fd = openat(t->dir, t->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0 && fstat(fd, &st) == 0) {
		t->device = st.st_dev;
		t->inode = st.st_ino;
		t->file = fdopen(fd, "w");
	}
	if (t->file)
		return true;
	snprintf(error, ERROR_SIZE, "%s", strerror(errno));
	if (fd >= 0)
		close(fd);
	trace_end(t, false);
	return false;
}

bool trace_write(struct trace *t, const struct noise *s, double end, size_t *written)
{
	bool good = true;
	size_t n = 0;

	for (int i = 0; i < s->topo->n; i++) {
		const struct periodic_place *p = &s->cores[i].place;

		for (size_t k = 0; k < p->n && good; k++, n++) {
			if (n % LINES == 0 && clock_now() >= end)
				goto end;
			good = fprintf(t->file, "%d %.9f %.9f\n", s->topo->cpus[i], p->events[k].start,
				       p->events[k].length) > 0;
		}
	}
end:
	*written = n;
	/* Some file systems report a full disk only here. */
	good = fclose(t->file) == 0 && good;
	t->file = NULL;
	return good;
}

void trace_end(struct trace *t, bool keep)
{
	struct stat there;

	if (t->dir < 0)
		return;
	/* Another user may have put a file of the same name there. */
	if (!keep && fstatat(t->dir, t->name, &there, AT_SYMLINK_NOFOLLOW) == 0 && t->device == there.st_dev &&
	    t->inode == there.st_ino)
		unlinkat(t->dir, t->name, 0);
	if (t->file)
		fclose(t->file);
	close(t->dir);
	*t = (struct trace){ .dir = -1 };
}
