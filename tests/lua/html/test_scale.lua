-- Scales: ticks where people expect them.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local scale = require("syscheck.html.scale")

local function texts(s)
   local out = {}
   for i, tick in ipairs(s.ticks) do
      out[i] = tick.text
   end
   return table.concat(out, " ")
end

TestScale = {}

function TestScale:test_linear()
   for _, case in ipairs({ { 0, 100, "0 20 40 60 80 100" }, { 61.3, 87, "60 70 80 90" }, { 0, 1,
      "0.0 0.2 0.4 0.6 0.8 1.0" },
      { 0.19, 0.21, "0.190 0.195 0.200 0.205 0.210" }, { 0, 12, "0.0 2.5 5.0 7.5 10.0 12.5" },
      { 4990, 5810, "4,800 5,000 5,200 5,400 5,600 5,800 6,000" }, { -3, 3, "-4 -2 0 2 4" }, { 5, 5,
         "4.5 4.6 4.7 4.8 4.9 5.0 5.1 5.2 5.3 5.4 5.5" } }) do
      local s = scale.linear(case[1], case[2], 0, 100)
      if case[1] ~= case[2] then
         lu.assertEquals(texts(s), case[3])
      end
      lu.assertTrue(#s.ticks >= 3 and #s.ticks <= 8, texts(s))
      lu.assertEquals({ s.at(s.low), s.at(s.high) }, { 0, 100 })
   end
   local s = scale.linear(10, 20, 100, 0)
   lu.assertEquals({ s.at(10), s.at(15), s.at(20), s.at(99), s.at(-1) }, { 100, 50, 0, 0, 100 })
   s = scale.linear(3, 17, 0, 100, 5, true)
   lu.assertEquals({ s.low, s.high, texts(s) }, { 3, 17, "5 10 15" })
   s = scale.linear(0, 0, 0, 100)
   lu.assertTrue(s.high > s.low)
end

function TestScale:test_logarithmic()
   local s = scale.log(2, 5000, 0, 100)
   lu.assertEquals({ texts(s), s.at(1), s.at(100), s.at(10000), s.at(0), s.at(-1) },
      { "1 10 100 1,000 10,000", 0, 50, 100, 0, 0 })
   lu.assertEquals(texts(scale.log(0.02, 0.5, 0, 1)), "0.01 0.1 1")
   lu.assertEquals(texts(scale.log(10, 10, 0, 1)), "10 100")
   s = scale.log2(1, 192, 0, 100, function(n) return ("%.0f"):format(n) end, 10)
   lu.assertEquals(texts(s), "1 2 4 8 16 32 64 128")
   lu.assertEquals({ s.at(1), s.at(192) }, { 0, 100 })
   s = scale.log2(1, 1048576, 0, 100, function(n) return ("%.0f"):format(n) end, 5)
   lu.assertTrue(#s.ticks <= 6)
   s = scale.log2(2, 2, 0, 100, tostring)
   lu.assertEquals(s.at(2), 50)
end

function TestScale:test_time()
   local at = 1795161600 -- 2026-11-20T08:00:00Z
   lu.assertEquals(texts(scale.time(at, at + 6 * 3600, 0, 1)), "08:00 09:00 10:00 11:00 12:00 13:00 14:00")
   lu.assertEquals(texts(scale.time(at, at + 24 * 3600, 0, 1)), "12:00 18:00 21 Nov 06:00")
   lu.assertEquals(texts(scale.time(at, at + 5 * 86400, 0, 1)), "21 Nov 22 Nov 23 Nov 24 Nov 25 Nov")
   lu.assertStrContains(texts(scale.time(at, at + 3000 * 86400, 0, 1)), " 2029 ")
   lu.assertTrue(#scale.time(at, at, 0, 1).ticks >= 1)
   lu.assertTrue(#scale.time(0, at * 3, 0, 1).ticks <= 40)
end

function TestScale:test_numbers()
   for _, case in ipairs({ { 1204, 1, "1,204" }, { 1234567, 1, "1,234,567" }, { 0.25, 0.05, "0.25" }, { -1000, 500,
      "-1,000" },
      { 2.5, 2.5, "2.5" }, { -0.0, 1, "0" }, { 999, 1, "999" } }) do
      lu.assertEquals(scale.show(case[1], case[2]), case[3])
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
