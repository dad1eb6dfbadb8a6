-- When what a class measures changed: simulated series of healthy fleets, and of such that change.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local drift = require("syscheck.questions.fleet.drift")

TestDrift = {}

local function normal()
   return math.sqrt(-2 * math.log(1 - math.random())) * math.cos(2 * math.pi * math.random())
end

-- Student's t of 4 degrees of freedom: a heavy tail.
local function heavy()
   local sum = 0
   for _ = 1, 4 do
      sum = sum + normal() ^ 2
   end
   return normal() / math.sqrt(sum / 4)
end

-- Nodes of about 100 that differ by 2 %, with 1 % of noise each and 0.2 % of all on a day; o.gap is how many of the
-- values are missing, o.change(node, day) a share that is added.
local function series(o)
   local values, common, noise = {}, {}, o.noise or normal
   for day = 1, o.days do
      common[day] = 0.002 * noise()
   end
   for node = 1, o.nodes do
      local own, of = 100 * (1 + 0.02 * normal()), {}
      for day = 1, o.days do
         if math.random() >= (o.gap or 0) then
            of[day] = own * math.exp(common[day] + 0.01 * noise() + (o.change and o.change(node, day) or 0))
         end
      end
      values[("n%03d"):format(node)] = of
   end
   return { values = values }
end

function TestDrift:setUp()
   math.randomseed(20261126)
end

function TestDrift:test_healthy_fleets_have_not_changed()
   local alarms, of_nodes = 0, 0
   for i = 1, 200 do
      local o = ({ { days = 10, nodes = 5 }, { days = 30, nodes = 20 }, { days = 30, nodes = 12, noise = heavy },
         { days = 45, nodes = 6, noise = heavy, gap = 0.3 } })[i % 4 + 1]
      for _, change in ipairs(drift.of(series(o)).changes) do
         alarms, of_nodes = alarms + (change.few and 0 or 1), of_nodes + (change.few and 1 or 0)
      end
   end
   lu.assertTrue(alarms <= 1, alarms)
   lu.assertTrue(of_nodes <= 4, of_nodes)
end

