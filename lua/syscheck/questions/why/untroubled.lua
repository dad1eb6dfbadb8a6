--- Which of a job's like runs lost nothing to trouble of their nodes: where nearly each was slowed by this or that, as
-- jobs of many nodes are, these are what such a job should take. Pure; docs/decisions.md (Why) has the reasons.
local causes = require("syscheck.questions.why.causes")
local expected = require("syscheck.questions.why.expected")
local statistics = require("syscheck.lib.statistics")
local stats = require("syscheck.questions.why.stats")
local work = require("syscheck.questions.why.work")

local untroubled = {}

local RUNS, LEAST_RUNS = 10, 3 -- like runs at least; of these untroubled ones, and troubled ones
local LEAST = 0.05 -- of a node's time that it may have lost: as much is called slow
local SDS = 4 -- spreads of the like runs' nodes from which a node is in trouble
local Z = 2.33 -- that the others are faster, in standard deviations: one-sided p 0.01

-- What says what it costs at most, and is not mostly the job's own doing.
local function is_trouble(item)
   return item.over == "unit" or item.kind == "rate" or item.kind == "latency"
end

-- Each row's value; median and least value of trouble by class: an older one has a lower clock, and throttles where a
-- newer one does not.
local function values_of(item, like)
   local x_of, by, usual = {}, {}, {}
   for _, run in ipairs(like) do
      for _, row in ipairs(run.rows) do
         local x, class = causes.of_row(item, row), row.class or 0
         x_of[row], by[class] = x, by[class] or {}
         table.insert(by[class], x)
      end
   end
   for class, values in pairs(by) do
      local median, sd = statistics.robust(values)
      usual[class] = median and { median = median, from = median + SDS * sd }
   end
   return x_of, usual
end

-- Marks runs of which a few nodes had too much of one thing: what most nodes of a run have is the job's doing.
-- @param troubled, unknown sets of keys, filled; the latter of runs that do not have what is trouble to others
local function mark(item, like, troubled, unknown)
   local x_of, usual = values_of(item, like)
   local any, uncounted = false, {}
   for _, run in ipairs(like) do
      local count, bad = 0, 0
      for _, row in ipairs(run.rows) do
         local x, of = x_of[row], usual[row.class or 0]
         count = count + (x and 1 or 0)
         bad = bad + (x and x >= of.from and causes.share(item, row, of.median) >= LEAST and 1 or 0)
      end
      if bad > 0 and 2 * bad < count then
         troubled[run.key], any = true, true
      end
      uncounted[run.key] = count == 0 or nil
   end
   for key in pairs(any and uncounted or {}) do
      unknown[key] = true
   end
end

-- Whether most of the troubled runs did more work than the others, and may be slower for that: nodes that are set
-- otherwise may get the large inputs.
local function did_more(slow, fast)
   local like = {}
   for i, run in ipairs(fast) do
      like[i] = run.rows
   end
   return work.most_did_more(slow, like, function(run)
      return expected.of(fast, run.begin_s)
   end)
end

local function times_of(runs)
   local out = {}
   for i, run in ipairs(runs) do
      out[i] = run.elapsed_s
   end
   return out
end

--- @param like list of { key, begin_s, elapsed_s, rows }
-- @return function(like run) -> whether it was in trouble, nil: not known; nil: there are too few of either, or the
--   others are not faster
function untroubled.of(like)
   local troubled, unknown, known, fast, slow = {}, {}, {}, {}, {}
   for _, item in ipairs(#like >= RUNS and causes.JOB or {}) do
      if is_trouble(item) then
         mark(item, like, troubled, unknown)
      end
   end
   for _, run in ipairs(like) do
      if run.elapsed_s and (troubled[run.key] or not unknown[run.key]) then
         known[run.key] = true
         table.insert(troubled[run.key] and slow or fast, run)
      end
   end
   if math.min(#fast, #slow) < LEAST_RUNS or #fast + #slow < RUNS
      or stats.smaller(times_of(fast), times_of(slow)) < Z or did_more(slow, fast) then
      return nil
   end
   return function(run)
      return known[run.key] and (troubled[run.key] or false)
   end
end

return untroubled
