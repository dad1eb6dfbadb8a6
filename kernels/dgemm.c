/*
 * dgemm: floating-point rate of every core, all at the same time, by OpenBLAS'
 * serial DGEMM, and whether every bit of every result is right.
 *
 * The inputs are integers from -8 to 8 without 0. A sum of N = 768 products is at
 * most 768 x 64 = 49,152 in size: every partial sum is exact in a double, in any
 * order of summation, with or without FMA. So any differing bit is corruption.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "common/clock.h"
#include "common/kernel.h"
#include "common/memory.h"
#include "common/stats.h"
#include "common/team.h"

#define NAME "dgemm"

/*
 * 0.9 GFLOP a call: 18 ms at 50 GFLOP/s. Large enough for OpenBLAS to be near its
 * large-matrix rate, small enough for many calls in a 1 s box, on a slow core too.
 */
#define N 768
#define FLOP (2.0 * N * N * N)

/* A wrong element hides from one random vector of 20-bit integers once in 2^20. */
#define VECTORS 2
#define VECTOR_BITS 20

struct core {
	double *a, *b, *c, *reference;
	double busy; /* seconds in counted calls */
	long calls;
	char error[160]; /* empty: every result was right */
} __attribute__((aligned(128)));

static struct {
	struct core *cores;
	double end;
	bool no_memory; /* set by any member before they meet */
} s;

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static void fill(double *m, uint64_t *state)
{
	for (size_t i = 0; i < (size_t)N * N; i++) {
		uint64_t r = next_random(state);
		double size = 1 + (double)(r & 7);

		m[i] = r & 8 ? size : -size;
	}
}

static void multiply(struct core *core, double *c)
{
	cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1.0, core->a, N, core->b, N, 0.0, c, N);
}

/* The one right value of an element, by integers. */
static int64_t exact_element(const struct core *core, size_t row, size_t column)
{
	int64_t sum = 0;

	for (size_t k = 0; k < N; k++)
		sum += (int64_t)core->a[row * N + k] * (int64_t)core->b[k * N + column];
	return sum;
}

static void describe(struct core *core, const double *c, size_t row, size_t column)
{
	snprintf(core->error, sizeof(core->error), "C[%zu][%zu] is %.17g, expected %lld", row, column,
		 c[row * N + column], (long long)exact_element(core, row, column));
}

/*
 * Freivalds' check over the integers: C x = A (B x) for random x, in int64. Bounds:
 * B x < 768 x 8 x 2^20 < 2^33, A (B x) < 2^46, C x < 768 x 49,152 x 2^20 < 2^46.
 */
static void verify_reference(struct core *core, uint64_t *state)
{
	int64_t x[N], bx[N];

	for (int v = 0; v < VECTORS && core->error[0] == '\0'; v++) {
		for (size_t i = 0; i < N; i++)
			x[i] = (int64_t)(next_random(state) >> (64 - VECTOR_BITS));
		for (size_t i = 0; i < N; i++) {
			bx[i] = 0;
			for (size_t j = 0; j < N; j++)
				bx[i] += (int64_t)core->b[i * N + j] * x[j];
		}
		for (size_t i = 0; i < N && core->error[0] == '\0'; i++) {
			int64_t abx = 0, cx = 0;
			int whole = 1;

			for (size_t j = 0; j < N; j++) {
				double element = core->reference[i * N + j];

				abx += (int64_t)core->a[i * N + j] * bx[j];
				/* A wrong element may be anything, NaN too: no cast before a look. */
				whole = whole && fabs(element) <= 1e6 && element == rint(element);
				cx += whole ? (int64_t)element * x[j] : 0;
			}
			if (whole && abx == cx)
				continue;
			for (size_t j = 0; j < N && core->error[0] == '\0'; j++)
				if (core->reference[i * N + j] != (double)exact_element(core, i, j))
					describe(core, core->reference, i, j);
		}
	}
}

/* Bits, not values: -0 for 0 is corruption, too. */
static int differ(const void *a, const void *b, size_t n)
{
	return memcmp(a, b, n * sizeof(double)) != 0;
}

static void compare(struct core *core)
{
	if (!differ(core->c, core->reference, (size_t)N * N))
		return;
	for (size_t i = 0; i < (size_t)N * N; i++) {
		if (differ(&core->c[i], &core->reference[i], 1)) {
			describe(core, core->c, i / N, i % N);
			return;
		}
	}
}

