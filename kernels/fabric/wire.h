/*
 * MPI calls towards one partner. None blocks: a partner, a link or the MPI library may never answer. Whatever waits
 * does so until a deadline, and an MPI error ends the measuring of one pair in one round, not the program.
 */
#ifndef SYSCHECK_FABRIC_WIRE_H
#define SYSCHECK_FABRIC_WIRE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/opts.h"
#include "sizes.h"

struct wire {
	int partner;
	uint64_t round;  /* counted since the start */
	enum fabric_phase phase;
	double deadline; /* clock_now: until then whatever waits, waits */
	double awake_s;  /* wire_wait polls so long before it sleeps; 0: some ten microseconds */
	char error[ERROR_SIZE]; /* "": none. Once set, all calls return false */
};

/* After MPI_Init: errors are returned, MPI_TAG_UB is asked for. */
void wire_init(void);

/* Whether `code` is MPI_SUCCESS; otherwise "call: text" in error. */
bool wire_called(char error[ERROR_SIZE], const char *call, int code);

bool wire_send(struct wire *w, enum fabric_kind kind, const void *data, size_t bytes, MPI_Request *request);
bool wire_receive(struct wire *w, enum fabric_kind kind, void *data, size_t bytes, MPI_Request *request);

/* Until the request is complete, or the deadline: "no answer". */
bool wire_wait(struct wire *w, MPI_Request *request);
bool wire_late(struct wire *w);

/*
 * How many of n requests have completed now, with their indices and statuses; 0 too where none is open. -1: an error,
 * of the call that began them.
 */
int wire_some(struct wire *w, const char *call, int n, MPI_Request *requests, int *indices, MPI_Status *statuses);

/* After a poll that found nothing: lets others have the core now and then. */
void wire_fruitless(unsigned *polls);

/*
 * After an error: receives are cancelled. False if one, or a send (which cannot be cancelled), stays with the
 * library: its memory is the library's from now on.
 */
bool wire_drop(MPI_Request *receives, int n_receives, const MPI_Request *sends, int n_sends);

/* Something stays with the library: MPI_Finalize might wait for it for ever. */
bool wire_left(void);

#endif
