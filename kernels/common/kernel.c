#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "clock.h"
#include "team.h"
#include "widen.h"

int kernel_fail(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", kernel.name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return EXIT_COULD_NOT;
}

void kernel_begin(struct result *r, const char *error)
{
	result_begin(r, kernel.name);
	r->wrong = error != NULL;
	result_bool(r, "verified", !r->wrong);
	if (error)
		result_string(r, "error", error);
}

void kernel_unfinished(struct result *r, const char *what)
{
	result_string(r, "unfinished", what);
}

#define STOPPED_LEAST 0.5

bool kernel_stopped(void)
{
	team_lost_in_all();
	return team_lost().share >= STOPPED_LEAST;
}

int kernel_finish(struct result *r, const struct topo *topo, double started)
{
	const struct team_lost lost = team_lost();
	char mems[1024];

	if (lost.cpu >= 0) {
		result_number(r, "lost_pct", 100 * lost.share);
		result_number(r, "lost_core_pct", 100 * lost.most);
		result_integer(r, "lost_cpu", lost.cpu);
		result_number(r, "worked_s", lost.seconds);
	}
	result_integer(r, "threads", topo->n);
	result_string(r, "cpus", topo->cpus_text);
	if (widen_mems(mems, sizeof(mems)))
		result_string(r, "mems", mems);
	result_number(r, "seconds", clock_now() - started);
	if (!result_write(r, STDOUT_FILENO))
		return kernel_fail("the result cannot be written to stdout: %s", strerror(errno));
	return r->wrong ? EXIT_WRONG : EXIT_MEASURED;
}

static void on_alarm(int signal_number)
{
	static const char text[] = ": still not done long after its time box, given up\n";

	(void)signal_number;
	(void)!write(STDERR_FILENO, kernel.name, strlen(kernel.name));
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(EXIT_COULD_NOT);
}

void kernel_watch(double seconds)
{
	struct sigaction action = { .sa_handler = on_alarm };

	sigaction(SIGALRM, &action, NULL);
	alarm((unsigned)(2 * seconds) + 3);
}

/*
 * Ends with the agent that started us, $SYSCHECK_AGENT, also when that is killed: what goes on
 * measuring would disturb the job, and the next check.
 */
static bool end_with_agent(void)
{
	const char *agent = getenv("SYSCHECK_AGENT");

	/* It may have ended before the call. */
	return agent == NULL || (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == atoi(agent));
}

int main(int argc, char **argv)
{
	struct opts opts = { .seconds = kernel.seconds };
	char error[ERROR_SIZE];
	struct topo topo;
	int code;

	/* Otherwise a file that is opened would take stdout's place. */
	if (fcntl(STDOUT_FILENO, F_GETFD) < 0)
		return kernel_fail("stdout is closed");
	signal(SIGPIPE, SIG_IGN);
	if (!end_with_agent())
		return kernel_fail("whoever started it is gone");
	if (!opts_parse(&opts, kernel.extra, argc, argv, error))
		return kernel_fail("%s", error);
	if (opts.help || opts.version) {
		opts_print(&opts, kernel.name, kernel.what, kernel.extra);
		return fflush(stdout) == 0 ? EXIT_MEASURED : EXIT_COULD_NOT;
	}
	kernel_watch(opts.seconds);
	widen(opts.widen, opts.cgroup);
	if (!topo_load(&topo, opts.cpus, error))
		return kernel_fail("%s", error);
	code = kernel.run(&topo, kernel_started, kernel_started + opts.seconds);
	topo_free(&topo);
	return code;
}
