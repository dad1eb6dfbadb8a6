#include "tcp.h"

#include <dirent.h>
#include <linux/tcp.h>
#include <math.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Of the kernel that is older than this struct, what is missing is 0. */
static bool read_total(int fd, struct tcp_total *total)
{
	struct tcp_info info;
	socklen_t size = sizeof(info);

	memset(&info, 0, sizeof(info));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 || size < offsetof(struct tcp_info, tcpi_segs_out))
		return false;
	*total = (struct tcp_total){
		.fd = fd, .acked = info.tcpi_bytes_acked, .sent = info.tcpi_bytes_sent, .again = info.tcpi_bytes_retrans,
		.busy_us = info.tcpi_busy_time, .rwnd_us = info.tcpi_rwnd_limited,
		.sndbuf_us = info.tcpi_sndbuf_limited, .rtt_us = info.tcpi_rtt,
		.min_rtt_us = info.tcpi_min_rtt == UINT32_MAX ? 0 : info.tcpi_min_rtt,
	};
	return true;
}

void tcp_look(struct tcp_mark *mark)
{
	DIR *dir = opendir("/proc/self/fd");

	mark->n = 0;
	if (dir == NULL)
		return;
	for (const struct dirent *e = readdir(dir); e != NULL && mark->n < TCP_MOST; e = readdir(dir))
		if (e->d_name[0] != '.' && read_total(atoi(e->d_name), &mark->of[mark->n]))
			mark->n++;
	closedir(dir);
}

static const struct tcp_total *find(const struct tcp_mark *mark, int fd)
{
	for (int i = 0; i < mark->n; i++)
		if (mark->of[i].fd == fd)
			return &mark->of[i];
	return NULL;
}

static double percent(uint64_t part, uint64_t of)
{
	return of > 0 ? 100.0 * (double)part / (double)of : NAN;
}

bool tcp_account(const struct tcp_mark *before, const struct tcp_mark *after, uint64_t least, struct tcp_account *out)
{
	static const struct tcp_total none;
	const struct tcp_total *from = NULL, *to = NULL;
	uint64_t most = 0;

	for (int i = 0; i < after->n; i++) {
		const struct tcp_total *now = &after->of[i], *then = find(before, now->fd);

		/* Another connection of the same number has other totals. */
		if (then == NULL || then->acked > now->acked || then->sent > now->sent || then->busy_us > now->busy_us)
			then = &none;
		if (now->acked - then->acked < least || now->acked - then->acked <= most)
			continue;
		most = now->acked - then->acked;
		from = then;
		to = now;
	}
	if (to == NULL)
		return false;
	*out = (struct tcp_account){
		.rtt_us = to->rtt_us > 0 ? to->rtt_us : NAN,
		.min_rtt_us = to->min_rtt_us > 0 ? to->min_rtt_us : NAN,
		.rwnd_pct = percent(to->rwnd_us - from->rwnd_us, to->busy_us - from->busy_us),
		.sndbuf_pct = percent(to->sndbuf_us - from->sndbuf_us, to->busy_us - from->busy_us),
		.again_pct = percent(to->again - from->again, to->sent - from->sent),
	};
	return true;
}

double tcp_most(const char *root, const char *name)
{
	char path[512], line[128];
	double most = NAN;
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/sys/net/ipv4/%s", root, name);
	f = fopen(path, "re");
	if (f == NULL)
		return most;
	if (fgets(line, sizeof(line), f) != NULL) {
		char *last = strrchr(line, '\t');
		const double v = last ? strtod(last, NULL) : 0;

		most = v > 0 && isfinite(v) ? v : NAN;
	}
	fclose(f);
	return most;
}
