/*
 * Energy of the CPU packages over a whole job, by the kernel's perf events ("power", energy-pkg:
 * RAPL). The hardware's counter is full after minutes (262 kJ on Intel, 66 kJ on AMD); while an
 * event is open the kernel itself reads it often enough (arch/x86/events/rapl.c: a timer of one
 * to four minutes) and counts on in 64 bits. Nothing of ours runs meanwhile.
 *
 * The slurmstepd of the extern step (PrologFlags=Contain) holds the events: it begins right
 * after the prolog and ends before the epilog.
 */
#ifndef SYSCHECK_ENERGY_H
#define SYSCHECK_ENERGY_H

#include <stddef.h>
#include <stdint.h>

/* As many packages (or dies) as the kernel's cpumask names one CPU of. */
#define ENERGY_PACKAGES_MAX 64

#define ENERGY_DIR "/sys/bus/event_source/devices/power"

struct energy {
	int fd[ENERGY_PACKAGES_MAX];
	size_t packages; /* 0: not known */
	double joules;	 /* of one count */
};

/* "event=0x02", one number and nothing else; 0 or -EINVAL. */
int energy_config(const char *text, uint64_t *config);

/*
 * Opens the events of the kernel's description in `dir`. 0 or a negative errno: -ENOENT where
 * there are none.
 */
int energy_open(struct energy *energy, const char *dir);

/* Microjoules of all packages since then, UINT64_MAX where any is not known. Closes them. */
uint64_t energy_close(struct energy *energy);

#endif
