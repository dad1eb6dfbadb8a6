#include "sizes.h"

#include <math.h>

#define PAGE 4096
#define IN_FLIGHT_S 0.02

int fabric_tag(uint64_t round, enum fabric_phase phase, enum fabric_kind kind, int most)
{
	const uint64_t each = (uint64_t)FABRIC_PHASES * FABRIC_KINDS, rounds = (uint64_t)most / each;

	return (int)(1 + round % rounds * each + (uint64_t)phase * FABRIC_KINDS + (uint64_t)kind);
}

size_t fabric_size(double rate, int window, size_t most)
{
	const double pages = rate * IN_FLIGHT_S / window / PAGE;
	const size_t pages_most = most / PAGE;

	if (!(pages >= 1))
		return PAGE;
	return pages >= (double)pages_most ? pages_most * PAGE : (size_t)pages * PAGE;
}

void fabric_meter_add(struct fabric_meter *m, double now, double unsure, uint32_t burst, size_t bytes)
{
	if (!m->open || m->burst != burst) {
		m->seconds = fabric_meter_seconds(m);
		m->unsure = fabric_meter_unsure(m);
		m->bytes += m->burst_bytes;
		m->open = true;
		m->burst = burst;
		m->came = m->from = m->to = now;
		m->from_unsure = m->to_unsure = 0;
		m->burst_bytes = 0;
	}
	/* What comes with the message that starts the clock was on its way before. */
	if (now < m->came + m->skip || now == m->from) {
		if (now > m->from || m->from_unsure == 0)
			m->from_unsure = unsure;
		m->from = m->to = now;
		return;
	}
	m->to = now;
	m->to_unsure = unsure;
	m->burst_bytes += (double)bytes;
}

double fabric_meter_seconds(const struct fabric_meter *m)
{
	return m->seconds + m->to - m->from;
}

double fabric_meter_unsure(const struct fabric_meter *m)
{
	return m->unsure + m->from_unsure + m->to_unsure;
}

double fabric_meter_rate(const struct fabric_meter *m)
{
	const double seconds = fabric_meter_seconds(m);

	return seconds > 0 ? (m->bytes + m->burst_bytes) / seconds : NAN;
}
