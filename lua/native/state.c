/*
 * What a node is in: file systems, processes, its clock. It runs before each job where the policy asks for it, so what
 * may hang is looked at by processes of their own, and no program is started.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/timex.h>

#include <lauxlib.h>

#include "common/clock.h"
#include "mounts.h"
#include "path.h"
#include "procs.h"
#include "state.h"

#define PATHS_MOST (APART_MOST - 1)
#define MOUNTS "/proc/self/mountinfo"
#define MOUNTS_MOST 8388608

struct state {
	double seconds;
	int n_paths;
	struct path paths[PATHS_MOST];
	struct procs procs;
};

static void set_string(lua_State *L, const char *key, const char *value)
{
	lua_pushstring(L, value);
	lua_setfield(L, -2, key);
}

static void set_bool(lua_State *L, const char *key, bool value)
{
	lua_pushboolean(L, value);
	lua_setfield(L, -2, key);
}

static void set_integer(lua_State *L, const char *key, lua_Integer value)
{
	lua_pushinteger(L, value);
	lua_setfield(L, -2, key);
}

static void set_number(lua_State *L, const char *key, lua_Number value)
{
	lua_pushnumber(L, value);
	lua_setfield(L, -2, key);
}

static const char *type_name(uint32_t mode)
{
	return S_ISREG(mode)  ? "file"
	       : S_ISDIR(mode) ? "directory"
	       : S_ISCHR(mode) ? "character"
	       : S_ISBLK(mode) ? "block"
	       : S_ISFIFO(mode) ? "fifo"
				: "socket";
}

static void push_answer(lua_State *L, const struct path *p)
{
	const struct path_answer *a = &p->answer;

	if (a->error) {
		set_string(L, "error", strerror(a->error));
		set_bool(L, "absent", a->error == ENOENT || a->error == ENOTDIR);
		return;
	}
	set_string(L, "kind", type_name(a->mode));
	set_integer(L, "mode", a->mode & 07777);
	set_integer(L, "uid", a->uid);
	set_integer(L, "gid", a->gid);
	set_integer(L, "size", (lua_Integer)a->size);
	set_number(L, "modified", (lua_Number)a->modified); /* whatever a file system says: no integer to count with */
	if (p->write)
		set_bool(L, "writable", !a->read_only && a->write_error == 0);
	if (p->write && a->write_error)
		set_string(L, "write_error", strerror(a->write_error));
	if (a->has_fs && a->total > 0) {
		set_number(L, "free_pct", 100 * a->available / a->total);
		set_number(L, "free_gib", a->available / 1073741824);
	}
	if (a->has_fs && a->inodes > 0) {
		set_number(L, "inodes_pct", 100 * a->inodes_available / a->inodes);
		set_number(L, "inodes", a->inodes_available);
	}
}

static void push_path(lua_State *L, const struct path *p, const char *mounts)
{
	const char *state = path_state(p);
	const bool answered = strcmp(state, "answered") == 0;
	struct mount_line m;

	lua_newtable(L);
	set_string(L, "path", p->path);
	set_string(L, "state", state);
	if (mounts_find(&m, mounts, p->path)) {
		set_string(L, "type", m.type);
		set_string(L, "source", m.source);
		set_string(L, "options", m.options);
		set_bool(L, "read_only", m.read_only || (answered && p->answer.read_only));
	}
	if (strcmp(state, "hung before") == 0)
		set_number(L, "hung_s", p->answer.held_s);
	if (strcmp(state, "failed") == 0 && p->answer.lock_error)
		set_string(L, "error", strerror(p->answer.lock_error));
	if (answered)
		push_answer(L, p);
}

static void push_procs(lua_State *L, const struct procs_answer *answer, bool of_users)
{
	lua_Integer n = 0;

	lua_newtable(L);
	for (int i = 0; i < answer->n_found; i++) {
		const struct procs_found *f = &answer->found[i];

		if ((f->of < 0) != of_users)
			continue;
		lua_newtable(L);
		set_string(L, of_users ? "comm" : "name", f->name);
		set_integer(L, "uid", f->uid);
		set_integer(L, "count", f->count);
		set_integer(L, "pid", f->pid);
		lua_rawseti(L, -2, ++n);
	}
}

static void set_clock(lua_State *L)
{
	struct timex t = { .modes = 0 };
	int state = adjtimex(&t);

	if (state < 0)
		return; /* a container may not ask */
	set_bool(L, "synchronised", state != TIME_ERROR && !(t.status & STA_UNSYNC));
	set_number(L, "max_error_ms", (double)t.maxerror / 1000);
	set_number(L, "offset_ms", (double)t.offset / (t.status & STA_NANO ? 1e6 : 1e3));
}

/* Text of a field of the argument, NULL: there is none. What it points to is the table's. */
static const char *text_of(lua_State *L, int table, const char *key)
{
	const char *text = NULL;

	if (lua_getfield(L, table, key) != LUA_TNIL && lua_type(L, -1) != LUA_TSTRING)
		luaL_error(L, "state: %s is no string", key);
	text = lua_tostring(L, -1);
	lua_pop(L, 1);
	return text;
}

static bool flag_of(lua_State *L, int table, const char *key)
{
	bool flag;

	lua_getfield(L, table, key);
	flag = lua_toboolean(L, -1);
	lua_pop(L, 1);
	return flag;
}

static double number_of(lua_State *L, const char *key, double low, double high)
{
	double value;

	lua_getfield(L, 1, key);
	value = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : NAN;
	if (!(value >= low && value <= high))
		luaL_error(L, "state: %s is not %f to %f", key, low, high);
	lua_pop(L, 1);
	return value;
}

