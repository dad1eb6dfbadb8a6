#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

int kernel_fail(const char *name, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", name);
	va_start(args, format);
	vfprintf(stderr, format, args); /* NOLINT(clang-analyzer-valist.Uninitialized): started above */
	va_end(args);
	fputc('\n', stderr);
	return EXIT_COULD_NOT;
}

int kernel_finish(const char *name, struct result *r, const struct topo *topo, double started, int code)
{
	result_integer(r, "threads", topo->n);
	result_string(r, "cpus", topo->cpus_text);
	result_number(r, "seconds", clock_now() - started);
	if (!result_write(r, STDOUT_FILENO))
		return kernel_fail(name, "the result cannot be written to stdout: %s", strerror(errno));
	return code;
}

int kernel_main(const struct kernel *k, int argc, char **argv)
{
	double started = clock_now();
	struct opts opts = { .seconds = k->seconds };
	char error[ERROR_SIZE];
	struct topo topo;
	int code;

	/* Otherwise a file that is opened would take stdout's place. */
	if (fcntl(STDOUT_FILENO, F_GETFD) < 0)
		return kernel_fail(k->name, "stdout is closed");
	signal(SIGPIPE, SIG_IGN);
	if (!opts_parse(&opts, k->extra, k->n_extra, argc, argv, error))
		return kernel_fail(k->name, "%s", error);
	if (opts.help || opts.version) {
		opts_print(&opts, k->name, k->what, k->extra, k->n_extra);
		return fflush(stdout) == 0 ? EXIT_MEASURED : EXIT_COULD_NOT;
	}
	if (!topo_load(&topo, opts.cpus, error))
		return kernel_fail(k->name, "%s", error);
	code = k->run(&topo, started, started + opts.seconds);
	topo_free(&topo);
	return code;
}
