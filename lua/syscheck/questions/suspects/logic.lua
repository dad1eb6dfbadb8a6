--- Nodes over-represented in slow jobs. Pure; docs/decisions.md (Why) has the reasons.
local statistics = require("syscheck.lib.statistics")
local stats = require("syscheck.questions.why.stats")

local suspects = {}

suspects.MIN_RUNS = 5 -- runs alike, to know which of them were slow
suspects.SLOW = 1.10 -- of their median
suspects.ALPHA = 0.05
suspects.MIN_SLOW = 3 -- slow runs of a node
local SIGMAS, LEAST_SD = 3, 0.01 -- and beyond what runs alike differ by
local MOST = 20

--- Which of a list of runs that are alike (user, name, node count) were slow.
-- @param runs list of { elapsed_s }
-- @return list of those that were, each with `ratio` set; share of them; empty where there are
--   too few runs
function suspects.slow(runs)
   local logs, slow = {}, {}
   if #runs < suspects.MIN_RUNS then
      return slow, 0
   end
   for i, run in ipairs(runs) do
      logs[i] = math.log(run.elapsed_s)
   end
   local median, sd = statistics.robust(logs)
   local limit = math.max(math.log(suspects.SLOW), SIGMAS * math.max(sd, LEAST_SD))
   for i, run in ipairs(runs) do
      if logs[i] - median > limit then
         run.ratio = math.exp(logs[i] - median)
         slow[#slow + 1] = run
      end
   end
   return slow, #slow / #runs
end

-- Slow runs of each node that no suspect explains yet.
local function count(slow, explained)
   local of = {}
   for _, run in ipairs(slow) do
      if not explained[run] then
         for _, node in ipairs(run.nodes) do
            of[node] = of[node] or {}
            table.insert(of[node], run)
         end
      end
   end
   return of
end

--- A node takes part in runs that would be slow at some rate without it: the share of slow ones
-- among runs alike. Its slow runs are then a sum of such chances, whose tail the Poisson
-- distribution of the same mean bounds (Hoeffding 1956). The worst node is taken out together with
-- its slow runs, which explains those to its companions, and all is counted again.
-- @param slow list of { nodes = list }
-- @param exposure by node: { runs = how many it took part in, expected = slow ones among them }
-- @return list of { node, runs, slow = list of its slow runs, expected, times, p, p_corrected }
function suspects.find(slow, exposure)
   local found, explained, taken, nodes = {}, {}, {}, 0
   for _ in pairs(exposure) do
      nodes = nodes + 1
   end
   while #found < MOST do
      local worst
      for node, runs in pairs(count(slow, explained)) do
         local e = exposure[node]
         if e and not taken[node] and #runs >= suspects.MIN_SLOW then
            local p = stats.poisson(#runs, e.expected)
            if not worst or p < worst.p or (p == worst.p and node < worst.node) then
               worst = { node = node, runs = e.runs, slow = runs, expected = e.expected, p = p }
            end
         end
      end
      -- Holm: the first against all nodes, the next against those that are left.
      local corrected = worst and math.min(1, worst.p * (nodes - #found))
      if not worst or corrected > suspects.ALPHA then
         break
      end
      worst.p_corrected = math.max(corrected, found[1] and found[#found].p_corrected or 0)
      worst.times = worst.expected > 0 and #worst.slow / worst.expected or nil
      found[#found + 1], taken[worst.node] = worst, true
      for _, run in ipairs(worst.slow) do
         explained[run] = true
      end
   end
   return found
end

return suspects
