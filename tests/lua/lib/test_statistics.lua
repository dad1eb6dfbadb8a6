-- Median and scaled MAD.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
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

os.exit(lu.LuaUnit.run("-o", "TAP"))
