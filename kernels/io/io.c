/*
 * io: what one directory's file system does for one process: sequential write and
 * read past the page cache, the latency of a small write made durable, the rate of
 * creating, looking up and unlinking files. Bytes are verified: each depends on its
 * offset and on this run. Nothing is left behind (janitor.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/dir.h"
#include "common/direct.h"
#include "common/file.h"
#include "common/kernel.h"
#include "common/pattern.h"
#include "common/stats.h"

/* One request as dd bs=1M makes it, so that an admin can compare; less where there is no room. */
#define CHUNK ((size_t)1 << 20)
#define CHUNK_LEAST ((size_t)1 << 16)
/*
 * Where writes only reach the page cache: what the next sync may have to write. Twice as much
 * as before while a sync takes less than this share of the time that is left.
 */
#define SYNC_MOST ((size_t)16 << 20)
#define SYNC_SHARE 0.05
#define FREE_SHARE 100
/* Enough for a 99th percentile; a shared server is not to be kept busy for more. */
#define MAX_SYNCS 4096
#define MAX_FILES 20000

static const char *dir_path;
static double max_mb = 256;

static struct {
	char shown[120]; /* the path, printable */
	int dir;
	struct direct file;
	bool named;  /* the file has a name, which the janitor knows */
	bool direct; /* what it was when data was written and read */
	struct janitor janitor;
	char type[64];
	size_t chunk, limit; /* bytes: of a request, of the file at most */
	uint64_t *buffer, seed;
	size_t written, read, files, n_syncs;
	double write_s, read_s, create_s, stat_s, unlink_s;
	double syncs[MAX_SYNCS]; /* us */
	char wrong[ERROR_SIZE];
} s = { .dir = -1, .file.fd = -1 };

static int fail(const char *what)
{
	return kernel_fail("%s: %s: %s", s.shown, what,
			   errno == EMLINK ? "somebody linked the file meanwhile, or moved it" : strerror(errno));
}

/* Closes the data file, if it is open; unlinks it before that, if it has a name. */
static int close_file(int code)
{
	if (s.named && !file_unlink(s.dir, s.file.fd, &s.janitor) && code == EXIT_MEASURED)
		code = fail("unlink");
	s.named = false;
	if (s.file.fd >= 0)
		close(s.file.fd);
	s.file.fd = -1;
	return code;
}

static bool open_file(bool named)
{
	s.file.fd = named ? file_open_named(s.dir, &s.janitor) : file_open(s.dir, &s.janitor);
	s.named = named && s.file.fd >= 0;
	if (s.file.fd >= 0)
		direct_ask(&s.file, s.chunk);
	return s.file.fd >= 0;
}

static int write_phase(double until)
{
	size_t every = s.chunk, waiting = 0;
	double from, now;

	do {
		pattern_fill(s.buffer, s.chunk, s.written, s.seed);
		from = clock_now();
		if (!direct_transfer(&s.file, true, s.buffer, s.chunk, s.written))
			return fail("write");
		s.written += s.chunk;
		waiting += s.file.on ? 0 : s.chunk;
		now = clock_now();
		if (waiting >= every) {
			const double sync_from = now;

			if (fdatasync(s.file.fd) != 0)
				return fail("fdatasync");
			now = clock_now();
			waiting = 0;
			if (every < SYNC_MOST && now - sync_from < SYNC_SHARE * (until - now))
				every *= 2;
		}
		s.write_s += now - from;
	} while (s.written + s.chunk <= s.limit && now < until);
	/* A rate counts what is on the disk. */
	from = clock_now();
	if (fdatasync(s.file.fd) != 0)
		return fail("fdatasync");
	s.write_s += clock_now() - from;
	return EXIT_MEASURED;
}

