/*
 * What the memory controllers count, by the kernel's perf events: reads and writes of lines by Intel's
 * (uncore_imc*, cas_count_read and cas_count_write: sysfs has their code and scale), both by AMD's (amd_umc_*,
 * umc_cas_cmd 0x0a, 64 bytes each: PPR for family 19h, perf's pmu-events). They count for the whole machine, and only
 * while they are open. A PMU's cpumask names one CPU of each package (or die) to read it from: that CPU is the domain.
 *
 * The kernel stream and the plugin read these: no library, no Slurm.
 */
#ifndef SYSCHECK_UNCORE_H
#define SYSCHECK_UNCORE_H

#include <stddef.h>
#include <stdint.h>

/* A controller has one to three PMUs, a package up to 12 controllers, two events each. */
#define UNCORE_EVENTS 512
#define UNCORE_DOMAINS 16

struct uncore {
	size_t events, domains;
	int cpus[UNCORE_DOMAINS];
	struct uncore_event {
		int fd;
		size_t domain;
		double bytes; /* of one count */
	} event[UNCORE_EVENTS];
};

/*
 * The config words of an event, "event=0x04,umask=0x03", by the PMU's formats ("event" has "config:0-7") in the
 * directory `formats`. 0; -EINVAL for anything else.
 */
int uncore_config(uint64_t config[3], const char *event, int formats);

/* "0,28" or "0-1": at most `max` CPUs, how many; 0 for anything else, or more. */
size_t uncore_cpus(const char *text, int *cpus, size_t max);

/*
 * Opens all below `dir` (/sys/bus/event_source/devices). 0 or a negative errno: -ENOENT: there are none; -EINVAL: one is
 * not as the kernel describes them; -E2BIG: more than fit; of perf_event_open: -EACCES, -EPERM (no CAP_PERFMON), ...
 */
int uncore_open(struct uncore *u, const char *dir);

/*
 * Bytes of each domain since they were opened, and for how long that was, ns. 0 or a negative errno: -EBUSY: others
 * counted with the same counters meanwhile, so that ours had a part of the time; -ENODEV: a CPU went offline.
 */
int uncore_read(const struct uncore *u, uint64_t bytes[UNCORE_DOMAINS], uint64_t *ns);

void uncore_close(struct uncore *u);

#endif
