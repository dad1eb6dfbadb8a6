/*
 * What a cgroup counts of the processes in it, cgroup v2 and v1. Pure parsing, and
 * reading below an open directory, cgroup_file.c; no Slurm.
 *
 * A value that a file does not hold, or that is no number, is CG_UNKNOWN: absent is
 * not zero.
 */
#ifndef SYSCHECK_CGROUP_H
#define SYSCHECK_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cg_field {
	CG_CPU_US,
	CG_CPU_THROTTLED_US, /* by the group's own quota only, in both versions */
	CG_IO_SOME_US,
	CG_IO_FULL_US,
	CG_READ_BYTES,
	CG_WRITTEN_BYTES,
	CG_MEMORY_PEAK_BYTES,
	CG_MEMORY_SOME_US,
	CG_OOM_KILLS,
	CG_FIELDS
};

#define CG_UNKNOWN UINT64_MAX

enum cg_hierarchy { CG_UNIFIED, CG_CPU, CG_CPUACCT, CG_BLKIO, CG_MEMORY, CG_HIERARCHIES };

struct cg_values {
	uint64_t v[CG_FIELDS];
};

/* The name of a field, as in the record. */
const char *cg_name(enum cg_field field);

/* All unknown. */
void cg_clear(struct cg_values *values);

/* A sum; what one of both does not know is the other's. */
uint64_t cg_add(uint64_t a, uint64_t b);

/* The larger; likewise. */
uint64_t cg_max(uint64_t a, uint64_t b);

/* ---- the files' text, NUL-terminated ---- */

/* The next line's begin, NULL after the last. */
const char *cg_next_line(const char *line);

/* What follows `word` and a blank at the line's begin, or NULL. */
const char *cg_after(const char *line, const char *word);

/*
 * Digits up to white space or the end, and no more of them than fit: the begin of a
 * file that is one number (memory.peak, cpuacct.usage).
 */
uint64_t cg_number(const char *text);

/* "KEY NUMBER" lines: cpu.stat, memory.events, memory.oom_control. */
uint64_t cg_keyed(const char *text, const char *key);

/* `total=` of the line that begins with `kind` ("some", "full"), in microseconds. */
uint64_t cg_pressure(const char *text, const char *kind);

/* Which block devices count; a stacked one's bytes are also in those below it. */
typedef bool (*cg_device_counts)(unsigned int major, unsigned int minor);

/* io.stat: "8:0 rbytes=1 wbytes=2 ...". NULL: every device counts. */
void cg_io_v2(const char *text, cg_device_counts counts, uint64_t *read, uint64_t *written);

/* blkio.throttle.io_service_bytes*: "8:0 Read 1". */
void cg_io_v1(const char *text, cg_device_counts counts, uint64_t *read, uint64_t *written);

/* /proc/PID/io: what the process and the children that it waited for moved to and from
 * storage. */
void cg_io_process(const char *text, uint64_t *read, uint64_t *written);

/* ---- reading ---- */

/*
 * Reads the group that `dir` is open at, of `hierarchy`, into the fields it has.
 * CG_UNIFIED: all; in v1 each hierarchy has its own.
 */
void cg_read(struct cg_values *values, int dir, enum cg_hierarchy hierarchy, cg_device_counts counts);

/*
 * What only each group for itself knows and no parent sums up: throttled time, and in v1
 * OOM kills. Adds that of the groups below `dir`, where Slurm puts tasks: NAME and
 * NAME/NAME, a bounded number.
 */
void cg_read_below(struct cg_values *values, int dir, enum cg_hierarchy hierarchy);

/* A whole small file below `dir` (never a link) into `text`; false if there is none. */
bool cg_file(char *text, size_t size, int dir, const char *name);

#endif
