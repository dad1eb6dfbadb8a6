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
	vfprintf(stderr, format, args);
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

static const char *alarm_name;

static void on_alarm(int signal_number)
{
	static const char text[] = ": still not done long after its time box, given up\n";

	(void)signal_number;
	if (write(STDERR_FILENO, alarm_name, strlen(alarm_name)) > 0 &&
	    write(STDERR_FILENO, text, sizeof(text) - 1) > 0)
		_exit(EXIT_COULD_NOT);
	_exit(EXIT_COULD_NOT);
}

void kernel_watch(const char *name, double seconds)
{
	struct sigaction action = { .sa_handler = on_alarm };

	alarm_name = name;
	sigaction(SIGALRM, &action, NULL);
	alarm((unsigned)(2 * seconds) + 3);
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
	kernel_watch(k->name, opts.seconds);
	if (!topo_load(&topo, opts.cpus, error))
		return kernel_fail(k->name, "%s", error);
	code = k->run(&topo, started, started + opts.seconds);
	topo_free(&topo);
	return code;
}
