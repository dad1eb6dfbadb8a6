/*
 * Noise of known period and length: one pinned thread that spins LENGTH every PERIOD,
 * at real-time priority where that is allowed, and writes down what it really did.
 *
 *   inject --cpu N --period-us P --length-us L --seconds S --log FILE
 *
 * FILE: a line "start_s length_s cpu_s" each, CLOCK_MONOTONIC_RAW, written at the end or
 * on SIGTERM. length: of the spin. cpu: all CPU time of that wake-up, the kernel's part of
 * waking and sleeping included: what was taken from the core. Exit 0, 2 on bad use or trouble.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define MOST 1000000

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double number(const char *text)
{
	char *end;
	double v = strtod(text, &end);

	return *text != '\0' && *end == '\0' && v >= 0 && v < 1e9 ? v : -1;
}

/* Start, length, CPU time of this thread at the start. */
static double (*intervals)[3];

int main(int argc, char **argv)
{
	static const char *const names[] = { "--cpu", "--period-us", "--length-us", "--seconds" };
	double v[] = { -1, -1, -1, -1 }, until, next;
	const struct sched_param priority = { .sched_priority = 50 };
	const struct sigaction action = { .sa_handler = on_signal };
	const char *log = NULL;
	size_t n = 0;
	cpu_set_t set;
	FILE *f;

	for (int i = 1; i + 1 < argc; i += 2) {
		for (size_t k = 0; k < 4; k++)
			if (strcmp(argv[i], names[k]) == 0)
				v[k] = number(argv[i + 1]);
		if (strcmp(argv[i], "--log") == 0)
			log = argv[i + 1];
	}
	if (!log || v[0] < 0 || v[0] >= CPU_SETSIZE || v[1] <= 0 || v[2] <= 0 || v[2] >= v[1] || v[3] <= 0) {
		fprintf(stderr, "usage: inject --cpu N --period-us P --length-us L --seconds S --log FILE\n");
		return 2;
	}
	CPU_ZERO(&set);
	CPU_SET((size_t)v[0], &set);
	intervals = malloc(MOST * sizeof(*intervals));
	f = fopen(log, "wxe");
	if (!intervals || !f || sched_setaffinity(0, sizeof(set), &set) != 0) {
		fprintf(stderr, "inject: %s\n", strerror(errno));
		return 2;
	}
	memset(intervals, 0xff, MOST * sizeof(*intervals));
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	if (sched_setscheduler(0, SCHED_FIFO, &priority) != 0)
		fprintf(stderr, "inject: no real-time priority: %s\n", strerror(errno));
	mlockall(MCL_CURRENT);
	/* Sleeps on CLOCK_MONOTONIC: the raw clock cannot be slept on. */
	next = now(CLOCK_MONOTONIC);
	until = next + v[3];
	while (!stop && n < MOST && next < until) {
		struct timespec t = { .tv_sec = (time_t)next, .tv_nsec = (long)((next - (double)(time_t)next) * 1e9) };
		double start, end, cpu = 0;

		if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0)
			continue;
		cpu = now(CLOCK_THREAD_CPUTIME_ID);
		start = end = now(CLOCK_MONOTONIC_RAW);
		while (end - start < v[2] * 1e-6)
			end = now(CLOCK_MONOTONIC_RAW);
		intervals[n][0] = start;
		intervals[n][2] = cpu;
		intervals[n++][1] = end - start;
		next += v[1] * 1e-6;
	}
	/* The last one's end is not known. */
	for (size_t i = 0; i + 1 < n; i++)
		fprintf(f, "%.9f %.9f %.9f\n", intervals[i][0], intervals[i][1], intervals[i + 1][2] - intervals[i][2]);
	if (fclose(f) != 0) {
		fprintf(stderr, "inject: %s: %s\n", log, strerror(errno));
		return 2;
	}
	return 0;
}
