/* What Linux' TCP says of this process' connections: round trip, what held the sender back, what was sent again. */
#ifndef SYSCHECK_FABRIC_TCP_H
#define SYSCHECK_FABRIC_TCP_H

#include <stdbool.h>
#include <stdint.h>

#define TCP_MOST 1024 /* connections looked at */

/* Totals of each connection since it was made. */
struct tcp_mark {
	int n;
	struct tcp_total {
		int fd;
		uint64_t acked, sent, again;               /* bytes */
		uint64_t busy_us, rwnd_us, sndbuf_us; /* with data to send; held by the receiver's window, by our buffer */
		double rtt_us, min_rtt_us;            /* smoothed; the least of the last minutes */
	} of[TCP_MOST];
};

/* NaN: not known. All 0: nothing was sent by TCP. */
struct tcp_account {
	double rtt_us, min_rtt_us;
	double rwnd_pct, sndbuf_pct; /* of the time with data to send */
	double again_pct;            /* of the bytes sent */
};

/* All TCP connections that this process has open now, by /proc/self/fd. */
void tcp_look(struct tcp_mark *mark);

/* Of the connection whose peer acknowledged most between two looks, at least `least` bytes. False: there is none. */
bool tcp_account(const struct tcp_mark *before, const struct tcp_mark *after, uint64_t least, struct tcp_account *out);

/* The most of a connection's buffers, bytes: the third number of net.ipv4.tcp_rmem or tcp_wmem; NaN. */
double tcp_most(const char *root, const char *name);

#endif
