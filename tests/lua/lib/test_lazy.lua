-- Modules that are loaded when they are used.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local lazy = require("syscheck.lib.lazy")

TestLazy = {}

function TestLazy:tearDown()
   package.preload["syscheck.some"], package.loaded["syscheck.some"] = nil, nil
end

function TestLazy:test_it_is_loaded_once_and_when_it_is_used()
   local loads = 0
   package.preload["syscheck.some"] = function()
      loads = loads + 1
      return { ONE = 1, double = function(n) return 2 * n end }
   end
   local some = lazy.require("syscheck.some")
   lu.assertEquals(loads, 0)
   lu.assertEquals({ some.ONE, some.double(4), some.absent }, { 1, 8 })
   lu.assertEquals(loads, 1)
end

function TestLazy:test_all_at_once()
   local loaded = {}
   for _, name in ipairs({ "some", "other" }) do
      package.preload["syscheck." .. name] = function()
         loaded[#loaded + 1] = name
         return name == "some" and { other = lazy.require("syscheck.other") } or {}
      end
   end
   lazy.require("syscheck.some")
   lazy.load()
   lu.assertEquals(loaded, { "some", "other" })
   package.preload["syscheck.other"], package.loaded["syscheck.other"] = nil, nil
end

function TestLazy:test_it_is_the_module_itself()
   package.preload["syscheck.some"] = function()
      return { n = 1 }
   end
   local some = lazy.require("syscheck.some")
   lu.assertEquals(some.n, 1)
   require("syscheck.some").n = 2
   lu.assertEquals(some.n, 2)
end

function TestLazy:test_what_is_not_there_is_an_error_of_whoever_uses_it()
   local some = lazy.require("syscheck.some")
   lu.assertErrorMsgContains("module 'syscheck.some' not found", function()
      return some.n
   end)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