static void work(struct team *team, int member, void *shared)
{
	struct core *core = &s.cores[member];
	size_t bytes = sizeof(double) * N * N;
	uint64_t state = 20260101; /* the same work on every core */
	double last = 0;

	(void)shared;
	core->a = memory_map(bytes);
	core->b = memory_map(bytes);
	core->c = memory_map(bytes);
	core->reference = memory_map(bytes);
	if (!core->a || !core->b || !core->c || !core->reference)
		__atomic_store_n(&s.no_memory, true, __ATOMIC_SEQ_CST);
	team_meet(team);
	if (!core->a || !core->b || !core->c || !core->reference || __atomic_load_n(&s.no_memory, __ATOMIC_SEQ_CST))
		return;
	fill(core->a, &state);
	fill(core->b, &state);
	multiply(core, core->reference); /* warm-up, not counted */
	verify_reference(core, &state);
	multiply(core, core->c); /* touches c; not counted either */
	compare(core);
	team_meet(team);
	/* Until the next call would end after the box; one call at least. */
	do {
		double from = clock_now();

		multiply(core, core->c);
		last = clock_now() - from;
		core->busy += last;
		core->calls++;
		if (core->error[0] == '\0')
			compare(core);
	} while (clock_now() + 1.2 * last < s.end);
}

static int report(const struct topo *topo, double started)
{
	struct result r;
	double *rates = calloc((size_t)topo->n, sizeof(double)), sum = 0;
	int bad = -1, slowest = 0;
	long calls = 0;
	char error[200];

	if (!rates)
		return kernel_fail(NAME, "out of memory");
	for (int i = 0; i < topo->n; i++) {
		rates[i] = FLOP * (double)s.cores[i].calls / s.cores[i].busy * 1e-9;
		sum += rates[i];
		calls += s.cores[i].calls;
		if (rates[i] < rates[slowest])
			slowest = i;
		if (bad < 0 && s.cores[i].error[0] != '\0')
			bad = i;
	}
	result_begin(&r, NAME);
	result_bool(&r, "verified", bad < 0);
	if (bad >= 0) {
		snprintf(error, sizeof(error), "cpu %d: %s", topo->cpus[bad], s.cores[bad].error);
		result_string(&r, "error", error);
	}
	result_number(&r, "gflops", sum);
	result_number(&r, "gflops_core_min", rates[slowest]);
	result_integer(&r, "slowest_cpu", topo->cpus[slowest]);
	result_list_begin(&r, "cores");
	for (int i = 0; i < topo->n; i++) {
		result_object_begin(&r);
		result_integer(&r, "cpu", topo->cpus[i]);
		result_number(&r, "gflops", rates[i]);
		result_object_end(&r);
	}
	result_list_end(&r);
	stats_sort(rates, (size_t)topo->n);
	result_number(&r, "gflops_core_median", stats_quantile(rates, (size_t)topo->n, 0.5));
	result_integer(&r, "n", N);
	result_integer(&r, "calls", calls);
	result_string(&r, "blas", openblas_get_config());
	free(rates);
	return kernel_finish(NAME, &r, topo, started, bad < 0 ? EXIT_MEASURED : EXIT_WRONG);
}

static int run(const struct topo *topo, double started, double end)
{
	/* Debian's OpenBLAS has threads of its own; the team is the only one here. */
	openblas_set_num_threads(1);
	s.end = end;
	s.cores = aligned_alloc(128, sizeof(*s.cores) * (size_t)topo->n);
	if (!s.cores)
		return kernel_fail(NAME, "out of memory");
	memset(s.cores, 0, sizeof(*s.cores) * (size_t)topo->n);
	if (!team_run(topo, work, NULL))
		return kernel_fail(NAME, "a thread cannot be started on its CPU: %s", strerror(errno));
	if (s.no_memory)
		return kernel_fail(NAME, "memory cannot be mapped: %s", strerror(ENOMEM));
	return report(topo, started);
}

int main(int argc, char **argv)
{
	static const struct kernel kernel = {
		.name = NAME,
		.what = "Measures the DGEMM rate of every physical core at once; every result is verified.",
		.seconds = 1,
		.run = run,
	};

	return kernel_main(&kernel, argc, argv);
}
