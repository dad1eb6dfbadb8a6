#include "storage.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "collective.h"
#include "common/clock.h"
#include "common/dir.h"
#include "common/direct.h"
#include "common/file.h"
#include "common/janitor.h"
#include "common/pattern.h"
#include "watch.h"

/* A request large enough for file systems that stripe. */
#define CHUNK ((size_t)4 << 20)
/* Of what is free, a run takes at most this part. */
#define FREE_PART 20
/* For what has to be answered by a server that has work: an open, a sync of what caches hold. */
#define ANSWER_S 30.0
#define ANSWERS 4
/* Files of one run differ, beyond the largest one's words. */
#define SEED_STEP ((uint64_t)1 << 44)

/* What the group's first rank tells the others, and a rank its reader. */
struct note {
	char dir[JANITOR_NAME_SIZE], file[JANITOR_NAME_SIZE];
	uint64_t seed, bytes;
};

static struct {
	int dir;
	char error[ERROR_SIZE]; /* why there is no directory */
	char type[64];
	struct janitor janitor;
	uint64_t *buffer;
	struct note *out, *in; /* left to MPI where a message never came */
} s = { .dir = -1, .error = "no directory was named" };

/* Of one run. */
struct work {
	int dir;       /* ours alone */
	int own, other; /* files */
	uint64_t seed;
	size_t limit;  /* bytes that a rank writes at most */
	char shared[JANITOR_NAME_SIZE]; /* the one file's name */
	bool lost;     /* somebody did not answer: nobody is waited for any more */
};

static bool fail(struct storage *p, const char *what)
{
	snprintf(p->error, sizeof(p->error), "%s: %s", what, strerror(errno));
	return false;
}

void storage_start(const char *dir)
{
	signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is an error like others */
	s.dir = dir_open(dir, s.error);
	if (s.dir < 0)
		return;
	file_system_name(s.dir, s.type, sizeof(s.type));
	if (!janitor_start(&s.janitor, s.dir)) {
		snprintf(s.error, sizeof(s.error), "the janitor cannot be started: %s", strerror(errno));
		close(s.dir);
		s.dir = -1;
	}
}

void storage_end(void)
{
	janitor_end(&s.janitor);
}

const char *storage_type(void)
{
	return s.type;
}

double storage_most(const struct fabric_settings *set)
{
	return 2 * set->io_seconds + ANSWERS * ANSWER_S;
}

/* Whether all of the group are well so far, `seconds` from now at the latest. */
static bool agree(struct storage *p, struct work *k, bool well, double seconds)
{
	uint64_t worst = well ? 0 : 1 + (uint64_t)p->turn->place;

	p->wire.deadline = clock_now() + seconds + ANSWER_S;
	watch_phase("files", p->wire.deadline + seconds + ANSWER_S);
	k->lost = k->lost || !collective_largest(&p->wire, p->turn, &worst);
	if (k->lost)
		return false;
	if (worst != 0)
		snprintf(p->wire.error, sizeof(p->wire.error), "rank %d could not", p->turn->members[worst - 1]);
	return worst == 0;
}

/* A note to one rank and one from another; either -1: none. */
static bool pass(struct storage *p, struct work *k, int to, int from)
{
	MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
	struct wire *w = &p->wire;
	bool ok = true;

	w->deadline = clock_now() + ANSWER_S;
	w->partner = from;
	if (from >= 0)
		ok = wire_receive(w, FABRIC_SIZE, s.in, sizeof(*s.in), &receive);
	w->partner = to;
	if (to >= 0)
		ok = ok && wire_send(w, FABRIC_SIZE, s.out, sizeof(*s.out), &send);
	if (ok && wire_wait(w, &receive) && wire_wait(w, &send))
		return true;
	k->lost = true;
	if (!wire_drop(&receive, 1, &send, 1))
		s.out = s.in = NULL;
	return false;
}

/* The group's first rank makes a directory. */
static bool make_dir(struct storage *p, struct work *k)
{
	const char *name = janitor_new_dir(&s.janitor), *file = janitor_inside(&s.janitor);

	memset(s.out, 0, sizeof(*s.out));
	if (name == NULL || file == NULL || getrandom(&k->seed, sizeof(k->seed), 0) != (ssize_t)sizeof(k->seed))
		return fail(p, "getrandom");
	if (mkdirat(s.dir, name, 0700) != 0) {
		const int why = errno;

		janitor_forget(&s.janitor);
		errno = why;
		return fail(p, "no directory can be made there");
	}
	snprintf(s.out->dir, sizeof(s.out->dir), "%s", name);
	snprintf(s.out->file, sizeof(s.out->file), "%s", file);
	s.out->seed = k->seed;
	return true;
}

