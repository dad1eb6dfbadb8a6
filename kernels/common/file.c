#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "read.h"

/* Not in linux/magic.h, or not in that of RHEL 8. */
#define BEEGFS_MAGIC 0x19830326
#undef CIFS_SUPER_MAGIC
#define CIFS_SUPER_MAGIC 0xff534d42
#undef SMB2_SUPER_MAGIC
#define SMB2_SUPER_MAGIC 0xfe534d42
#undef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546

void file_system_name(int dir, char *type, size_t size)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	size_t room = 0, id = 0;
	char *line = NULL;

	/* The mount's number, from /proc: st_dev would not do, as btrfs and others invent theirs. */
	(void)read_number(&id, "mnt_id", "/proc/self/fdinfo/%d", dir);
	snprintf(type, size, "unknown");
	/* "36 35 98:0 /root /mount options optional... - ext4 /dev/sda super" */
	while (f != NULL && getline(&line, &room, f) > 0) {
		char *name = strstr(line, " - ");

		if (name == NULL || strtoul(line, NULL, 10) != id)
			continue;
		name += 3;
		snprintf(type, size, "%.*s", (int)strcspn(name, " "), name);
		break;
	}
	free(line);
	if (f)
		fclose(f);
}

/* f_type has a sign on some machines. */
static uint32_t magic(const struct statfs *fs)
{
	return (uint32_t)fs->f_type;
}

bool file_needs_name(int dir)
{
	struct statfs fs;

	return fstatfs(dir, &fs) == 0 && (magic(&fs) == ZFS_MAGIC || magic(&fs) == BTRFS_SUPER_MAGIC);
}

/* Links that a file may have after its only name was unlinked. */
static nlink_t links_after(int fd)
{
	/* Those that hide an open file under another name until it is closed. */
	static const uint32_t hiders[] = { NFS_SUPER_MAGIC, FUSE_SUPER_MAGIC, CIFS_SUPER_MAGIC, SMB2_SUPER_MAGIC,
					   V9FS_MAGIC, AFS_FS_MAGIC, BEEGFS_MAGIC };
	struct statfs fs;

	if (fstatfs(fd, &fs) != 0)
		return 0;
	for (size_t i = 0; i < sizeof(hiders) / sizeof(hiders[0]); i++)
		if (magic(&fs) == hiders[i])
			return 1;
	return 0;
}

int file_open_named(int dir, struct janitor *j)
{
	const char *name = janitor_name(j);

	if (name == NULL)
		return -1;
	/* If it fails the name stays with the janitor: a server may have made the file and not said so. */
	return openat(dir, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0600);
}

bool file_unlink(int dir, int fd, struct janitor *j)
{
	struct stat st;

	if (unlinkat(dir, j->name, 0) == 0) {
		janitor_forget(j);
		/* What cannot be asked about any more has no link. */
		if (fstat(fd, &st) != 0 || st.st_nlink <= links_after(fd))
			return true;
	} else if (errno != ENOENT) {
		return false;
	}
	/* Another user has linked it or moved it away: its blocks are freed all the same. */
	(void)!ftruncate(fd, 0);
	errno = EMLINK;
	return false;
}

int file_open(int dir, struct janitor *j)
{
	/* O_EXCL: not even its opener can give it a name later. */
	int fd = openat(dir, ".", O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);

	/* What file systems without it, and kernels that never heard of it, answer. */
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL && errno != ENOENT && errno != ENOSYS))
		return fd;
	fd = file_open_named(dir, j);
	if (fd >= 0 && !file_unlink(dir, fd, j)) {
		int why = errno;

		close(fd);
		errno = why;
		fd = -1;
	}
	return fd;
}
