-- bound.lua SECONDS OOM_SCORE_ADJ LOG SCRIPT [ARGUMENT]...
-- Runs a script of Lua in a process that is ended after so long; see bound() of
-- lua/native/native.c, also for the exit code.
local native = assert(package.loadlib("@LIBDIR@/lua/syscheck_native.so", "luaopen_syscheck_native"))()
package.loaded.syscheck_native = native
native.bound(tonumber(arg[1]), arg[2], arg[3])
arg = table.move(arg, 4, #arg, 0, {}) -- luacheck: globals arg
dofile(arg[0])
