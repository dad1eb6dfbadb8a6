/* What a node's ports count of what went wrong: before and after, so that a bad cable shows beside a slow rate. */
#ifndef SYSCHECK_FABRIC_ERRORS_H
#define SYSCHECK_FABRIC_ERRORS_H

#include <stddef.h>

#include "links.h"

#define ERRORS_MOST 20

struct errors {
	size_t value[LINKS_MOST][ERRORS_MOST]; /* SIZE_MAX: not counted */
};

/* Counters of the links that links_read gave; `root` as there. */
void errors_read(const char *root, const struct link *links, int n, struct errors *e);

/* The k'th counter's name as Linux has it; NULL: there are no more. */
const char *errors_name(const struct link *l, int k);

/* How much more there is of the k'th of link i. 0: none, not counted, or set back meanwhile. */
size_t errors_more(const struct errors *before, const struct errors *after, int i, int k);

#endif
