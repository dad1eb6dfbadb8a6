#include "plan.h"

#include "common/plan.h"

/* Shares of the box. What is left over, 0.23, is for the verification, which reads once what touching wrote, and munmap. */
#define SCALING_TOUCH 0.27
#define SCALING_POINTS 0.50

double plan_point_now(double planned, double left, int points)
{
	return plan_now(planned, left, SCALING_POINTS / (1 - SCALING_TOUCH), points);
}

struct plan_scaling plan_scaling(double seconds, int points)
{
	struct plan_scaling p = { .touch = SCALING_TOUCH * seconds, .rounds = plan_rounds(SCALING_POINTS * seconds, points) };

	p.point = SCALING_POINTS * seconds / (points * p.rounds);
	return p;
}

int plan_counts(int n, int node, int counts[PLAN_COUNTS])
{
	int k = 0, next = 1;

	while (k < PLAN_COUNTS) {
		/* The smallest that is not in the list yet: the next of the series, a full node, or n. */
		int least = next < n ? next : n, last = k ? counts[k - 1] : 0;

		if (node > last && node < least)
			least = node;
		counts[k++] = least;
		if (least == n)
			break;
		/* 1 2 3 4 6 8 12: a power of two grows by half, the one between by a third. */
		if (least == next)
			next = next == 1 ? 2 : (next & (next - 1)) == 0 ? next / 2 * 3 : next / 3 * 4;
	}
	return k;
}

int plan_reaches(const double *values, int n, double share)
{
	double best = values[0];
	int i;

	for (i = 1; i < n; i++)
		best = values[i] > best ? values[i] : best;
	for (i = 0; i < n - 1 && values[i] < share * best; i++)
		;
	return i;
}

void plan_compact(const int *node_of, int n, int n_nodes, int *order)
{
	int at = 0;

	for (int node = 0; node < n_nodes; node++)
		for (int i = 0; i < n; i++)
			if (node_of[i] == node)
				order[at++] = i;
}

void plan_spread(const int *node_of, int n, int n_nodes, int *order)
{
	int at = 0;

	/* Turn k takes the k-th core of each node. */
	for (int turn = 0; at < n; turn++)
		for (int node = 0; node < n_nodes; node++)
			for (int i = 0, seen = 0; i < n; i++)
				if (node_of[i] == node && seen++ == turn) {
					order[at++] = i;
					break;
				}
}
