#include "input.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "plan.h"

static struct {
	char text[FABRIC_LINE];
	size_t length; /* what was read */
	size_t given;  /* of that, what the caller has had */
} in;

static enum input_got bad(char error[ERROR_SIZE], const char *what)
{
	snprintf(error, ERROR_SIZE, "stdin: %s", what);
	return INPUT_BAD;
}

/* False: no input before `end`. */
static bool wait_until(double end)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	double left;

	while ((left = end - clock_now()) > 0)
		if (poll(&p, 1, left < 1 ? (int)(left * 1e3) + 1 : 1000) > 0)
			return true;
	return false;
}

enum input_got input_line(char **line, double end, char error[ERROR_SIZE])
{
	char *newline;
	ssize_t n;

	memmove(in.text, in.text + in.given, in.length - in.given);
	in.length -= in.given;
	in.given = 0;
	while ((newline = memchr(in.text, '\n', in.length)) == NULL) {
		if (in.length == sizeof(in.text))
			return bad(error, "a line is too long");
		if (!wait_until(end))
			return bad(error, "no plan and no end within the time box");
		n = read(STDIN_FILENO, in.text + in.length, sizeof(in.text) - in.length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return bad(error, strerror(errno));
		if (n == 0)
			return in.length == 0 ? INPUT_EOF : bad(error, "ended within a line");
		in.length += (size_t)n;
	}
	*newline = '\0';
	in.given = (size_t)(newline - in.text) + 1;
	*line = in.text;
	return strlen(in.text) + 1 == in.given ? INPUT_LINE : bad(error, "a NUL in a line");
}
