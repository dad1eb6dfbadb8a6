/* From the detours of cores to what the node is like. */
#include <stdlib.h>

#include "noise.h"

void noise_analyse(struct noise *s)
{
	size_t cores = (size_t)s->topo->n;
	const struct periodic_limit limit = { .over = noise_over, .data = &s->components_end };
	struct periodic_place *p = calloc(cores, sizeof(*p));
	struct delays_node node = { .topo = s->topo, .places = p, .components = s->components,
				    .from = s->from, .to = s->to, .end = s->box_end };

	s->lists = calloc((size_t)2 * PERIODIC_MAX, cores);
	if (p && s->lists) {
		for (size_t i = 0; i < cores; i++)
			p[i] = s->cores[i].place;
		for (size_t i = 0; i < PERIODIC_MAX; i++) {
			s->components[i].on = (bool *)s->lists + i * cores;
			s->components[i].owner = (signed char *)s->lists + (PERIODIC_MAX + i) * cores;
		}
		s->n_components = periodic_components(p, cores, s->from, s->to, &limit, s->components, &s->complete);
		node.n_components = s->n_components;
		if (!delays_of_node(&node, s->delays, &s->delay_samples))
			s->delay_samples = 0;
	}
	free(p);
}

void noise_forget(struct noise *s)
{
	free(s->lists);
	s->lists = NULL;
}
