/*
 * The kernel's counters of memory traffic: resctrl's (Documentation/filesystems/resctrl.rst), bytes between each L3
 * cache and memory, of all groups together; or the memory controllers', by perf (uncore.h), of each package. Read
 * around triads, so that what a job counts and what the machine can do are by one ruler.
 */
#ifndef SYSCHECK_STREAM_TRAFFIC_H
#define SYSCHECK_STREAM_TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/opts.h"
#include "common/uncore.h"

/* L3 caches, and files of all groups: each reading asks a CPU of that cache. */
#define TRAFFIC_CACHES 128
#define TRAFFIC_FILES 256

struct traffic {
	bool perf;                        /* the controllers' counters: a domain for a cache, no files */
	struct uncore uncore;
	size_t caches, files;
	int ids[TRAFFIC_CACHES];          /* "mon_L3_07": 7, a domain's CPU; in no order */
	size_t cache_of[TRAFFIC_FILES];   /* its place in ids */
	char *paths[TRAFFIC_FILES];
};

/*
 * Finds the counters below `dir`: /sys/fs/resctrl, or UNCORE_DIR, which has no mon_data. False, and why in `error`, where
 * there are none.
 */
bool traffic_open(struct traffic *t, const char *dir, char error[ERROR_SIZE]);

/*
 * Bytes of each cache by now, modulo 2^64, of perf since traffic_open. False, and which and why in `error`: "Unavailable" (of the
 * hardware now), "Unassigned" (no counter given), "Error", or whatever else is no number.
 */
bool traffic_read(const struct traffic *t, uint64_t bytes[TRAFFIC_CACHES], char error[ERROR_SIZE]);

void traffic_close(struct traffic *t);

#endif