/* A name that came, of a file in a directory; "": none. */
static void take_name(char name[JANITOR_NAME_SIZE], const char *came)
{
	snprintf(name, JANITOR_NAME_SIZE, "%.*s", JANITOR_NAME_SIZE - 1, came);
	if (strchr(name, '/') != NULL)
		name[0] = '\0';
}

/* Only if nobody else may write to it: whoever owns what is above could have put another one, or a link, in its place. */
static bool enter_dir(struct storage *p, struct work *k, const struct note *note)
{
	char name[JANITOR_NAME_SIZE];
	struct stat st;

	take_name(name, note->dir);
	take_name(k->shared, note->file);
	k->seed = note->seed;
	/* The first rank could not make it, and says why. */
	if (name[0] == '\0' || k->shared[0] == '\0')
		return false;
	if (p->turn->place != 0)
		janitor_enter_dir(&s.janitor, name);
	k->dir = openat(s.dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (k->dir < 0 && errno == ENOENT) {
		snprintf(p->error, sizeof(p->error), "it is not the file system that the other nodes have there");
		return false;
	}
	if (k->dir < 0 || fstat(k->dir, &st) != 0)
		return fail(p, "the run's directory");
	if (st.st_uid == geteuid() && (st.st_mode & 077) == 0)
		return true;
	errno = EPERM;
	return fail(p, st.st_uid == geteuid() ? "the run's directory is open to others"
					      : "the run's directory is another user's (root_squash?)");
}

/* A directory that this run has for itself, open in all of the group. */
static bool share_dir(struct storage *p, struct work *k)
{
	const struct fabric_turn *turn = p->turn;
	bool ok;

	if (turn->place != 0)
		return pass(p, k, -1, turn->members[0]) && enter_dir(p, k, s.in);
	ok = make_dir(p, k);
	for (int i = 1; i < turn->size; i++)
		if (!pass(p, k, turn->members[i], -1))
			return false;
	return ok && enter_dir(p, k, s.out);
}

static bool make_file(struct storage *p, struct work *k)
{
	const char *name = janitor_inside(&s.janitor);

	if (name == NULL)
		return fail(p, "getrandom");
	k->own = openat(k->dir, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0600);
	return k->own >= 0 || fail(p, "no file can be made");
}

/* Whose file this rank reads: the one's before it. */
static int neighbour(const struct fabric_turn *turn)
{
	return (turn->place + turn->size - 1) % turn->size;
}

static bool open_other(struct storage *p, struct work *k)
{
	char name[JANITOR_NAME_SIZE];

	take_name(name, s.in->file);
	k->other = openat(k->dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (k->other >= 0)
		return true;
	if (errno != ENOENT)
		return fail(p, "the file of another node");
	snprintf(p->error, sizeof(p->error), "it does not see the file of rank %d: not the same file system",
		 p->turn->members[neighbour(p->turn)]);
	return false;
}

/* The file, which is open in all who need it, loses its name, and the directory its own if it can. */
static bool unlink_name(struct storage *p, const struct work *k)
{
	if (unlinkat(k->dir, s.janitor.inside, 0) != 0)
		return fail(p, "unlink");
	s.janitor.inside[0] = '\0';
	return true;
}

/*
 * NFS gives open files names of its own: there it goes when they are closed. False: it is still there. Nobody but the
 * first rank has to see it go.
 */
static bool remove_dir(void)
{
	if (s.janitor.name == NULL || s.janitor.name[0] == '\0')
		return true;
	if (unlinkat(s.dir, s.janitor.name, AT_REMOVEDIR) != 0 && errno != ENOENT)
		return false;
	janitor_forget(&s.janitor);
	return true;
}

static bool find_limit(struct storage *p, struct work *k)
{
	struct statfs fs;
	double room;

	if (fstatfs(s.dir, &fs) != 0)
		return fail(p, "statfs");
	/* Some FUSE file systems report no size at all. */
	room = fs.f_blocks ? (double)fs.f_bavail * (double)(fs.f_frsize ? fs.f_frsize : fs.f_bsize) : 1e18;
	k->limit = (size_t)fmin(room / FREE_PART / p->turn->size, fmax(p->set->io_mb * 1e6, CHUNK)) / CHUNK * CHUNK;
	if (k->limit > 0)
		return true;
	snprintf(p->error, sizeof(p->error), "too little room: %.0f MB are free, of which a run takes 1/%d", room * 1e-6,
		 FREE_PART);
	return false;
}

/* A file of this rank or of its neighbour, or the one that all share. */
struct target {
	struct direct own;
	MPI_File shared; /* MPI_FILE_NULL: own */
};

/* Moves a chunk of the rank at `place`; in the shared file all are next to each other: chunk i at i * ranks + place. */
static bool transfer(struct storage *p, struct target *t, bool is_write, int place, size_t at)
{
	const MPI_Offset offset = (MPI_Offset)at * p->turn->size + (MPI_Offset)place * (MPI_Offset)CHUNK;

	if (t->shared == MPI_FILE_NULL)
		return direct_transfer(&t->own, is_write, s.buffer, CHUNK, at) || fail(p, is_write ? "write" : "read");
	if (is_write)
		return wire_called(p->error, "MPI_File_write_at",
				   MPI_File_write_at(t->shared, offset, s.buffer, (int)CHUNK, MPI_BYTE, MPI_STATUS_IGNORE));
	return wire_called(p->error, "MPI_File_read_at",
			   MPI_File_read_at(t->shared, offset, s.buffer, (int)CHUNK, MPI_BYTE, MPI_STATUS_IGNORE));
}

static bool sync_file(struct storage *p, const struct target *t)
{
	if (t->shared == MPI_FILE_NULL)
		return fdatasync(t->own.fd) == 0 || fail(p, "fdatasync");
	return wire_called(p->error, "MPI_File_sync", MPI_File_sync(t->shared));
}

static bool write_chunks(struct storage *p, const struct work *k, struct target *t)
{
	const double until = clock_now() + p->set->io_seconds;
	const uint64_t seed = k->seed + SEED_STEP * (uint64_t)p->turn->place;
	double spent = 0, from;
	size_t at = 0;

	do {
		pattern_fill(s.buffer, CHUNK, at, seed);
		from = clock_now();
		if (!transfer(p, t, true, p->turn->place, at))
			return false;
		at += CHUNK;
		spent += clock_now() - from;
	} while (at + CHUNK <= k->limit && clock_now() < until);
	from = clock_now();
	/* A rate counts what is stored. */
	if (!sync_file(p, t))
		return false;
	spent += clock_now() - from;
	p->written = (double)at;
	p->write = (double)at / spent;
	return true;
}

static bool write_own(struct storage *p, const struct work *k)
{
	struct target t = { .own = { .fd = k->own }, .shared = MPI_FILE_NULL };
	bool ok;

	direct_ask(&t.own, CHUNK);
	ok = write_chunks(p, k, &t);
	p->direct = t.own.on;
	return ok;
}

/* What a client knows of a file's size may be from when it was opened. */
static void ask_size(int fd)
{
	struct statx x;

	(void)statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_SIZE, &x);
}

static bool check(struct storage *p, size_t at, uint64_t seed)
{
	const size_t bad = pattern_check(s.buffer, CHUNK, at, seed);

	if (bad < CHUNK)
		snprintf(p->wrong, sizeof(p->wrong), "byte %zu of what rank %d wrote is wrong: 0x%02x", at + bad,
			 p->turn->members[neighbour(p->turn)], ((unsigned char *)s.buffer)[bad]);
	return bad == CHUNK;
}

/* What the neighbour wrote, `bytes` of it at most. */
static bool read_chunks(struct storage *p, const struct work *k, struct target *t, size_t bytes)
{
	const double until = clock_now() + p->set->io_seconds;
	const uint64_t seed = k->seed + SEED_STEP * (uint64_t)neighbour(p->turn);
	double spent = 0, from;
	size_t at = 0;

	while (at < bytes && clock_now() < until) {
		from = clock_now();
		if (!transfer(p, t, false, neighbour(p->turn), at))
			return false;
		spent += clock_now() - from;
		if (!check(p, at, seed))
			return false;
		at += CHUNK;
	}
	p->got = (double)at;
	p->read = at > 0 ? (double)at / spent : NAN;
	return true;
}

static bool read_other(struct storage *p, const struct work *k, size_t bytes)
{
	struct target t = { .own = { .fd = k->other }, .shared = MPI_FILE_NULL };
	bool ok;

	ask_size(k->other);
	direct_ask(&t.own, CHUNK);
	if (!t.own.on)
		(void)posix_fadvise(k->other, 0, 0, POSIX_FADV_DONTNEED);
	ok = read_chunks(p, k, &t, bytes);
	p->direct = p->direct && t.own.on;
	return ok;
}

/* This rank's file and what is in it for the one behind, the neighbour's for this one: in s.in. */
static bool pass_on(struct storage *p, struct work *k)
{
	const struct fabric_turn *turn = p->turn;

	memset(s.out, 0, sizeof(*s.out));
	snprintf(s.out->file, sizeof(s.out->file), "%s", s.janitor.inside);
	s.out->bytes = (uint64_t)p->written;
	return pass(p, k, turn->members[(turn->place + 1) % turn->size], turn->members[neighbour(turn)]);
}

/* How much the neighbour wrote. */
static bool pass_sizes(struct storage *p, struct work *k, size_t *bytes)
{
	if (!pass_on(p, k))
		return false;
	*bytes = (size_t)s.in->bytes / CHUNK * CHUNK;
	return true;
}

/* A file each. */
static bool many(struct storage *p, struct work *k)
{
	const double seconds = p->set->io_seconds;
	size_t bytes;

	return agree(p, k, make_file(p, k), 0) && pass_on(p, k) && agree(p, k, open_other(p, k), 0) &&
	       agree(p, k, unlink_name(p, k), 0) && (remove_dir(), true) &&
	       agree(p, k, write_own(p, k), seconds) && pass_sizes(p, k, &bytes) && agree(p, k, read_other(p, k, bytes), seconds);
}

/*
 * One file. The library's calls that open, sync and close it are of all ranks and return when all have come, or never:
 * then the watch ends the process.
 */
static bool one(struct storage *p, struct work *k)
{
	const double seconds = p->set->io_seconds;
	struct target t = { .shared = MPI_FILE_NULL };
	char path[64 + JANITOR_NAME_SIZE];
	size_t bytes;
	bool ok;

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", k->dir, k->shared);
	ok = agree(p, k, wire_called(p->error, "MPI_File_open",
				     MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR,
						   MPI_INFO_NULL, &t.shared)), 0) &&
	     agree(p, k, p->turn->place != 0 || unlink_name(p, k), 0) && (remove_dir(), true) &&
	     agree(p, k, write_chunks(p, k, &t), seconds) && pass_sizes(p, k, &bytes) &&
	     /* What others wrote is seen between two syncs. */
	     agree(p, k, sync_file(p, &t), 0) && agree(p, k, read_chunks(p, k, &t, bytes), seconds);
	/* Waits for all: only where all are there. */
	if (ok)
		MPI_File_close(&t.shared);
	return ok;
}

