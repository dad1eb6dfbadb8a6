#include "size.h"

/*
 * OpenBLAS copies a and b into its own order, which costs 1/n of a call, and goes over c
 * once for every 384 of k. Of its rate on n = k = 4096 with 87 GFLOP/s a core the first
 * two reach 1.01 and 0.99, in 0.17 and 0.1 s a call (2304 x 1536: 0.99, 1536 x 1536: 0.97).
 * Smaller ones are for slow cores and little memory.
 */
static const struct dgemm_size sizes[] = {
	{ .n = 3072, .k = 768 }, { .n = 2304, .k = 768 }, { .n = 1152, .k = 384 }, { .n = 384, .k = 384 },
};
#define N_SIZES (sizeof(sizes) / sizeof(sizes[0]))
#define CALLS 3 /* that have to fit, the warm-up included */

/*
 * What making the inputs and verifying the reference take of the first core: about 2 ns for each of so many
 * elements, in operations of a core of 50 GFLOP/s. 1.3 calls at n = 384, a quarter of one at 3072.
 */
#define ELEMENT_FLOP 100.0

double dgemm_flop(struct dgemm_size size)
{
	return 2.0 * (double)size.n * (double)size.n * (double)size.k;
}

size_t dgemm_result(struct dgemm_size size)
{
	return sizeof(double) * size.n * size.n;
}

size_t dgemm_input(struct dgemm_size size)
{
	return sizeof(double) * size.n * size.k;
}

/* a and b made and checked, and twice b x, a (b x) and c x: exact_verify. */
static double set_up_flop(struct dgemm_size size)
{
	const double n = (double)size.n, k = (double)size.k;

	return ELEMENT_FLOP * (4 * n * k + 2 * (2 * n * k + n * n));
}

static bool has_memory(struct dgemm_size size, const struct dgemm_room *room)
{
	size_t results = (size_t)room->cores + (size_t)room->nodes, inputs = 2 * (size_t)room->nodes;

	return results * dgemm_result(size) + inputs * dgemm_input(size) <= room->bytes;
}

/* The first core of a node has the most to do, and to touch: both inputs, the reference and its own result. */
static bool has_time(struct dgemm_size size, const struct dgemm_room *room)
{
	double touched = 2 * (double)(dgemm_input(size) + dgemm_result(size));

	return (CALLS * dgemm_flop(size) + set_up_flop(size)) / room->flops + touched * room->touch <= room->seconds;
}

struct dgemm_size dgemm_least(void)
{
	return sizes[N_SIZES - 1];
}

struct dgemm_size dgemm_size(const struct dgemm_room *room)
{
	struct dgemm_size size;
	bool short_of_memory = false;
	size_t i = 0;

	for (; i + 1 < N_SIZES; i++) {
		if (!has_time(sizes[i], room))
			continue;
		if (has_memory(sizes[i], room))
			break;
		short_of_memory = true;
	}
	size = sizes[i];
	size.short_of_memory = short_of_memory;
	return size;
}
