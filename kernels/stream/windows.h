/* How stream divides its time among its operations: windows in turn. Pure. */
#ifndef SYSCHECK_STREAM_WINDOWS_H
#define SYSCHECK_STREAM_WINDOWS_H

enum { STREAM_COPY, STREAM_SCALE, STREAM_ADD, STREAM_TRIAD, STREAM_OPS };

/* Windows until all operations had theirs; every second is the triad's, the one that is rated. */
#define WINDOWS_TURN 6
#define WINDOWS_TRIAD 0.5 /* of all */

#define WINDOWS_MOST 1200

struct windows {
	double from;   /* clock_now: the first begins; what is before it does not count */
	double length; /* s */
	int n;         /* WINDOWS_TURN to WINDOWS_MOST */
};

/* For the time from now to `end` (both clock_now). */
struct windows windows_divide(double now, double end);

/* The window of a time: the first or the last if it is before or after all. */
int windows_at(const struct windows *w, double now);

int windows_op(int window);

#endif
