/* What a node is in, for Lua. */
#ifndef SYSCHECK_NATIVE_STATE_H
#define SYSCHECK_NATIVE_STATE_H

#include <lua.h>

/*
 * state{ seconds, paths, locks, processes, users, clock, root }: looks at all of it for `seconds` (0.05 to 600) at most.
 *   paths: list of { path = absolute, write = whether a file can be made there, too }, 128 at most
 *   locks: directory; a path that hangs is looked at by one process, which has its lock there
 *   processes: names, 64 at most; users: a UID, those of users from it on, in no job; clock: true
 *   root: of a prepared /proc instead of the machine's
 * Returns a table: paths, a list of { path, state = answered | hangs | hung before | failed, hung_s; of a mount point
 * type, source, options, read_only; kind, mode, uid, gid, size, modified (seconds since the epoch), writable,
 * write_error, free_pct, free_gib, inodes_pct, inodes; error, absent }; processes, a list of { name, uid, count, pid };
 * users, of { comm, uid, count, pid }; synchronised, max_error_ms, offset_ms. And why a part of it could not be looked
 * at, nil. A wrong argument is an error.
 */
int state(lua_State *L);

#endif
