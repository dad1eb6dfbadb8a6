-- Spells of checks worse than the class's, as suspects weighs them.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local checks = require("syscheck.questions.suspects.checks")
local expected = require("syscheck.questions.why.expected")
local own_store = require("own_store")

TestSuspectsChecks = {}

local T, DAY = 1795161600, 86400 -- 2026-11-20T08:00:00Z
local db

function TestSuspectsChecks:setUp()
   own_store.setUp()
   db = own_store.db
end

TestSuspectsChecks.tearDown = own_store.tearDown

-- A check a day for 20 days on nodes n1 to n12; bad(n, day) -> share of its rate that is left, or nil.
-- @param name of the metric, of the triad's rate if nil
local function write(bad, name)
   local rows = {}
   for day = 0, 19 do
      for n = 1, 12 do
         local value = (100 + (n * 7 + day * 3) % 5) * (bad(n, day) or 1) * (name and 0.001 or 1)
         rows[#rows + 1] = own_store.record({ kind = "check", node = "n" .. n, class = "epyc-9654-2s192c-768g",
            time = T + day * DAY, level = "quick", status = "pass", action = "none",
            metrics = { { name = name or "triad_gbs", value = value, status = "pass" } } })
      end
   end
   own_store.write(rows)
end

local function node_of(name)
   return db:row("SELECT n.id FROM node n WHERE n.name = ?", name)[1]
end

local function own_class(_, class)
   return class
end

-- Hypotheses, where each node has four runs a day.
local function found()
   local like, of_node = {}, {}
   for i = 1, 10 do
      like[i] = { begin_s = i, elapsed_s = 1000 + i }
   end
   local e = expected.of(like, 11)
   for n = 1, 12 do
      local runs = {}
      for i = 1, 80 do
         runs[i] = { begin_s = T + (i - 1) * DAY / 4, e = e, y = math.log(1005) }
      end
      of_node[node_of("n" .. n)] = runs
   end
   return checks.hypotheses(db, T - DAY, of_node, own_class)
end

function TestSuspectsChecks:test_a_spell_and_its_runs()
   write(function(n, day)
      return n == 7 and day >= 5 and day <= 9 and 0.7 or nil
   end)
   local list = found()
   lu.assertEquals(#list, 1)
   local h = list[1]
   lu.assertEquals({ h.node, h.group }, { node_of("n7"), "memory" })
   -- From the middle between the last good check and the first bad one, to the next middle.
   lu.assertEquals({ h.events[1].run.begin_s, h.events[#h.events].run.begin_s }, { T + 4.5 * DAY, T + 9.5 * DAY })
   lu.assertAlmostEquals(h.events[1].share, 0.3, 0.02)
   lu.assertTrue(h.worth(1, #h.events) > math.log(0.9))
end

-- One odd check is worth less; what every node has now and then next to nothing.
function TestSuspectsChecks:test_one_odd_check()
   write(function(n, day)
      return n == 7 and day == 5 and 0.7 or nil
   end)
   local one = found()
   lu.assertEquals(#one, 1)
   lu.assertTrue(one[1].worth(1, #one[1].events) < math.log(0.5))
end

-- Of what the system takes each node has its own share: that it was seen twenty times says what it says once, and no
-- less.
function TestSuspectsChecks:test_noise_counts_once()
   local function worth(days)
      write(function(n, day)
         return n == 7 and day < days and 3 or nil
      end, "noise_pct")
      local list = found()
      lu.assertEquals({ #list, list[1].group }, { 1, "daemon" })
      return list[1].worth(1, #list[1].events)
   end
   local all = worth(20)
   TestSuspectsChecks:tearDown()
   TestSuspectsChecks:setUp()
   lu.assertAlmostEquals(worth(5), all, 1e-9)
   lu.assertTrue(all < math.log(0.1))
end

function TestSuspectsChecks:test_odd_checks_of_all()
   write(function(n, day)
      return (n + day) % 8 == 0 and 0.7 or nil
   end)
   local list = found()
   lu.assertTrue(#list >= 12)
   for _, h in ipairs(list) do
      lu.assertTrue(h.worth(1, #h.events) < math.log(0.05))
   end
end

-- A bad spell that ends the history lasts three days beyond it; a class of few checks says nothing.
function TestSuspectsChecks:test_the_end_and_no_checks()
   lu.assertEquals(checks.hypotheses(db, T, {}, own_class), {})
   write(function(n, day)
      return n == 7 and day >= 15 and 0.5 or nil
   end)
   local list = found()
   lu.assertEquals(#list, 1)
   lu.assertTrue(list[1].events[#list[1].events].run.begin_s > T + 19 * DAY)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
