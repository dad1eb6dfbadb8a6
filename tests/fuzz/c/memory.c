/* kernels/common/memory and read: the groups of /proc/self/cgroup, whose names are others', up to the root. */
#include "fuzz.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/memory.h"

static char root[] = "/dev/shm/fuzz-memory.XXXXXX";
static int file_fd = -1;

static int remove_one(const char *path, const struct stat *sb, int type, struct FTW *ftw)
{
	(void)sb, (void)type, (void)ftw;
	return remove(path);
}

static void leave(void)
{
	nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void put(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *slash = path + sizeof(root); (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = '\0';
		(void)mkdir(path, 0700);
		*slash = '/';
	}
	f = fopen(path, "we");
	WANT(f != NULL);
	fputs(text, f);
	fclose(f);
}

static void enter(void)
{
	char path[256];

	WANT(mkdtemp(root) != NULL);
	atexit(leave);
	put("sys/fs/cgroup/a/memory.max", "1000000\n");
	put("sys/fs/cgroup/a/memory.current", "400000\n");
	put("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 100000\n");
	put("sys/fs/cgroup/memory/b/memory.limit_in_bytes", "5000000\n");
	put("sys/fs/cgroup/memory/b/memory.usage_in_bytes", "99999999999999999999999\n");
	put("proc/self/cgroup", "");
	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	file_fd = open(path, O_WRONLY | O_CLOEXEC);
	WANT(file_fd >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t room;

	if (file_fd < 0)
		enter();
	WANT(ftruncate(file_fd, 0) == 0 && pwrite(file_fd, data, size, 0) == (ssize_t)size);
	room = memory_group_room(root);
	/* Of those there are, what is left, or no limit at all. */
	/* A path that leads out of the hierarchies finds this machine's. */
	if (memmem(data, size, "..", 2) == NULL)
		WANT(room == 700000 || room == 0 || room == SIZE_MAX);
	return 0;
}
