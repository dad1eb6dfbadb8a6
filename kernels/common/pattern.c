#include "pattern.h"

/*
 * Word i. Both steps are reversible, so no two words of a file are alike: a block from
 * another place is seen, and with a random seed also one of an earlier file.
 */
static inline uint64_t word(uint64_t i, uint64_t seed)
{
	uint64_t x = (i + seed) * 0x9E3779B97F4A7C15u; /* odd: Weyl's step of splitmix64 */

	return x ^ (x >> 29);
}

void pattern_fill(uint64_t *buffer, size_t bytes, size_t at, uint64_t seed)
{
	for (size_t i = 0; i < bytes / 8; i++)
		buffer[i] = word(at / 8 + i, seed);
}

size_t pattern_check(const uint64_t *buffer, size_t bytes, size_t at, uint64_t seed)
{
	for (size_t i = 0; i < bytes / 8; i++) {
		uint64_t expected = word(at / 8 + i, seed);
		const unsigned char *is = (const unsigned char *)&buffer[i], *should = (const unsigned char *)&expected;
		size_t j = 0;

		if (buffer[i] == expected)
			continue;
		while (is[j] == should[j])
			j++;
		return i * 8 + j;
	}
	return bytes;
}
