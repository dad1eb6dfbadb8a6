-- Metrics as text: escaping, numbers, and that absent is not zero.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local prometheus = require("syscheck.lib.prometheus")

local function one(sample, help)
   return prometheus.text({ { name = "m", type = "gauge", help = help or "h", samples = { sample } } })
end

TestPrometheus = {}

function TestPrometheus:test_a_family()
   lu.assertEquals(prometheus.text({ { name = "a_total", type = "counter", help = "Of a.", samples = {
      { value = 3, "level", "quick", "status", "pass" }, { value = 0.5 } } },
      { name = "b", type = "gauge", help = "None.", samples = {} } }),
      '# HELP a_total Of a.\n# TYPE a_total counter\na_total{level="quick",status="pass"} 3\na_total 0.5\n')
end

function TestPrometheus:test_numbers()
   for v, text in pairs({ [61.3 * 1e9] = "61300000000", [1795161600] = "1795161600", [1e-9 * 100] = "1e-07",
      [0.1 + 0.2] = "0.3", [-2] = "-2", [2^63] = "9.22337203685e+18" }) do
      lu.assertEquals(one({ value = v }):match("\nm (%S+)\n$"), text)
   end
end

-- Nor does a family without a sample have a HELP.
function TestPrometheus:test_what_is_no_number_is_absent()
   for _, v in ipairs({ 0 / 0, math.huge, -math.huge }) do
      lu.assertEquals(one({ value = v }), "")
   end
   lu.assertEquals(one({}), "")
end

function TestPrometheus:test_what_machines_call_themselves_breaks_no_line()
   for given, text in pairs({ ['a"b'] = 'a\\"b', ["a\\"] = "a\\\\", ["a\nm 5"] = "a\\nm 5", ["\xffa"] = "\u{FFFD}a",
      ["\xc3"] = "\u{FFFD}", [("x"):rep(500)] = ("x"):rep(128), [("é"):rep(100)] = ("é"):rep(64) }) do
      lu.assertEquals(one({ value = 1, "class", given }), '# HELP m h\n# TYPE m gauge\nm{class="' .. text .. '"} 1\n')
   end
   lu.assertEquals(one({ value = 1 }, "a\nb\\"), "# HELP m a\\nb\\\\\n# TYPE m gauge\nm 1\n")
end

function TestPrometheus:test_no_blank_label()
   lu.assertEquals(one({ value = 1, "class", "", "mode", "x" }):match("\n(m%S*)"), 'm{mode="x"}')
   lu.assertEquals(one({ value = 1, "class", "" }):match("\n(m%S*) 1"), "m")
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
