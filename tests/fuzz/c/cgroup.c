/* spank/cgroup and spank/cgroup_file: the kernel's files of a group; a user's process may have a group of its own. */
#include "fuzz.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroup.h"

static char dir[] = "/dev/shm/fuzz-cgroup.XXXXXX";
static int dir_fd = -1, file_fd = -1;

static void leave(void)
{
	unlinkat(dir_fd, "cpu.stat", 0);
	rmdir(dir);
}

static void enter(void)
{
	WANT(mkdtemp(dir) != NULL);
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	file_fd = openat(dir_fd, "cpu.stat", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	WANT(dir_fd >= 0 && file_fd >= 0);
	atexit(leave);
}

static bool is_even(unsigned int major, unsigned int minor)
{
	WANT(major <= 999999999 && minor <= 999999999);
	return minor % 2 == 0;
}

/* Of a file that does not fit whole, whole lines. */
static void read_file(const uint8_t *data, size_t size)
{
	const size_t room = size % 61 + 2;
	char *text = malloc(room);

	WANT(text != NULL && ftruncate(file_fd, 0) == 0 && pwrite(file_fd, data, size, 0) == (ssize_t)size);
	WANT(cg_file(text, room, dir_fd, "cpu.stat"));
	WANT(strnlen(text, room) < room);
	if (size >= room - 1 && memchr(data, '\0', size) == NULL)
		WANT(text[0] == '\0' || text[strlen(text) - 1] == '\n');
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = text_of(data, size);
	uint64_t read, written, number = cg_number(text);

	if (dir_fd < 0)
		enter();
	if (number != CG_UNKNOWN)
		WANT(text[0] >= '0' && text[0] <= '9');
	(void)cg_keyed(text, "usage_usec");
	(void)cg_keyed(text, "oom_kill");
	(void)cg_pressure(text, "some");
	(void)cg_pressure(text, "full");
	cg_io_v2(text, is_even, &read, &written);
	WANT(read != CG_UNKNOWN && written != CG_UNKNOWN);
	cg_io_v1(text, is_even, &read, &written);
	WANT(read != CG_UNKNOWN && written != CG_UNKNOWN);
	cg_io_process(text, &read, &written);
	WANT(cg_add(read, written) >= cg_max(read, written) || read == CG_UNKNOWN || written == CG_UNKNOWN);
	free(text);
	/* Files cost system calls: some of them. */
	if (size % 8 == 0)
		read_file(data, size);
	return 0;
}
