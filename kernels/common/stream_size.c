#include "stream_size.h"

#define ARRAYS 3

/* Where caches are not shown (some VMs): larger than 4 x any single cache so far. */
#define UNKNOWN_LLC ((size_t)256 << 20)

struct stream_size stream_size(size_t llc, size_t available, size_t max, int threads)
{
	const size_t block = STREAM_BLOCK * sizeof(double);
	size_t wanted = 4 * (llc ? llc : UNKNOWN_LLC), room = available / 2 < max ? available / 2 : max;
	size_t part = (wanted / (size_t)threads + block - 1) / block;
	size_t part_room = room / ARRAYS / (size_t)threads / block;
	struct stream_size size = { .limit = STREAM_LIMIT_LLC };

	if (part > part_room) {
		part = part_room;
		size.limit = STREAM_LIMIT_MEMORY;
	}
	size.elements = part * STREAM_BLOCK;
	return size;
}

const char *stream_limit_name(enum stream_limit limit)
{
	static const char *const names[] = { "llc", "memory", "time" };

	return names[limit];
}
