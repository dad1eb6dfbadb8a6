/* Numbers in files of /proc and /sys. */
#ifndef SYSCHECK_READ_H
#define SYSCHECK_READ_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The number after `word` at the start of a line ("word 1", "word: 1"), or that the file
 * begins with (NULL); `format` makes the path. False, and `*value` as it was: there is
 * none, like "max" in a cgroup.
 */
bool read_number(size_t *value, const char *word, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
