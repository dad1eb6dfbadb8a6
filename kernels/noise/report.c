/* What was sampled, as JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/stats.h"
#include "noise.h"

/* Of all that the node lost: what a component takes at least where it is worth asking what would be without it. */
#define WITHOUT_LEAST 0.05

/* Time in detours, in % of the time sampled. */
static double percent(const struct noise_core *core)
{
	/* A core starved all the time lost all of it, but for rounding. */
	return fmin(100, 100.0 * (double)core->detours.lost / (double)core->span);
}

static void report_quantiles(const struct loghist *h, double us, bool all, struct result *r)
{
	result_number(r, "p50_us", loghist_quantile(h, 0.5) * us);
	if (all)
		result_number(r, "p90_us", loghist_quantile(h, 0.9) * us);
	result_number(r, "p99_us", loghist_quantile(h, 0.99) * us);
	if (all)
		result_number(r, "p999_us", loghist_quantile(h, 0.999) * us);
}

/* Mean time of the quanta over the shortest, or what the best quantum did over the mean: in % more. */
static double overhead(const struct noise *s, const struct noise_core *core)
{
	double sum = 0, n = (double)core->n_quanta;

	for (size_t i = 0; i < core->n_quanta; i++)
		sum += core->quanta[i];
	return 100 * (s->mode == NOISE_FWQ ? sum / n / core->quanta[0] - 1 : core->quanta[core->n_quanta - 1] * n / sum - 1);
}

/* The best quantum, the middle one, the worst 1 %, the worst: of time the least is best, of work the most. */
static void report_quanta(const struct noise *s, const struct noise_core *core, struct result *r)
{
	static const char *const keys[][4] = {
		[NOISE_FWQ] = { "min_us", "median_us", "p99_us", "max_us" },
		[NOISE_FTQ] = { "max_work", "median_work", "p1_work", "min_work" },
	};
	static const double at[] = { 0, 0.5, 0.99, 1 };

	for (int i = 0; i < 4; i++)
		result_number(r, keys[s->mode][i],
			      stats_quantile(core->quanta, core->n_quanta, s->mode == NOISE_FWQ ? at[i] : 1 - at[i]));
	result_number(r, "overhead_pct", overhead(s, core));
}

static void report_cores(const struct noise *s, struct result *r)
{
	result_list_begin(r, "cores");
	for (int i = 0; i < s->topo->n; i++) {
		const struct noise_core *c = &s->cores[i];
		double us = 1e6 / c->rate;

		result_object_begin(r);
		result_integer(r, "cpu", s->topo->cpus[i]);
		result_number(r, "noise_pct", percent(c));
		result_integer(r, "detours", (long long)c->detours.lengths.total);
		result_number(r, "longest_us", (double)c->detours.longest * us);
		if (s->mode == NOISE_DETOUR) {
			result_number(r, "min_loop_ns", (double)c->shortest * us * 1e3);
			report_quantiles(&c->detours.lengths, us, false, r);
		} else {
			report_quanta(s, c, r);
		}
		result_object_end(r);
	}
	result_list_end(r);
}

/* Like 0-3,7; cut with "..." where it would be longer than `size`. */
static void cpulist(const struct topo *topo, const bool *on, char *text, size_t size)
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	int length = 0;

	text[0] = '\0';
	for (int i = 0; set && i < topo->n; i++)
		if (on[i] && hwloc_bitmap_set(set, (unsigned)topo->cpus[i]) != 0)
			break;
	if (set)
		length = hwloc_bitmap_list_snprintf(text, size, set);
	if (length >= (int)size)
		memcpy(text + size - 4, "...", 4);
	hwloc_bitmap_free(set);
}

/* "7.1 ms", "4 us": three digits. */
static void human(double seconds, char *text, size_t size)
{
	if (seconds < 0.9995e-3)
		snprintf(text, size, "%.3g us", seconds * 1e6);
	else if (seconds < 0.9995)
		snprintf(text, size, "%.3g ms", seconds * 1e3);
	else
		snprintf(text, size, "%.2f s", seconds);
}

/* A quantile function: parts of the begins, and the delay that so many of them have more of. */
static void report_knots(const struct delays *d, struct result *r)
{
	result_list_begin(r, "above");
	for (size_t i = 0; i < d->n_knots; i++)
		result_list_number(r, d->knots[i].above, 4);
	result_list_end(r);
	result_list_begin(r, "us");
	for (size_t i = 0; i < d->n_knots; i++)
		result_list_number(r, d->knots[i].delay * 1e6, 4);
	result_list_end(r);
}

/* A set of each quantum's, as far as it is known. */
static void report_delays(struct noise *s, const char *key, size_t set, struct result *r)
{
	bool begun = false;

	for (int g = 0; g < DELAYS_WORKS && s->delay_samples > 0; g++) {
		struct delays_of_work *w = &s->delays[g];
		const struct delays *d = delays_set(w, set);

		if (d->n_knots == 0)
			continue;
		if (!begun)
			result_list_begin(r, key);
		begun = true;
		result_object_begin(r);
		result_number(r, "work_us", delays_works[g] * 1e6);
		if (d == &w->all)
			result_number(r, "window_s", w->window);
		report_knots(d, r);
		if (d == &w->all) {
			result_list_begin(r, "largest_us");
			for (size_t i = 0; i < d->n_largest; i++)
				result_list_number(r, d->largest[i] * 1e6, 4);
			result_list_end(r);
		}
		result_object_end(r);
	}
	if (begun)
		result_list_end(r);
}

