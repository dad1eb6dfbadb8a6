/* kernels/common/opts and topo: a command line, a word a line; what policy and users choose of it. */
#include "fuzz.h"

#include "common/opts.h"
#include "common/topo.h"

#define WORDS 16

static const char *const isas[] = { "auto", "generic", "avx2", NULL };
static double memory;
static const char *isa, *path;
static bool attribute;
static const struct opts_extra extra[] = {
	{ .name = "--max-memory", .help = "", .low = 1, .high = 1e9, .value = &memory },
	{ .name = "--isa", .help = "", .choices = isas, .text = &isa },
	{ .name = "--dir", .help = "", .text = &path },
	{ .name = "--attribute", .help = "", .flag = &attribute },
	{ 0 },
};

static hwloc_topology_t machine;
static hwloc_bitmap_t allowed;

static void load(void)
{
	WANT(hwloc_topology_init(&machine) == 0 && hwloc_topology_set_synthetic(machine, "pack:2 core:4 pu:2") == 0);
	WANT(hwloc_topology_load(machine) == 0);
	allowed = hwloc_bitmap_alloc();
	hwloc_bitmap_set_range(allowed, 0, 15);
}

static void pick(const char *cpus)
{
	char error[ERROR_SIZE] = "";
	struct topo topo;

	if (topo_pick(&topo, machine, allowed, cpus, error)) {
		WANT(topo.n >= 1 && topo.n <= 8);
		for (int i = 0; i < topo.n; i++)
			WANT(topo.cpus[i] >= 0 && topo.cpus[i] < 16 && (i == 0 || topo.cpus[i] > topo.cpus[i - 1]));
		topo_free(&topo);
	} else {
		want_line(error, sizeof(error));
		WANT(error[0] != '\0');
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = text_of(data, size), name[] = "kernel", *argv[WORDS + 2] = { name }, error[ERROR_SIZE] = "";
	struct opts opts = { .seconds = 2 };
	int argc = 1;

	if (machine == NULL)
		load();
	for (char *word = text; word != NULL && argc <= WORDS; argc++) {
		argv[argc] = word;
		word = strchr(word, '\n');
		if (word != NULL)
			*word++ = '\0';
	}
	if (opts_parse(&opts, extra, argc, argv, error)) {
		WANT(opts.seconds >= 0.05 && opts.seconds <= 600);
		if (opts.cpus != NULL)
			pick(opts.cpus);
	} else {
		want_line(error, sizeof(error));
		WANT(error[0] != '\0');
	}
	free(text);
	return 0;
}
