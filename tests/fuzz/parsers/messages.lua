-- spool/messages: records in parts, put together again from a log that anybody can write to.
local messages = require("syscheck.spool.messages")

local function iterator(text)
   return text:gmatch("[^\n]+")
end

local function seeds()
   local long = '{"kind":"job","id":"0123456789abcdef0123456789abcdef","text2":"' .. ("ä/\\\"\1x"):rep(700) .. '"}'
   return {
      'Nov 21 08:00:00 n1 syscheck: {"kind":"check","id":"ab"}\n',
      '{"id":"a","part":1,"of":2,"text":"{\\"x\\":"}\nx {"id":"a","part":2,"of":2,"text":"1}"}\n',
      '{"id":"a","part":1,"of":1,"text":"b\\nc"}\n{"id":"a","part":1,"of":1,"text":""}\n',
      '{"id":"a","part":2,"of":3,"text":"b"}\n{"id":"a","part":1.5,"of":3,"text":"b"}\n{"id":"b","part":1,"of":4097,"text":"b"}\n',
      table.concat(messages.split(long, "0123456789abcdef0123456789abcdef"), "\n"),
   }
end

local function run(input)
   local next_record, lacking = messages.join(iterator(input))
   for line in next_record do
      assert(type(line) == "string" and #line > 0 and not line:find("\n", 1, true), "a record of one line")
   end
   assert(math.type(lacking()) == "integer" and lacking() >= 0, "how many lack a part")
   -- There and back: no part is longer than a message, none is lost.
   local whole = ('{"kind":"x","id":"i","t":"%s"}'):format((input:gsub('[%c"\\\127-\255]', "?")):rep(math.random(64) == 1 and 1 + 2000 // (#input + 1) or 1))
   local parts = messages.split(whole, "i")
   for _, part in ipairs(parts) do
      assert(#part <= messages.MAX, "a part of " .. #part .. " bytes")
   end
   local again = messages.join(iterator(table.concat(parts, "\n")))()
   assert(again == whole, "there and back")
end

return { run = run, seeds = seeds, max = 1200 }
