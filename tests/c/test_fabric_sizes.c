/* fabric's pure units: tags, message sizes, the receiver's rate, stamps. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fabric/sizes.h"
#include "fabric/stamp.h"

static void tags(void **state)
{
	static const int mosts[] = { 32767, 1 << 20, 2147483647 };
	static unsigned char seen[32768];

	(void)state;
	for (size_t m = 0; m < sizeof(mosts) / sizeof(mosts[0]); m++)
		for (uint64_t round = 1; round < ((uint64_t)1 << 40); round = round * 3 + 1) {
			const int tag = fabric_tag(round, FABRIC_BOTH, FABRIC_DATA, mosts[m]);

			assert_true(tag >= 1);
			assert_true(tag <= mosts[m]);
		}
	for (uint64_t round = 5000; round < 6600; round++)
		for (int phase = 0; phase < FABRIC_PHASES; phase++)
			for (int kind = 0; kind < FABRIC_KINDS; kind++) {
				const int tag = fabric_tag(round, (enum fabric_phase)phase, (enum fabric_kind)kind, 32767);

				assert_int_equal(seen[tag]++, 0);
			}
}

static void sizes(void **state)
{
	(void)state;
	/* 100 Mbit/s: 16 x 12 KiB take 16 ms. */
	assert_int_equal(fabric_size(12e6, 16, 1 << 20), 12288);
	assert_int_equal(fabric_size(100e6, 16, 1 << 20), 122880);
	assert_int_equal(fabric_size(12e9, 16, 1 << 20), 1 << 20);
	assert_int_equal(fabric_size(12e9, 16, 16 << 20), 14999552);
	assert_int_equal(fabric_size(1e6, 16, 1 << 20), 4096);
	assert_int_equal(fabric_size(NAN, 16, 1 << 20), 4096);
	assert_int_equal(fabric_size(0, 16, 1 << 20), 4096);
	assert_int_equal(fabric_size(INFINITY, 16, 10000), 8192);
}

static void rates(void **state)
{
	struct fabric_meter m = { .skip = 0 };

	(void)state;
	assert_true(isnan(fabric_meter_rate(&m)));
	fabric_meter_add(&m, 10, 0, 0, 1000);
	assert_true(isnan(fabric_meter_rate(&m)));
	fabric_meter_add(&m, 11, 0, 0, 1000);
	fabric_meter_add(&m, 12, 0, 0, 1000);
	assert_true(fabric_meter_rate(&m) == 1000);
	/* Two that came together count both, but not beside the one that starts the clock. */
	m = (struct fabric_meter){ .skip = 0 };
	fabric_meter_add(&m, 10, 0, 0, 1000);
	fabric_meter_add(&m, 10, 0, 0, 1000);
	fabric_meter_add(&m, 12, 0, 0, 1000);
	fabric_meter_add(&m, 12, 0, 0, 1000);
	assert_true(fabric_meter_rate(&m) == 1000);
}

static void starts(void **state)
{
	struct fabric_meter m = { .skip = 2 };

	(void)state;
	/* 100 at once, then 1 a second: from the last one before 12 on. */
	for (int i = 0; i < 100; i++)
		fabric_meter_add(&m, 10 + i * 0.01, 0, 0, 1);
	for (int t = 0; t < 10; t++)
		fabric_meter_add(&m, 11.5 + t, 0, 0, 1);
	assert_true(fabric_meter_rate(&m) == 1);
	assert_true(fabric_meter_seconds(&m) == 9);
	/* A pause after the start counts. */
	m = (struct fabric_meter){ .skip = 2 };
	fabric_meter_add(&m, 10, 0, 0, 1);
	fabric_meter_add(&m, 18, 0, 0, 1);
	fabric_meter_add(&m, 20, 0, 0, 1);
	assert_true(fabric_meter_rate(&m) == 0.2);
}

/* Pauses between bursts do not count, and each has a start of its own. */
static void bursts(void **state)
{
	struct fabric_meter m = { .skip = 1 };

	(void)state;
	for (uint32_t burst = 0; burst < 5; burst++) {
		for (int i = 0; i < 7; i++)
			fabric_meter_add(&m, 100 * burst + 0.125 * i, 0, burst, 1000);
		for (int t = 1; t <= 4; t++)
			fabric_meter_add(&m, 100 * burst + 0.75 + t, 0, burst, 10);
	}
	assert_true(fabric_meter_seconds(&m) == 20);
	assert_true(fabric_meter_rate(&m) == 10);
}

/* How long was not looked for arrivals matters where the clock starts and stops only. */
static void unsure(void **state)
{
	struct fabric_meter m = { .skip = 1 };

	(void)state;
	fabric_meter_add(&m, 10, 0.5, 0, 1);
	fabric_meter_add(&m, 10.75, 0.25, 0, 1);
	fabric_meter_add(&m, 14, 3, 0, 1);
	assert_true(fabric_meter_unsure(&m) == 3.25);
	fabric_meter_add(&m, 15, 0.125, 0, 1);
	fabric_meter_add(&m, 15, 0.125, 0, 1);
	assert_true(fabric_meter_unsure(&m) == 0.375);
	/* And in each burst. */
	fabric_meter_add(&m, 20, 0.5, 1, 1);
	fabric_meter_add(&m, 22, 0.5, 1, 1);
	assert_true(fabric_meter_unsure(&m) == 1.375);
}

static void stamps(void **state)
{
	enum { BYTES = 3 * 4096 };
	const struct stamp stamp = { .round = 1ull << 40, .number = 12, .phase = 3, .burst = 2, .from = 77 };
	static unsigned char message[BYTES];
	char error[ERROR_SIZE] = "";
	struct stamp other;

	(void)state;
	stamp_fill(message, BYTES);
	stamp_put(message, BYTES, stamp);
	assert_int_equal(stamp_get(message).burst, 2);
	assert_true(stamp_check(message, BYTES, stamp, false, error));
	assert_true(stamp_check(message, BYTES, stamp, true, error));
	other = stamp;
	other.number++;
	assert_false(stamp_check(message, BYTES, other, false, error));
	assert_string_equal(error, "message 13 from rank 77: byte 8 is 0x000000000000000c, not 0x000000000000000d");
	/* Every byte counts in the whole, those of the stamps always. */
	for (size_t i = 0; i < BYTES; i++) {
		const bool in_stamp = i % 4096 < sizeof(stamp);

		message[i] ^= 0x10;
		assert_false(stamp_check(message, BYTES, stamp, true, error));
		assert_int_equal(stamp_check(message, BYTES, stamp, false, error), !in_stamp);
		message[i] ^= 0x10;
	}
	/* Pages in another order. */
	memmove(message, message + 4096, 4096);
	assert_false(stamp_check(message, BYTES, stamp, false, error));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tags),   cmocka_unit_test(sizes),  cmocka_unit_test(rates),
		cmocka_unit_test(starts), cmocka_unit_test(bursts), cmocka_unit_test(unsure), cmocka_unit_test(stamps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
