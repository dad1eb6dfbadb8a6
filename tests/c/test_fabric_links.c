/* fabric's ports of a node, from a prepared /sys. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fabric/links.h"
#include "tree.h"

static char root[] = "/tmp/syscheck-links-XXXXXX";

static void put(const char *path, const char *text)
{
	tree_put(root, path, text);
}

static int begin(void **state)
{
	(void)state;
	strcpy(root + strlen(root) - 6, "XXXXXX");
	return mkdtemp(root) == NULL;
}

static int end(void **state)
{
	(void)state;
	return tree_remove(root);
}

static void none(void **state)
{
	struct link links[LINKS_MOST];
	char boot[64] = "old";

	(void)state;
	assert_int_equal(links_read(root, links), 0);
	assert_true(isnan(links_rate(links, 0)));
	links_boot_id(root, boot);
	assert_string_equal(boot, "");
}

static void infiniband(void **state)
{
	struct link links[LINKS_MOST];

	(void)state;
	put("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
	put("sys/class/infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (2X HDR)\n");
	put("sys/class/infiniband/mlx5_0/ports/2/state", "1: DOWN\n");
	put("sys/class/infiniband/mlx5_0/ports/2/rate", "400 Gb/sec (4X NDR)\n");
	put("sys/class/infiniband/mlx5_0/fw_ver", "20.31.1014 \n");
	put("sys/class/infiniband/mlx5_0/device/current_link_width", "8\n");
	put("sys/class/infiniband/mlx5_0/device/max_link_width", "16\n");
	put("sys/class/infiniband/mlx5_0/device/current_link_speed", "16.0 GT/s PCIe\n");
	put("sys/class/infiniband/mlx5_0/device/max_link_speed", "Unknown\n");
	put("sys/class/infiniband/mlx5_10/ports/1/state", "4: ACTIVE\n");
	put("sys/class/infiniband/mlx5_10/ports/1/rate", "garbage\n");
	put("sys/class/infiniband/mlx5_2/ports/1/state", "4: ACTIVE\n");
	put("sys/class/infiniband/mlx5_2/ports/1/rate", "25 Gb/sec (1X EDR)\n");
	put("sys/class/net/eth0/operstate", "up\n");
	put("sys/class/net/eth0/speed", "800000\n");
	put("sys/class/net/eth0/device/vendor", "0x8086\n");
	assert_int_equal(links_read(root, links), 4);
	assert_string_equal(links[0].name, "mlx5_0/1");
	assert_true(links[0].ib);
	assert_string_equal(links[0].firmware, "20.31.1014");
	assert_true(links[0].rate_gbps == 100);
	assert_true(links[0].pcie_lanes == 8 && links[0].pcie_lanes_most == 16 && links[0].pcie_gts == 16);
	assert_true(isnan(links[0].pcie_gts_most) && isnan(links[0].mtu));
	assert_string_equal(links[1].name, "mlx5_2/1");
	assert_string_equal(links[2].name, "mlx5_10/1");
	assert_true(isnan(links[2].rate_gbps));
	/* What the nodes talk over, however fast the other is. */
	assert_true(links_rate(links, 4) == 100);
}

static void network(void **state)
{
	struct link links[LINKS_MOST];
	char path[128];

	(void)state;
	put("sys/class/net/lo/operstate", "up\n");
	put("sys/class/net/veth1/operstate", "up\n");
	put("sys/class/net/veth1/speed", "10000\n");
	put("sys/class/net/veth2/operstate", "down\n");
	put("sys/class/net/bond0/operstate", "up\n");
	put("sys/class/net/bond0/speed", "-1\n");
	put("sys/class/net/bond0/duplex", "unknown\n");
	put("sys/class/net/bonding_masters", "bond0\n");
	assert_int_equal(links_read(root, links), 2);
	assert_string_equal(links[0].name, "bond0");
	assert_true(isnan(links[0].rate_gbps));
	assert_string_equal(links[0].duplex, "");
	assert_true(links_rate(links, 2) == 10);
	/* Where one stands on hardware, only such. */
	put("sys/class/net/eth0/operstate", "up\n");
	put("sys/class/net/eth0/speed", "1000\n");
	put("sys/class/net/eth0/duplex", "half\n");
	put("sys/class/net/eth0/mtu", "9000\n");
	put("sys/class/net/eth0/device/vendor", "0x8086\n");
	assert_int_equal(links_read(root, links), 1);
	assert_true(links[0].rate_gbps == 1 && links[0].mtu == 9000 && !links[0].ib);
	assert_string_equal(links[0].duplex, "half");
	for (int i = 1; i < 2 * LINKS_MOST; i++) {
		snprintf(path, sizeof(path), "sys/class/net/eth%d/operstate", i);
		put(path, "up\n");
		snprintf(path, sizeof(path), "sys/class/net/eth%d/device/vendor", i);
		put(path, "1\n");
	}
	assert_int_equal(links_read(root, links), LINKS_MOST);
}

static void rails(void **state)
{
	struct link links[LINKS_MOST];
	int n;

	(void)state;
	put("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
	put("sys/class/infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (2X HDR)\n");
	put("sys/class/infiniband/mlx5_1/ports/1/state", "4: ACTIVE\n");
	put("sys/class/infiniband/mlx5_1/ports/1/rate", "200 Gb/sec (4X HDR)\n");
	put("sys/class/infiniband/mlx5_1/ports/1/counters/port_rcv_data", "250\n");
	put("sys/class/infiniband/mlx5_2/ports/1/state", "4: ACTIVE\n");
	put("sys/class/infiniband/mlx5_2/ports/1/rate", "200 Gb/sec (4X HDR)\n");
	put("sys/class/net/eth0/operstate", "up\n");
	put("sys/class/net/eth0/speed", "200000\n");
	put("sys/class/net/eth0/device/vendor", "0x8086\n");
	put("sys/class/net/eth0/statistics/rx_bytes", "7\n");
	n = links_read(root, links);
	assert_int_equal(n, 4);
	/* The storage's slower port and the host's Ethernet are none. */
	assert_string_equal(links_rail(links, n, 1)->name, "mlx5_1/1");
	assert_string_equal(links_rail(links, n, 2)->name, "mlx5_2/1");
	assert_null(links_rail(links, n, 3));
	assert_true(links_received(root, &links[1]) == 1000);
	assert_true(isnan(links_received(root, &links[2])));
	assert_true(links_received(root, &links[3]) == 7);
}

/* Of virtual ones no rate may be known: all are rails. */
static void rails_of_no_rate(void **state)
{
	struct link links[LINKS_MOST];

	(void)state;
	put("sys/class/net/eth0/operstate", "up\n");
	put("sys/class/net/eth1/operstate", "up\n");
	put("sys/class/net/eth1/speed", "-1\n");
	assert_int_equal(links_read(root, links), 2);
	assert_string_equal(links_rail(links, 2, 2)->name, "eth1");
	assert_null(links_rail(links, 2, 3));
}

static void boot(void **state)
{
	char text[64];

	(void)state;
	put("proc/sys/kernel/random/boot_id", "4df689c1-20da-46ec-891d-875e4bb332b1\n");
	links_boot_id(root, text);
	assert_string_equal(text, "4df689c1-20da-46ec-891d-875e4bb332b1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(none, begin, end),
		cmocka_unit_test_setup_teardown(infiniband, begin, end),
		cmocka_unit_test_setup_teardown(network, begin, end),
		cmocka_unit_test_setup_teardown(rails, begin, end),
		cmocka_unit_test_setup_teardown(rails_of_no_rate, begin, end),
		cmocka_unit_test_setup_teardown(boot, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