/* The list on top of the stack: its length, 0 where there is none. */
static int length_of(lua_State *L, const char *key, int most)
{
	size_t n = lua_istable(L, -1) ? lua_rawlen(L, -1) : 0;

	if (n > (size_t)most)
		luaL_error(L, "state: more than %d %s", most, key);
	return (int)n;
}

static void take_paths(lua_State *L, struct state *s, const char *locks)
{
	lua_getfield(L, 1, "paths");
	s->n_paths = length_of(L, "paths", PATHS_MOST);
	for (int i = 0; i < s->n_paths; i++) {
		struct path *p = &s->paths[i];

		if (lua_rawgeti(L, -1, i + 1) != LUA_TTABLE)
			luaL_error(L, "state: paths[%d] is no table", i + 1);
		*p = (struct path){ .path = text_of(L, lua_gettop(L), "path"), .locks = locks, .seconds = s->seconds };
		if (!p->path || p->path[0] != '/')
			luaL_error(L, "state: paths[%d] has no absolute path", i + 1);
		p->write = flag_of(L, lua_gettop(L), "write");
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
}

static void take_procs(lua_State *L, struct procs *p)
{
	*p = (struct procs){ .root = text_of(L, 1, "root") };
	p->root = p->root ? p->root : "";
	lua_getfield(L, 1, "processes");
	p->n_names = length_of(L, "processes", PROCS_NAMES);
	for (int i = 0; i < p->n_names; i++) {
		p->names[i] = lua_rawgeti(L, -1, i + 1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
		if (p->names[i][0] == '\0' || strlen(p->names[i]) >= sizeof(p->answer.found[0].name))
			luaL_error(L, "state: processes[%d] is no name of 1 to 63 bytes", i + 1);
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
	p->users = lua_getfield(L, 1, "users") != LUA_TNIL;
	lua_pop(L, 1);
	if (p->users)
		p->min_uid = (unsigned)number_of(L, "users", 1, 4294967294.0);
}

/* All of it; NULL: errno. Half of it would make mounts absent. */
static char *read_mounts(void)
{
	FILE *f = fopen(MOUNTS, "re");
	char *text = NULL;
	size_t size = 0;
	ssize_t n;
	int error;

	if (!f)
		return NULL;
	errno = ENODATA; /* where there is not one line */
	n = getdelim(&text, &size, '\0', f);
	error = n > MOUNTS_MOST ? EFBIG : n < 0 || ferror(f) ? errno : 0;
	fclose(f);
	if (!error)
		return text;
	free(text);
	errno = error;
	return NULL;
}

/* What could not be looked at, and why. */
struct trouble {
	const char *what;
	int error;
};

/* Starts all, and waits. */
static struct trouble look(struct state *s, double started)
{
	struct apart *list[APART_MOST];
	struct procs *procs = &s->procs;
	const bool wanted = procs->n_names > 0 || procs->users;
	struct trouble trouble = { 0 };
	int n = 0;

	for (int i = 0; i < s->n_paths; i++) {
		list[n++] = &s->paths[i].apart;
		if (!path_start(&s->paths[i]))
			trouble = (struct trouble){ s->paths[i].path, errno };
	}
	/* While they wait. */
	if (wanted) {
		list[n++] = &procs->apart;
		if (!procs_start(procs))
			procs->answer.error = errno;
	}
	apart_collect(list, n, started + s->seconds);
	if (wanted && !apart_answered(&procs->apart))
		procs->answer.error = procs->apart.hangs ? ETIMEDOUT : procs->answer.error ? procs->answer.error : ECHILD;
	return procs->answer.error ? (struct trouble){ "/proc", procs->answer.error } : trouble;
}

/* Sets the field paths. */
static bool set_paths(lua_State *L, const struct state *s)
{
	/* Now: what an automounter mounts is there only once it was looked at. */
	char *mounts = read_mounts();

	if (!mounts)
		return false;
	lua_newtable(L);
	for (int i = 0; i < s->n_paths; i++) {
		push_path(L, &s->paths[i], mounts);
		lua_rawseti(L, -2, i + 1);
	}
	lua_setfield(L, -2, "paths");
	free(mounts);
	return true;
}

static void set_procs(lua_State *L, const struct procs *p)
{
	if (p->n_names > 0) {
		push_procs(L, &p->answer, false);
		lua_setfield(L, -2, "processes");
	}
	if (p->users) {
		push_procs(L, &p->answer, true);
		lua_setfield(L, -2, "users");
	}
}

int state(lua_State *L)
{
	const double started = clock_now();
	struct trouble trouble;
	struct state *s;

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	s = lua_newuserdatauv(L, sizeof(*s), 0);
	s->seconds = number_of(L, "seconds", 0.05, 600);
	take_paths(L, s, text_of(L, 1, "locks"));
	take_procs(L, &s->procs);
	s->procs.end = started + s->seconds;
	trouble = look(s, started);
	lua_newtable(L);
	if (s->n_paths > 0 && !set_paths(L, s))
		trouble = (struct trouble){ MOUNTS, errno };
	if (!s->procs.answer.error)
		set_procs(L, &s->procs);
	if (flag_of(L, 1, "clock"))
		set_clock(L);
	if (!trouble.what)
		return 1;
	lua_pushfstring(L, "state: %s: %s", trouble.what, strerror(trouble.error));
	return 2;
}
