/* A file past the page cache, where its file system can. */
#ifndef SYSCHECK_DIRECT_H
#define SYSCHECK_DIRECT_H

#include <stdbool.h>
#include <stddef.h>

struct direct {
	int fd;
	bool on;      /* O_DIRECT; off: the page cache is used */
	size_t align; /* of offsets, lengths and memory, a power of two, 4096 at least */
};

/* Turns O_DIRECT on if requests of `chunk` bytes fit what the file system wants. */
void direct_ask(struct direct *d, size_t chunk);

/*
 * Moves all of the bytes, in as many calls as it takes; turns O_DIRECT off if a request
 * is refused for its alignment. False: errno; EIO at the end of the file.
 */
bool direct_transfer(struct direct *d, bool writing, void *buffer, size_t bytes, size_t at);

#endif