static bool prepare(struct storage *p)
{
	if (s.dir < 0) {
		memcpy(p->error, s.error, sizeof(p->error));
		return false;
	}
	/* Only the first rank makes a name there, but each says whether it could. */
	if (faccessat(s.dir, ".", W_OK | X_OK, AT_EACCESS) != 0)
		return fail(p, "nothing can be written there");
	/* The janitor knows one name. */
	if (!remove_dir())
		return fail(p, "the directory of the round before is still there");
	if (s.buffer == NULL)
		s.buffer = aligned_alloc(CHUNK, CHUNK);
	if (s.out == NULL)
		s.out = calloc(1, sizeof(*s.out));
	if (s.in == NULL)
		s.in = calloc(1, sizeof(*s.in));
	errno = ENOMEM;
	return (s.buffer && s.out && s.in) || fail(p, "memory");
}

bool storage_run(struct storage *p)
{
	struct work k = { .dir = -1, .own = -1, .other = -1 };
	bool ok;

	p->wire.phase = FABRIC_BOTH;
	p->write = p->read = NAN;
	ok = agree(p, &k, prepare(p) && find_limit(p, &k), 0) && agree(p, &k, share_dir(p, &k), 0) &&
	     (p->turn->what == FABRIC_FILES ? many(p, &k) : one(p, &k));
	if (k.own >= 0)
		close(k.own);
	if (k.other >= 0)
		close(k.other);
	if (k.dir >= 0) {
		/* After an error it may still be there. */
		if (s.janitor.inside[0] != '\0' && (unlinkat(k.dir, s.janitor.inside, 0) == 0 || errno == ENOENT))
			s.janitor.inside[0] = '\0';
		close(k.dir);
	}
	/* The directory goes when all have closed what NFS keeps a name of. */
	agree(p, &k, true, 0);
	if (!remove_dir() && p->turn->place != 0)
		janitor_forget(&s.janitor);
	return ok;
}