static int read_phase(double until)
{
	double from, now;
	size_t bad;

	/* Of this file's pages only, which are clean now: the host's cache stays. */
	if (!s.file.on)
		(void)posix_fadvise(s.file.fd, 0, 0, POSIX_FADV_DONTNEED);
	do {
		memset(s.buffer, 0, s.chunk);
		from = clock_now();
		if (!direct_transfer(&s.file, false, s.buffer, s.chunk, s.read))
			return fail("read");
		now = clock_now();
		s.direct = s.file.on;
		s.read_s += now - from;
		bad = pattern_check(s.buffer, s.chunk, s.read, s.seed);
		if (bad < s.chunk) {
			snprintf(s.wrong, sizeof(s.wrong), "%s: byte %zu of %zu read back is wrong: 0x%02x", s.shown,
				 s.read + bad, s.written, ((unsigned char *)s.buffer)[bad]);
			return EXIT_WRONG;
		}
		s.read += s.chunk;
	} while (s.read < s.written && now < until);
	return EXIT_MEASURED;
}

/*
 * Appends, as a log does: each changes the file's size, so each fsync has to commit.
 * Overwriting would not: ext4 has nothing to commit until the time stamps' clock ticks,
 * and half of the samples would say 30 us and the others 4 ms. To a file with a name:
 * one without is lost in a crash anyway, and ZFS and btrfs know that.
 */
static int sync_phase(double until)
{
	double from, now;
	size_t at = 0;

	/* Room first: the file stays below its limit. */
	if (ftruncate(s.file.fd, 0) != 0)
		return fail("ftruncate");
	if (!s.named) {
		close_file(EXIT_MEASURED);
		if (!open_file(true))
			return fail("no file can be made");
	}
	/* What it took to make it is no append's. */
	if (fsync(s.file.fd) != 0)
		return fail("fsync");
	do {
		pattern_fill(s.buffer, s.file.align, at, s.seed);
		from = clock_now();
		if (!direct_transfer(&s.file, true, s.buffer, s.file.align, at))
			return fail("write");
		if (fsync(s.file.fd) != 0)
			return fail("fsync");
		now = clock_now();
		s.syncs[s.n_syncs++] = (now - from) * 1e6;
		at += s.file.align;
	} while (s.n_syncs < MAX_SYNCS && at + s.file.align <= s.limit && now < until);
	stats_sort(s.syncs, s.n_syncs);
	/* One name at a time: the next phase makes others. */
	return close_file(EXIT_MEASURED);
}