static void report_component(struct noise *s, size_t which, double ahead, double lost, struct result *r)
{
	const struct periodic_component *c = &s->components[which];
	char cpus[2048], where[64], text[192], duration[24], period[24];
	struct activity_source source = { .pid = 0 };
	bool known = s->activity && activity_match(s->activity, c, s->to - s->from, &source);
	int n = 0;

	for (int i = 0; i < s->topo->n; i++)
		n += c->on[i];
	cpulist(s->topo, c->on, cpus, sizeof(cpus));
	human(c->all.duration, duration, sizeof(duration));
	human(c->all.period, period, sizeof(period));
	if (n == s->topo->n && n > 1)
		snprintf(where, sizeof(where), "all cores");
	else if (strlen(cpus) < 32)
		snprintf(where, sizeof(where), "cpu%s %.32s", n > 1 ? "s" : "", cpus);
	else
		snprintf(where, sizeof(where), "%d of %d cores", n, s->topo->n);
	snprintf(text, sizeof(text), "%s every %s on %s%s%s", duration, period, where, known ? ": " : "",
		 known ? source.name : "");
	result_object_begin(r);
	result_string(r, "text", text);
	result_number(r, "frequency_hz", 1 / c->all.period);
	result_number(r, "period_ms", c->all.period * 1e3);
	result_number(r, "jitter_pct", c->all.jitter * 100);
	result_number(r, "duration_us", c->all.duration * 1e6);
	result_number(r, "duration_p90_us", c->all.duration_p90 * 1e6);
	result_string(r, "cpus", cpus);
	result_integer(r, "count", (long long)c->all.count);
	result_number(r, "lost_pct", 100 * c->all.lost / ((s->to - s->from) * s->topo->n));
	if (s->activity)
		result_string(r, "source", known ? source.name : NULL);
	if (known) {
		if (source.pid)
			result_integer(r, "source_pid", source.pid);
		result_string(r, "source_why", source.why);
	}
	/* Digits enough for its phase. */
	snprintf(text, sizeof(text), "%.6f", ahead + c->all.beat);
	result_string(r, "beat", text);
	if (which < DELAYS_WITHOUT && c->all.lost >= WITHOUT_LEAST * lost)
		report_delays(s, "without", 2 + which, r);
	result_object_end(r);
}

static void report_components(struct noise *s, struct result *r)
{
	struct timespec raw, wall;
	double ahead; /* of the wall clock before the events' */
	double lost = 0; /* s, of all cores */

	clock_gettime(CLOCK_MONOTONIC_RAW, &raw);
	clock_gettime(CLOCK_REALTIME, &wall);
	ahead = (double)(wall.tv_sec - raw.tv_sec) + 1e-9 * (double)(wall.tv_nsec - raw.tv_nsec);
	for (int i = 0; i < s->topo->n; i++)
		lost += (double)s->cores[i].detours.lost / s->cores[i].rate;
	result_bool(r, "components_complete", s->complete);
	result_list_begin(r, "components");
	for (size_t i = 0; i < s->n_components; i++)
		report_component(s, i, ahead, lost, r);
	result_list_end(r);
}

void noise_report(struct noise *s, struct result *r)
{
	static const char *const modes[] = { "detour", "fwq", "ftq" };
	double sum = 0, longest_us = 0, shortest_ns = INFINITY, kept_us = s->threshold_us, overheads = 0;
	long long detours = 0, not_kept = 0;
	static struct loghist lengths;
	int worst = 0;

	for (int i = 0; i < s->topo->n; i++) {
		const struct noise_core *c = &s->cores[i];
		double us = 1e6 / c->rate;

		sum += percent(c);
		worst = percent(c) > percent(&s->cores[worst]) ? i : worst;
		longest_us = fmax(longest_us, (double)c->detours.longest * us);
		shortest_ns = fmin(shortest_ns, (double)c->shortest * us * 1e3);
		kept_us = fmax(kept_us, (double)c->detours.keep_from * us);
		detours += (long long)c->detours.lengths.total;
		not_kept += (long long)(c->detours.lengths.total - c->detours.n);
		loghist_merge(&lengths, &c->detours.lengths);
		overheads += s->mode == NOISE_DETOUR ? 0 : overhead(s, c);
	}
	result_string(r, "mode", modes[s->mode]);
	result_string(r, "clock", s->counter ? "counter" : "system");
	result_number(r, "noise_pct", sum / s->topo->n);
	result_number(r, "noise_pct_max", percent(&s->cores[worst]));
	result_integer(r, "worst_cpu", s->topo->cpus[worst]);
	result_integer(r, "detours", detours);
	result_number(r, "longest_us", longest_us);
	report_quantiles(&lengths, 1e6 / s->ticks_per_s, true, r);
	if (s->mode == NOISE_DETOUR)
		result_number(r, "min_loop_ns", shortest_ns);
	result_number(r, "threshold_us", s->threshold_us);
	if (s->mode != NOISE_DETOUR) {
		result_number(r, "quantum_us", s->quantum_us);
		result_integer(r, "quanta", (long long)s->cores[0].n_quanta);
		result_number(r, "overhead_pct", overheads / s->topo->n);
	}
	result_integer(r, "detours_not_kept", not_kept);
	result_number(r, "kept_from_us", kept_us);
	if (s->trace) {
		result_integer(r, "trace_detours", (long long)s->traced);
		result_bool(r, "trace_complete", (long long)s->traced == detours - not_kept);
	}
	if (s->mode == NOISE_DETOUR) {
		report_components(s, r);
		report_delays(s, "delays", 0, r);
		if (delays_spared(s->topo->n) > 0) {
			result_integer(r, "spared_cores", delays_spared(s->topo->n));
			report_delays(s, "delays_spared", 1, r);
		}
	}
	if (s->activity)
		activity_report(s->activity, r);
	report_cores(s, r);
}
