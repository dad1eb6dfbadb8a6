/* The parts of the noise kernel: sampling, what ran meanwhile, the report. */
#ifndef SYSCHECK_NOISE_H
#define SYSCHECK_NOISE_H

#include "activity.h"
#include "common/team.h"
#include "common/topo.h"
#include "delays.h"
#include "detours.h"
#include "periodic.h"
#include "ticks.h"

enum noise_mode { NOISE_DETOUR, NOISE_FWQ, NOISE_FTQ };

struct noise_core {
	struct detours detours; /* FWQ, FTQ: quanta that lost more than the threshold */
	struct periodic_place place;
	struct ticks_mark from, to;
	double rate;       /* ticks a second on this core */
	uint64_t span;     /* ticks that were sampled */
	uint64_t shortest; /* ticks of the fastest iteration */
	bool backwards, no_memory;
	/* FWQ: us a quantum; FTQ: units of work in a quantum. Later sorted. */
	double *quanta;
	size_t n_quanta;
} __attribute__((aligned(128)));

struct noise {
	enum noise_mode mode;
	bool counter;        /* the hardware's, not the system's clock */
	double threshold_us;
	double end;          /* of sampling, clock_now */
	double search_end;   /* of the search for each core's trains */
	double activity_end; /* of reading what ran meanwhile */
	double trace_end;    /* of writing the trace */
	double components_end; /* of the search for components */
	double box_end;      /* of all, the delays, too */
	double ticks_per_s;
	double quantum_us;   /* wanted */
	uint64_t work;       /* FWQ: steps that take a quantum; FTQ: steps of a unit */
	size_t room;         /* detours a core keeps */
	size_t max_quanta;
	struct noise_core *cores;
	const struct topo *topo;
	struct activity *activity; /* NULL without --attribute */
	size_t traced;       /* detours written to the file of --trace */
	bool trace;
	double from, to;     /* when all cores were sampled, clock_now */
	/* Of NOISE_DETOUR. */
	struct periodic_component components[PERIODIC_MAX];
	size_t n_components;
	void *lists;         /* the components' */
	bool complete;       /* nothing kept one from being found */
	struct delays_of_work delays[DELAYS_WORKS];
	size_t delay_samples; /* begins that were tried; 0: the delays are not known */
};

/* Samples all cores and finds each core's trains. False (errno): a thread cannot be started. */
bool noise_sample(struct noise *s);

/* periodic_limit's: whether the time in *end (double, clock_now) has come. */
bool noise_over(void *end);

/* What is periodic on the node, and what its quanta wait for: components, delays. Nothing of it where memory fails. */
void noise_analyse(struct noise *s);

/* Frees what noise_analyse took. */
void noise_forget(struct noise *s);

/* All of the JSON object between its begin and its end. */
void noise_report(struct noise *s, struct result *r);

#endif
