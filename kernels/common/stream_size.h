/* How large stream's arrays are. Pure. */
#ifndef SYSCHECK_STREAM_SIZE_H
#define SYSCHECK_STREAM_SIZE_H

#include <stddef.h>

/* Elements in a block: 64 KiB, so that small memory limits still leave some. */
#define STREAM_BLOCK ((size_t)8192)

/* Elements in a huge page of 2 MiB: parts of at least that much are whole ones. */
#define STREAM_HUGE ((size_t)262144)

enum stream_limit { STREAM_LIMIT_LLC, STREAM_LIMIT_MEMORY, STREAM_LIMIT_TIME };

struct stream_size {
	size_t elements; /* doubles of one array on one thread, a multiple of `step`; 0: no room */
	size_t least;    /* with these all arrays together are larger than the caches; may be more than `elements` */
	size_t step;     /* STREAM_BLOCK or STREAM_HUGE */
	enum stream_limit limit;
};

/*
 * Each of the three arrays is 4 x the sum of the last-level caches, as STREAM's
 * rules want it, in parts for `threads`; less where that is over half of
 * `available` or over `max` bytes for all three. `llc` 0: not known.
 */
struct stream_size stream_size(size_t llc, size_t available, size_t max, int threads);

/* What cut the arrays: time only where memory had not done so before. */
enum stream_limit stream_limit_time(enum stream_limit limit);

const char *stream_limit_name(enum stream_limit limit);

#endif
