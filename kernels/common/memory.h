/* How much memory a kernel may take. */
#ifndef SYSCHECK_MEMORY_H
#define SYSCHECK_MEMORY_H

#include <stddef.h>

/*
 * Bytes that can be allocated without swapping: MemAvailable, or what this process'
 * memory cgroup (v1 or v2) and its parents leave, whichever is less. 0 if
 * MemAvailable cannot be read.
 */
size_t memory_available(void);

/*
 * Of that, what the cgroups leave: min(max, high) - (usage - inactive file pages).
 * SIZE_MAX without a limit. `root` is put before /proc and /sys: "", or a test's.
 */
size_t memory_group_room(const char *root);

/* Of a kernel's options (struct opts_extra), and what it says in bytes: SIZE_MAX without it. */
#define MEMORY_OPTION                                                                                       \
	{ .name = "--max-memory", .help = "MB on all nodes together (default: half of what is available)",  \
	  .low = 1, .high = 1e9, .value = &memory_most_mb }
extern double memory_most_mb;
size_t memory_most(void);

#define MEMORY_HUGE ((size_t)2 << 20)

/*
 * Zeroed pages, huge ones where the system lets us ask; NULL (errno). Untouched. Whole
 * pages of the system; from MEMORY_HUGE on aligned to it.
 */
void *memory_map(size_t bytes);

/* Share of this process' anonymous memory that is in huge pages, in %; NaN if it cannot be read. */
double memory_huge_pct(void);

#endif
