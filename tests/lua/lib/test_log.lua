-- Stages of several jobs write to one log at the same time.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")

local WRITERS, LINES = 4, 400

TestLog = {}

function TestLog:test_lines_of_several_processes_stay_whole()
   local path = os.tmpname()
   local script = ([[package.path = "lua/?.lua;" .. package.path
      local log = require("syscheck.lib.log")
      log.context("n1 prolog: job 4711: ")
      for _ = 1, %d do log.error("triad %%.1f < %%d GB/s", 61.3, 80) end]]):format(LINES)
   local one = ("lua5.4 -e '%s' 2>>%s &"):format(script, path)
   assert(os.execute(one:rep(WRITERS, " ") .. " wait"))
   local whole, others = 0, {}
   for line in io.lines(path) do
      if line:find("^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%dZ n1 prolog: job 4711: error: triad 61%.3 < 80 GB/s$") then
         whole = whole + 1
      else
         others[#others + 1] = line
      end
   end
   os.remove(path)
   lu.assertEquals(others, {})
   lu.assertEquals(whole, WRITERS * LINES)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
