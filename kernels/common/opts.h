/* Command lines of the kernels: one grammar for all. Pure. */
#ifndef SYSCHECK_OPTS_H
#define SYSCHECK_OPTS_H

#include <stdbool.h>
#include <stddef.h>

/* Room for any message of a kernel, its NUL included. */
#define ERROR_SIZE 256

/* Exit codes, a contract with the agent. */
enum {
	EXIT_MEASURED = 0,
	EXIT_WRONG = 1, /* measured, and the result is wrong */
	EXIT_COULD_NOT = 2
};

/* An option of one kernel beside the common ones: exactly one of value, text, flag. A list ends without a name. */
struct opts_extra {
	const char *name; /* with dashes */
	const char *help;
	double low, high; /* of a number */
	double *value;
	const char *const *choices; /* of a text: NULL-ended; or NULL: any that is not empty */
	const char **text;
	bool *flag; /* takes no value */
};

struct opts {
	double seconds;   /* time box, set-up included */
	const char *cpus; /* cpulist, NULL: all allowed */
	const char *widen, *cgroup; /* see widen.h; NULL: stay */
	bool help, version;
};

/*
 * Fills `opts`, its `seconds` being the default; `extra` may be NULL. False, and one line
 * without newline in `error`, for anything that is not understood.
 */
bool opts_parse(struct opts *opts, const struct opts_extra *extra, int argc, char **argv, char error[ERROR_SIZE]);

/* What a user typed, shortened to `size` - 1 characters and printable. */
void opts_show(char *out, size_t size, const char *text);

/* Prints --help or --version on stdout. */
void opts_print(const struct opts *opts, const char *name, const char *what, const struct opts_extra *extra);

#endif
