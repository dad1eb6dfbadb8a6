-- Records appended to a file and read again.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local records = require("syscheck.spool.records")
local segments = require("syscheck.spool.segments")

TestRecords = {}

function TestRecords:setUp()
   self.dir = os.tmpname()
   os.remove(self.dir)
   local bad = {}
   self.bad = bad
   self.read = function()
      local got = {}
      for k in pairs(bad) do
         bad[k] = nil
      end
      for r in records.read({ self.dir }, function(_, line, why)
         bad[#bad + 1] = line .. ": " .. why
      end) do
         got[#got + 1] = r.id
      end
      return table.concat(got, " ")
   end
end

function TestRecords:tearDown()
   os.remove(self.dir .. "/" .. segments.OPEN)
   os.remove(self.dir)
end

local function record(id)
   return { v = 1, kind = "job", id = id, node = "n1" }
end

function TestRecords:raw(text)
   local f = assert(io.open(self.dir .. "/" .. segments.OPEN, "ab"))
   f:write(text)
   f:close()
end

function TestRecords:test_append_and_read()
   lu.assertTrue(records.append(self.dir, record("a")))
   lu.assertTrue(records.append(self.dir, record("b")))
   lu.assertEquals(self.read(), "a b")
   lu.assertEquals(self.bad, {})
end

-- What kernels may print is bounded, what a check of many of them may be was not: it was lost.
function TestRecords:test_a_long_record_loses_its_lists_only()
   local long = record("a")
   long.kind, long.problems, long.runs = "check", { "one" }, {}
   for i = 1, 12 do
      long.runs[i] = { kernel = "dgemm", state = "ok", result = { gflops = i, cores = { ("x"):rep(1e5) } } }
   end
   lu.assertTrue(records.append(self.dir, long))
   local got = records.read({ self.dir }, error)()
   lu.assertEquals({ got.runs[12].result.gflops, got.runs[12].result.cores, #got.problems }, { 12, nil, 2 })
   long.runs[1].reason = ("x"):rep(2e6)
   local ok, why = records.append(self.dir, long)
   lu.assertNil(ok)
   lu.assertStrContains(why, "more than readers take")
end

function TestRecords:test_a_torn_line_spoils_no_other()
   lu.assertTrue(records.append(self.dir, record("a")))
   self:raw('{"v":1,"kind":"jo')
   lu.assertTrue(records.append(self.dir, record("b")))
   lu.assertEquals(self.read(), "a b")
   lu.assertEquals(self.bad, { "2: not a record" })
end

function TestRecords:test_damage_is_named_by_line()
   lu.assertTrue(records.append(self.dir, record("a")))
   self:raw("\0\0\0\n" .. ("x"):rep(3e6) .. '\n{"v":9,"kind":"job","id":"z","node":"n"}\n')
   lu.assertTrue(records.append(self.dir, record("b")))
   lu.assertEquals(self.read(), "a b")
   lu.assertEquals(self.bad, { "2: not a record", "3: longer than 1 MiB", "4: version 9, this syscheck reads 1" })
end

function TestRecords:test_numbers_json_has_not()
   local r = record("a")
   r.x, r.y = 0 / 0, math.huge
   lu.assertTrue(records.append(self.dir, r))
   lu.assertEquals(self.read(), "a")
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
