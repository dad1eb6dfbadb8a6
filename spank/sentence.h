/*
 * What a job's user is told of its nodes' checks, in one sentence. Pure: no Slurm,
 * no file.
 */
#ifndef SYSCHECK_SENTENCE_H
#define SYSCHECK_SENTENCE_H

#include <stddef.h>

#include "status.h"

#define SENTENCE_MAX 600

/* What is known of one node. */
struct checked {
	const char *node;
	const struct status *st;
};

/*
 * "syscheck: 64 nodes checked, all fine (slowest n17: memory 4 % below its class)".
 * `all` are the nodes of the job whose status could be read, this node first, n of
 * them, one or more. Of those that could not be read it says that they speak for
 * themselves. `out` has room for `size` bytes, SENTENCE_MAX + 1 is enough.
 */
void sentence(char *out, size_t size, const struct checked *all, size_t n);

/* Adds, of a job that was requeued `restarts` times, where the reason is. */
void sentence_requeued(char *out, size_t size, uint32_t job, uint32_t restarts);

#endif
