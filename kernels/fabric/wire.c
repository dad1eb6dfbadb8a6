#include "wire.h"

#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>

#include "common/clock.h"

/*
 * Some ten microseconds of polling, more than a fast network's latency, so that no sleep lengthens it. On virtual nodes
 * that share a core the partner runs only if we sleep: with sched_yield, on Linux 6.18 and two busy cores, who polled was
 * kept waiting for a fifth of a second by those that had data to copy (70 of 72 rates stalled).
 */
#define POLLS_BEFORE_SLEEP 64
#define SLEEP_NS 1000
/* A cancelled receive is complete at once in all libraries seen; some polls for others. */
#define CANCEL_POLLS 1000

static struct {
	int tag_most;
	bool left;
} s;

void wire_init(void)
{
	int *most, found = 0;

	/* Otherwise the shortest sleep is 50 us. */
	prctl(PR_SET_TIMERSLACK, 1UL);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &found);
	s.tag_most = found ? *most : 32767; /* the least that the standard allows */
}

bool wire_called(char error[ERROR_SIZE], const char *call, int code)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int length = 0;

	if (code == MPI_SUCCESS)
		return true;
	MPI_Error_string(code, text, &length);
	snprintf(error, ERROR_SIZE, "%s: %.200s", call, text);
	return false;
}

bool wire_send(struct wire *w, enum fabric_kind kind, const void *data, size_t bytes, MPI_Request *request)
{
	const int tag = fabric_tag(w->round, w->phase, kind, s.tag_most);

	return wire_called(w->error, "MPI_Isend",
			   MPI_Isend(data, (int)bytes, MPI_BYTE, w->partner, tag, MPI_COMM_WORLD, request));
}

bool wire_receive(struct wire *w, enum fabric_kind kind, void *data, size_t bytes, MPI_Request *request)
{
	const int tag = fabric_tag(w->round, w->phase, kind, s.tag_most);

	return wire_called(w->error, "MPI_Irecv",
			   MPI_Irecv(data, (int)bytes, MPI_BYTE, w->partner, tag, MPI_COMM_WORLD, request));
}

void wire_fruitless(unsigned *polls)
{
	const struct timespec step = { .tv_nsec = SLEEP_NS };

	if (++*polls > POLLS_BEFORE_SLEEP)
		nanosleep(&step, NULL);
}

bool wire_late(struct wire *w)
{
	if (clock_now() < w->deadline)
		return false;
	snprintf(w->error, sizeof(w->error), "no answer");
	return true;
}

bool wire_wait(struct wire *w, MPI_Request *request)
{
	const double awake_until = w->awake_s > 0 ? clock_now() + w->awake_s : 0;
	unsigned polls = 0;
	int done = 0;

	for (;;) {
		if (!wire_called(w->error, "MPI_Test", MPI_Test(request, &done, MPI_STATUS_IGNORE)))
			return false;
		if (done)
			return true;
		if (awake_until == 0 || clock_now() > awake_until)
			wire_fruitless(&polls);
		if (wire_late(w))
			return false;
	}
}

int wire_some(struct wire *w, const char *call, int n, MPI_Request *requests, int *indices, MPI_Status *statuses)
{
	int found = 0, code = MPI_Testsome(n, requests, &found, indices, statuses);

	for (int i = 0; code == MPI_ERR_IN_STATUS && i < found; i++)
		if (statuses[i].MPI_ERROR != MPI_SUCCESS && statuses[i].MPI_ERROR != MPI_ERR_PENDING)
			code = statuses[i].MPI_ERROR;
	if (!wire_called(w->error, call, code))
		return -1;
	return found == MPI_UNDEFINED ? 0 : found;
}

static bool cancel(MPI_Request *request)
{
	int done = 0;

	if (*request == MPI_REQUEST_NULL)
		return true;
	if (MPI_Cancel(request) != MPI_SUCCESS)
		return false;
	for (int i = 0; i < CANCEL_POLLS && !done; i++)
		if (MPI_Test(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
			return *request == MPI_REQUEST_NULL;
	return done;
}

bool wire_drop(MPI_Request *receives, int n_receives, const MPI_Request *sends, int n_sends)
{
	bool all = true;

	for (int i = 0; i < n_receives; i++)
		all = cancel(&receives[i]) && all;
	for (int i = 0; i < n_sends; i++)
		all = sends[i] == MPI_REQUEST_NULL && all;
	s.left = s.left || !all;
	return all;
}

bool wire_left(void)
{
	return s.left;
}
