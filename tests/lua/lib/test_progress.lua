-- How far work is, and how long it still takes.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local progress = require("syscheck.lib.progress")

TestProgress = {}

function TestProgress:test_sentence()
   for _, case in ipairs({
      { 0, 100, 3, "ingest  0 %" },
      { 50, 100, 3, "ingest  50 %, about 3 s left" },
      { 1, 100, 3, "ingest  1 %, about 5 min left" },
      { 1, 100, 300, "ingest  1 %, about 8 h left" },
      { 999, 1000, 3, "ingest  99 %, about 0 s left" },
      { 100, 100, 3, "ingest  100 %, about 0 s left" },
      -- A file that grew meanwhile, or was replaced; nothing to do.
      { 130, 100, 3, "ingest  100 %, about 0 s left" },
      { -5, 100, 3, "ingest  0 %" },
      { 0, 0, 3, "ingest  100 %, about 0 s left" },
   }) do
      lu.assertEquals(progress.sentence("ingest", case[1], case[2], case[3]), case[4])
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