/* One file at a time, a new name each time. */
static int files_phase(double until)
{
	double from, created, looked, now;

	do {
		const char *name = janitor_name(&s.janitor);
		struct stat st;
		int fd;

		if (name == NULL)
			return fail("getrandom");
		from = clock_now();
		fd = openat(s.dir, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0600);
		if (fd < 0)
			return fail("create");
		if (close(fd) != 0)
			return fail("close");
		created = clock_now();
		if (fstatat(s.dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			return fail("stat");
		looked = clock_now();
		if (unlinkat(s.dir, name, 0) != 0)
			return fail("unlink");
		now = clock_now();
		janitor_forget(&s.janitor);
		s.create_s += created - from;
		s.stat_s += looked - created;
		s.unlink_s += now - looked;
		s.files++;
	} while (s.files < MAX_FILES && now < until);
	return EXIT_MEASURED;
}

static int report(const struct topo *topo, double started, int code)
{
	struct topo one = *topo; /* one thread, on any of them */
	struct result r;

	one.n = 1;
	kernel_begin(&r, code == EXIT_WRONG ? s.wrong : NULL);
	result_string(&r, "dir", dir_path);
	result_string(&r, "filesystem", s.type);
	result_bool(&r, "direct", s.direct);
	result_integer(&r, "bytes", (long long)s.written);
	result_integer(&r, "read_bytes", (long long)s.read);
	result_number(&r, "write_gbs", (double)s.written / s.write_s * 1e-9);
	if (code == EXIT_MEASURED) {
		result_number(&r, "read_gbs", (double)s.read / s.read_s * 1e-9);
		result_number(&r, "fsync_us", stats_quantile(s.syncs, s.n_syncs, 0.5));
		result_number(&r, "fsync_p99_us", stats_quantile(s.syncs, s.n_syncs, 0.99));
		result_number(&r, "fsync_max_us", s.syncs[s.n_syncs - 1]);
		result_integer(&r, "fsyncs", (long long)s.n_syncs);
		result_number(&r, "creates_per_s", (double)s.files / s.create_s);
		result_number(&r, "stats_per_s", (double)s.files / s.stat_s);
		result_number(&r, "unlinks_per_s", (double)s.files / s.unlink_s);
		result_integer(&r, "files", (long long)s.files);
	}
	return kernel_finish(&r, &one, started);
}

/* Opens the directory, learns what may be used of it, makes the file. */
static int set_up(void)
{
	char error[ERROR_SIZE];
	struct statfs fs;
	double room;

	s.dir = dir_open(dir_path, error);
	if (s.dir < 0)
		return kernel_fail("%s: %s", s.shown, error);
	if (fstatfs(s.dir, &fs) != 0)
		return fail("statfs");
	file_system_name(s.dir, s.type, sizeof(s.type));
	/* Some FUSE file systems report no size at all. */
	room = fs.f_blocks ? (double)fs.f_bavail * (double)(fs.f_frsize ? fs.f_frsize : fs.f_bsize) : 1e18;
	s.limit = (size_t)(room / FREE_SHARE < max_mb * 1e6 ? room / FREE_SHARE : max_mb * 1e6);
	for (s.chunk = CHUNK; s.chunk > s.limit; s.chunk /= 2)
		if (s.chunk <= CHUNK_LEAST)
			return kernel_fail("%s: too little room: %.1f MB are free, and it takes 1 %% at most",
					   s.shown, room * 1e-6);
	if (!janitor_start(&s.janitor, s.dir))
		return fail("the janitor cannot be started");
	if (!open_file(file_needs_name(s.dir)))
		return fail("no file can be made");
	s.buffer = aligned_alloc(CHUNK, CHUNK);
	if (!s.buffer)
		return kernel_fail("out of memory");
	if (getrandom(&s.seed, sizeof(s.seed), 0) != (ssize_t)sizeof(s.seed))
		return fail("getrandom");
	return EXIT_MEASURED;
}

static int run(const struct topo *topo, double started, double end)
{
	/* Each phase's end, as a share of the box; the rest is for giving the blocks back. */
	static const struct {
		int (*phase)(double until);
		double share;
	} phases[] = { { write_phase, 0.35 }, { read_phase, 0.6 }, { sync_phase, 0.78 }, { files_phase, 0.95 } };
	int code, spare;
	double from;

	/* Else a file that is opened would take the place of a closed stdin or stderr. */
	while ((spare = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0 && spare <= STDERR_FILENO)
		;
	close(spare);
	if (!dir_path)
		return kernel_fail("--dir: a directory is wanted");
	snprintf(s.shown, sizeof(s.shown), "%s", dir_path);
	for (char *p = s.shown; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
	signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is an error like others */
	code = topo_stay_on(topo) ? set_up() : fail("the CPUs cannot be set");
	from = clock_now();
	for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]) && code == EXIT_MEASURED; i++)
		code = phases[i].phase(from + (end - from) * phases[i].share);
	code = close_file(code);
	janitor_end(&s.janitor);
	if (s.dir >= 0)
		close(s.dir);
	if (code != EXIT_COULD_NOT)
		code = report(topo, started, code);
	free(s.buffer);
	return code;
}

static const struct opts_extra extra[] = {
	{ .name = "--dir", .help = "the directory; no part of its path may be a link", .text = &dir_path },
	{ .name = "--max-mb", .help = "bytes to write at most, in 10^6 (1 to 1e6, default 256)",
	  .low = 1, .high = 1e6, .value = &max_mb },
	{ 0 },
};

const struct kernel kernel = {
	.name = "io",
	.what = "Measures one directory: write, read, fsync, create, stat, unlink.",
	.seconds = 3,
	.extra = extra,
	.run = run,
};
