/*
 * What a node is in: file systems, processes, its clock. No measurement that needs CPUs of its own: it loads no
 * topology and no library, as it runs before each job where the policy asks for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/opts.h"
#include "common/result.h"
#include "common/version.h"
#include "path.h"
#include "procs.h"

#define MOUNTS "/proc/self/mountinfo"
#define MOUNTS_MOST 8388608U

static struct {
	double seconds;
	const char *locks, *root;
	struct path paths[PATHS_MOST];
	int n_paths;
	struct procs procs;
	bool clock;
} s = { .seconds = 1, .root = "" };

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "state: %s: %s\n", what, why);
	return EXIT_COULD_NOT;
}

static void usage(void)
{
	printf("usage: state [OPTION]...\n"
	       "Tells what a node is in. Prints one JSON object on one line.\n\n"
	       "  --seconds S        time that paths have to answer, all at once (0.05 to 600, default 1)\n"
	       "  --path PATH        what is there, and its file system\n"
	       "  --write PATH       the same of a directory, and whether a file can be made\n"
	       "  --locks DIR        a path that hangs is looked at by one process, which has its lock here\n"
	       "  --process NAME     who runs programs of this name\n"
	       "  --users UID        processes in no job, of users from this one on\n"
	       "  --clock            whether the kernel takes its clock for synchronised\n"
	       "  --root DIR         of a prepared /proc instead of the machine's\n"
	       "  --help, --version\n\n"
	       "Exit status: 0 looked at, 2 could not run.\nSee syscheck-kernels(8).\n");
}

static bool number(double *value, const char *text, double low, double high)
{
	char *end;
	double v;

	if (text[0] == '\0' || strspn(text, "0123456789.eE+-") != strlen(text))
		return false;
	v = strtod(text, &end);
	if (*end != '\0' || !isfinite(v) || v < low || v > high)
		return false;
	*value = v;
	return true;
}

static bool add_path(const char *path, bool write)
{
	if (path[0] != '/' || s.n_paths >= PATHS_MOST)
		return false;
	s.paths[s.n_paths++] = (struct path){ .path = path, .write = write, .fd = -1 };
	return true;
}

static bool add_name(const char *name)
{
	if (name[0] == '\0' || strlen(name) > 63 || s.procs.n_names >= PROCS_NAMES)
		return false;
	s.procs.names[s.procs.n_names++] = name;
	return true;
}

static bool take_users(const char *text)
{
	double uid;

	s.procs.users = number(&uid, text, 1, 4294967294.0);
	s.procs.min_uid = s.procs.users ? (unsigned)uid : 0;
	return s.procs.users;
}

static bool take(int option, const char *value)
{
	switch (option) {
	case 's': return number(&s.seconds, value, 0.05, 600);
	case 'p': return add_path(value, false);
	case 'w': return add_path(value, true);
	case 'l': s.locks = value; return value[0] == '/';
	case 'n': return add_name(value);
	case 'u': return take_users(value);
	case 'c': s.clock = true; return true;
	case 'r': s.root = value; return strlen(value) < 4000;
	default: return false;
	}
}

/* All of a file, or "": what is not known is not said. */
static char *read_all(const char *file)
{
	size_t size = 65536, n = 0;
	char *text = malloc(size);
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t got = 0;

	while (text && fd >= 0 && (got = read(fd, text + n, size - n - 1)) > 0) {
		n += (size_t)got;
		if (size - n < 4096 && size < MOUNTS_MOST) {
			char *more = realloc(text, size *= 2);

			if (!more)
				break;
			text = more;
		}
	}
	if (text)
		text[n] = '\0';
	if (fd >= 0)
		close(fd);
	return text;
}

static void report_clock(struct result *r)
{
	struct timex t = { .modes = 0 };
	int state = adjtimex(&t);

	if (state < 0)
		return; /* a container may not ask */
	result_bool(r, "synchronised", state != TIME_ERROR && !(t.status & STA_UNSYNC));
	result_number(r, "max_error_ms", (double)t.maxerror / 1000);
	result_number(r, "offset_ms", (double)t.offset / (t.status & STA_NANO ? 1e6 : 1e3));
}

static int run(double started)
{
	struct result r;
	char *mounts = NULL;

	for (int i = 0; i < s.n_paths; i++)
		if (!path_start(&s.paths[i], s.locks, s.seconds))
			return fail(s.paths[i].path, strerror(errno));
	/* While they wait. */
	if ((s.procs.n_names > 0 || s.procs.users) && !procs_read(&s.procs, s.root))
		return fail("/proc", strerror(errno));
	path_collect(s.paths, s.n_paths, started + s.seconds, s.locks != NULL);
	/* Afterwards: what an automounter mounts is there only once it was looked at. */
	if (s.n_paths > 0 && !(mounts = read_all(MOUNTS)))
		return fail(MOUNTS, strerror(errno));
	result_begin(&r, "state");
	result_bool(&r, "verified", true);
	if (s.n_paths > 0)
		path_report(&r, s.paths, s.n_paths, mounts);
	procs_report(&r, &s.procs);
	if (s.clock)
		report_clock(&r);
	result_number(&r, "seconds", clock_now() - started);
	free(mounts);
	return result_write(&r, STDOUT_FILENO) ? EXIT_MEASURED : fail("stdout", strerror(errno));
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 's' }, { "path", required_argument, NULL, 'p' },
		{ "write", required_argument, NULL, 'w' },   { "locks", required_argument, NULL, 'l' },
		{ "process", required_argument, NULL, 'n' }, { "users", required_argument, NULL, 'u' },
		{ "clock", no_argument, NULL, 'c' },	     { "root", required_argument, NULL, 'r' },
		{ "help", no_argument, NULL, 'h' },	     { "version", no_argument, NULL, 'v' },
		{ 0 },
	};
	const double started = clock_now();
	char shown[40];
	int option;

	if (fcntl(STDOUT_FILENO, F_GETFD) < 0)
		return fail("stdout", "is closed");
	signal(SIGPIPE, SIG_IGN);
	opterr = 0;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'h' || option == 'v') {
			if (option == 'h')
				usage();
			else
				printf("syscheck state %s\n", syscheck_version);
			return fflush(stdout) == 0 ? EXIT_MEASURED : EXIT_COULD_NOT;
		}
		if (!take(option, optarg)) {
			opts_show(shown, sizeof(shown), option == '?' ? argv[optind - 1] : optarg);
			return fail(shown, option == '?' ? "not understood (see --help)" : "cannot be (see --help)");
		}
	}
	if (optind < argc) {
		opts_show(shown, sizeof(shown), argv[optind]);
		return fail(shown, "no operand is wanted (see --help)");
	}
	return run(started);
}
