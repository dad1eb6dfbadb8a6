#include "meet.h"

#include <mpi.h>
#include <stdlib.h>
#include <time.h>

#include "common/clock.h"
#include "wire.h"

/* How long a rank with a part in the round looks without a pause: about what a barrier of 4,096 ranks takes. */
#define AWAKE_S 0.001
#define SLEEP_NS 200000

/*
 * Barriers that are not complete stay here. Every rank begins the same number of them, so one that comes late
 * completes them in order, and all meet again.
 */
static struct {
	MPI_Request *requests;
	int n, size;
} m;

static bool grow(void)
{
	const int size = 2 * m.size + 16;
	MPI_Request *grown;

	if (m.n < m.size)
		return true;
	/* OpenMPI's requests are pointers, others' are not. NOLINTNEXTLINE(bugprone-sizeof-expression) */
	grown = realloc(m.requests, (size_t)size * sizeof(*grown));
	if (grown == NULL)
		return false;
	m.requests = grown;
	m.size = size;
	return true;
}

/* After the last one is complete those before it are: the library only has to be asked. */
static void ask_all(void)
{
	int left = 0, done;

	for (int i = 0; i < m.n; i++) {
		done = 0;
		MPI_Test(&m.requests[i], &done, MPI_STATUS_IGNORE);
		if (!done)
			m.requests[left++] = m.requests[i];
	}
	m.n = left;
}

bool meet(double from, double deadline, bool idle, char error[ERROR_SIZE])
{
	const struct timespec step = { .tv_nsec = SLEEP_NS };
	const double awake = idle ? 0 : clock_now() + AWAKE_S;
	unsigned polls = 0;
	int done = 0;

	/* Those before get on meanwhile. */
	for (; clock_now() < from; nanosleep(&step, NULL))
		ask_all();
	if (!wire_called(error, "MPI_Ibarrier",
			 grow() ? MPI_Ibarrier(MPI_COMM_WORLD, &m.requests[m.n]) : MPI_ERR_NO_MEM))
		return false;
	m.n++;
	for (;;) {
		if (!wire_called(error, "MPI_Ibarrier", MPI_Test(&m.requests[m.n - 1], &done, MPI_STATUS_IGNORE)))
			return false;
		if (done) {
			ask_all();
			return true;
		}
		if (clock_now() > deadline)
			return false;
		if (clock_now() < awake)
			wire_fruitless(&polls);
		else
			nanosleep(&step, NULL);
	}
}

bool meet_pending(void)
{
	return m.n > 0;
}
