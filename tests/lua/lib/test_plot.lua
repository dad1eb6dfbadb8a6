-- Bars of characters.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local plot = require("syscheck.lib.plot")

TestPlot = {}

function TestPlot:test_ascii_in_whole_columns()
   lu.assertEquals(plot.bar(0.5, 10), "#####")
   lu.assertEquals(plot.bar(1, 10), ("#"):rep(10))
end

function TestPlot:test_blocks_in_eighths()
   lu.assertEquals(plot.bar(0.5, 4, true), "██")
   lu.assertEquals(plot.bar(0.25 + 1 / 32, 4, true), "█▏")
end

function TestPlot:test_what_is_above_0_is_seen()
   lu.assertEquals({ plot.bar(1e-9, 10), plot.bar(1e-9, 10, true), plot.bar(0, 10) }, { "#", "▏", "" })
end

function TestPlot:test_never_longer_than_it_may_be()
   lu.assertEquals({ plot.bar(7, 3), plot.bar(-1, 3) }, { "###", "" })
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
