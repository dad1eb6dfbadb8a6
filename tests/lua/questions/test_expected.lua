-- How long a run should have taken, and what its time says of a loss.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local expected = require("syscheck.questions.why.expected")
local odds = require("syscheck.questions.why.odds")
local weights = require("syscheck.questions.why.weights")

local DAY = 86400

local state = 1
local function uniform()
   state = (state * 6364136223846793005 + 1442695040888963407) & 0x7fffffffffffffff
   return (state >> 11) / 2 ^ 52
end

local function normal()
   return math.sqrt(-2 * math.log(1 - uniform())) * math.cos(2 * math.pi * uniform())
end

-- n runs, one a day before the one that is asked about, of time(days before, i).
local function runs(n, time)
   local list = {}
   for i = 1, n do
      list[i] = { begin_s = 1e9 - i * DAY, elapsed_s = time(i) }
   end
   return list
end

local function of(n, time)
   return expected.of(runs(n, time), 1e9)
end

TestExpected = {}

function TestExpected:test_nothing_and_one()
   lu.assertNil(expected.of({}, 0))
   local e = of(1, function() return 100 end)
   lu.assertEquals({ e.count, #e.modes, e.slope }, { 1, 1, 0 })
   lu.assertAlmostEquals(e.median_s, 100, 1e-9)
   -- One run says next to nothing of the spread.
   lu.assertTrue(expected.tail(e, math.log(120)) > 0.05)
end

-- Inputs that grow by 2 % a day: what is usual is that of the day.
function TestExpected:test_a_trend()
   local e = of(20, function(i) return 1000 * math.exp(-0.02 * i + 0.01 * normal()) end)
   lu.assertAlmostEquals(e.slope, 0.02, 0.002)
   lu.assertAlmostEquals(e.median_s, 1000, 15)
   lu.assertTrue(expected.tail(e, math.log(1150)) < 0.01)
   -- Without one there is none, in nearly all of many kinds.
   local found = 0
   for _ = 1, 100 do
      found = found + (of(20, function() return 1000 * math.exp(0.1 * normal()) end).slope ~= 0 and 1 or 0)
   end
   lu.assertTrue(found <= 5, found)
end

-- A kind with two usual times is not as wide as both together.
function TestExpected:test_two_modes()
   local e = of(24, function(i) return (i % 3 == 0 and 2000 or 1000) * math.exp(0.02 * normal()) end)
   lu.assertEquals(#e.modes, 2)
   lu.assertAlmostEquals(e.modes[2].share, 1 / 3, 1e-9)
   lu.assertTrue(expected.tail(e, math.log(1500)) < 0.35)
   lu.assertTrue(expected.tail(e, math.log(1500)) > 0.25) -- a third take 2000 s
   lu.assertTrue(expected.density(e, math.log(2000), 0) > 20 * expected.density(e, math.log(1500), 0))
   local found = 0
   for _ = 1, 100 do
      found = found + (#of(24, function() return 1000 * math.exp(0.1 * normal()) end).modes == 2 and 1 or 0)
   end
   lu.assertTrue(found <= 5, found)
end

-- Two in three of a kind's runs were made slower, each by something else, and one stopped early: what the others took
-- is what a run should take.
function TestExpected:test_most_were_made_slower()
   local function time(i)
      return i == 7 and 120 or 1000 * math.exp(0.01 * normal() + (i % 3 > 0 and 0.05 + 0.6 * uniform() or 0))
   end
   local e = expected.of(runs(27, time), 1e9, 48)
   lu.assertTrue(e.front >= 8 and e.front <= 11, e.front)
   lu.assertAlmostEquals(e.median_s, 1000, 20)
   lu.assertTrue(expected.tail(e, math.log(1300)) < 0.3)
   lu.assertTrue(expected.tail(e, math.log(1300)) > 0.05) -- many took that, and not for any of a job's nodes
   lu.assertEquals(expected.above_mode(e, math.log(1300)), math.huge)
   lu.assertAlmostEquals(expected.tail(e, expected.quantile(e, 0.05)), 0.05, 1e-6)
   -- On few nodes a bad one is seldom among them.
   local list = runs(27, time)
   lu.assertNil(expected.of(list, 1e9, 4).front)
   lu.assertTrue(expected.of(list, 1e9).median_s > 1.03 * expected.of(list, 1e9, 48).median_s)
end

-- Of few that were slower it is the median as ever, and of runs that differ, as is that of most that stopped early; in
-- nearly all of many kinds, of whole seconds, too.
function TestExpected:test_no_front()
   local function front(n, time)
      return expected.of(runs(n, time), 1e9, 48).front
   end
   lu.assertNil(front(27, function(i) return 1000 * math.exp(0.01 * normal() + (i % 8 == 0 and 0.4 or 0)) end))
   lu.assertNil(front(27, function(i) return i % 3 == 0 and 60 or 3600 * math.exp(0.5 * normal()) end))
   local function late()
      return -math.log(1 - uniform())
   end
   -- In a fixed order, as what varies comes from one sequence.
   for _, kind in ipairs({ { "narrow", 4, function() return 1000 * math.exp(0.02 * normal()) end },
      { "wide", 4, function() return 1000 * math.exp(0.3 * normal()) end },
      { "whole seconds", 4, function() return math.floor(3 + 2 * late()) end },
      -- Delays that are exponential have a front: that of some is sharp.
      { "skewed", 12, function() return 1000 * math.exp(0.1 * late()) end } }) do
      local name, most, time = table.unpack(kind)
      local found = 0
      for i = 1, 100 do
         found = found + (front(12 + i % 29, time) and 1 or 0)
      end
      lu.assertTrue(found <= most, name .. " " .. found)
   end
end

-- What is said to come by chance so often does, at least with some ten runs.
function TestExpected:test_p_is_what_it_says()
   local below, n = { [0.01] = 0, [0.05] = 0, [0.25] = 0 }, 1500
   for _ = 1, n do
      local sd = 0.03 + 0.2 * uniform()
      local function time() return 1000 * math.exp(sd * normal()) end
      local p = expected.tail(of(12, time), math.log(time()))
      for bound in pairs(below) do
         below[bound] = below[bound] + (p <= bound and 1 or 0)
      end
   end
   for bound, count in pairs(below) do
      lu.assertTrue(count / n < 1.4 * bound + 0.005, ("%g: %g"):format(bound, count / n))
      lu.assertTrue(count / n > 0.4 * bound - 0.005, ("%g: %g"):format(bound, count / n))
   end
end

function TestExpected:test_density_and_tail_agree()
   local e = of(24, function(i) return (i % 3 == 0 and 2000 or 1000) * math.exp(0.05 * normal()) end)
   local y, h = math.log(1200), 1e-5
   lu.assertAlmostEquals((expected.tail(e, y - h) - expected.tail(e, y + h)) / (2 * h), expected.density(e, y, 0), 1e-4)
   lu.assertAlmostEquals(expected.density(e, y, 0.3), expected.density(e, y - 0.3, 0), 1e-9)
   lu.assertAlmostEquals(expected.tail(e, expected.quantile(e, 0.05)), 0.05, 1e-6)
end

TestOdds = {}

function TestOdds:test_fit()
   local e = of(12, function(i) return 1000 + i % 5 end)
   local slow = math.log(1500) -- a third of its time is lost
   local much, little = odds.fit(e, slow, 0.4, 20, 1.2), odds.fit(e, slow, 0.02, 20, 1.2)
   lu.assertTrue(much > 100)
   lu.assertTrue(little < 2)
   -- It took as long as ever: a condition that must have cost much did not.
   lu.assertTrue(odds.fit(e, math.log(1001), 0.4, 2, 1) < 0.1)
   lu.assertEquals(odds.fit(e, slow, 0, 20, 1), 1)
   lu.assertEquals(odds.fit(expected.NONE, slow, 0.4, 20, 1), 1)
end

-- A trend of twenty jobs of one array, and a run a week later; and times that grow as long as they are seen to.
function TestExpected:test_a_trend_is_not_followed_far()
   local burst = {}
   for i = 1, 20 do
      burst[i] = { begin_s = 10 * i, elapsed_s = 121 - i }
   end
   for _, later in ipairs({ 3600, 7 * 86400, 30 * 86400 }) do
      local e = expected.of(burst, later)
      lu.assertTrue(e.median_s > 90 and e.median_s < 122, e.median_s)
   end
   burst[21] = { begin_s = 7 * 86400, elapsed_s = 100 }
   local e = expected.of(burst, 7 * 86400)
   lu.assertTrue(e.median_s > 90 and e.median_s < 122, e.median_s)
   local grows = {}
   for i = 1, 20 do
      grows[i] = { begin_s = 86400 * i, elapsed_s = 100 * 1.01 ^ i }
   end
   lu.assertAlmostEquals(expected.of(grows, 86400 * 21).median_s, 100 * 1.01 ^ 21, 0.2)
   lu.assertAlmostEquals(expected.of(grows, 86400 * 100).median_s, 100 * 1.01 ^ 24.75, 0.2)
end

-- Runs that were aborted say next to nothing of a condition: no digit of theirs is lost in a difference.
function TestOdds:test_fit_of_what_ended_early()
   local e = of(36, function(i) return 1000 * (1 + (i % 7 - 3) / 30) end)
   local last = 0
   for _, ratio in ipairs({ 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.4, 0.7 }) do
      local fit = odds.fit(e, math.log(1000 * ratio), 0.5, 20, 1.2)
      lu.assertTrue(fit > 0 and fit < 1, ratio .. " " .. fit)
      last = fit
   end
   lu.assertTrue(last < 0.7)
end

-- However narrow a kind is, its peak is not missed between two points.
function TestOdds:test_fit_of_a_narrow_kind()
   local e = of(40, function() return 1000 end)
   local low, high = math.huge, 0
   for lost = 0.20, 0.30, 0.002 do
      local fit = odds.fit(e, math.log(1000 / (1 - lost)), 0.4, 20, 1.2) * expected.density(e, -math.log(1 - lost)
         + math.log(1000), 0)
      low, high = math.min(low, fit), math.max(high, fit)
   end
   lu.assertTrue(high / low < 2.2, high / low) -- 1.7 is from its being log-uniform
end

function TestOdds:test_rarity()
   lu.assertEquals(odds.rarity(1), 1)
   lu.assertEquals(odds.rarity(0.4), 1)
   lu.assertAlmostEquals(odds.rarity(0.05), 2.456, 0.001) -- Sellke, Bayarri and Berger, table 1
   lu.assertAlmostEquals(odds.rarity(0.01), 7.988, 0.001)
   lu.assertTrue(odds.rarity(0) < 1e12)
end

-- Of a job's nodes together other runs say 300 to one at most, and no order is lost.
function TestOdds:test_what_other_runs_say_is_scaled()
   local list = { { harm = 1e9, felt = 1e9, weight = 1e9 }, { harm = 1e6, weight = 2e6 }, { harm = 0.1, weight = 0.1 },
      { weight = 7 } }
   weights.temper(list)
   lu.assertAlmostEquals(list[1].harm, 300, 1e-6)
   lu.assertAlmostEquals(list[1].felt, 300, 1e-6)
   lu.assertAlmostEquals(list[1].weight, 300, 1e-6)
   lu.assertAlmostEquals(list[2].harm, 300 ^ (2 / 3), 1e-6)
   lu.assertAlmostEquals(list[2].weight, 2 * 300 ^ (2 / 3), 1e-6)
   lu.assertEquals({ list[3], list[4] }, { { harm = 0.1, weight = 0.1 }, { weight = 7 } })
   -- What says less stays as it is.
   list = { { harm = 290, weight = 9 }, { harm = 20, weight = 4 } }
   weights.temper(list)
   lu.assertEquals(list, { { harm = 290, weight = 9 }, { harm = 20, weight = 4 } })
end

function TestOdds:test_harm()
   lu.assertAlmostEquals(odds.harm({}), 1, 1e-12)
   local function alike(fit)
      return { fit, fit, fit, fit, fit }
   end
   local function of_n(fit, n)
      local list = {}
      for i = 1, n do
         list[i] = alike(fit)
      end
      return odds.harm(list)
   end
   -- Runs that were not slowed speak against, the more the more; slow ones for it; neither without bound.
   lu.assertTrue(of_n(0.1, 4) < 0.5 and of_n(0.1, 12) < of_n(0.1, 4))
   lu.assertTrue(of_n(10, 3) > 20)
   lu.assertTrue(of_n(1e9, 300) <= 300 and of_n(0, 300) >= 1e-4)
   -- Some feel it, some do not.
   lu.assertTrue(odds.harm({ alike(20), alike(20), alike(20), alike(0.2), alike(0.2), alike(0.2) }) > 10)
   -- What it costs is likelier alike in all of them, and in this one.
   local much, little = { 10, 1, 0.1, 0.1, 2.8 }, { 0.1, 0.1, 1, 10, 2.8 }
   lu.assertTrue(odds.harm({ much, much, much }) > 4 * odds.harm({ much, little, much }))
   lu.assertTrue(odds.harm({ much, much }, much) > 4 * odds.harm({ much, much }, little))
   -- It need not be.
   lu.assertTrue(odds.harm({ much, little, much }) > 4)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
