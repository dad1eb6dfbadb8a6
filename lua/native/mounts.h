/* Lines of /proc/self/mountinfo (proc(5)). Pure. */
#ifndef SYSCHECK_NATIVE_MOUNTS_H
#define SYSCHECK_NATIVE_MOUNTS_H

#include <stdbool.h>

#define MOUNT_TEXT 512

struct mount_line {
	char type[64], source[MOUNT_TEXT];
	char options[2 * MOUNT_TEXT]; /* of the mount, a comma, those of the file system; cut where they are longer */
	bool read_only;               /* one of both is */
};

/* The mount that is seen at this absolute path: the last one of the text. False: none, it is no mount point. */
bool mounts_find(struct mount_line *out, const char *text, const char *path);

#endif
