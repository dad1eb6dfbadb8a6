/* A directory that others may write to, opened without trust. */
#ifndef SYSCHECK_DIR_H
#define SYSCHECK_DIR_H

#include "opts.h"

/*
 * Opens the directory (O_PATH) one part after the other and follows no link, neither
 * at the end nor on the way: whoever may write above it could lead root elsewhere.
 * -1, and one line in `error` that does not name the path.
 */
int dir_open(const char *path, char error[ERROR_SIZE]);

#endif
