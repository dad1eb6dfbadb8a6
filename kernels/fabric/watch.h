/*
 * A thread that ends the process when the main one is inside a library call beyond every deadline: it prints
 * "event":"stuck" with what the main thread was at, and the driver goes on without this node or its partner.
 */
#ifndef SYSCHECK_FABRIC_WATCH_H
#define SYSCHECK_FABRIC_WATCH_H

#include <stdbool.h>

/* False if no thread can be started (errno). */
bool watch_start(int rank);

/* What "stuck" names from now on; negative: left out. */
void watch_round(int plan, int round, int partner);

/* `phase`, a literal, may last until `deadline` (clock_now) and 3 s more. */
void watch_phase(const char *phase, double deadline);

/* Where it gets stuck now, there is nothing more to say: end with `code`. */
void watch_leave(double deadline, int code);

#endif
