#include "stream_size.h"

#define ARRAYS 3

/* Where caches are not shown (some VMs): larger than 4 x any single cache so far. */
#define UNKNOWN_LLC ((size_t)256 << 20)

static size_t up(size_t elements, size_t step)
{
	return (elements + step - 1) / step * step;
}

struct stream_size stream_size(size_t llc, size_t available, size_t max, int threads)
{
	const size_t known = llc ? llc : UNKNOWN_LLC, all = (size_t)threads * sizeof(double);
	const size_t room = (available / 2 < max ? available / 2 : max) / ARRAYS / all;
	size_t wanted = up((4 * known + all - 1) / all, STREAM_BLOCK);
	struct stream_size size = { .limit = STREAM_LIMIT_LLC };

	size.step = wanted >= STREAM_HUGE && room >= STREAM_HUGE ? STREAM_HUGE : STREAM_BLOCK;
	size.elements = up(wanted, size.step);
	if (size.elements > room) {
		/* Rounding up alone is no lack of memory. */
		size.limit = wanted > room ? STREAM_LIMIT_MEMORY : STREAM_LIMIT_LLC;
		size.elements = room / size.step * size.step;
	}
	/* Larger than the caches, not as large. */
	size.least = up(known / ARRAYS / all + 1, size.step);
	size.least += size.least * all * ARRAYS <= known ? size.step : 0;
	return size;
}

enum stream_limit stream_limit_time(enum stream_limit limit)
{
	return limit == STREAM_LIMIT_MEMORY ? limit : STREAM_LIMIT_TIME;
}

const char *stream_limit_name(enum stream_limit limit)
{
	static const char *const names[] = { "llc", "memory", "time" };

	return names[limit];
}