function TestDrift:test_a_step_of_3_percent_its_day_and_size()
   local right = 0
   for at = 5, 27 do -- three days at least on either side
      local found = drift.of(series({ days = 30, nodes = 20, change = function(_, day)
         return day >= at and -0.03 or 0
      end })).changes
      right = right + (found[1] and found[1].day == at and found[1].before_day == at - 1 and 1 or 0)
      lu.assertEquals(#found, 1)
      lu.assertAlmostEquals(found[1].pct, -3, 0.7)
      lu.assertTrue(#found[1].moved >= 18)
      lu.assertAlmostEquals(found[1].to / found[1].from, 0.97, 0.01)
   end
   lu.assertTrue(right >= 21, right)
end

function TestDrift:test_what_is_too_small_is_none_and_how_small_is_said()
   local found = drift.of(series({ days = 30, nodes = 20, change = function(_, day)
      return day >= 15 and -0.003 or 0
   end }))
   lu.assertEquals(found.changes, {})
   lu.assertTrue(found.least >= 1 and found.least < 3, found.least)
end

function TestDrift:test_gaps()
   local found = drift.of(series({ days = 40, nodes = 30, gap = 0.7, change = function(_, day)
      return day >= 20 and -0.04 or 0
   end })).changes
   lu.assertEquals(#found, 1)
   lu.assertTrue(math.abs(found[1].day - 20) <= 1)
   -- Days on which nobody measured: between which two it was is what can be said.
   local s = series({ days = 40, nodes = 30, change = function(_, day)
      return day >= 20 and -0.04 or 0
   end })
   for _, of in pairs(s.values) do
      for day = 17, 23 do
         of[day] = nil
      end
   end
   found = drift.of(s).changes
   lu.assertEquals({ found[1].before_day, found[1].day }, { 16, 24 })
end

function TestDrift:test_nodes_that_come_and_go_are_no_change()
   -- The second half of the time has other nodes, all of them slower by what nodes differ by.
   local s = series({ days = 30, nodes = 40 })
   local n = 0
   for name, of in pairs(s.values) do
      n = n + 1
      local slow = n % 2 == 0
      for day = 1, 30 do
         of[day] = of[day] and (slow and day > 12 and of[day] * 0.95 or not slow and day < 18 and of[day]) or nil
      end
      lu.assertNotNil(name)
   end
   lu.assertEquals(drift.of(s).changes, {})
end

function TestDrift:test_little_by_little()
   local found = drift.of(series({ days = 30, nodes = 20, change = function(_, day)
      return -0.06 * day / 30
   end })).changes
   lu.assertEquals(#found, 1)
   lu.assertTrue(found[1].gradual)
   lu.assertAlmostEquals(found[1].pct, -5.6, 1)
   lu.assertEquals({ found[1].from_day, found[1].to_day }, { 1, 30 })
end

function TestDrift:test_few_nodes_are_not_the_class()
   local found = drift.of(series({ days = 30, nodes = 40, change = function(node, day)
      return node <= 3 and day >= 12 and -0.06 or node == 9 and day >= 20 and -0.12 or 0
   end })).changes
   lu.assertEquals(#found, 2)
   lu.assertTrue(found[1].few and found[2].few)
   lu.assertEquals(found[1].moved, { "n001", "n002", "n003" })
   lu.assertEquals(found[2].moved, { "n009" })
   lu.assertTrue(math.abs(found[1].day - 12) <= 1)
   lu.assertAlmostEquals(found[2].pct, -11.3, 1.5)
end

function TestDrift:test_a_part_of_the_class_and_there_and_back()
   local found = drift.of(series({ days = 60, nodes = 50, change = function(node, day)
      return node > 10 and day >= 20 and day < 45 and -0.05 or 0
   end })).changes
   lu.assertEquals(#found, 2)
   lu.assertEquals({ found[1].day, found[2].day }, { 20, 45 })
   lu.assertEquals({ #found[1].moved, table.concat(found[1].stayed, " "):sub(1, 9) }, { 40, "n001 n002" })
   lu.assertAlmostEquals(found[1].pct, -4.9, 0.7)
   lu.assertAlmostEquals(found[2].pct, 5.1, 0.7)
end

function TestDrift:test_one_bad_day_is_no_change()
   lu.assertEquals(drift.of(series({ days = 30, nodes = 30, change = function(_, day)
      return day == 20 and -0.2 or 0
   end })).changes, {})
end

function TestDrift:test_noise_in_points()
   local values = {}
   for node = 1, 10 do
      values["n" .. node] = {}
      for day = 1, 30 do
         values["n" .. node][day] = math.max(0, 0.2 + 0.1 * normal() + (day >= 22 and 1.5 or 0))
      end
   end
   local found = drift.of({ values = values, points = true }).changes
   lu.assertEquals(found[1].day, 22)
   lu.assertAlmostEquals(found[1].pct, 1.5, 0.1)
end

function TestDrift:test_too_little()
   for _, o in ipairs({ { days = 7, nodes = 50 }, { days = 60, nodes = 2 }, { days = 1, nodes = 1 },
      { days = 0, nodes = 3 } }) do
      local found = drift.of(series(o))
      lu.assertTrue(found.few)
      lu.assertEquals(found.changes, {})
   end
   lu.assertTrue(drift.of({ values = {} }).few)
   -- Zero is no rate.
   lu.assertTrue(drift.of({ values = { a = { 0, 0, 0, 0, 0, 0, 0, 0, 0 }, b = {}, c = {} } }).few)
   -- All the same: no division by nothing.
   local flat = {}
   for node = 1, 5 do
      flat[node .. ""] = { 5, 5, 5, 5, 5, 5, 5, 5, 5, 5 }
   end
   lu.assertEquals(drift.of({ values = flat }).changes, {})
end

function TestDrift:test_which_settings_changed_with_it()
   local change = { day = 10, moved = { "a", "b", "c" }, stayed = { "d", "e" } }
   local configs = { a = { [8] = 1, [10] = 2 }, b = { [2] = 1, [15] = 2 }, c = { [9] = 1, [10] = 1, [11] = 2 },
      d = { [9] = 1, [10] = 1 }, e = { [9] = 1, [10] = 2 } }
   lu.assertEquals(drift.settings(change, configs), { { from = 1, to = 2, moved = 2, stayed = 1 } })
   lu.assertEquals(drift.settings({ day = 10, moved = { "x" }, stayed = {} }, configs), {})
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
