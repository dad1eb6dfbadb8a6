/* Chases: one cycle over all lines, whatever the size and seed; a wrong pointer is noticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "numa/chase.h"

static struct chase make(size_t n, size_t block, size_t stride, uint64_t seed)
{
	uint32_t *order = malloc(n * sizeof(*order));
	struct chase c = { .base = calloc(n, stride), .stride = stride, .n = n, .order = order };

	assert_non_null(order);
	assert_non_null(c.base);
	chase_order(order, n, block, seed);
	chase_lay(&c);
	return c;
}

static void drop(struct chase *c)
{
	free(c->base);
	free((void *)c->order);
}

/* Follows the pointers themselves, without the order. */
static void assert_one_cycle(const struct chase *c)
{
	char *seen = calloc(c->n, 1), *p = c->base;
	size_t visits = 0;

	assert_non_null(seen);
	for (;;) {
		size_t i = (size_t)(p - c->base) / c->stride;

		assert_true(i < c->n);
		assert_true((size_t)(p - c->base) % c->stride == 0);
		if (seen[i])
			break;
		seen[i] = 1;
		visits++;
		p = *(char **)p;
	}
	assert_ptr_equal(p, c->base);
	assert_int_equal(visits, c->n);
	free(seen);
}

static void one_cycle(void **state)
{
	static const size_t sizes[] = { 1, 2, 3, 4, 5, 7, 8, 63, 64, 65, 100, 127, 1000, 1024, 4097, 65537 };
	static const size_t blocks[] = { 0, 1, 2, 3, 64, 100, 1024, 1 << 20 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (size_t j = 0; j < sizeof(blocks) / sizeof(blocks[0]); j++)
			for (uint64_t seed = 0; seed < (sizes[i] < 5000 ? 20 : 2); seed++) {
				struct chase c = make(sizes[i], blocks[j], seed % 2 ? 64 : 8, seed);

				assert_one_cycle(&c);
				assert_true(chase_walk(&c, c.n));
				assert_int_equal(c.at, 0);
				drop(&c);
			}
}

/* All six visiting orders of three lines come, about as often. */
static void uniform(void **state)
{
	int count[27] = { 0 };

	(void)state;
	for (uint64_t seed = 0; seed < 6000; seed++) {
		uint32_t order[3];

		chase_order(order, 3, 3, seed);
		count[order[0] * 9 + order[1] * 3 + order[2]]++;
	}
	for (int i = 0, kinds = 0; i < 27; i++) {
		kinds += count[i] > 0;
		/* Standard deviation 29. */
		assert_true(count[i] == 0 || (count[i] > 850 && count[i] < 1150));
		assert_true(i < 26 || kinds == 6);
	}
}

/* Inside a block first: the next line is seldom far. */
static void in_blocks(void **state)
{
	uint32_t order[1050];
	int changes = 0;

	(void)state;
	chase_order(order, 1050, 100, 5);
	for (size_t i = 1; i < 1050; i++)
		changes += (order[i] < 900 ? order[i] / 100 : 9) != (order[i - 1] < 900 ? order[i - 1] / 100 : 9);
	assert_int_equal(changes, 9);
}

static void parts(void **state)
{
	struct chase c = make(1000, 100, 64, 3);
	size_t at = 0;

	(void)state;
	for (size_t steps = 0; steps < 3000; steps += 77) {
		chase_flush(&c, steps);
		assert_true(chase_walk(&c, steps));
		at = (at + steps) % 1000;
		assert_int_equal(c.at, at);
	}
	drop(&c);
}

static void astray(void **state)
{
	static const size_t sizes[] = { 2, 64, 5000 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct chase c = make(sizes[i], sizes[i], 64, 1);
		char **at = (char **)(void *)(c.base + c.order[c.n / 2] * c.stride), *good = *at;

		for (int bit = 6; bit < 64; bit++) {
			*at = (char *)((uintptr_t)good ^ (uintptr_t)1 << bit);
			c.at = 0;
			/* In range it may come back into the cycle, but not to the right place. */
			if (chase_walk(&c, c.n))
				fail_msg("%zu lines: bit %d is not noticed", c.n, bit);
		}
		*at = NULL;
		c.at = 0;
		assert_false(chase_walk(&c, c.n));
		drop(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(one_cycle), cmocka_unit_test(uniform),
					    cmocka_unit_test(in_blocks), cmocka_unit_test(parts),
					    cmocka_unit_test(astray) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
