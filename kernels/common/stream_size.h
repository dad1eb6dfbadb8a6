/* How large stream's arrays are. Pure. */
#ifndef SYSCHECK_STREAM_SIZE_H
#define SYSCHECK_STREAM_SIZE_H

#include <stddef.h>

/* Elements in a block: 64 KiB, so that small memory limits still leave some. */
#define STREAM_BLOCK ((size_t)8192)

enum stream_limit { STREAM_LIMIT_LLC, STREAM_LIMIT_MEMORY, STREAM_LIMIT_TIME };

struct stream_size {
	size_t elements; /* doubles of one array on one thread, a multiple of STREAM_BLOCK; 0: no room */
	enum stream_limit limit;
};

/*
 * Each of the three arrays is 4 x the sum of the last-level caches, as STREAM's
 * rules want it, in parts for `threads`; less where that is over half of
 * `available` or over `max` bytes for all three. `llc` 0: not known.
 */
struct stream_size stream_size(size_t llc, size_t available, size_t max, int threads);

const char *stream_limit_name(enum stream_limit limit);

#endif
