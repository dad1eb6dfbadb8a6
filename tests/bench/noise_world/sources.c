#include "sources.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "rng.h"

#define US 1e-6
#define MS 1e-3

static struct source *add(struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static struct source *add(struct world *w, const char *format, ...)
{
	struct source *s = &w->sources[w->n < SOURCES - 1 ? w->n++ : w->n];
	va_list args;

	*s = (struct source){ .shape = LOGNORMAL, .spread = 0.2, .most = 0.3, .core = -1, .share = 1, .only = -1 };
	va_start(args, format);
	vsnprintf(s->name, sizeof(s->name), format, args);
	va_end(args);
	return s;
}

static bool chance(struct rng *r, double p)
{
	return rng_unit(r) < p;
}

static void ticks(struct world *w, struct rng *r)
{
	static const double hz[] = { 100, 250, 1000 };
	struct source *s = add(w, "tick");
	double every = 1 / hz[rng_below(r, 3)], length = rng_decades(r, 0.5, 8) * US;

	w->tickless = chance(r, 0.5) ? rng_uniform(r, 0.05, 0.5) : 0;
	s->every = every;
	s->length = length;
	s->spread = rng_uniform(r, 0.05, 0.5);
	s->where = EACH;
	s->stagger = chance(r, 0.4);
	s->ticking = true;
	/* Now and then a tick has more to do. */
	s = add(w, "tick_long");
	s->every = every * (double)(4 + rng_below(r, 60));
	s->length = length * rng_decades(r, 2, 10);
	s->spread = rng_uniform(r, 0.1, 0.6);
	s->where = EACH;
	s->ticking = true;
	s->share = chance(r, 0.6) ? 1 : 0.5;
	/* A core without a tick still has one a second. */
	s = add(w, "tick_rest");
	s->every = 1;
	s->length = length * 1.5;
	s->where = EACH;
	s->stagger = true;
}

static void daemons(struct world *w, struct rng *r)
{
	int n = 2 + (int)rng_below(r, 8);
	double longest = rng_decades(r, 0.1, 20) * MS; /* some sites look after their nodes */

	for (int i = 0; i < n; i++) {
		struct source *s = add(w, "daemon%d", i + 1);

		s->every = rng_decades(r, 10 * MS, 60);
		s->length = fmin(rng_decades(r, 10 * US, longest), s->every * 0.03);
		s->spread = rng_uniform(r, 0.05, 0.8);
		s->late = chance(r, 0.5) ? 0 : rng_decades(r, 10 * US, 1 * MS);
		s->where = chance(r, 0.3) ? MOVING : ONE;
		s->core = s->where == ONE && chance(r, 0.4) ? 0 : -1;
		s->share = chance(r, 0.5) ? 1 : rng_uniform(r, 0.05, 0.9);
		s->in_phase = chance(r, 0.25);
		s->phase = s->every * rng_unit(r);
	}
}

static void interrupts(struct world *w, struct rng *r)
{
	struct source *s = add(w, "irq_lognormal");

	s->when = POISSON;
	s->every = 1 / rng_decades(r, 1, 500);
	s->length = rng_decades(r, 1, 10) * US;
	s->spread = rng_uniform(r, 0.4, 1.4);
	s->where = chance(r, 0.5) ? EACH : ONE;
	s->core = s->where == ONE && chance(r, 0.5) ? 0 : -1;
	s = add(w, "irq_pareto");
	s->when = POISSON;
	s->every = 1 / rng_decades(r, 0.5, 30);
	s->shape = PARETO;
	s->length = rng_decades(r, 2, 20) * US;
	s->spread = rng_uniform(r, 1.1, 2.5);
	s->most = 50 * MS;
	s->where = chance(r, 0.5) ? EACH : MOVING;
	s->share = chance(r, 0.6) ? 1 : rng_uniform(r, 0.1, 0.8);
}

static void rare(struct world *w, struct rng *r)
{
	struct source *s = add(w, "rare_long");

	s->when = POISSON;
	s->every = rng_decades(r, 30, 600);
	s->shape = BETWEEN;
	s->length = rng_decades(r, 10, 60) * MS;
	s->spread = s->length * rng_uniform(r, 1.2, 5);
	s->where = chance(r, 0.3) ? ALL : MOVING;
}

static void movers(struct world *w, struct rng *r)
{
	struct source *s = add(w, "moving");

	s->when = chance(r, 0.5) ? PERIODIC : POISSON;
	s->every = rng_decades(r, 5, 500) * MS;
	s->length = fmin(rng_decades(r, 20, 2000) * US, s->every * 0.03);
	s->spread = rng_uniform(r, 0.1, 0.7);
	s->where = MOVING;
	s->share = chance(r, 0.5) ? 1 : rng_uniform(r, 0.2, 0.9);
}

static void smi(struct world *w, struct rng *r)
{
	struct source *s = add(w, "smi");

	s->when = chance(r, 0.5) ? PERIODIC : POISSON;
	s->every = rng_decades(r, 0.2, 30);
	s->length = rng_decades(r, 50, 2000) * US;
	s->spread = rng_uniform(r, 0.02, 0.3);
	s->where = ALL;
	s->share = chance(r, 0.6) ? 1 : rng_uniform(r, 0.1, 0.9);
}

static void kipmi(struct world *w, struct rng *r)
{
	struct source *s = add(w, "kipmi");

	s->every = rng_decades(r, 1, 10) * MS;
	s->length = rng_decades(r, 20, 300) * US;
	s->late = rng_decades(r, 1, 50) * US;
	s->where = ONE;
	s->core = chance(r, 0.5) ? 0 : -1;
	s->nth = 32;
}

/* What one clock starts everywhere: cron, a monitor's second. */
static void monitors(struct world *w, struct rng *r)
{
	static const double every[] = { 0.1, 1, 1, 5, 10 };
	int n = 1 + (int)rng_below(r, 2);

	for (int i = 0; i < n; i++) {
		struct source *s = add(w, "monitor%d", i + 1);

		s->every = every[rng_below(r, 5)];
		s->length = fmin(rng_decades(r, 50 * US, 10 * MS), s->every * 0.02);
		s->spread = rng_uniform(r, 0.05, 0.4);
		s->late = rng_decades(r, 5, 300) * US;
		s->where = chance(r, 0.5) ? MOVING : ONE;
		s->in_phase = true;
		s->phase = s->every * rng_unit(r);
	}
}

static void broken(struct world *w, struct rng *r)
{
	int n = (int)rng_below(r, 4);

	for (int i = 0; i < n && w->nodes > 1; i++) {
		static const char *const kinds[] = { "hog", "smi_storm", "stalls", "irq_storm" };
		int kind = (int)rng_below(r, 4);
		struct source *s = add(w, "broken_%s%d", kinds[kind], i + 1);

		s->only = (int)rng_below(r, (uint32_t)w->nodes);
		s->broken = true;
		switch (kind) {
		case 0:
			s->every = rng_decades(r, 1, 50) * MS;
			s->length = s->every * rng_decades(r, 0.02, 0.25);
			s->where = chance(r, 0.5) ? ONE : MOVING;
			break;
		case 1:
			s->when = POISSON;
			s->every = rng_decades(r, 10, 300) * MS;
			s->length = rng_decades(r, 100, 2000) * US;
			s->spread = 0.1;
			s->where = ALL;
			break;
		case 2:
			s->when = POISSON;
			s->every = rng_decades(r, 0.3, 5);
			s->shape = BETWEEN;
			s->length = 10 * MS;
			s->spread = rng_decades(r, 20, 200) * MS;
			s->where = MOVING;
			break;
		default:
			s->when = POISSON;
			s->every = rng_decades(r, 0.2, 5) * MS;
			s->length = rng_decades(r, 3, 30) * US;
			s->spread = rng_uniform(r, 0.2, 0.6);
			s->where = ONE;
			break;
		}
	}
}

void sources_draw(struct world *w)
{
	static void (*const kinds[])(struct world *, struct rng *) = { ticks, daemons, interrupts, rare,    movers,
								       smi,   kipmi,   monitors,   broken };
	/* Not every site has everything; ticks, daemons and interrupts every one has. */
	static const double has[] = { 1, 1, 1, 0.8, 0.7, 0.6, 0.6, 0.7, 0.8 };

	w->n = 0;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct rng r = rng_make(w->seed, 1, i);

		if (chance(&r, has[i]))
			kinds[i](w, &r);
	}
}

