#include "matrix.h"

#include <math.h>
#include <stdlib.h>

#include "common/stats.h"

int matrix_own(const struct matrix *m, int row)
{
	for (int c = 0; c < m->columns; c++)
		if (m->column_ids[c] == m->row_ids[row])
			return c;
	return -1;
}

static bool has_cores(const struct matrix *m, int column)
{
	for (int r = 0; r < m->rows; r++)
		if (m->row_ids[r] == m->column_ids[column])
			return true;
	return false;
}

bool matrix_summarise(const struct matrix *m, struct matrix_summary *s)
{
	double *local = malloc((size_t)m->rows * sizeof(*local));
	size_t n = 0;

	*s = (struct matrix_summary){ NAN, NAN, NAN, NAN, NAN, NAN };
	if (local == NULL)
		return false;
	for (int r = 0; r < m->rows; r++) {
		const double *row = m->values + (size_t)r * (size_t)m->columns;
		int own = matrix_own(m, r);

		if (own >= 0)
			local[n++] = row[own];
		for (int c = 0; c < m->columns; c++) {
			if (c == own || !has_cores(m, c))
				continue;
			/* fmin and fmax drop the NaN of the start. */
			s->remote_min = fmin(s->remote_min, row[c]);
			s->remote_max = fmax(s->remote_max, row[c]);
			if (own >= 0)
				s->factor = fmax(s->factor, row[c] / row[own]);
		}
	}
	if (n > 0) {
		stats_sort(local, n);
		s->local_min = local[0];
		s->local_median = stats_quantile(local, n, 0.5);
		s->local_max = local[n - 1];
	}
	free(local);
	return true;
}

void matrix_report(const struct matrix *m, struct result *r, const char *key, const char *unit)
{
	result_list_begin(r, key);
	for (int i = 0; i < m->rows * m->columns; i++) {
		result_object_begin(r);
		result_integer(r, "from", m->row_ids[i / m->columns]);
		result_integer(r, "to", m->column_ids[i % m->columns]);
		result_number(r, unit, m->values[i]);
		result_object_end(r);
	}
	result_list_end(r);
}
