/* A node x node matrix, and the few numbers that sum it up. Pure. */
#ifndef SYSCHECK_MATRIX_H
#define SYSCHECK_MATRIX_H

#include <stdbool.h>

#include "common/result.h"

/* values[row * columns + column]: from the cores of rows[row] to the memory of ids[column], OS indices ascending. */
struct matrix {
	int rows, columns;
	const int *row_ids, *column_ids;
	const double *values;
};

struct matrix_summary {
	/* Local: a row's own node. NaN where there is none. */
	double local_min, local_median, local_max;
	/* Remote: another node that has cores, too. NaN where there is none. */
	double remote_min, remote_max;
	/* The largest remote / local of one row: latency's NUMA factor. NaN where there is none. */
	double factor;
};

/* The column of a row's own node, or -1: its memory may not be used. */
int matrix_own(const struct matrix *m, int row);

/* False: out of memory. */
bool matrix_summarise(const struct matrix *m, struct matrix_summary *s);

/* A list of {"from", "to", unit} called `key`. */
void matrix_report(const struct matrix *m, struct result *r, const char *key, const char *unit);

#endif
