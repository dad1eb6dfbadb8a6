#include "windows.h"

/* Some hundred chunks of a core, so that the one across a window's end hardly counts. */
#define LENGTH 0.02

struct windows windows_divide(double now, double end)
{
	const double seconds = end > now ? end - now : 0;
	struct windows w = { .length = LENGTH };

	/* One more, before the first. */
	if (seconds < (WINDOWS_TURN + 1) * w.length)
		w.length = seconds / (WINDOWS_TURN + 1);
	if (seconds > (WINDOWS_MOST + 1) * w.length)
		w.length = seconds / (WINDOWS_MOST + 1);
	w.from = now + w.length;
	w.n = w.length > 0 ? (int)(seconds / w.length + 0.5) - 1 : WINDOWS_TURN;
	return w;
}

int windows_at(const struct windows *w, double now)
{
	const double at = w->length > 0 ? (now - w->from) / w->length : w->n;

	return at < 0 ? 0 : at >= w->n ? w->n - 1 : (int)at;
}

int windows_op(int window)
{
	static const int turn[WINDOWS_TURN] = { STREAM_COPY, STREAM_TRIAD, STREAM_SCALE, STREAM_TRIAD, STREAM_ADD, STREAM_TRIAD };

	return turn[window % WINDOWS_TURN];
}
