#include "plan.h"

#include "common/plan.h"

/* Shares of the box. What is left over, 0.25, is for the verification, which reads once what touching wrote, and munmap. */
#define NUMA_TOUCH 0.22
#define NUMA_BANDWIDTH 0.25
#define NUMA_LATENCY 0.20
#define NUMA_CACHES 0.08

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

struct plan_numa plan_numa(double seconds, int cells)
{
	struct plan_numa p = { .touch = NUMA_TOUCH * seconds, .rounds = plan_rounds(NUMA_LATENCY * seconds, cells) };
	double lines = LINES_PER_SECOND * seconds;

	p.bandwidth = NUMA_BANDWIDTH * seconds / (cells * p.rounds);
	p.latency = NUMA_LATENCY * seconds / (cells * p.rounds);
	p.caches = NUMA_CACHES * seconds;
	p.lines = lines < (double)LEAST_LINES ? LEAST_LINES : lines > (double)MOST_LINES ? MOST_LINES : (size_t)lines;
	return p;
}

double plan_bandwidth_now(double planned, double left, int cells)
{
	return plan_now(planned, left, NUMA_BANDWIDTH / (1 - NUMA_TOUCH), cells);
}

/* Then come the caches and munmap; the verification, half of what was left over, is done. */
double plan_latency_now(double planned, double left, int cells)
{
	return plan_now(planned, left, NUMA_LATENCY / (NUMA_LATENCY + 2 * NUMA_CACHES), cells);
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
