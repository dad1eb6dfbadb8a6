--- How much more likely what was seen is with an explanation than without. Pure;
-- docs/decisions.md (Why) has the reasons.
local expected = require("syscheck.questions.why.expected")

local odds = {}

local POINTS = 14
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
   local step, sum = (high / low) ^ (1 / POINTS), 0
   local lost = low * math.sqrt(step)
   for _ = 1, POINTS do
      sum = sum + expected.density(e, y, -math.log(1 - math.min(MOST_LOST, lost)))
      lost = lost * step
   end
   return sum / POINTS / math.max(1e-300, expected.density(e, y, 0))
end

--- What a p is worth at most as a Bayes factor against chance (Sellke, Bayarri and Berger 2001): 1 / (-e p ln p).
function odds.rarity(p)
   p = math.max(p, 1e-12)
   return p < math.exp(-1) and -1 / (math.exp(1) * p * math.log(p)) or 1
end

-- What share of the runs under a harmful condition feel it: from few to nearly all.
local FELT = { 0.1, 0.3, 0.5, 0.7, 0.9 }
local FELT_SUM = 2.5
local HARM_LEAST, HARM_MOST = 1e-4, 1e3

--- Whether a condition does harm, by other runs under it: a harmful one is felt by an unknown share of them, and
-- this run is then as likely to be one of those.
-- @param fits list of odds.fit of these runs
-- @return how much more likely their times are if it does; 1 for no runs
function odds.harm(fits)
   local sum = 0
   for _, felt in ipairs(FELT) do
      local product = felt
      for _, fit in ipairs(fits) do
         product = math.max(1e-9, math.min(1e9, product * (1 - felt + felt * fit)))
      end
      sum = sum + product
   end
   return math.max(HARM_LEAST, math.min(HARM_MOST, sum / FELT_SUM))
end

return odds
