-- Segments' names, lines of files, records in messages of bounded size.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local uv = require("luv")
local json = require("cjson")
local lines = require("syscheck.lib.lines")
local pieces = require("syscheck.spool.messages")
local segments = require("syscheck.spool.segments")

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
      segments.lost_name("00000000000000ff", 12, 3400, "full") }
   for _, name in ipairs(all) do
      assert(io.open(dir .. "/" .. name, "w")):close()
   end
   local list = segments.list(dir)
   lu.assertEquals(list.closed, { a, b })
   lu.assertEquals(list.shipped, { segments.shipped_name(b) })
   lu.assertEquals(list.lost, { { name = all[7], id = "00000000000000ff", records = 12, bytes = 3400,
      reason = "full" } })
   for _, name in ipairs(all) do
      os.remove(dir .. "/" .. name)
   end
   os.remove(dir)
end

TestLines = {}

-- Every line, "LONG" for one that is too long, with the offset behind it.
local function read(text)
   local path = os.tmpname()
   local file = assert(io.open(path, "wb"))
   file:write(text)
   file:close()
   local fd = assert(uv.fs_open(path, uv.constants.O_RDONLY, 0))
   local out = {}
   for line, offset in lines.of(fd) do
      out[#out + 1] = (line or "LONG") .. "@" .. offset
   end
   uv.fs_close(fd)
   os.remove(path)
   return out
end

function TestLines:test_lines_and_where_they_end()
   lu.assertEquals(read(""), {})
   lu.assertEquals(read("a\nbc\n"), { "a@2", "bc@5" })
   lu.assertEquals(read("a\n\nhalf"), { "a@2", "@3", "half@7" })
   lu.assertEquals(read("a\0b\n"), { "a\0b@4" })
   local most = ("x"):rep(lines.MAX)
   lu.assertEquals(#read(most .. "\nb\n"), 2)
   local out = read("a\n" .. most .. ("y"):rep(3e6) .. "\nb\n")
   lu.assertEquals(#out, 3)
   lu.assertStrMatches(out[2], "LONG@%d+")
   lu.assertEquals(out[3], "b@" .. #most + 3000005)
end

TestPieces = {}

local function joined(messages)
   local i = 0
   local out = {}
   local list, lacking = pieces.join(function()
      i = i + 1
      return messages[i]
   end)
   for line in list do
      out[#out + 1] = line
   end
   return out, lacking()
end

local ID = ("0123456789abcdef"):rep(2)

local function line_of(text)
   return json.encode({ id = ID, kind = "job", name = text })
end

function TestPieces:test_any_text_comes_back()
   for _, text in ipairs({ "", ("x"):rep(1600), ("x"):rep(1800), ("é漢😀"):rep(900), ('"\\/\1\n'):rep(700),
      ("\255\254"):rep(2000), ("x"):rep(1747) .. "漢" .. ("x"):rep(3000) }) do
      local line = line_of(text)
      local messages = pieces.split(line, ID)
      for _, message in ipairs(messages) do
         lu.assertTrue(#message <= pieces.MAX, ("%d bytes"):format(#message))
      end
      lu.assertEquals(#messages > 1, #line > pieces.MAX)
      -- In any order, twice, between others' lines, behind what syslog writes before it.
      local log = { "Nov 21 10:00:00 n1 other: {not json", "", "x" }
      for i = #messages, 1, -1 do
         log[#log + 1] = "<14>Nov 21 10:00:00 n1 syscheck: " .. messages[i]
         log[#log + 1] = #messages > 1 and i > 1 and log[#log] or nil
      end
      local out, lacking = joined(log)
      lu.assertEquals(out, { line })
      lu.assertEquals(lacking, 0)
   end
end

function TestPieces:test_no_utf8_sequence_is_cut()
   for shift = 0, 3 do
      for _, message in ipairs(pieces.split(line_of(("x"):rep(shift) .. ("é漢😀"):rep(900)), ID)) do
         lu.assertNotNil(utf8.len(json.decode(message).text))
      end
   end
end

function TestPieces:test_a_part_that_lacks_is_told()
   local messages = pieces.split(line_of(("x"):rep(9000)), ID)
   table.remove(messages, 2)
   messages[#messages + 1] = '{"id":"a","kind":"job"}'
   local out, lacking = joined(messages)
   lu.assertEquals(out, { '{"id":"a","kind":"job"}' })
   lu.assertEquals(lacking, 1)
end

function TestPieces:test_forged_parts_do_no_harm()
   local out = joined({ '{"id":"a","part":1e300,"of":2,"text":"x"}', '{"id":"a","part":0,"of":-1,"text":"x"}',
      '{"id":"a","part":1,"of":0,"text":"x"}',
      '{"id":"a","part":"1","of":[],"text":"x"}', '{"id":"b","part":1,"of":1e15,"text":"x"}' })
   lu.assertEquals(out, {})
end

-- Anybody on a node may write to its log.
function TestPieces:test_parts_that_never_end_are_bounded()
   local text, n = ("x"):rep(16000), 0
   local list, lacking = pieces.join(function()
      n = n + 1
      return n <= 10000 and ('{"id":"%x","part":%d,"of":1000000,"text":"%s"}'):format(n // 2500, n, text)
         or n <= 20000 and ('{"id":"%x","part":%d,"of":4000,"text":"%s"}'):format(n // 2500, n % 2500, text) or nil
   end)
   lu.assertNil(list())
   collectgarbage()
   lu.assertTrue(collectgarbage("count") < 100000)
   lu.assertEquals(lacking(), 5)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
