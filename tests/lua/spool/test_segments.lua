-- Segments' names.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local segments = require("syscheck.spool.segments")
local uv = require("luv")

TestSegments = {}

function TestSegments:test_names()
   local name = segments.new_name()
   lu.assertStrMatches(name, "records%-%d%d%d%d%d%d%d%dT%d%d%d%d%d%dZ%-%x+%.jsonl")
   lu.assertEquals(#segments.id_of(name), 16)
   lu.assertEquals(segments.id_of(segments.shipped_name(name)), segments.id_of(name))
   lu.assertNil(segments.id_of("records.jsonl"))
   lu.assertNil(segments.id_of("records-old.jsonl"))
   -- One after the other in the same second.
   local before = name
   for _ = 1, 100 do
      uv.sleep(1)
      name = segments.new_name()
      lu.assertTrue(before < name, before .. " " .. name)
      before = name
   end
end

function TestSegments:test_list_knows_each_kind()
   local dir = os.tmpname()
   os.remove(dir)
   assert(uv.fs_mkdir(dir, 448))
   local a, b = "records-20260101T000000Z-0000000000000001.jsonl", "records-20260101T000001Z-0000000000000000.jsonl"
   local all = { b, a, segments.shipped_name(b), "records.jsonl", "records-mine.jsonl", "." .. a .. ".0123",
      segments.lost_name("00000000000000ff", 12, 3400, "full"),
      -- A reason as long as a name may be is told in part: with more lost its name would be none.
      segments.lost_name("00000000000000fe", 1, 1, ("x"):rep(200)) }
   for _, name in ipairs(all) do
      assert(io.open(dir .. "/" .. name, "w")):close()
   end
   local list = segments.list(dir)
   lu.assertEquals(list.closed, { a, b })
   lu.assertEquals(list.shipped, { segments.shipped_name(b) })
   lu.assertEquals(list.lost, { { name = all[8], id = "00000000000000fe", records = 1, bytes = 1,
      reason = ("x"):rep(32) }, { name = all[7], id = "00000000000000ff", records = 12, bytes = 3400,
      reason = "full" } })
   for _, name in ipairs(all) do
      os.remove(dir .. "/" .. name)
   end
   os.remove(dir)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
