/*
 * delay FROM TO MS: sends each frame that arrives at the device FROM to the device TO, MS
 * milliseconds later. `minicluster delay` runs it; a kernel with netem would not need it.
 *
 * Frames keep their order, since all wait equally long: a list is enough. Each travels with
 * its virtio header, which says where its checksum is to be filled in: between veths no one
 * has done that yet.
 */
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <arpa/inet.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

/* The largest frame (64 KiB, where somebody has left segmentation to us) and its header. */
#define FRAME_MAX (65536 + ETH_HLEN + (int)sizeof(struct virtio_net_hdr))

/* A second at 1 Gbit/s is 125 MB: what is more would be a queue, not a delay. */
#define WAITING_MAX (128 << 20)

/* A burst at full speed while this program waits for a CPU. */
#define SOCKET_BYTES (8 << 20)

struct frame {
	struct frame *next;
	int64_t due;
	size_t size;
	unsigned char data[];
};

static struct {
	struct frame *first, **end;
	size_t bytes;
} waiting = { .end = &waiting.first };

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A raw socket on that device, or -1 after a line that says why not. */
static int open_device(const char *name, int protocol)
{
	struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_protocol = htons(protocol) };
	int one = 1, bytes = SOCKET_BYTES, fd = -1;

	address.sll_ifindex = (int)if_nametoindex(name);
	if (address.sll_ifindex == 0)
		goto fail;
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		goto fail;
	if (setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)) ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)))
		goto fail;
	return fd;
fail:
	fprintf(stderr, "delay: %s: %s\n", name, strerror(errno));
	return -1;
}

/* What has arrived, at most as much as lets give() be in time; 0, or -1 if the device is gone. */
static int take(int fd, int64_t delay)
{
	static unsigned char data[FRAME_MAX];

	for (int i = 0; i < 64; i++) {
		struct frame *frame;
		ssize_t size = recv(fd, data, sizeof(data), 0);

		if (size < 0)
			return errno == EAGAIN || errno == EINTR || errno == ENETDOWN ? 0 : -1;
		if (waiting.bytes + (size_t)size > WAITING_MAX)
			continue;
		frame = malloc(sizeof(*frame) + (size_t)size);
		if (!frame)
			continue;
		frame->next = NULL;
		frame->due = now_ns() + delay;
		frame->size = (size_t)size;
		memcpy(frame->data, data, frame->size);
		*waiting.end = frame;
		waiting.end = &frame->next;
		waiting.bytes += frame->size;
	}
	return 0;
}

/* Sends what is due. A frame that the device does not take is lost, as on any link. */
static void give(int fd)
{
	while (waiting.first && waiting.first->due <= now_ns()) {
		struct frame *frame = waiting.first;

		(void)!send(fd, frame->data, frame->size, 0);
		waiting.first = frame->next;
		if (!waiting.first)
			waiting.end = &waiting.first;
		waiting.bytes -= frame->size;
		free(frame);
	}
}

int main(int argc, char **argv)
{
	struct pollfd from = { .fd = -1, .events = POLLIN };
	int to = -1;
	int64_t delay;

	if (argc != 4) {
		fprintf(stderr, "usage: delay FROM TO MS\n");
		return 2;
	}
	delay = (int64_t)(strtod(argv[3], NULL) * 1e6);
	from.fd = open_device(argv[1], ETH_P_ALL);
	to = open_device(argv[2], 0);
	if (from.fd < 0 || to < 0)
		return 1;
	for (;;) {
		int64_t left = waiting.first ? waiting.first->due - now_ns() : 0;
		struct timespec wait = { 0 };

		if (left > 0) {
			wait.tv_sec = left / 1000000000;
			wait.tv_nsec = left % 1000000000;
		}
		ppoll(&from, 1, waiting.first ? &wait : NULL, NULL);
		if (take(from.fd, delay)) {
			fprintf(stderr, "delay: %s: %s\n", argv[1], strerror(errno));
			return 1;
		}
		give(to);
	}
}
