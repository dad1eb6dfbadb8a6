--- Which of a job's like runs lost nothing to trouble of their nodes: where nearly each was slowed by this or that, as
-- jobs of many nodes are, these are what such a job should take. Pure; docs/decisions.md (Why) has the reasons.
local causes = require("syscheck.questions.why.causes")
local expected = require("syscheck.questions.why.expected")
local statistics = require("syscheck.lib.statistics")
local stats = require("syscheck.questions.why.stats")
local work = require("syscheck.questions.why.work")

local untroubled = {}

local RUNS = 10 -- like runs at least, and untroubled and troubled ones
local LEAST_RUNS = 3
local LEAST = 0.05 -- of a node's time that it may have lost: as much is called slow
local SDS = 4 -- spreads of the like runs' nodes from which a node is in trouble
local Z = 2.33 -- that the others are faster, in standard deviations: one-sided p 0.01

-- What a job does not bring about itself, and says what it costs at most.
local function is_trouble(item)
   return item.over == "unit" or item.kind == "rate" or item.kind == "latency"
end

-- Marks the runs of which a node had too much of one thing.
local function mark(like, item, troubled)
   local by, rows = {}, {}
   for _, run in ipairs(like) do
      for _, row in ipairs(run.rows) do
         local x = causes.of_row(item, row)
         if x then
            -- What nodes are set to is their class's.
            local class = item.kind == "rate" and row.class or 0
            by[class] = by[class] or {}
            table.insert(by[class], x)
            rows[#rows + 1] = { key = run.key, row = row, x = x, class = class }
         end
      end
   end
   local usual = {}
   for class, values in pairs(by) do
      local median, sd = statistics.robust(values)
      usual[class] = { median = median, from = median + SDS * sd }
   end
   for _, one in ipairs(rows) do
      local of = usual[one.class]
      if one.x >= of.from and causes.share(item, one.row, of.median) >= LEAST then
         troubled[one.key] = true
      end
   end
end

-- Whether most of the troubled runs did more work than the others, and may be slower for that: nodes that are set
-- otherwise may get the large inputs.
local function did_more(slow, fast)
   local like, count = {}, 0
   for i, run in ipairs(fast) do
      like[i] = run.rows
   end
   for _, run in ipairs(slow) do
      local more = work.did_more({ rows = run.rows, like = like, begin_s = run.begin_s,
         e = expected.of(fast, run.begin_s), y = math.log(run.elapsed_s) })
      count = count + (more and 1 or 0)
   end
   return 2 * count > #slow
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
   local troubled, known, fast, slow = {}, {}, {}, {}
   for _, item in ipairs(#like >= RUNS and causes.JOB or {}) do
      if is_trouble(item) then
         mark(like, item, troubled)
      end
   end
   for _, run in ipairs(like) do
      if run.elapsed_s then
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
