-- Median and scaled MAD.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local random = require("syscheck.lib.random")
local statistics = require("syscheck.lib.statistics")

TestStatistics = {}

function TestStatistics:test_median()
   local values = { 5, 1, 4 }
   lu.assertEquals(statistics.median(values), 4)
   lu.assertEquals(values, { 5, 1, 4 })
   lu.assertEquals(statistics.median({ 4, 1 }), 2.5)
   lu.assertEquals(statistics.median({ 7 }), 7)
   lu.assertNil(statistics.median({}))
   lu.assertNil(statistics.median_sorted({}))
end

function TestStatistics:test_median_without()
   lu.assertEquals(statistics.median_without({ 1, 2, 3, 4 }, 2), 3)
   lu.assertEquals(statistics.median_without({ 1, 2, 3 }, 1), 2.5)
   local rng = random.new(7)
   for n = 2, 9 do
      for _ = 1, 50 do
         local sorted = {}
         for i = 1, n do
            sorted[i] = rng(5)
         end
         table.sort(sorted)
         for i = 1, n do
            local rest = table.move(sorted, 1, n, 1, {})
            table.remove(rest, i)
            lu.assertEquals(statistics.median_without(sorted, sorted[i]), statistics.median_sorted(rest))
         end
      end
   end
   lu.assertNil(statistics.median_without({ 1 }, 1))
end

function TestStatistics:test_robust()
   local m, s = statistics.robust({ 1, 2, 3, 4, 100 })
   lu.assertEquals(m, 3)
   lu.assertAlmostEquals(s, 1.4826, 1e-12)
   lu.assertEquals({ statistics.robust({ 7 }) }, { 7, 0 })
   lu.assertEquals({ statistics.robust({ 1, 4 }) }, { 2.5, 1.5 * 1.4826 })
   lu.assertNil((statistics.robust({})))
end

-- Against the printed tables.
function TestStatistics:test_student()
   for _, c in ipairs({ { 0.025, 1, 12.706 }, { 0.025, 2, 4.303 }, { 0.025, 3, 3.182 }, { 0.005, 4, 4.604 },
      { 0.025, 10, 2.228 }, { 0.0005, 5, 6.869 }, { 0.0005, 10, 4.587 }, { 0.5, 7, 0 } }) do
      lu.assertAlmostEquals(statistics.student(c[1], c[2]), c[3], 1e-3)
   end
   lu.assertAlmostEquals(statistics.student(5e-5, 100000), 3.8906, 1e-3)
end

function TestStatistics:test_first_from()
   local list = { 1, 3, 3, 7 }
   for least, place in pairs({ [0] = 1, [1] = 1, [2] = 2, [3] = 2, [4] = 4, [7] = 4, [8] = 5 }) do
      lu.assertEquals(statistics.first_from(list, least), place)
   end
   lu.assertEquals(statistics.first_from({ { at = 2 }, { at = 5 } }, 3, "at"), 2)
   lu.assertEquals(statistics.first_from({}, 1), 1)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
