/* Dividing a time box among the cells of a matrix, the points of a curve. Pure. */
#ifndef SYSCHECK_PLAN_H
#define SYSCHECK_PLAN_H

/* An odd number: the median is one of them. */
#define PLAN_ROUNDS 3

/* Shorter than this in s, a cell measures the start of its threads (barrier: tens of us). */
#define PLAN_LEAST 0.003

/* Rounds go over all cells, so that a disturbance hits one value of each. */
static inline int plan_rounds(double seconds, int cells)
{
	return seconds / (cells * PLAN_ROUNDS) >= PLAN_LEAST ? PLAN_ROUNDS : 1;
}

/*
 * The seconds of a cell when its phase begins, `left` before the end, `share` of which is
 * the phase's: as `planned`, or less where the phases before took longer (a busy machine,
 * slow pages).
 */
static inline double plan_now(double planned, double left, double share, int cells)
{
	double fair = left > 0 ? left * share / cells : 0;

	return fair < planned ? fair : planned;
}

#endif
