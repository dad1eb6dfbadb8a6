#include "plan.h"

/*
 * Shares of the box. What is left over (numa: 0.25, scaling: 0.23) is for the
 * verification, which reads once what touching wrote, and for giving memory back.
 */
#define NUMA_TOUCH 0.22
#define NUMA_BANDWIDTH 0.25
#define NUMA_LATENCY 0.20
#define NUMA_CACHES 0.08
#define SCALING_TOUCH 0.27
#define SCALING_POINTS 0.50

/* An odd number: the median is one of them. */
#define ROUNDS 3

/* Shorter than this, a cell measures the start of its threads (barrier: tens of us). */
#define LEAST_CELL 0.003

/*
 * Ordering and writing a line takes about 30 ns, on a remote node 60: 4 % of the box.
 * Not fewer than 16 Ki lines, not more than 4 Mi (16 MiB of order).
 */
#define LINES_PER_SECOND 700000.0
#define LEAST_LINES ((size_t)16 << 10)
#define MOST_LINES ((size_t)4 << 20)

/* Where caches are not shown (some VMs), as for stream; and a floor that is above any private cache. */
#define UNKNOWN_LLC ((size_t)256 << 20)
#define LEAST_BYTES ((size_t)64 << 20)

static int rounds(double seconds, int cells)
{
	return seconds / (cells * ROUNDS) >= LEAST_CELL ? ROUNDS : 1;
}

struct plan_numa plan_numa(double seconds, int cells)
{
	struct plan_numa p = { .touch = NUMA_TOUCH * seconds, .rounds = rounds(NUMA_LATENCY * seconds, cells) };
	double lines = LINES_PER_SECOND * seconds;

	p.bandwidth = NUMA_BANDWIDTH * seconds / (cells * p.rounds);
	p.latency = NUMA_LATENCY * seconds / (cells * p.rounds);
	p.caches = NUMA_CACHES * seconds;
	p.lines = lines < (double)LEAST_LINES ? LEAST_LINES : lines > (double)MOST_LINES ? MOST_LINES : (size_t)lines;
	return p;
}

static double cell_now(double planned, double left, double share, int cells)
{
	double fair = left > 0 ? left * share / cells : 0;

	return fair < planned ? fair : planned;
}

double plan_bandwidth_now(double planned, double left, int cells)
{
	return cell_now(planned, left, NUMA_BANDWIDTH / (1 - NUMA_TOUCH), cells);
}

/* Then come the caches and munmap; the verification, half of what was left over, is done. */
double plan_latency_now(double planned, double left, int cells)
{
	return cell_now(planned, left, NUMA_LATENCY / (NUMA_LATENCY + 2 * NUMA_CACHES), cells);
}

double plan_point_now(double planned, double left, int points)
{
	return cell_now(planned, left, SCALING_POINTS / (1 - SCALING_TOUCH), points);
}

struct plan_size plan_size(size_t llc, size_t room, size_t block)
{
	struct plan_size size = { .limit = STREAM_LIMIT_LLC };
	size_t wanted = 4 * (llc ? llc : UNKNOWN_LLC);

	if (wanted < LEAST_BYTES)
		wanted = LEAST_BYTES;
	if (wanted > room) {
		wanted = room;
		size.limit = STREAM_LIMIT_MEMORY;
	}
	size.bytes = wanted / block * block;
	return size;
}

struct plan_scaling plan_scaling(double seconds, int points)
{
	struct plan_scaling p = { .touch = SCALING_TOUCH * seconds, .rounds = rounds(SCALING_POINTS * seconds, points) };

	p.point = SCALING_POINTS * seconds / (points * p.rounds);
	return p;
}

int plan_counts(int n, int node, int counts[PLAN_COUNTS])
{
	int k = 0, next = 1;

	while (k < PLAN_COUNTS) {
		/* The smallest that is not in the list yet: the next of the series, a full node, or n. */
		int least = next < n ? next : n, last = k ? counts[k - 1] : 0;

		if (node > last && node < least)
			least = node;
		counts[k++] = least;
		if (least == n)
			break;
		/* 1 2 3 4 6 8 12: a power of two grows by half, the one between by a third. */
		if (least == next)
			next = next == 1 ? 2 : (next & (next - 1)) == 0 ? next / 2 * 3 : next / 3 * 4;
	}
	return k;
}

int plan_reaches(const double *values, int n, double share)
{
	double best = values[0];
	int i;

	for (i = 1; i < n; i++)
		best = values[i] > best ? values[i] : best;
	for (i = 0; i < n - 1 && values[i] < share * best; i++)
		;
	return i;
}

void plan_compact(const int *node_of, int n, int n_nodes, int *order)
{
	int at = 0;

	for (int node = 0; node < n_nodes; node++)
		for (int i = 0; i < n; i++)
			if (node_of[i] == node)
				order[at++] = i;
}

void plan_spread(const int *node_of, int n, int n_nodes, int *order)
{
	int at = 0;

	/* Turn k takes the k-th core of each node. */
	for (int turn = 0; at < n; turn++)
		for (int node = 0; node < n_nodes; node++)
			for (int i = 0, seen = 0; i < n; i++)
				if (node_of[i] == node && seen++ == turn) {
					order[at++] = i;
					break;
				}
}
