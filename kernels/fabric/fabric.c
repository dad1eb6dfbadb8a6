/*
 * fabric: latency and bandwidth between nodes, one rank a node, as a step of a Slurm job on OpenMPI. A driver says
 * on stdin which pairs measure at the same time (plan.h) and reads a line of JSON from each rank for each round.
 *
 * No node may make another one hang: no MPI call blocks, all that waits has a deadline, and a second thread
 * (watch.h) ends the process where a call does not return.
 */
#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/kernel.h"
#include "input.h"
#include "links.h"
#include "meet.h"
#include "plan.h"
#include "report.h"
#include "round.h"
#include "storage.h"
#include "watch.h"
#include "wire.h"

/* All nodes of a large job get ready within a minute, or one of them never does. */
#define INIT_S 120
#define FINALIZE_S 5.0
#define LAST_MEETING_S 2.0

static double init_seconds = INIT_S, rail_number;
static const char *dir;

/* A rank or a count from the environment; -1: not there. */
static int number_from(const char *name)
{
	const char *text = getenv(name);
	char *end;
	long v;

	if (text == NULL || text[0] < '0' || text[0] > '9')
		return -1;
	v = strtol(text, &end, 10);
	return *end == '\0' && v <= INT_MAX ? (int)v : -1;
}

/* Before MPI_Init can be asked. mpirun's own first: within a job its processes have the batch step's SLURM_ ones. */
static struct place find_place(void)
{
	static const char *const names[][2] = {
		{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
		{ "SLURM_PROCID", "SLURM_STEP_NUM_TASKS" },
		{ "SLURM_PROCID", "SLURM_NTASKS" },
	};
	static char host[256];
	struct place place = { .ranks = 1, .node = getenv("SLURMD_NODENAME") };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const int rank = number_from(names[i][0]), ranks = number_from(names[i][1]);

		if (rank < 0 || rank >= ranks)
			continue;
		place.rank = rank;
		place.ranks = ranks;
		break;
	}
	if (place.node == NULL || place.node[0] == '\0') {
		gethostname(host, sizeof(host) - 1);
		place.node = host;
	}
	return place;
}

static int cannot_write(void)
{
	return kernel_fail("a line cannot be written to stdout: %s", strerror(errno));
}

/* Returns an exit code, EXIT_MEASURED if all is well. */
static int init(const struct place *place, double end)
{
	const double began = clock_now();
	char mpi[MPI_MAX_LIBRARY_VERSION_STRING] = "";
	int level, rank, ranks, length;

	/* OpenMPI would end each task with a page of text and exit code 1, which to us means a wrong result. */
	if (place->ranks > 1 && getenv("PMIX_RANK") == NULL && getenv("PMI_RANK") == NULL)
		return kernel_fail("no PMIx here: srun wants --mpi=pmix");
	watch_phase("MPI_Init", began + init_seconds < end ? began + init_seconds : end);
	if (!watch_start(place->rank))
		return kernel_fail("a thread cannot be started: %s", strerror(errno));
	if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
		return kernel_fail("MPI_Init_thread failed");
	wire_init();
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	/* Each task may be an MPI world of its own, where Slurm's PMIx is not one that OpenMPI was built for. */
	if (rank != place->rank || ranks != place->ranks)
		return kernel_fail("task %d of %d is rank %d of %d to OpenMPI: it was not built for this PMIx",
				   place->rank, place->ranks, rank, ranks);
	if (ranks > FABRIC_RANKS)
		return kernel_fail("at most %d ranks, not %d", FABRIC_RANKS, ranks);
	MPI_Get_library_version(mpi, &length);
	mpi[strcspn(mpi, ",\n")] = '\0';
	return report_ready(place, clock_now() - began, mpi) ? EXIT_MEASURED : cannot_write();
}

