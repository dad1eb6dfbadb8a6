-- Suspects from a store: what `why` sees in their slow runs.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local own_store = require("own_store")
local show = require("syscheck.questions.suspects.show")
local suspects_data = require("syscheck.questions.suspects.read")

TestSuspectsRead = { setUp = own_store.setUp, tearDown = own_store.tearDown }

local T = 1795161600 -- 2026-11-20T08:00:00Z

-- Runs of one kind, an hour apart, on n1 to n4 and n5 to n8 in turn; from the 20th on some nodes throttle, and slow
-- their runs.
-- @param hot node -> whether it throttles
local function write(hot)
   local rows = {}
   for i = 1, 60 do
      local first = i % 2 == 0 and 1 or 5
      local slow = false
      for node = first, first + 3 do
         slow = slow or i > 20 and hot[node]
      end
      local seconds = (slow and 1.4 or 1) * (1000 + 3 * (i * 7 % 11))
      for node = first, first + 3 do
         local ms = i > 20 and hot[node] and 300 * seconds or 0
         rows[#rows + 1] = own_store.record({ kind = "job", node = "n" .. node, class = "epyc-9654-2s192c-768g",
            time = T + 3600 * i, elapsed_s = seconds,
            delta = { throttle = { events = ms > 0 and 9 or 0, package_worst_ms = ms, core_worst_ms = ms } },
            job = { id = i, user = "alice", name = "x", nodes = 4 } })
      end
   end
   own_store.write(rows)
end

local function found()
   return (suspects_data.find(own_store.db, 0))
end

local function names(list)
   local out = {}
   for i, one in ipairs(list) do
      out[i] = one.name
   end
   table.sort(out)
   return out
end

function TestSuspectsRead:test_one()
   write({ [2] = true })
   local list = found()
   lu.assertEquals(names(list), { "n2" })
   lu.assertEquals(list[1].condition.group, "clock")
end

-- `why` names both at once: each is a suspect, and of what it says each run counts once.
function TestSuspectsRead:test_two_that_always_run_together()
   write({ [2] = true, [3] = true })
   local list = found()
   lu.assertEquals(names(list), { "n2", "n3" })
   for _, one in ipairs(list) do
      lu.assertEquals(one.condition.group, "clock")
      lu.assertEquals({ one.condition.runs, one.looked }, { 5, 5 })
   end
   list.since, list.totals = T, { slow = 0, compared = 0, kinds = 1, complete = true }
   lu.assertStrContains(show.table(list), "throttled")
   lu.assertNotStrContains(show.table(list), "not all nodes")
end

-- Where a whole fleet is suspect the likeliest are looked at, and that is said.
function TestSuspectsRead:test_most_looked_at()
   write({ [2] = true, [3] = true })
   local list, totals = suspects_data.find(own_store.db, 0)
   lu.assertEquals(names(list), { "n2", "n3" })
   lu.assertTrue(totals.complete)
   list, totals = suspects_data.find(own_store.db, 0, 5)
   lu.assertEquals(#list, 1)
   lu.assertFalse(totals.complete)
   list.since, list.totals = T, totals
   lu.assertStrContains(show.table(list), "not all nodes that may be suspects")
   lu.assertStrContains(show.json(list), '"complete":false')
end

function TestSuspectsRead:test_none()
   write({})
   lu.assertEquals(found(), {})
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
