/*
 * What a message carries: in each 4 KiB a stamp that says which message it is, then words that depend on their
 * place only. Only stamps are written for each message, and read of each: writing all of it would measure memory.
 * Pure.
 */
#ifndef SYSCHECK_FABRIC_STAMP_H
#define SYSCHECK_FABRIC_STAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/opts.h"

struct stamp {
	uint64_t round; /* counted since the start */
	uint64_t number; /* of the message in its phase */
	uint32_t phase;
	uint32_t burst;
	uint32_t page; /* set by stamp_put */
	uint32_t from; /* rank */
};

/* The words; stamps are left as they are. `bytes` is a multiple of 4,096. */
void stamp_fill(unsigned char *message, size_t bytes);

void stamp_put(unsigned char *message, size_t bytes, struct stamp stamp);

/* What the first stamp says. */
struct stamp stamp_get(const unsigned char *message);

/* All stamps, and with `whole` all words. False: `error` says which byte differs. */
bool stamp_check(const unsigned char *message, size_t bytes, struct stamp want, bool whole, char error[ERROR_SIZE]);

#endif
