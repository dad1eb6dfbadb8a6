/* The clock of a core in cycles, from instructions that wait for each other. */
#ifndef SYSCHECK_CHAIN_H
#define SYSCHECK_CHAIN_H

/*
 * The effective frequency of the CPU that this runs on, in MHz, measured over about
 * 130,000 cycles (40 us at 3 GHz). An interrupt in between lowers it: take a median.
 */
double chain_mhz(void);

/*
 * A frequency of cpufreq in MHz: `file` in /sys/devices/system/cpu/cpuN/cpufreq, which
 * holds kHz; NaN where the machine does not have it.
 */
double cpufreq_mhz(int cpu, const char *file);

#endif
