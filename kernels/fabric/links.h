/* The network ports that a node has in use: what they run at, and what their slot lets through. From /sys. */
#ifndef SYSCHECK_FABRIC_LINKS_H
#define SYSCHECK_FABRIC_LINKS_H

#include <stdbool.h>

#define LINKS_MOST 32

struct link {
	char name[64];      /* eth0, mlx5_0/1 */
	bool ib;            /* InfiniBand or RoCE, else a network device */
	bool reached;       /* it has what MPI reaches it by: a network device an IP address */
	double rate_gbps;   /* 10^9 bit/s; NaN: not known */
	double mtu;         /* bytes of a network device; NaN */
	char duplex[16];    /* full, half; "": not known */
	double pcie_lanes, pcie_gts;           /* PCIe now: lanes, 10^9 transfers/s of each; NaN */
	double pcie_lanes_most, pcie_gts_most; /* what the device can */
	char firmware[64];  /* "": not known */
};

/*
 * Ports in use, in the order of their names, InfiniBand first: active ones of /sys/class/infiniband; network devices
 * that are up and stand on hardware, or, where none does (a virtual machine, a container), all that are up but lo.
 * `root` is put before paths. Returns how many, at most LINKS_MOST.
 */
int links_read(const char *root, struct link links[LINKS_MOST]);

/* The fastest one's rate, of InfiniBand where there is some. NaN: not known. */
double links_rate(const struct link *links, int n);

/*
 * The rails of a node: of the links that links_rate is of the fastest ones that are reached, in their order; all of them
 * where no rate is known. The k'th, from 1; NULL: it has fewer.
 */
const struct link *links_rail(const struct link *links, int n, int k);

/* Bytes that a link has received since it is up; NaN: not counted. */
double links_received(const char *root, const struct link *l);

/* The kernel's boot_id into text; "" if it cannot be read. */
void links_boot_id(const char *root, char text[64]);

#endif