/* Plans until there is no more. */
static int serve(const struct place *place, const struct topo *topo, double end)
{
	static struct fabric_plan plan;
	enum fabric_next next = FABRIC_MORE;
	char error[ERROR_SIZE], *line;
	int code = EXIT_MEASURED, ran;

	fabric_plan_init(&plan, place->rank, place->ranks);
	while (next != FABRIC_END) {
		watch_phase("stdin", end);
		switch (input_line(&line, end, error)) {
		case INPUT_LINE:
			next = fabric_plan_line(&plan, line, error);
			break;
		case INPUT_EOF:
			next = fabric_plan_eof(&plan, error);
			break;
		default:
			next = FABRIC_BAD;
		}
		if (next == FABRIC_BAD)
			return kernel_fail("%s", error);
		if (next != FABRIC_GO)
			continue;
		ran = rounds_run(&plan, topo, end);
		if (ran == EXIT_COULD_NOT)
			return ran;
		code = ran == EXIT_WRONG ? ran : code;
		fabric_plan_ran(&plan);
	}
	return code;
}

/*
 * Does not return to main where MPI may still use its memory, or wait for who is gone: without MPI_Finalize the
 * library's own end of the process might hang.
 */
static int leave(int code)
{
	char error[ERROR_SIZE];

	watch_leave(clock_now() + LAST_MEETING_S + FINALIZE_S, code);
	storage_end();
	if (code == EXIT_COULD_NOT || wire_left() || meet_pending() ||
	    !meet(0, clock_now() + LAST_MEETING_S, true, error))
		_exit(code);
	MPI_Finalize();
	return code;
}

/*
 * Makes MPI use one port only: what UCX, OpenMPI's TCP and its verbs each read from the environment in MPI_Init. Whether
 * they did, the port's counters say: report_done.
 */
static bool keep_to(const struct link *rail)
{
	char name[sizeof(rail->name)];

	snprintf(name, sizeof(name), "%s", rail->name);
	/* mlx5_0/1 is mlx5_0:1 to them. */
	if (rail->ib && strchr(name, '/'))
		*strchr(name, '/') = ':';
	/* Both together OpenMPI refuses. */
	unsetenv("OMPI_MCA_btl_tcp_if_exclude");
	unsetenv("OMPI_MCA_btl_openib_if_exclude");
	return setenv("UCX_NET_DEVICES", name, 1) == 0 &&
	       setenv(rail->ib ? "OMPI_MCA_btl_openib_if_include" : "OMPI_MCA_btl_tcp_if_include", name, 1) == 0;
}

static int run(const struct topo *topo, double started, double end)
{
	static struct link links[LINKS_MOST];
	const struct place place = find_place();
	const int n = links_read("", links);
	const struct link *rail = rail_number > 0 ? links_rail(links, n, (int)rail_number) : NULL;
	int code;

	(void)started;
	if (!report_hello(&place, links, n, rail))
		return cannot_write();
	if (rail_number > 0 && rail == NULL)
		return kernel_fail("%s has no rail %.0f", place.node, rail_number);
	if (rail && !keep_to(rail))
		return kernel_fail("setenv: %s", strerror(errno));
	if (dir)
		storage_start(dir);
	code = init(&place, end);
	if (code != EXIT_MEASURED)
		_exit(code);
	return leave(serve(&place, topo, end));
}

static const struct opts_extra extra[] = {
	{ .name = "--dir", .help = "where files are written; no part of its path may be a link", .text = &dir },
	{ .name = "--init-seconds", .help = "seconds that MPI_Init may take (1 to 600, default 120)",
	  .low = 1, .high = 600, .value = &init_seconds },
	{ .name = "--rail", .help = "only the K'th of the node's fastest ports (1 to 32)", .low = 1, .high = LINKS_MOST,
	  .value = &rail_number },
	{ 0 },
};

const struct kernel kernel = {
	.name = "fabric",
	.what = "Measures latency and bandwidth between nodes, pairs at a time, as stdin says.",
	.seconds = 600,
	.extra = extra,
	.run = run,
};
