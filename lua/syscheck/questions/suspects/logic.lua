--- Nodes whose jobs were slow for a time. Pure; docs/decisions.md (Why) has the reasons.
local odds = require("syscheck.questions.why.odds")

local suspects = {}

suspects.ALPHA = 0.05
suspects.MIN_SLOW = 3 -- runs of a spell that speak for it
suspects.SLOW = 1.1 -- of what was expected: what the text calls slow
-- What a bad node costs a run that feels it, and how many do.
local MOST, WIDE, FELT = 0.6, 12, 0.6
local SPEAKS = 0.5 -- score from which a run speaks for a bad node
local LEAST = -1.5 -- and what it says against one at most: one run may not be felt for its own reasons
local MOST_FOUND = 20

--- How much more likely a run's time is on a bad node, as a logarithm.
-- @param e of expected.of
-- @param y log of its time
function suspects.score(e, y)
   return math.max(LEAST, math.log(1 - FELT + FELT * odds.fit_of_many(e, y, MOST, WIDE, 1)))
end

-- The part of a node's runs, in order of time, with the largest sum of scores (Kadane).
-- @param worth function(run) -> score
local function spell(runs, worth)
   local best, sum, from = nil, 0, 1
   for i, run in ipairs(runs) do
      if sum <= 0 then
         sum, from = 0, i
      end
      sum = sum + worth(run)
      if not best or sum > best.score then
         best = { score = sum, from = from, to = i }
      end
   end
   return best
end

--- Nodes with a spell of slow runs that chance does not explain. Scores are log likelihood ratios, so that of all N
-- places where one may begin the best reaches s by chance with probability N exp(-s) at most (Karlin and Altschul
-- 1990, lambda = 1). The worst node's slow runs are explained by it, and all is sought again, or its companions
-- would be suspects.
-- @param of by node: list of { score, begin_s, ratio, ... } in order of time, the same table for all nodes of a run
-- @return list of { node, runs (in the spell), slow = list of those that speak for it, from_s, to_s, score, p, cost
--   (median ratio of the spell's runs) }
function suspects.find(of)
   local explained, found, taken, places = {}, {}, {}, 0
   for _, runs in pairs(of) do
      places = places + #runs
   end
   local function worth(run)
      return explained[run] and math.min(0, run.score) or run.score
   end
   local spells = {}
   for node, runs in pairs(of) do
      spells[node] = spell(runs, worth)
   end
   while #found < MOST_FOUND do
      local worst
      for node, one in pairs(spells) do
         local worse = not worst or one.score > worst.score or one.score == worst.score and node < worst.node
         if worse and not taken[node] then
            worst = { node = node, score = one.score, from = one.from, to = one.to }
         end
      end
      local p = worst and math.min(1, places * math.exp(-worst.score))
      if not worst or p > suspects.ALPHA then
         break
      end
      -- Others' explanations may have taken of it since.
      local again = spell(of[worst.node], worth)
      if again.score < worst.score then
         spells[worst.node] = again
      else
         taken[worst.node] = true
         local list, slow, ratios = of[worst.node], {}, {}
         for i = worst.from, worst.to do
            local run = list[i]
            ratios[#ratios + 1] = run.ratio
            if run.score > SPEAKS and not explained[run] then
               slow[#slow + 1] = run
               explained[run] = true
            end
         end
         if #slow >= suspects.MIN_SLOW then
            table.sort(ratios)
            found[#found + 1] = { node = worst.node, runs = #ratios, slow = slow, score = worst.score, p = p,
               from_s = list[worst.from].begin_s, to_s = list[worst.to].begin_s, cost = ratios[(#ratios + 1) // 2] }
         end
      end
   end
   return found
end

return suspects
