--- How much more likely what was seen is with an explanation than without. Pure;
-- docs/decisions.md (Why) has the reasons.
local expected = require("syscheck.questions.why.expected")

local odds = {}

local CELLS, CELL = 10, 1.35 -- of a range of losses at most, and how wide one is at least
local MOST_LOST = 0.95

--- How much better a run's time fits a loss than chance. The loss, a share of its time, is anything from most / wide to
-- most * beyond, on a log scale: what a condition may cost at most is known, how much of it the job felt is not.
-- @param e from expected.of
-- @param y log of the run's time
-- @param most share of its time
-- @return density with such a loss / density without
function odds.fit(e, y, most, wide, beyond)
   local high = math.min(MOST_LOST, most * beyond)
   local low = math.min(most / wide, high)
   if high <= 0 then
      return 1
   end
   if e == expected.NONE then
      return 1
   end
   -- The mean of the density over each cell, as a kind that hardly varies has a peak narrower than one.
   local cells = math.max(1, math.min(CELLS, math.ceil(math.log(high / low) / math.log(CELL))))
   local step, sum, lost, from = (high / low) ^ (1 / cells), 0, low, -math.log(1 - low)
   local upper = expected.sides(e, y - from)
   for _ = 1, low < high and cells or 0 do
      lost = lost * step
      local to = -math.log(1 - math.min(MOST_LOST, lost))
      local lower = expected.sides(e, y - to)
      if to > from then
         sum = sum + expected.between(e, lower, upper) / (to - from)
      end
      upper, from = lower, to
   end
   sum = low < high and sum / cells or expected.density(e, y, from)
   return sum / math.max(1e-300, expected.density(e, y, 0))
end

--- Into how many levels what a condition costs is divided; the next after them: each run lost what its kind does.
odds.LEVELS = 4

--- A run that is slow for a reason of its own: how often, and what it may lose.
odds.OWN, odds.OWN_MOST, odds.OWN_WIDE = 0.03, 0.9, 30

--- How much better a run's time fits a reason of its own.
function odds.own_fit(e, y)
   return odds.fit(e, y, odds.OWN_MOST, odds.OWN_WIDE, 1)
end

-- How often another node of a run slows it, and what all of them together count for at most.
local ITS_NODES, MOST_OWN = 0.001, 0.5

--- How often a run of so many nodes is slow for reasons that are not one certain node's.
-- @param e of expected.of, of its kind: where most of that were in trouble, each may have been slow for another node
function odds.own_of(nodes, e)
   local troubled = e.troubled and e.troubled / (e.troubled + e.count) or 0
   return math.max(troubled, math.min(MOST_OWN, odds.OWN + ITS_NODES * (math.max(1, nodes or 1) - 1)))
end

--- The same of one of several runs: it may be slow for a reason of its own, so that none speaks for more than 1 / own.
-- @param own of odds.own_of
function odds.fit_of_many(e, y, most, wide, beyond, own)
   return odds.fit(e, y, most, wide, beyond) / (1 - own + own * odds.own_fit(e, y))
end

local OWN_LEAST, OWN_TURNS = 0.003, 30

--- What share of runs are slow for reasons of their own, and as much as others of one level (expectation maximisation
-- of a mixture's share, of all levels).
-- @param fits list of odds.own_fit
function odds.own_of_level(fits)
   local own = odds.OWN
   for _ = 1, #fits > 0 and OWN_TURNS or 0 do
      local sum = 0
      for _, fit in ipairs(fits) do
         sum = sum + own * fit / (1 - own + own * fit)
      end
      own = math.max(OWN_LEAST, sum / #fits)
   end
   return own / odds.LEVELS
end

--- The same as odds.fit_of_many, by how much of it was felt: what a condition costs is alike in the runs of a node, and
-- not known before.
-- @param own of odds.own_of_level or odds.own_of; nil: odds.OWN
-- @return list of odds.LEVELS fits, of the most that it may have cost first, and their mean
function odds.levels(e, y, most, wide, beyond, own)
   local each, out, best = (wide * beyond) ^ (1 / odds.LEVELS), {}, odds.own_fit(e, y)
   own = own or odds.OWN
   for i = 1, odds.LEVELS do
      out[i] = odds.fit(e, y, most * beyond / each ^ (i - 1), each, 1)
      best = math.max(best, out[i])
   end
   local sum = 0
   for i = 1, odds.LEVELS do
      out[i] = out[i] / (1 - own + own * best)
      sum = sum + out[i]
   end
   out[odds.LEVELS + 1] = sum / odds.LEVELS
   return out
end

-- Of what was named with a probability of 0.5 to 0.9 by the model more was right than that, on independent histories
-- (docs/performance.md, Answers): its prior odds for what was not recorded are wide on purpose.
local SURE_AT, SURE_BY = 2.0, 0.65

--- How often an explanation that the model gives such a probability is right.
function odds.sure(p)
   p = math.max(1e-12, math.min(1 - 1e-12, p))
   return 1 / (1 + math.exp(-SURE_AT - SURE_BY * math.log(p / (1 - p))))
end

--- What a p is worth at most as a Bayes factor against chance (Sellke, Bayarri and Berger 2001): 1 / (-e p ln p).
function odds.rarity(p)
   p = math.max(p, 1e-12)
   return p < math.exp(-1) and -1 / (math.exp(1) * p * math.log(p)) or 1
end

-- What share of the runs under a harmful condition feel it: from few to nearly all.
local FELT = { 0.1, 0.3, 0.5, 0.7, 0.9 }
local FELT_SUM = 2.5
local HARM_LEAST = 1e-4
--- What other runs say at most, as they are not independent.
odds.RUNS_SAY = 300

--- Whether a condition does harm, by other runs under it: a harmful one costs them all a like part of what it may, or
-- each what its kind of job feels of it (memory's bandwidth does not slow all alike), and is felt by an unknown share
-- of them; this run is then as likely to be one of those.
-- @param list of odds.levels of these runs
-- @param own odds.levels of this run, or nil
-- @param says most of what is returned, default odds.RUNS_SAY
-- @return how much more likely their times are if it does; 1 for no runs; how likely it is to do harm that this run did
--   not feel, to one that it did, were its time as likely with it as by chance
function odds.harm(list, own, says)
   local sum, all, unfelt = 0, 0, 0
   for level = 1, odds.LEVELS + 1 do
      local fit = own and own[level] or 1
      all = all + fit
      for _, felt in ipairs(FELT) do
         local product = felt
         for _, fits in ipairs(list) do
            product = math.max(1e-9, math.min(1e9, product * (1 - felt + felt * fits[level])))
         end
         sum, unfelt = sum + product * fit, unfelt + product * (1 / felt - 1)
      end
   end
   return math.max(HARM_LEAST, math.min(says or odds.RUNS_SAY, sum / FELT_SUM / math.max(1e-300, all))),
      unfelt * all / (odds.LEVELS + 1) / math.max(1e-300, sum)
end

return odds
