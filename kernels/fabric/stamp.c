#include "stamp.h"

#include <stdio.h>
#include <string.h>

#include "common/random.h"

#define PAGE ((size_t)4096)
#define FIRST_WORD (sizeof(struct stamp) / sizeof(uint64_t))
#define WORDS (PAGE / sizeof(uint64_t))

/* A page's words: 0 would be what memory holds anyway. */
static uint64_t word_at(size_t page, size_t word)
{
	return random_mix((page * WORDS + word + 1) * RANDOM_GAMMA);
}

void stamp_fill(unsigned char *message, size_t bytes)
{
	for (size_t page = 0; page < bytes / PAGE; page++)
		for (size_t i = FIRST_WORD; i < WORDS; i++) {
			const uint64_t word = word_at(page, i);

			memcpy(message + page * PAGE + i * sizeof(word), &word, sizeof(word));
		}
}

void stamp_put(unsigned char *message, size_t bytes, struct stamp stamp)
{
	for (stamp.page = 0; stamp.page < bytes / PAGE; stamp.page++)
		memcpy(message + stamp.page * PAGE, &stamp, sizeof(stamp));
}

struct stamp stamp_get(const unsigned char *message)
{
	struct stamp stamp;

	memcpy(&stamp, message, sizeof(stamp));
	return stamp;
}

static bool differs(char error[ERROR_SIZE], struct stamp of, size_t byte, uint64_t is, uint64_t want)
{
	snprintf(error, ERROR_SIZE, "message %llu from rank %u: byte %zu is 0x%016llx, not 0x%016llx",
		 (unsigned long long)of.number, of.from, byte, (unsigned long long)is, (unsigned long long)want);
	return false;
}

/* Words from, to of a page beside those wanted. */
static bool check_words(const unsigned char *at, const uint64_t *want, size_t n, size_t byte, struct stamp of,
			char error[ERROR_SIZE])
{
	uint64_t is;

	if (memcmp(at, want, n * sizeof(is)) == 0)
		return true;
	for (size_t i = 0; i < n; i++) {
		memcpy(&is, at + i * sizeof(is), sizeof(is));
		if (is != want[i])
			return differs(error, of, byte + i * sizeof(is), is, want[i]);
	}
	return true;
}

bool stamp_check(const unsigned char *message, size_t bytes, struct stamp want, bool whole, char error[ERROR_SIZE])
{
	uint64_t words[WORDS];

	for (want.page = 0; want.page < bytes / PAGE; want.page++) {
		const size_t n = whole ? WORDS : FIRST_WORD;

		memcpy(words, &want, sizeof(want));
		for (size_t i = FIRST_WORD; i < n; i++)
			words[i] = word_at(want.page, i);
		if (!check_words(message + want.page * PAGE, words, n, want.page * PAGE, want, error))
			return false;
	}
	return true;
}
