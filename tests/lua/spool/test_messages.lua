-- Records in messages of bounded size.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local json = require("cjson")
local pieces = require("syscheck.spool.messages")

TestMessages = {}

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

function TestMessages:test_any_text_comes_back()
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

function TestMessages:test_no_utf8_sequence_is_cut()
   for shift = 0, 3 do
      for _, message in ipairs(pieces.split(line_of(("x"):rep(shift) .. ("é漢😀"):rep(900)), ID)) do
         lu.assertNotNil(utf8.len(json.decode(message).text))
      end
   end
end

function TestMessages:test_a_part_that_lacks_is_told()
   local messages = pieces.split(line_of(("x"):rep(9000)), ID)
   table.remove(messages, 2)
   messages[#messages + 1] = '{"id":"a","kind":"job"}'
   local out, lacking = joined(messages)
   lu.assertEquals(out, { '{"id":"a","kind":"job"}' })
   lu.assertEquals(lacking, 1)
end

function TestMessages:test_forged_parts_do_no_harm()
   local out = joined({ '{"id":"a","part":1e300,"of":2,"text":"x"}', '{"id":"a","part":0,"of":-1,"text":"x"}',
      '{"id":"a","part":1,"of":0,"text":"x"}',
      '{"id":"a","part":"1","of":[],"text":"x"}', '{"id":"b","part":1,"of":1e15,"text":"x"}' })
   lu.assertEquals(out, {})
end

-- What the parts make is one line, or nothing.
function TestMessages:test_a_part_of_several_lines_is_none()
   local two = '{"id":"a","part":1,"of":1,"text":"{}\\n{}"}'
   lu.assertEquals(joined({ two, '{"id":"b","part":1,"of":1,"text":""}' }), {})
end

-- Anybody on a node may write to its log.
function TestMessages:test_parts_that_never_end_are_bounded()
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
