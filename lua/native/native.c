/*
 * syscheck_native: what the agent needs of the kernel, and neither Lua nor luv has. Starting timeout(1) and flock(1)
 * for it took a fifth of a passive check, and reading compiled modules by luv, which copies each twice, a tenth.
 */
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <lua.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "apart.h"
#include "state.h"

/* Beside the child's own, and 128 + N where signal N ended it. */
enum { NOT_ENDED = 122, KILLED = 123, TIMED_OUT = 124, OWN_TROUBLE = 125 };

/* A day is more than any limit. */
#define MAX_SECONDS 86400
/* Given to end by itself, and to be gone when it was killed. */
#define ASKED_MS 1000
#define KILLED_MS 500

/* By a clock that nobody can set. */
static long long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* As an exit status of a child that there is none of: OWN_TROUBLE. */
#define NO_CHILD (OWN_TROUBLE << 8)

/*
 * Waits for the process: true, and its status, where it has ended within so many milliseconds. False where it has
 * not, or when a signal arrives that would end this process: into `signal`, unless that is NULL.
 */
static bool ends_within(pid_t pid, long long ms, const sigset_t *signals, int *status, int *signal)
{
	long long until = now_ms() + ms;

	for (;;) {
		long long left = until - now_ms();
		struct timespec wait = { .tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000 };
		pid_t ended = waitpid(pid, status, WNOHANG);
		int got;

		if (ended < 0 && errno == ECHILD)
			*status = NO_CHILD;
		if (ended)
			return true;
		if (left <= 0)
			return false;
		got = sigtimedwait(signals, NULL, &wait);
		if (got > 0 && got != SIGCHLD && signal) {
			*signal = got;
			return false;
		}
	}
}

/* Ends the process and its group; how that went. */
static int end(pid_t pid, const sigset_t *signals, int *status)
{
	int code = TIMED_OUT;

	kill(-pid, SIGTERM);
	if (!ends_within(pid, ASKED_MS, signals, status, NULL)) {
		code = KILLED;
		kill(-pid, SIGKILL);
		if (!ends_within(pid, KILLED_MS, signals, status, NULL))
			return NOT_ENDED;
	}
	kill(-pid, SIGKILL);
	return code;
}

static int watch(pid_t pid, lua_Integer seconds, const sigset_t *signals)
{
	int status = 0, signal = 0, code;

	if (!ends_within(pid, seconds * 1000LL, signals, &status, &signal)) {
		code = end(pid, signals, &status);
		return signal && code != NOT_ENDED ? 128 + signal : code;
	}
	if (WIFSIGNALED(status)) {
		kill(-pid, SIGKILL); /* what it has left */
		return 128 + WTERMSIG(status);
	}
	return WEXITSTATUS(status);
}

/* The log, where it is a file: a FIFO would block. It is made as logrotate makes it. */
static int open_log(const char *path)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0640);
	struct stat st;

	return fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode)) ? -1 : fd;
}

/* What the child is. The log's disk may be what hangs, so it is opened here. */
static void become(pid_t parent, const char *oom_score_adj, const char *log)
{
	int null, err, score;

	/* Nobody would bound it any more. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(OWN_TROUBLE);
	setpgid(0, 0);
	signal(SIGQUIT, SIG_DFL); /* bash has what it starts aside ignore it */
	score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (score >= 0) {
		if (write(score, oom_score_adj, strlen(oom_score_adj)) < 0)
			errno = 0; /* without the right to lower it: then it is as it was */
		close(score);
	}
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	err = open_log(log);
	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(err >= 0 ? err : null, 2) < 0)
		_exit(OWN_TROUBLE);
}

/*
 * bound(seconds, oom_score_adj, log): returns in a child of this process, which leads a group of its own, has this
 * oom_score_adj (text), and no descriptor of the caller's but the log, where that is a file that can be written, as
 * standard error. This process leads a group, too. It prints "process PID" of the child, waits for it, ends it after
 * so many seconds (1 to 86,400) or when a signal would end itself, prints "code N", and ends with that: the child's
 * exit code, or 128 + N for signal N, or
 *   122 it could not be killed (a dead disk)   124 the limit: it ended when it was asked to
 *   123 the limit: it was killed               125 no process could be started
 * Unlike timeout(1), it returns whatever the child does.
 */
