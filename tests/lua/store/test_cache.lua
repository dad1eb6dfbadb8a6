-- A cache that is bounded.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local cache = require("syscheck.store.cache")

TestCache = {}

function TestCache:test_bound()
   local c = cache.new(10)
   for i = 1, 100 do
      c:put(i, i)
      lu.assertEquals(c:get(1), 1) -- what is used stays
   end
   local n = 0
   for i = 1, 100 do
      n = n + (c:get(i) and 1 or 0)
   end
   lu.assertTrue(n >= 10)
   lu.assertTrue(n <= 20)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
