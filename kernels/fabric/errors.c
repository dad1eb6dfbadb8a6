#include "errors.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/read.h"

/*
 * Of a port: what the specification counts (InfiniBand, volume 1, 16.1.3.5), then what the adapter does of
 * transport errors, hw_counters. Congestion (xmit_wait, CNPs) is no error.
 */
static const char *const ib[] = {
	"symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors", "port_rcv_remote_physical_errors",
	"port_xmit_discards", "local_link_integrity_errors", "excessive_buffer_overrun_errors", "out_of_sequence",
	"packet_seq_err", "local_ack_timeout_err", "rnr_nak_retry_err", "rx_icrc_encapsulated", "roce_adp_retrans", NULL,
};

/* Of a network device; drops are not in it: sockets and filters drop on healthy hosts, too. */
static const char *const net[] = {
	"rx_crc_errors", "rx_frame_errors", "rx_fifo_errors", "rx_missed_errors", "tx_carrier_errors", "tx_errors",
	"carrier_changes", NULL,
};

const char *errors_name(const struct link *l, int k)
{
	return l->ib ? ib[k] : net[k];
}

/* Where the one of the two kinds has it. */
static size_t read_one(const char *root, const struct link *l, const char *counter)
{
	static const char *const dirs[] = { "counters", "hw_counters", "statistics", "." };
	size_t value = SIZE_MAX;
	char device[sizeof(l->name)], *port;

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		if (!l->ib && read_number(&value, NULL, "%s/sys/class/net/%s/%s/%s", root, l->name, dirs[i], counter))
			break;
		if (!l->ib)
			continue;
		/* "mlx5_0/1" */
		snprintf(device, sizeof(device), "%s", l->name);
		port = strchr(device, '/');
		if (port == NULL)
			break;
		*port = '\0';
		if (read_number(&value, NULL, "%s/sys/class/infiniband/%s/ports/%s/%s/%s", root, device, port + 1, dirs[i],
				counter))
			break;
	}
	return value;
}

void errors_read(const char *root, const struct link *links, int n, struct errors *e)
{
	for (int i = 0; i < n; i++)
		for (int k = 0; errors_name(&links[i], k); k++)
			e->value[i][k] = read_one(root, &links[i], errors_name(&links[i], k));
}

size_t errors_more(const struct errors *before, const struct errors *after, int i, int k)
{
	const size_t from = before->value[i][k], to = after->value[i][k];

	return from == SIZE_MAX || to == SIZE_MAX || to < from ? 0 : to - from;
}
