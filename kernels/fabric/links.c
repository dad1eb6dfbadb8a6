#include "links.h"

#include <dirent.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <math.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Devices looked at; a node with thousands of virtual ones is not read to the end. */
#define LOOK_AT 512

#define PATH_SIZE 1024

static void join(char path[PATH_SIZE], const char *format, ...) __attribute__((format(printf, 2, 3)));
static void join(char path[PATH_SIZE], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(path, PATH_SIZE, format, args);
	va_end(args);
}

/* The first line of a file, without spaces around it; false: none. */
static bool text_of(char *text, int size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static bool text_of(char *text, int size, const char *format, ...)
{
	char path[PATH_SIZE];
	va_list args;
	FILE *f;
	bool got;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	f = fopen(path, "re");
	got = f != NULL && fgets(text, size, f) != NULL;
	if (f)
		fclose(f);
	if (!got)
		text[0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	for (char *last = text + strlen(text); last > text && last[-1] == ' ';)
		*--last = '\0';
	return text[0] != '\0';
}

/* The number that a text begins with; NaN: none above 0. */
static double number(const char *text)
{
	char *end;
	const double v = strtod(text, &end);

	return end > text && isfinite(v) && v > 0 ? v : NAN;
}

static double number_of(const char *dir, const char *file)
{
	char text[64];

	return text_of(text, sizeof(text), "%s/%s", dir, file) ? number(text) : NAN;
}

static void pcie_of(struct link *l, const char *dir)
{
	l->pcie_lanes = number_of(dir, "device/current_link_width");
	l->pcie_gts = number_of(dir, "device/current_link_speed");
	l->pcie_lanes_most = number_of(dir, "device/max_link_width");
	l->pcie_gts_most = number_of(dir, "device/max_link_speed");
}

static int not_hidden(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

/* Calls look(dir, name, n) for each entry; returns its last n. */
static int each(const char *dir, struct link *links, int n, int (*look)(const char *, const char *, struct link *, int))
{
	struct dirent **names;
	const int found = scandir(dir, &names, not_hidden, versionsort);

	for (int i = 0; i < found; i++) {
		if (i < LOOK_AT && n < LINKS_MOST)
			n = look(dir, names[i]->d_name, links, n);
		free(names[i]);
	}
	if (found >= 0)
		free(names);
	return n;
}

/* /sys/class/infiniband/mlx5_0/ports, 1 */
static int look_port(const char *dir, const char *port, struct link *links, int n)
{
	struct link *l = &links[n];
	char device[PATH_SIZE], state[32], rate[64];
	const char *name;

	join(device, "%s", dir);
	*strrchr(device, '/') = '\0';
	name = strrchr(device, '/') + 1;
	/* "4: ACTIVE" */
	if (!text_of(state, sizeof(state), "%s/%s/state", dir, port) || state[0] != '4')
		return n;
	*l = (struct link){ .ib = true, .reached = true, .rate_gbps = NAN, .mtu = NAN };
	snprintf(l->name, sizeof(l->name), "%.40s/%.16s", name, port);
	/* "200 Gb/sec (4X HDR)" */
	if (text_of(rate, sizeof(rate), "%s/%s/rate", dir, port))
		l->rate_gbps = number(rate);
	text_of(l->firmware, sizeof(l->firmware), "%s/fw_ver", device);
	pcie_of(l, device);
	return n + 1;
}

static int look_device(const char *dir, const char *name, struct link *links, int n)
{
	char ports[PATH_SIZE];

	join(ports, "%s/%s/ports", dir, name);
	return each(ports, links, n, look_port);
}

/* Of a network device, as its driver tells ethtool. */
static void ask_driver(struct link *l)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	struct ifreq request = { .ifr_data = (void *)&info };
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%.15s", l->name);
	if (ioctl(fd, SIOCETHTOOL, &request) == 0 && strcmp(info.fw_version, "N/A") != 0)
		snprintf(l->firmware, sizeof(l->firmware), "%.*s", (int)sizeof(info.fw_version), info.fw_version);
	close(fd);
}

static int take_net(const char *dir, const char *name, struct link *links, int n, bool hardware)
{
	struct link *l = &links[n];
	char at[PATH_SIZE], device[PATH_SIZE], state[32];

	join(at, "%s/%s", dir, name);
	join(device, "%s/device", at);
	if (strcmp(name, "lo") == 0 || !text_of(state, sizeof(state), "%s/operstate", at) || strcmp(state, "up") != 0 ||
	    (hardware && access(device, F_OK) != 0))
		return n;
	*l = (struct link){ .reached = true, .rate_gbps = number_of(at, "speed") / 1000, .mtu = number_of(at, "mtu") };
	snprintf(l->name, sizeof(l->name), "%.60s", name);
	if (text_of(l->duplex, sizeof(l->duplex), "%s/duplex", at) && strcmp(l->duplex, "unknown") == 0)
		l->duplex[0] = '\0';
	pcie_of(l, at);
	return n + 1;
}

static int look_hardware(const char *dir, const char *name, struct link *links, int n)
{
	return take_net(dir, name, links, n, true);
}

static int look_any(const char *dir, const char *name, struct link *links, int n)
{
	return take_net(dir, name, links, n, false);
}

/* Which of the links have an address; all, where that cannot be asked. */
static void ask_addresses(struct link *links, int n)
{
	struct ifaddrs *all;

	if (getifaddrs(&all) != 0)
		return;
	for (int i = 0; i < n; i++) {
		links[i].reached = false;
		for (const struct ifaddrs *a = all; a; a = a->ifa_next)
			if (a->ifa_addr && a->ifa_addr->sa_family == AF_INET && strcmp(a->ifa_name, links[i].name) == 0)
				links[i].reached = true;
	}
	freeifaddrs(all);
}

int links_read(const char *root, struct link links[LINKS_MOST])
{
	char dir[PATH_SIZE];
	int ib, n;

	join(dir, "%s/sys/class/infiniband", root);
	ib = each(dir, links, 0, look_device);
	join(dir, "%s/sys/class/net", root);
	n = each(dir, links, ib, look_hardware);
	if (n == 0)
		n = each(dir, links, 0, look_any);
	for (int i = ib; i < n && root[0] == '\0'; i++)
		ask_driver(&links[i]);
	if (root[0] == '\0')
		ask_addresses(links + ib, n - ib);
	return n;
}

double links_rate(const struct link *links, int n)
{
	double rate = NAN;

	for (int i = 0; i < n && links[i].ib >= links[0].ib; i++)
		rate = fmax(rate, links[i].rate_gbps);
	return rate;
}

const struct link *links_rail(const struct link *links, int n, int k)
{
	const double most = links_rate(links, n);

	for (int i = 0; i < n && links[i].ib >= links[0].ib; i++)
		if (links[i].reached && (isnan(most) || links[i].rate_gbps >= most) && --k == 0)
			return &links[i];
	return NULL;
}

double links_received(const char *root, const struct link *l)
{
	char text[64], device[sizeof(l->name)], *port;

	snprintf(device, sizeof(device), "%s", l->name);
	port = strchr(device, '/');
	if (!l->ib || port == NULL)
		return text_of(text, sizeof(text), "%s/sys/class/net/%s/statistics/rx_bytes", root, l->name) ?
			       strtod(text, NULL) : NAN;
	*port++ = '\0';
	/* Counted in words of four bytes (InfiniBand, volume 1, 16.1.3.5). */
	return text_of(text, sizeof(text), "%s/sys/class/infiniband/%s/ports/%s/counters/port_rcv_data", root, device,
		       port) ? 4 * strtod(text, NULL) : NAN;
}

void links_boot_id(const char *root, char text[64])
{
	text_of(text, 64, "%s/proc/sys/kernel/random/boot_id", root);
}
