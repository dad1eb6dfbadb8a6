#!/usr/bin/env lua5.4
-- The rules of the rooms: the tree keeps them, and each that is broken is found, with its place.
package.path = "tests/?.lua;" .. package.path
local lu = require("luaunit")
local rooms = require("rooms")

TestRooms = {}

-- A small tree that keeps every rule.
local function tree()
   return {
      ["lua/main.lua"] = 'require("syscheck.cmd." .. name)\n',
      ["lua/syscheck/lib/files.lua"] = 'local uv = require("luv")\n',
      ["lua/syscheck/lib/printable.lua"] = "return {}\n",
      ["lua/syscheck/policy/level.lua"] = 'local printable = require("syscheck.lib.printable")\n',
      ["lua/syscheck/verdict/rating.lua"] = 'local t = os.date("!%Y", time) -- io.read() is only said\n',
      ["lua/syscheck/questions/why/logic.lua"] = 'local s = require("syscheck.questions.why.stats")\n',
      ["lua/syscheck/cmd/why.lua"] = 'local logic = require("syscheck.questions.why.logic")\n',
      ["prolog/prolog.lua"] = 'local printable = require("syscheck.lib.printable")\n',
      ["kernels/a/a.c"] = '#include "common/clock.h"\n#include "a.h"\n',
      ["kernels/b/b.c"] = '#include <stdio.h>\n#include "common/timer.h"\n',
      ["kernels/common/timer.h"] = '#include "clock.h"\n',
      ["kernels/common/timer.c"] = '#include "timer.h"\n',
      ["kernels/common/clock.h"] = "",
      ["kernels/a/timer.c"] = '#include "common/timer.h"\n',
   }
end

-- One more line in a file: what is found.
local function broken(path, line)
   local files = tree()
   files[path] = (files[path] or "") .. line .. "\n"
   local found = rooms.check(files)
   return table.concat(found, "\n")
end

function TestRooms.test_the_tree_keeps_them()
   local found, arrows = rooms.check(rooms.read())
   lu.assertEquals(found, {})
   lu.assertTrue(arrows > 300)
end

function TestRooms.test_a_tree_that_keeps_them()
   local found, arrows = rooms.check(tree())
   lu.assertEquals(found, {})
   lu.assertEquals(arrows, 11)
end

-- { file, line, what is found }
local BREAKS = {
   { "lua/syscheck/verdict/rating.lua", 'local node = require("syscheck.node.node")',
      "lua/syscheck/verdict/rating.lua:2: verdict/ may use catalogue, lib; not node/node" },
   { "lua/syscheck/lib/files.lua", "local cmd = require('syscheck.cmd.why')",
      "lua/syscheck/lib/files.lua:2: lib/ may use ; not cmd/why" },
   { "prolog/prolog.lua", 'local store = require("syscheck.store.store")',
      "prolog/prolog.lua:2: prolog/ may use .*; not store/store" },
   { "lua/job_submit.lua", 'local store = require("syscheck.spool.records")',
      "lua/job_submit.lua:1: job_submit/ may use policy;" },
   { "lua/syscheck/policy/level.lua", 'local statistics = require("syscheck.lib.statistics")',
      "lua/syscheck/policy/level.lua:2: policy/level runs on Lua 5.1 to 5.4, lib/statistics need not" },
   { "lua/syscheck/verdict/rating.lua", 'local files = require("syscheck.lib.files")',
      "lua/syscheck/verdict/rating.lua:2: verdict/rating is pure, lib/files is not" },
   { "lua/syscheck/questions/why/logic.lua", 'local read = require("syscheck.questions.why.read")',
      "lua/syscheck/questions/why/logic.lua:2: questions/why/logic is pure, questions/why/read is not" },
   { "lua/syscheck/verdict/rating.lua", 'local json = require("cjson")', "verdict/rating is pure .*: no cjson" },
   { "lua/syscheck/policy/level.lua", "local file = io.open(name)",
      "policy/level.lua:2: policy/level is pure .*: no io" },
   { "lua/syscheck/policy/level.lua", "local i = io", "policy/level.lua:2: .*: no io" },
   { "lua/syscheck/policy/level.lua", 'pcall(require, "luv")', "policy/level.lua:2: .*: no require but" },
   { "lua/syscheck/policy/level.lua", "local uv = require[[luv]]", "policy/level.lua:2: .*: no require but" },
   { "lua/syscheck/policy/level.lua",
      'local a = require("syscheck.lib.printable") local b = require("luv")', "policy/level.lua:2: .*: no luv" },
   { "lua/syscheck/verdict/rating.lua", 'local t = os.time() + #os.date("!%Y", 0)', "rating.lua:2: .*: no os" },
   { "lua/syscheck/verdict/rating.lua", 'local f = _G["io"].open', "rating.lua:2: .*: no _G" },
   { "lua/syscheck/verdict/rating.lua", "package.loaded.luv = nil", "rating.lua:2: .*: no package%.loaded" },
   { "lua/syscheck/verdict/rating.lua", "local now = os.time()",
      "verdict/rating.lua:2: verdict/rating is pure .*: no os" },
   { "lua/syscheck/verdict/rating.lua", 'local now = os.date("!%Y")', "verdict/rating.lua:2: .*: no os" },
   { "lua/syscheck/verdict/rating.lua", 'print("x")', "verdict/rating.lua:2: .*: no print" },
   { "lua/syscheck/policy/level.lua", "local f = loadfile(name)", "policy/level.lua:2: .*: no loadfile" },
   { "lua/syscheck/choose.lua", "return {}", "lua/syscheck/choose.lua:0: stands in no room" },
   { "lua/syscheck/cmd/why.lua", 'local x = require("syscheck.elsewhere.x")',
      "cmd/why.lua:2: elsewhere/x stands in no room" },
   { "lua/syscheck/cmd/why.lua", ("\n"):rep(400), "cmd/why.lua:402: a file has at most 400 lines" },
   { "kernels/a/a.c", '#include "b/b.h"',
      "kernels/a/a.c:3: kernels/a may include its own folder and common/, not b/b.h" },
   { "spank/x.c", '#include "a/a.h"', "spank/x.c:1: spank may include its own folder and common/, not a/a.h" },
   { "kernels/a/a.c", '#include "../b/b.h"', "kernels/a/a.c:3: kernels/a may include .*, not ../b/b.h" },
   { "kernels/common/timer.c", '#include "a/a.h"',
      "kernels/common/timer.c:2: kernels/common may include its own folder, not a/a.h" },
   { "kernels/x.c", "int main", "kernels/x.c:0: stands in no kernel's folder" },
   { "kernels/common/size.h", "",
      "kernels/common/size.h:1: common/ is for what two or more kernels use; this one: none" },
}

function TestRooms.test_each_rule_broken_once()
   for _, case in ipairs(BREAKS) do
      local found = broken(case[1], case[2])
      local pattern = case[3]:gsub("[().+*?^$[%]-]", "%%%0"):gsub("%%%.%%%*", ".*")
      lu.assertStrContains(found, pattern, true)
      lu.assertNil(found:find("\n", 1, true), found)
   end
end

function TestRooms.test_rooms_that_need_each_other()
   local uses = rooms.USES.lib
   rooms.USES.lib = { "verdict" }
   local found = rooms.check({})
   rooms.USES.lib = uses
   lu.assertStrContains(table.concat(found, "\n"), "rooms need each other")
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
