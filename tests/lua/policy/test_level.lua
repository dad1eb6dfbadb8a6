-- Levels: their names, and which one a job gets.
-- lua: lua5.1 lua5.2 lua5.3 lua5.4
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local level = require("syscheck.policy.level")

local FIXTURES = os.getenv("FIXTURES") or "tests/fixtures"

TestLevels = {}

local function unescape(text)
   if text == "<nil>" then
      return nil
   elseif text == "<1M>" then
      return ("a"):rep(1048576)
   end
   return (text:gsub("\\(.)(%x?%x?)", function(c, hex)
      if c == "x" then
         return string.char(tonumber(hex, 16))
      end
      return (({ n = "\n", t = "\t", ["\\"] = "\\" })[c] or c) .. hex
   end))
end

-- One grammar, one truth: the C plugin reads the same table.
function TestLevels:test_every_row_of_the_shared_table()
   local rows = 0
   for line in io.lines(FIXTURES .. "/levels.tsv") do
      local input, want, near = line:match("^([^\t#]*)\t([^\t]*)\t([^\t]*)$")
      if input then
         rows = rows + 1
         local value = unescape(input)
         local got, err = level.parse(value)
         local verbose = err == true and ",verbose" or ""
         if want == "!" then
            lu.assertNil(got, line)
            lu.assertStrContains(err, 'unknown level "')
            lu.assertEquals(err:match('did you mean "(%w+)"') or "-", near, line)
            lu.assertNil(err:find("[^ -~]"), "unprintable: " .. line)
            lu.assertTrue(#err < 300, line)
         else
            lu.assertEquals(got .. verbose, want, line)
         end
      end
   end
   lu.assertTrue(rows >= 40, "rows read: " .. rows)
end

function TestLevels:test_message()
   local _, err = level.parse("ful")
   lu.assertEquals(err, 'unknown level "ful", did you mean "full"? (none, passive, quick, full)')
   _, err = level.parse("xyzzy")
   lu.assertEquals(err, 'unknown level "xyzzy" (none, passive, quick, full)')
end

function TestLevels:test_decide()
   local bounds = { floor = "passive", default = "quick", ceiling = "quick" }
   local mine, stale = { fresh = false }, { fresh = true }
   local cases = {
      -- asked, node, level, note contains
      { nil, mine, "quick", nil },
      { nil, stale, "passive", "fresh" },
      { "quick", stale, "quick", nil },
      { "none", mine, "passive", "floor" },
      { "full", mine, "quick", "ceiling" },
      { "full", { shared = "others" }, "passive", "whole node; others" },
      { "passive", { shared = "others" }, "passive", nil },
   }
   for i, c in ipairs(cases) do
      local got, note = level.decide(c[1], bounds, c[2])
      lu.assertEquals(got, c[3], "case " .. i)
      if c[4] then
         lu.assertStrContains(note, c[4])
      else
         lu.assertNil(note)
      end
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