static double lot(const struct world *w, uint64_t what, int node)
{
	struct rng r = rng_make(w->seed, 2 + what, (uint64_t)node);

	return rng_unit(&r);
}

bool source_is_on(const struct world *w, int i, int node)
{
	const struct source *s = &w->sources[i];
	bool tickless = lot(w, 0, node) < w->tickless;

	if (s->only >= 0)
		return s->only == node;
	if (s->nth)
		return node % s->nth == 0;
	if (s->ticking && tickless)
		return false;
	/* Only a tickless node has no more than the second's. */
	if (strcmp(s->name, "tick_rest") == 0)
		return tickless;
	return lot(w, 1 + (uint64_t)i, node) < s->share;
}

static void write_length(const struct source *s, FILE *f)
{
	static const char *const keys[][3] = {
		[LOGNORMAL] = { "lognormal", "median_us", "sigma" },
		[PARETO] = { "pareto", "least_us", "alpha" },
		[BETWEEN] = { "uniform", "least_us", "most_us" },
	};
	const char *const *k = keys[s->shape];

	fprintf(f, "\"length\":{\"shape\":\"%s\",\"%s\":%.6g,\"%s\":%.6g", k[0], k[1], s->length / US, k[2],
		s->shape == BETWEEN ? s->spread / US : s->spread);
	fprintf(f, "%s},", s->shape == PARETO ? ",\"most_us\":50000" : "");
}

