/* What ports count of errors, from a prepared /sys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fabric/errors.h"
#include "tree.h"

static char root[] = "/tmp/syscheck-errors-XXXXXX";
static struct link links[] = { { .name = "mlx5_0/1", .ib = true }, { .name = "eth0" }, { .name = "odd", .ib = true } };
static struct errors before, after;

static void put(const char *path, const char *text)
{
	char at[256];

	snprintf(at, sizeof(at), "sys/class/%s", path);
	tree_put(root, at, text);
}

static size_t more(int link, const char *name)
{
	for (int k = 0; errors_name(&links[link], k); k++)
		if (strcmp(errors_name(&links[link], k), name) == 0)
			return errors_more(&before, &after, link, k);
	fail_msg("no counter %s", name);
	return 0;
}

static int begin(void **state)
{
	(void)state;
	return mkdtemp(root) == NULL;
}

static int end(void **state)
{
	(void)state;
	return tree_remove(root);
}

static void what_is_more(void **state)
{
	(void)state;
	put("infiniband/mlx5_0/ports/1/counters/symbol_error", "5\n");
	put("infiniband/mlx5_0/ports/1/counters/link_downed", "3\n");
	put("infiniband/mlx5_0/ports/1/counters/port_rcv_errors", "65535\n");
	put("infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence", "100\n");
	put("infiniband/mlx5_0/ports/2/counters/symbol_error", "0\n");
	put("net/eth0/statistics/rx_crc_errors", "7\n");
	put("net/eth0/carrier_changes", "2\n");
	put("net/eth0/statistics/tx_errors", "garbage\n");
	errors_read(root, links, 3, &before);
	put("infiniband/mlx5_0/ports/1/counters/symbol_error", "17\n");
	put("infiniband/mlx5_0/ports/1/counters/link_downed", "1\n"); /* set back by an admin */
	put("infiniband/mlx5_0/ports/1/counters/link_error_recovery", "9\n"); /* was not there */
	put("infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence", "18446744073709551614\n");
	put("infiniband/mlx5_0/ports/2/counters/symbol_error", "4\n");
	put("net/eth0/statistics/rx_crc_errors", "160\n");
	put("net/eth0/carrier_changes", "4\n");
	put("net/eth0/statistics/tx_errors", "5\n");
	errors_read(root, links, 3, &after);
	assert_int_equal(more(0, "symbol_error"), 12);
	assert_int_equal(more(0, "link_downed"), 0);
	assert_int_equal(more(0, "link_error_recovery"), 0);
	assert_int_equal(more(0, "port_rcv_errors"), 0);
	assert_true(more(0, "out_of_sequence") == 18446744073709551514u);
	assert_int_equal(more(1, "rx_crc_errors"), 153);
	assert_int_equal(more(1, "carrier_changes"), 2);
	assert_int_equal(more(1, "tx_errors"), 0);
	assert_int_equal(more(1, "rx_missed_errors"), 0);
	assert_int_equal(more(2, "symbol_error"), 0);
}

static void all_fit(void **state)
{
	int k = 0;

	(void)state;
	for (int i = 0; i < 2; i++)
		for (k = 0; errors_name(&links[i], k); k++)
			assert_true(k < ERRORS_MOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_more), cmocka_unit_test(all_fit) };

	return cmocka_run_group_tests(tests, begin, end);
}
