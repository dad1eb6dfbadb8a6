--- Whether jobs felt that a node is out: the times of its runs around the measurement, weighed as `why` does.
local causes = require("syscheck.questions.why.causes")
local odds = require("syscheck.questions.why.odds")
local rows = require("syscheck.questions.why.rows")
local statistics = require("syscheck.lib.statistics")
local times = require("syscheck.questions.why.times")
local why = require("syscheck.questions.why.logic")
local why_read = require("syscheck.questions.why.read")

local felt = {}

local MOST = 100 -- nodes, over all metrics
local DAYS = 3 -- a measurement is taken to hold so long before and after
local SURE = 3 -- how much more likely the runs' times are with harm than without, or the other way round

local BY_NAME = {}
for _, item in ipairs(causes.MEASURED) do
   BY_NAME[item.name] = item
end

-- What a value so far off its class can have cost a job at most, as a share of its time.
local function cost(item, value, median, cores)
   local row = { cores = cores }
   local x, usual = causes.scaled(item, value, row), causes.scaled(item, median, row)
   return x and usual and x > usual and item.scale.lost(usual, x - usual) or nil
end

--- Says it of a node.
-- @param list of why's read.history
-- @param most share of its time that a run may have lost
-- @return { runs, ratio (median of their times, of what was expected), felt = true, false, or nil: cannot be told };
--   nil without runs that have like runs
function felt.of(list, item, most)
   local fits, ratios = {}, {}
   for _, one in ipairs(list) do
      if math.abs(one.days) <= DAYS then
         fits[#fits + 1] = odds.levels(one.e, one.y, most, item.range.wide, item.range.beyond)
         ratios[#ratios + 1] = math.exp(one.y) / one.e.median_s
      end
   end
   if #fits == 0 then
      return nil
   end
   local harm, ratio, word = odds.harm(fits), statistics.median(ratios), nil
   if harm <= 1 / SURE then
      word = false
   elseif harm >= SURE and ratio >= why.SLOW then
      word = true -- half of them, too: a few may be slow for reasons of their own
   end
   return { runs = #fits, ratio = ratio, felt = word }
end

--- Fills in `jobs` of the nodes that are out, worse than their class.
-- @param answer of fleet.compare
function felt.add(store, answer)
   local reader, known, left = rows.new(store), times.new(store), MOST
   for _, class in ipairs(answer) do
      for _, m in ipairs(class.metrics) do
         local item = BY_NAME[m.field.name]
         for _, one in ipairs(item and m.out or {}) do
            local most = one.worse and left > 0 and cost(item, one.value, m.median, causes.cores(class.class))
            if most then
               left = left - 1
               one.jobs = felt.of(why_read.history(reader, known, one.key, { begin_s = one.time }), item, most)
            end
         end
      end
   end
end

return felt
