#!/usr/bin/env lua5.4
--- Before there is a baseline, and with one of few nodes: how often healthy nodes are told, and slow ones found. The
-- rules are the real ones; nothing is asserted. `first_days.lua [TIMES]` (default 2000), a minute or two.
package.path = "lua/?.lua;" .. package.path
local alike = require("syscheck.questions.job.alike")
local output = require("syscheck.lib.output")
local spread = require("syscheck.verdict.spread")
local statistics = require("syscheck.lib.statistics")

local TIMES = tonumber(arg[1] or 2000)
math.randomseed(20261126)

local function normal()
   return math.sqrt(-2 * math.log(1 - math.random())) * math.cos(2 * math.pi * math.random())
end

-- Student's t with 5 degrees of freedom, as a deviation of 1.
local function heavy()
   local sum = 0
   for _ = 1, 5 do
      sum = sum + normal() ^ 2
   end
   return normal() / math.sqrt(sum / 5) * math.sqrt(3 / 5)
end

-- Values in % of the class, by their standard deviation.
local KINDS = {
   { "normal", function(sd) return sd * normal() end },
   { "heavy tails", function(sd) return sd * heavy() end },
   { "two modes", function(sd) return (math.random() < 0.7 and 0 or -8) + sd * normal() end },
}
local NODES = { 3, 4, 8, 16, 64, 512 }

local function job(n, of, sd)
   local values = {}
   for i = 1, n do
      values[i] = 100 + of(sd)
   end
   return values
end

-- More than a quarter are told as a group, which is counted as wrong as well.
local function warned(values)
   return #alike.out("triad_gbs", values) > 0
end

local function found(values, slow)
   local before = values[1]
   values[1] = before * (1 - slow / 100)
   local is = false
   for _, one in ipairs(alike.out("triad_gbs", values)) do
      is = is or one.index == 1
   end
   values[1] = before
   return is
end

local function peers()
   local rows = { { "CLASS", "NOISE_%", "NODES", "WRONG_%_OF_JOBS", "FOUND_10_%", "FOUND_15_%", "FOUND_30_%" } }
   for _, kind in ipairs(KINDS) do
      for _, sd in ipairs({ 1, 3, 5 }) do
         for _, n in ipairs(NODES) do
            local times, wrong, hits = n > 100 and TIMES // 4 or TIMES, 0, { 0, 0, 0 }
            for _ = 1, times do
               local values = job(n, kind[2], sd)
               wrong = wrong + (warned(values) and 1 or 0)
               for k, slow in ipairs({ 10, 15, 30 }) do
                  hits[k] = hits[k] + (found(values, slow) and 1 or 0)
               end
            end
            rows[#rows + 1] = { kind[1], tostring(sd), tostring(n), ("%.2f"):format(100 * wrong / times),
               ("%.0f"):format(100 * hits[1] / times), ("%.0f"):format(100 * hits[2] / times),
               ("%.0f"):format(100 * hits[3] / times) }
         end
      end
   end
   print(output.table(rows) .. "\n")
end

-- A class that is learned from 20 checks of so many nodes, and then checks of its nodes and of one more.
local function few(nodes, between, within)
   local sums = { tolerance = 0, wrong = 0, found15 = 0, found20 = 0, found30 = 0 }
   for _ = 1, TIMES do
      local lists, medians, share = {}, {}, 0
      for i = 1, nodes do
         local node = between * normal()
         lists[i] = {}
         for k = 1, 20 // nodes do
            lists[i][k] = 100 + node + within * normal()
         end
         medians[i] = statistics.median(lists[i])
         share = share + spread.of_median(#lists[i]) / nodes
      end
      local median, noise, square = statistics.median(medians), spread.of_measurements(lists), 0
      for _, value in ipairs(medians) do
         square = square + (100 * (value / median - 1)) ^ 2 / math.max(1, nodes - 1)
      end
      local tolerance = spread.tolerance_of_few(nodes > 1 and math.sqrt(math.max(0, square - noise ^ 2 * share)) or 0,
         noise, nodes, 20 // nodes * nodes)
      local room = 100 - median * (1 - math.max(10, tolerance) / 100)
      sums.tolerance = sums.tolerance + math.max(10, tolerance)
      if tolerance <= 30 then
         sums.wrong = sums.wrong + spread.both_below(room, between, within)
         for _, slow in ipairs({ 15, 20, 30 }) do
            sums["found" .. slow] = sums["found" .. slow] + spread.both_below(room, between, within, -slow)
         end
      end
   end
   for name, sum in pairs(sums) do
      sums[name] = sum / TIMES
   end
   return sums
end

local function few_nodes()
   local rows = { { "NODES", "BETWEEN_%", "NOISE_%", "TOLERANCE_%", "FALSE_DRAINS", "FOUND_15_%", "FOUND_20_%",
      "FOUND_30_%" } }
   for nodes = 1, 4 do
      for _, between in ipairs({ 1.05, 1.76 }) do
         for _, within in ipairs({ 1, 2, 3 }) do
            local s = few(nodes, between, within)
            rows[#rows + 1] = { tostring(nodes), tostring(between), tostring(within), ("%.1f"):format(s.tolerance),
               ("%.1e"):format(s.wrong), ("%.0f"):format(100 * s.found15), ("%.0f"):format(100 * s.found20),
               ("%.0f"):format(100 * s.found30) }
         end
      end
   end
   print(output.table(rows))
end

print("Nodes of a job against each other, by the standard deviation of healthy nodes' measurements; a warning of any\n"
   .. "of them is wrong. Two modes: 30 % of the nodes are 8 % below.\n")
peers()
print("A baseline of 1 to 4 nodes, learned from 20 checks; per check of a healthy node that comes later, one metric.\n")
few_nodes()
