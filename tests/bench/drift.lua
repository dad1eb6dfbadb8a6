-- How often `fleet --over` calls a healthy fleet changed, and finds a change: simulated series, 1 % of noise of each
-- node's day. Run: lua5.4 tests/bench/drift.lua (20 s)
package.path = "lua/?.lua;" .. package.path
local drift = require("syscheck.questions.fleet.drift")

local SERIES = 500

local function normal()
   return math.sqrt(-2 * math.log(1 - math.random())) * math.cos(2 * math.pi * math.random())
end

-- Student's t of 4 degrees of freedom.
local function heavy()
   local sum = 0
   for _ = 1, 4 do
      sum = sum + normal() ^ 2
   end
   return normal() / math.sqrt(sum / 4)
end

-- daily: what all nodes differ by from day to day, correlated by `like` with the day before
local function series(o)
   local values, common, now, noise = {}, {}, 0, o.heavy and heavy or normal
   for day = 1, o.days do
      now = o.like * now + o.daily * noise()
      common[day] = now
   end
   for node = 1, o.nodes do
      local own, of = 100 * (1 + 0.02 * normal()), {}
      for day = 1, o.days do
         of[day] = own * math.exp(common[day] + 0.01 * noise() - (o.at and day >= o.at and o.step or 0))
      end
      values["n" .. node] = of
   end
   return { values = values }
end

math.randomseed(1)
print("healthy: series called changed, of " .. SERIES .. "; nodes called changed beside their class")
for _, o in ipairs({ { days = 10, nodes = 5, daily = 0.002, like = 0 },
   { days = 30, nodes = 20, daily = 0.002, like = 0 },
   { days = 30, nodes = 20, daily = 0.003, like = 0, heavy = true },
   { days = 60, nodes = 8, daily = 0.004, like = 0, heavy = true },
   { days = 30, nodes = 40, daily = 0.003, like = 0.5 }, { days = 30, nodes = 40, daily = 0.006, like = 0.7 } }) do
   local classes, few = 0, 0
   for _ = 1, SERIES do
      for _, change in ipairs(drift.of(series(o)).changes) do
         classes, few = classes + (change.few and 0 or 1), few + (change.few and 1 or 0)
      end
   end
   print(("%2d days, %2d nodes, %.1f %% a day%s, like the day before %.1f: %3d; %d"):format(o.days, o.nodes,
      100 * o.daily, o.heavy and " (heavy tails)" or "", o.like, classes, few))
end
print("a step, 20 nodes, 0.2 % a day: found, on the right day, of 100")
for _, step in ipairs({ 0.01, 0.02, 0.03, 0.05 }) do
   for _, at in ipairs({ 16, 28 }) do
      local found, right = 0, 0
      for _ = 1, 100 do
         local change = drift.of(series({ days = 30, nodes = 20, daily = 0.002, like = 0, step = step, at = at }))
            .changes[1]
         found = found + (change and not change.few and 1 or 0)
         right = right + (change and change.day == at and 1 or 0)
      end
      print(("%.0f %%, %2d of 30 days after it: %3d, %3d"):format(100 * step, 31 - at, found, right))
   end
end
