/* /proc's counters of threads, interrupts and softirqs. Names in them are untrusted text. */
#ifndef SYSCHECK_NOISE_PROC_H
#define SYSCHECK_NOISE_PROC_H

#include <stdbool.h>
#include <stddef.h>

#include "common/topo.h"

struct thread {
	int pid, tid;
	unsigned long long run_ns, slices; /* time on a CPU, how often it got one */
	int cpu;                           /* the last one; -1: not known */
	char comm[20];
};

struct threads {
	struct thread *list;
	size_t n, room;
};

/* Of /proc/interrupts or /proc/softirqs, on the sampled CPUs only. */
struct row {
	char label[16], name[64];
	unsigned long long *counts, sum; /* of each sampled CPU, of all */
};

struct table {
	struct row *rows;
	unsigned long long *counts;
	size_t n;
};

/* Of a file's text, which is changed; empty if it is none. */
void table_parse(struct table *t, char *text, const struct topo *topo);

/* Empty if the file cannot be read. */
void table_read(struct table *t, const char *path, const struct topo *topo);

/* `now` minus `t`, into `t`, the most first; takes `now` over. */
void table_subtract(struct table *t, struct table *now, const struct topo *topo);

void table_free(struct table *t);

/* Every thread but our own. False: not all, because of the deadline (clock_now) or memory. */
bool threads_read(struct threads *t, double deadline);

/*
 * What ran between: `now` minus `t`, into `t`, the most first; takes `now` over. Threads
 * that are not in `t` are new, unless it is not complete: then they are left out.
 */
void threads_subtract(struct threads *t, struct threads *now, bool complete);

/* The most CPU time first. */
void threads_sort(struct threads *t);

/* comm, and the last CPU, of the text of /proc/PID/task/TID/stat, which is changed. */
void thread_parse(struct thread *t, char *text, bool process);

/* Fills in comm, and the last CPU if a thread is asked for, not its process. */
void thread_name(struct thread *t, bool process);

#endif
