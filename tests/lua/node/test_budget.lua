-- The share of node time: exact over weeks of short jobs, and what is never skipped.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local budget = require("syscheck.node.budget")

local WEEK = 7 * 86400

-- A generator of its own: the same week on every machine.
local function random(seed)
   return function(low, high)
      seed = (seed * 1103515245 + 12345) % 2147483648
      return low + (high - low) * seed / 2147483648
   end
end

-- A node that runs short jobs, one after the other, each with an unasked check.
-- @param events function(now, ledger, job) at each job's end, may change the ledger
-- @return seconds spent, checks, dearest check, longest excess over the budget in any
--   window that begins at a check, ledger
local function simulate(o)
   local rand = random(o.seed or 1)
   local l = budget.open(nil, "boot")
   local now, spent, checks, dearest, begins = o.start or 1000, 0, 0, 0, {}
   local stop, job = now + (o.seconds or WEEK), 0
   while now < stop do
      job = job + 1
      if not budget.skips(l, o.share, "quick", now) then
         local cost = rand(o.low or 3, o.high or 6)
         local before = budget.open(l, "boot")
         budget.charge(l, o.share, now, 3.5) -- what it may take, then what it took
         l = before
         budget.charge(l, o.share, now, cost)
         budget.done(l, o.passes == nil or o.passes(rand), "quick", now)
         begins[#begins + 1] = { now, cost }
         spent, checks, dearest, now = spent + cost, checks + 1, math.max(dearest, cost), now + cost
      end
      now = now + rand(o.shortest or 5, o.longest or 300)
      if o.events then
         o.events(now, l, job)
      end
   end
   -- The window from check i to check j holds S(j) - S(i-1) in t(j) - t(i) seconds.
   local excess, sum, least = -math.huge, 0, math.huge
   for _, b in ipairs(begins) do
      least = math.min(least, sum - o.share * b[1])
      sum = sum + b[2]
      excess = math.max(excess, sum - o.share * b[1] - least - dearest)
   end
   return spent, checks, dearest, excess, l
end

TestWeek = {}

-- What no check of ours has written: the disk has.
function TestWeek:test_a_ledger_whose_times_are_damaged_does_not_end_the_checks()
   for _, at in ipairs({ 1e6, 1e23, 1e300 }) do
      local l = budget.open({ boot_id = "boot", next_s = at, pass_s = at, level = "quick" }, "boot")
      lu.assertFalse(budget.skips(l, 0.01, "quick", 100))
      lu.assertTrue(budget.affords(l, 0.01, 100))
      lu.assertTrue(budget.is_stale(l, 300, "quick", 100))
      budget.charge(l, 0.01, 100, 4.5)
      lu.assertTrue(budget.skips(l, 0.01, "quick", 200))
      lu.assertFalse(budget.skips(l, 0.01, "quick", 100 + 451))
   end
   -- The longest that one check may pay for is none.
   local l = budget.open(nil, "boot")
   budget.charge(l, 0.0001, 100, 70)
   budget.done(l, true, "quick", 100)
   lu.assertTrue(budget.skips(l, 0.0001, "quick", 200))
end

function TestWeek:test_the_share_holds_in_every_window()
   for seed, share in ipairs({ 0.001, 0.01, 0.03, 0.2 }) do
      local spent, checks, dearest, excess = simulate({ share = share, seed = seed })
      lu.assertTrue(spent <= share * WEEK + dearest, ("share %g: %.1f s in %d checks"):format(share, spent, checks))
      -- It is used, too, where jobs come more often than checks may.
      lu.assertTrue(share > 0.1 or spent > 0.5 * share * WEEK, ("share %g: only %.1f s"):format(share, spent))
      lu.assertTrue(excess <= 1e-6, ("share %g: a window is %.3f s over"):format(share, excess))
   end
end

function TestWeek:test_checks_that_never_pass_are_limited_too()
   local spent, _, dearest, excess = simulate({ share = 0.01, low = 15, high = 15, passes = function()
      return false
   end })
   lu.assertTrue(spent <= 0.01 * WEEK + dearest)
   lu.assertTrue(excess <= 1e-6)
end

function TestWeek:test_checks_that_were_due_are_paid_back()
   local due, next_due = {}, 0
   local spent, _, dearest = simulate({ share = 0.01, seed = 7, events = function(now, l)
      if now > next_due then
         budget.make_due(l, "throttled")
         lu.assertFalse(budget.skips(l, 0.01, "quick", now))
         due[#due + 1], next_due = now, now + 7200
      end
   end })
   lu.assertTrue(#due > 70)
   lu.assertTrue(spent <= 0.01 * WEEK + dearest, ("%.1f s"):format(spent))
end

function TestWeek:test_credit_is_bounded()
   -- Every job throttles for a week: every one is checked, and afterwards the node is
   -- not left alone for longer than a day.
   local _, checks, _, _, l = simulate({ share = 0.01, events = function(_, ledger)
      budget.make_due(ledger, "throttled")
   end })
   lu.assertTrue(checks > 3000)
   lu.assertTrue(l.next_s <= 1000 + WEEK + 600 + 86400)
end

TestRule = {}

function TestRule:test_the_design_s_example()
   local l = budget.open(nil, "b")
   budget.charge(l, 0.01, 1000, 4.5)
   budget.done(l, true, "quick", 1000)
   lu.assertEquals({ budget.skips(l, 0.01, "quick", 1449.9) }, { true, "the last pass is fresh" })
   lu.assertFalse((budget.skips(l, 0.01, "quick", 1450)))
end

function TestRule:test_due()
   local fresh = { boot_id = "b", next_s = 5000, pass_s = 900, level = "quick" }
   local cases = {
      { "fresh", fresh, "b", true },
      { "never checked", nil, "b", false },
      { "rebooted", fresh, "c", false },
      { "throttled", { boot_id = "b", next_s = 5000, level = "quick", due = "throttled" }, "b", false },
      { "not passed, not paid", { boot_id = "b", next_s = 5000 }, "b", true },
      { "garbage", "x", "b", false },
      { "garbage inside", { boot_id = "b", next_s = "x", level = 7, due = {} }, "b", false },
      { "not a number", { boot_id = "b", next_s = 0 / 0 }, "b", false },
   }
   for _, c in ipairs(cases) do
      lu.assertEquals((budget.skips(budget.open(c[2], c[3]), 0.01, "quick", 1000)), c[4], c[1])
   end
end

function TestRule:test_levels()
   local l = budget.open({ boot_id = "b", next_s = 5000, pass_s = 900, level = "quick" }, "b")
   lu.assertFalse((budget.skips(l, 0.01, "full", 1000)))
   l.level = "full"
   lu.assertTrue((budget.skips(l, 0.01, "quick", 1000)))
end

function TestRule:test_never_and_always()
   local l = budget.open(nil, "b")
   lu.assertEquals({ budget.skips(l, 0, "quick", 1) }, { true, "the policy's budget is 0" })
   budget.charge(l, 0, 1, 4.5)
   lu.assertEquals(l.next_s, 0)
   lu.assertFalse(budget.affords(l, 0, 1))
   budget.charge(l, 1, 1, 4.5)
   budget.done(l, true, "quick", 1)
   lu.assertFalse((budget.skips(l, 1, "quick", 1.1)))
end

function TestRule:test_asked_checks_count_as_passes_and_use_up_nothing()
   local l = budget.open(nil, "b")
   for at = 100, 190, 10 do
      budget.charge(l, 0.01, at, 4.5, true)
      budget.done(l, true, "quick", at)
   end
   -- Ten of them: fresh until the last one's 450 s are over, not ten times as long.
   lu.assertTrue((budget.skips(l, 0.01, "quick", 639)))
   lu.assertFalse((budget.skips(l, 0.01, "quick", 640)))
   -- And they never shorten what unasked ones owe.
   l.next_s = 9000
   budget.charge(l, 0.01, 700, 4.5, true)
   lu.assertEquals(l.next_s, 9000)
   l.next_s = 700 + 86400
   budget.charge(l, 0.01, 700, 4.5, true)
   lu.assertEquals(l.next_s, 700 + 86400)
end

function TestRule:test_stale()
   local l = budget.open({ boot_id = "b", next_s = 0, pass_s = 1000, level = "quick" }, "b")
   lu.assertFalse(budget.is_stale(l, 60, "quick", 1059))
   lu.assertTrue(budget.is_stale(l, 60, "quick", 1060))
   l.level = nil
   lu.assertTrue(budget.is_stale(l, 60, "quick", 1001))
   lu.assertTrue(budget.is_stale(budget.open(l, "other"), 60, "quick", 1001))
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