static void write_nodes(const struct world *w, int i, FILE *f)
{
	int n = 0;

	for (int node = 0; node < w->nodes; node++)
		n += source_is_on(w, i, node);
	if (n == w->nodes) {
		fprintf(f, "\"nodes\":\"all\"");
		return;
	}
	fprintf(f, "\"nodes\":[");
	n = 0;
	for (int node = 0; node < w->nodes; node++)
		if (source_is_on(w, i, node))
			fprintf(f, "%s\"n%04d\"", n++ ? "," : "", node);
	fprintf(f, "]");
}

void sources_write(const struct world *w, FILE *f)
{
	static const char *const where[] = { [EACH] = "each", [ONE] = "one", [MOVING] = "moving", [ALL] = "all at once" };

	fprintf(f, "{\"seconds\":%.9g,\"seed\":%llu,\"nodes\":%d,\"cores\":%d,\n\"sources\":[", w->seconds,
		(unsigned long long)w->seed, w->nodes, w->cores);
	for (int i = 0; i < w->n; i++) {
		const struct source *s = &w->sources[i];

		fprintf(f, "%s\n{\"name\":\"%s\",\"when\":\"%s\",\"every_s\":%.9g,\"late_us\":%.4g,", i ? "," : "", s->name,
			s->when == PERIODIC ? "periodic" : "poisson", s->every, s->late / US);
		write_length(s, f);
		fprintf(f, "\"cores\":\"%s\",", where[s->where]);
		if (s->where == ONE && s->core >= 0)
			fprintf(f, "\"core\":%d,", s->core);
		fprintf(f, "\"staggered\":%s,\"in_phase\":%s,\"broken\":%s,", s->stagger ? "true" : "false",
			s->in_phase ? "true" : "false", s->broken ? "true" : "false");
		write_nodes(w, i, f);
		fprintf(f, "}");
	}
	fprintf(f, "]}\n");
}
