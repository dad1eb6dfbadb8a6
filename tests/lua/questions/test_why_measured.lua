-- How many of the store's checks are looked at for what a class measures.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local causes = require("syscheck.questions.why.causes")
local measured = require("syscheck.questions.why.measured")

-- A store in which each window begins with `none` checks that measured nothing, then come `some` of class `class`.
local function store_of(none, some, class)
   local store = { looked = {} }
   function store:rows(text)
      local looked, most = text:match("LIMIT (%d+)%) c .* LIMIT (%d+)$")
      looked, most = tonumber(looked), tonumber(most)
      local n, i = math.max(0, math.min(looked - none, some, most)), 0
      self.looked[#self.looked + 1] = looked
      return function()
         i = i + 1
         return i <= n and { i, class, 0, [4] = 100.0 + i } or nil
      end
   end
   return store
end

-- @return how many values of the first metric, and the largest number of checks of a window that was looked at
local function asked(store)
   local of = measured.of_classes(store, 1e9, { [7] = true })[7]
   return of and #of[causes.CHECK[1].name] or 0, math.max(table.unpack(store.looked))
end

TestMeasured = {}

function TestMeasured:test_few_looks_where_they_show_enough()
   local n, looked = asked(store_of(0, 12, 7))
   lu.assertTrue(n >= 1000)
   lu.assertTrue(looked < 1000)
end

function TestMeasured:test_many_looks_where_few_checks_measure()
   local store = store_of(0, 1, 7)
   local n, looked = asked(store)
   lu.assertEquals(looked, 1000)
   -- Those of the second look alone, not both looks'.
   lu.assertEquals(n, #store.looked / 2)
   -- Others' classes measure, and this one's checks may be further on.
   lu.assertEquals({ asked(store_of(0, 12, 8)) }, { 0, 1000 })
end

function TestMeasured:test_none_that_measures_is_not_looked_for_twice()
   local n, looked = asked(store_of(1000, 12, 7))
   lu.assertEquals(n, 0)
   lu.assertTrue(looked < 1000)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
