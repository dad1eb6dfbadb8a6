/*
 * openblas N SECONDS serial|threads: the rate of OpenBLAS' DGEMM on N x N matrices, the
 * peer of the kernel `dgemm`. serial: one call stream a core, as the kernel does it;
 * threads: OpenBLAS' own. The first call is not counted. Prints GFLOP/s.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "common/clock.h"
#include "common/memory.h"
#include "common/team.h"

static struct {
	int n;
	double seconds, *rates;
} s;

static double rate(int n, double seconds)
{
	size_t bytes = sizeof(double) * (size_t)n * (size_t)n;
	double *a = memory_map(bytes), *b = memory_map(bytes), *c = memory_map(bytes), from, now;
	long calls = -1;

	if (!a || !b || !c)
		return 0;
	for (size_t i = 0; i < bytes / sizeof(double); i++) {
		a[i] = (double)(i % 7);
		b[i] = (double)(i % 5);
		c[i] = 0;
	}
	from = clock_now();
	do {
		cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0, a, n, b, n, 0.0, c, n);
		now = clock_now();
		if (++calls == 0)
			from = now;
	} while (calls < 1 || now - from < seconds);
	return 2.0 * n * n * n * (double)calls / (now - from) * 1e-9;
}

static void work(struct team *team, int member, void *shared)
{
	(void)shared;
	team_meet(team);
	s.rates[member] = rate(s.n, s.seconds);
}

int main(int argc, char **argv)
{
	char error[ERROR_SIZE];
	struct topo topo;
	double sum = 0;

	if (argc != 4 || (s.n = atoi(argv[1])) < 1 || (s.seconds = atof(argv[2])) <= 0) {
		fprintf(stderr, "usage: openblas N SECONDS serial|threads\n");
		return 2;
	}
	if (!topo_load(&topo, NULL, error)) {
		fprintf(stderr, "openblas: %s\n", error);
		return 2;
	}
	if (strcmp(argv[3], "threads") == 0) {
		openblas_set_num_threads(topo.n);
		sum = rate(s.n, s.seconds);
	} else {
		openblas_set_num_threads(1);
		s.rates = calloc((size_t)topo.n, sizeof(double));
		if (!s.rates || !team_run(&topo, work, NULL)) {
			fprintf(stderr, "openblas: threads cannot be started\n");
			return 2;
		}
		for (int i = 0; i < topo.n; i++)
			sum += s.rates[i];
	}
	printf("%.3f\n", sum);
	return 0;
}