static int bound(lua_State *L)
{
	static const int ENDING[] = { SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM };
	lua_Integer seconds = luaL_checkinteger(L, 1);
	const char *oom_score_adj = luaL_checkstring(L, 2), *log = luaL_checkstring(L, 3);
	pid_t parent = getpid(), pid;
	sigset_t signals, mask;
	int code;

	luaL_argcheck(L, seconds >= 1 && seconds <= MAX_SECONDS, 1, "1 to 86400 s");
	sigemptyset(&signals);
	for (size_t i = 0; i < sizeof(ENDING) / sizeof(*ENDING); i++)
		sigaddset(&signals, ENDING[i]);
	/* Whoever ends the caller's group (slurmd) is not to leave without a limit what the child has started. */
	setpgid(0, 0);
	/* What may be left behind holds no pipe of slurmd's. Not for after luv is loaded, which has descriptors of its own. */
	apart_close_from(3);
	/* Ignored, as it may be inherited, a child could not be waited for. */
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_BLOCK, &signals, &mask);
	pid = fork();
	if (pid == 0) {
		become(parent, oom_score_adj, log);
		sigprocmask(SIG_SETMASK, &mask, NULL);
		return 0;
	}
	if (pid > 0) {
		setpgid(pid, pid); /* or the child has */
		dprintf(STDOUT_FILENO, "process %d\n", (int)pid);
	}
	code = pid > 0 ? watch(pid, seconds, &signals) : OWN_TROUBLE;
	dprintf(STDOUT_FILENO, "code %d\n", code);
	_exit(code);
}

/* try_lock(descriptor): true where this process now holds it exclusively (flock(2)), false where another does; nil, errno. */
static int try_lock(lua_State *L)
{
	int fd = (int)luaL_checkinteger(L, 1), result;

	do
		result = flock(fd, LOCK_EX | LOCK_NB);
	while (result && errno == EINTR);
	if (result && errno != EWOULDBLOCK) {
		lua_pushnil(L);
		lua_pushinteger(L, errno);
		return 2;
	}
	lua_pushboolean(L, result == 0);
	return 1;
}

/* stamp(path): what a file is known again by, "size.mtime"; nil where there is none. */
static int stamp(lua_State *L)
{
	struct stat st;

	if (stat(luaL_checkstring(L, 1), &st))
		return 0;
	/* Whole seconds: of a node's image (squashfs, cpio, tar) no more comes back. */
	lua_pushfstring(L, "%I.%I", (lua_Integer)st.st_size, (lua_Integer)st.st_mtim.tv_sec);
	return 1;
}

struct map {
	const char *text;
	size_t size;
};

/* at(from, length [, name]): these bytes, or the compiled chunk that they are; nil beyond the end, and for no such chunk. */
static int at(lua_State *L)
{
	const struct map *map = lua_touserdata(L, lua_upvalueindex(1));
	lua_Integer from = luaL_checkinteger(L, 1), length = luaL_checkinteger(L, 2);
	const char *name = luaL_optstring(L, 3, NULL);

	if (from < 0 || length < 0 || (size_t)from > map->size || (size_t)length > map->size - (size_t)from)
		return 0;
	if (!name)
		lua_pushlstring(L, map->text + from, (size_t)length);
	else if (luaL_loadbufferx(L, map->text + from, (size_t)length, name, "b") != LUA_OK)
		return 0;
	return 1;
}

/* map(path): at(), of a file that is replaced and never changed; as long as the process lives. nil where there is none. */
static int map(lua_State *L)
{
	int fd = open(luaL_checkstring(L, 1), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	void *text = MAP_FAILED;
	struct stat st;
	struct map *map;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (text == MAP_FAILED)
		return 0;
	map = lua_newuserdatauv(L, sizeof(*map), 0);
	*map = (struct map){ .text = text, .size = (size_t)st.st_size };
	lua_pushcclosure(L, at, 1);
	return 1;
}

int luaopen_syscheck_native(lua_State *L);

__attribute__((visibility("default"))) int luaopen_syscheck_native(lua_State *L)
{
	static const luaL_Reg functions[] = { { "bound", bound }, { "try_lock", try_lock }, { "stamp", stamp },
		{ "map", map }, { "state", state }, { NULL, NULL } };

	luaL_newlib(L, functions);
	return 1;
}
