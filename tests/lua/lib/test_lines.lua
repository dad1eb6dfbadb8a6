-- Lines of files, and where they end.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local lines = require("syscheck.lib.lines")
local uv = require("luv")

TestLines = {}

-- Every line, "LONG" for one that is too long, with the offset behind it.
local function read(text)
   local path = os.tmpname()
   local file = assert(io.open(path, "wb"))
   file:write(text)
   file:close()
   local fd = assert(uv.fs_open(path, uv.constants.O_RDONLY, 0))
   local out = {}
   for line, offset in lines.of(fd) do
      out[#out + 1] = (line or "LONG") .. "@" .. offset
   end
   uv.fs_close(fd)
   os.remove(path)
   return out
end

function TestLines:test_lines_and_where_they_end()
   lu.assertEquals(read(""), {})
   lu.assertEquals(read("a\nbc\n"), { "a@2", "bc@5" })
   lu.assertEquals(read("a\n\nhalf"), { "a@2", "@3", "half@7" })
   lu.assertEquals(read("a\0b\n"), { "a\0b@4" })
   local most = ("x"):rep(lines.MAX)
   lu.assertEquals(#read(most .. "\nb\n"), 2)
   local out = read("a\n" .. most .. ("y"):rep(3e6) .. "\nb\n")
   lu.assertEquals(#out, 3)
   lu.assertStrMatches(out[2], "LONG@%d+")
   lu.assertEquals(out[3], "b@" .. #most + 3000005)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
