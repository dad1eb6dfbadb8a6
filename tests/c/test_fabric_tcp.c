/* fabric's account of TCP: of connections that this test makes over loopback. */
#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "fabric/tcp.h"

static struct tcp_mark before, after;

static void no_connection(void **state)
{
	struct tcp_account account;

	(void)state;
	tcp_look(&before);
	assert_false(tcp_account(&before, &before, 0, &account));
}

static void connect_pair(int pair[2])
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t size = sizeof(at);
	const int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(l >= 0);
	assert_int_equal(bind(l, (struct sockaddr *)&at, size), 0);
	assert_int_equal(listen(l, 1), 0);
	assert_int_equal(getsockname(l, (struct sockaddr *)&at, &size), 0);
	pair[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(pair[0], (struct sockaddr *)&at, size), 0);
	pair[1] = accept(l, NULL, NULL);
	assert_true(pair[1] >= 0);
	close(l);
}

static void send_over(const int pair[2], int messages)
{
	static char data[1 << 16];

	for (int i = 0; i < messages; i++) {
		size_t got = 0;

		assert_int_equal(write(pair[0], data, sizeof(data)), sizeof(data));
		while (got < sizeof(data)) {
			const ssize_t n = read(pair[1], data, sizeof(data));

			assert_true(n > 0);
			got += (size_t)n;
		}
	}
}

static void the_busiest(void **state)
{
	struct tcp_account account = { 0 };
	int much[2], little[2];
	struct tcp_info info;
	socklen_t size = sizeof(info);

	(void)state;
	connect_pair(much);
	if (getsockopt(much[0], IPPROTO_TCP, TCP_INFO, &info, &size) != 0 || size < sizeof(info) / 2)
		skip(); /* an emulator hands over no more than a number */
	connect_pair(little);
	send_over(much, 3);
	tcp_look(&before);
	assert_int_equal(before.n, 4);
	send_over(much, 40);
	send_over(little, 1);
	tcp_look(&after);
	assert_true(tcp_account(&before, &after, 1 << 20, &account));
	assert_true(account.rtt_us > 0);
	assert_true(account.again_pct >= 0 && account.again_pct <= 100);
	/* Too little was sent over any other. */
	close(much[0]);
	close(much[1]);
	before = after;
	send_over(little, 1);
	tcp_look(&after);
	assert_int_equal(after.n, 2);
	assert_false(tcp_account(&before, &after, 1 << 20, &account));
	close(little[0]);
	close(little[1]);
}

static void of(struct tcp_mark *mark, struct tcp_total total)
{
	mark->n = 1;
	mark->of[0] = total;
}

static void shares(void **state)
{
	struct tcp_account a;

	(void)state;
	of(&before, (struct tcp_total){ .fd = 9, .acked = 100, .sent = 120, .again = 20, .busy_us = 50, .rwnd_us = 50 });
	of(&after, (struct tcp_total){ .fd = 9, .acked = 1100, .sent = 1120, .again = 25, .busy_us = 150, .rwnd_us = 130,
				       .sndbuf_us = 10, .rtt_us = 30000, .min_rtt_us = 29000 });
	assert_true(tcp_account(&before, &after, 1000, &a));
	assert_true(a.rwnd_pct == 80 && a.sndbuf_pct == 10 && a.again_pct == 0.5 && a.rtt_us == 30000 &&
		    a.min_rtt_us == 29000);
	/* Another connection that got the number meanwhile: all that it has done. */
	of(&before, (struct tcp_total){ .fd = 9, .acked = 5000, .sent = 5000, .busy_us = 9 });
	assert_true(tcp_account(&before, &after, 1000, &a));
	assert_true(fabs(a.again_pct - 100.0 * 25 / 1120) < 1e-9);
	/* An old kernel does not say them. */
	of(&before, (struct tcp_total){ .fd = 9 });
	of(&after, (struct tcp_total){ .fd = 9, .acked = 1000 });
	assert_true(tcp_account(&before, &after, 1000, &a));
	assert_true(isnan(a.rwnd_pct) && isnan(a.sndbuf_pct) && isnan(a.again_pct) && isnan(a.rtt_us) &&
		    isnan(a.min_rtt_us));
}

static void buffers(void **state)
{
	(void)state;
	assert_true(tcp_most("", "tcp_rmem") >= 4096);
	assert_true(isnan(tcp_most("", "nothing")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_connection),
		cmocka_unit_test(the_busiest),
		cmocka_unit_test(shares),
		cmocka_unit_test(buffers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
