/* Bytes of which each says where it belongs. Pure. */
#ifndef SYSCHECK_PATTERN_H
#define SYSCHECK_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* What belongs at offset `at` of the file of this seed; both in bytes, multiples of 8. */
void pattern_fill(uint64_t *buffer, size_t bytes, size_t at, uint64_t seed);

/* Index of the first byte in the buffer that does not belong there; `bytes` if all do. */
size_t pattern_check(const uint64_t *buffer, size_t bytes, size_t at, uint64_t seed);

#endif
