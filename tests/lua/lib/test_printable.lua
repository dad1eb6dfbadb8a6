-- Text from others, shown.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local printable = require("syscheck.lib.printable")

TestPrintable = {}

function TestPrintable:test_names_are_escaped()
   lu.assertEquals(printable.safe("a\27[2J\n\"x"), "a\\x1b[2J\\x0a\\x22x")
end

function TestPrintable:test_trimmed()
   for text, want in pairs({ [""] = "", [" "] = "", ["a"] = "a", [" a b \t\n"] = " a b", ["\n"] = "" }) do
      lu.assertEquals(printable.trimmed(text), want)
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
