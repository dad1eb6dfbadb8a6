-- Text from others, shown.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local printable = require("syscheck.lib.printable")

TestPrintable = {}

function TestPrintable:test_names_are_escaped()
   lu.assertEquals(printable.safe("a\27[2J\n\"x"), "a\\x1b[2J\\x0a\\x22x")
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
