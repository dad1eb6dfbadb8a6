/* Lines of stdin, of bounded length, waited for until a point in time. */
#ifndef SYSCHECK_FABRIC_INPUT_H
#define SYSCHECK_FABRIC_INPUT_H

#include "common/opts.h"

enum input_got {
	INPUT_LINE,
	INPUT_EOF,
	INPUT_BAD /* too long, not whole, a NUL in it, not in time: `error` says which */
};

/* *line is without its newline, the caller's until the next call. */
enum input_got input_line(char **line, double end, char error[ERROR_SIZE]);

#endif
