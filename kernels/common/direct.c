#include "direct.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "file.h"

#define PAGE 4096

static bool set(struct direct *d, bool on)
{
	int flags = fcntl(d->fd, F_GETFL);

	if (flags < 0 || fcntl(d->fd, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT) != 0)
		return false;
	d->on = on;
	return true;
}

void direct_ask(struct direct *d, size_t chunk)
{
	size_t align = PAGE;
	struct statfs fs;
	bool said = false;

	d->on = false;
	d->align = PAGE;
	/* Memory takes the flag and is never direct. */
	if (fstatfs(d->fd, &fs) != 0 || fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC)
		return;
#ifdef STATX_DIOALIGN
	struct statx x;

	/* Where the kernel or the file system does not say (before 6.1; NFS): a page. */
	if (statx(d->fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &x) == 0 && (x.stx_mask & STATX_DIOALIGN)) {
		if (x.stx_dio_offset_align == 0)
			return;
		said = true;
		if (x.stx_dio_offset_align > align)
			align = x.stx_dio_offset_align;
		if (x.stx_dio_mem_align > align)
			align = x.stx_dio_mem_align;
	}
#endif
	/* OpenZFS before 2.3 takes the flag and uses its cache. */
	if ((uint32_t)fs.f_type == ZFS_MAGIC && !said)
		return;
	if (chunk % align == 0 && set(d, true))
		d->align = align;
}

bool direct_transfer(struct direct *d, bool writing, void *buffer, size_t bytes, size_t at)
{
	size_t done = 0;

	while (done < bytes) {
		char *p = (char *)buffer + done;
		off_t offset = (off_t)(at + done);
		ssize_t n = writing ? pwrite(d->fd, p, bytes - done, offset) : pread(d->fd, p, bytes - done, offset);

		if (n > 0) {
			done += (size_t)n;
		} else if (n == 0) {
			errno = EIO;
			return false;
		} else if (errno == EINVAL && d->on) {
			/* Took the flag and not the request, or a short one left an odd rest. */
			if (!set(d, false))
				return false;
		} else if (errno != EINTR) {
			return false;
		}
	}
	return true;
}
