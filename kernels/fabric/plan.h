/*
 * What a driver writes to stdin: plans, one instruction a line.
 *
 *   plan ID          0 to 999999999, begins a plan with the default settings
 *   set NAME VALUE   before the first round: see struct fabric_settings
 *   round A-B ...    pairs of ranks that measure at the same time; others are idle
 *   alltoall A,B,C ...   a round in which each of these groups of ranks, 2 to 16 each, exchanges messages
 *   allreduce A,B,C ...  a round in which each of these groups of ranks, 2 or more each, agrees on a number
 *   work A,B,C ...       a round in which each of these groups works and agrees on a number, again and again
 *   files A,B,C ...      a round in which each rank of these groups writes a file and reads its neighbour's
 *   file A,B,C ...       a round in which all of the job's ranks write one file and read it, by MPI-IO
 *   go               the plan is whole: run it
 *   end              no more plans, as is the end of the input
 *
 * Pure: a line in, what to do out.
 */
#ifndef SYSCHECK_FABRIC_PLAN_H
#define SYSCHECK_FABRIC_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/opts.h"

#define FABRIC_RANKS 4096
#define FABRIC_ROUNDS 4096
#define FABRIC_WINDOW 64
#define FABRIC_BYTES ((size_t)16 << 20)
#define FABRIC_GROUP 16
/* Of all groups that one rank is in. */
#define FABRIC_MEMBERS (4 * FABRIC_RANKS)
/* Room for a line, its NUL included: a round of 2,048 pairs needs 22 KiB. */
#define FABRIC_LINE ((size_t)32 << 10)

struct fabric_settings {
	double pingpongs; /* 1 to 100,000 */
	double latency_s; /* 0.001 to 10: after that time no further ping-pong begins */
	double seconds;   /* 0.01 to 60: each of the three bandwidth phases, and work */
	double work_us;   /* 10 to 10^6: of work between two allreduces */
	double window;    /* 1 to 64 messages in flight */
	double bytes;     /* 4,096 to 16 MiB: the largest message */
	double share;     /* 0.01 to 1: of the time, in which there is traffic */
	double io_seconds; /* 0.1 to 600: of writing, and of reading */
	double io_mb;     /* 1 to 10^7: written by a rank at most, 10^6 bytes */
};

enum fabric_what { FABRIC_PAIR, FABRIC_ALLTOALL, FABRIC_ALLREDUCE, FABRIC_WORK, FABRIC_FILES, FABRIC_FILE };

/* This rank's part of one round. */
struct fabric_turn {
	enum fabric_what what;
	int16_t partner; /* of a pair; -1: idle */
	bool first;      /* named first in the pair: measures the latency, sends first */
	/* Of a group: its ranks, of which `place` is this one's; size 0: idle. */
	const int16_t *members;
	int size, place;
};

struct fabric_plan {
	int rank, ranks;
	int id; /* -1: between plans */
	struct fabric_settings set;
	int rounds;
	struct fabric_turn turns[FABRIC_ROUNDS];
	uint16_t named_in[FABRIC_RANKS]; /* the last round that named the rank, from 1 on */
	int16_t members[FABRIC_MEMBERS];
	int n_members;
};

enum fabric_next {
	FABRIC_MORE, /* the next line, please */
	FABRIC_GO,   /* run the plan; then call fabric_plan_ran */
	FABRIC_END,
	FABRIC_BAD   /* not understood */
};

/* For a rank among 1 to FABRIC_RANKS. */
void fabric_plan_init(struct fabric_plan *p, int rank, int ranks);

/* `line` is without its newline, and is changed. One line of text in `error` with FABRIC_BAD. */
enum fabric_next fabric_plan_line(struct fabric_plan *p, char *line, char error[ERROR_SIZE]);

/* The input has ended: FABRIC_BAD within a plan. */
enum fabric_next fabric_plan_eof(const struct fabric_plan *p, char error[ERROR_SIZE]);

void fabric_plan_ran(struct fabric_plan *p);

#endif
