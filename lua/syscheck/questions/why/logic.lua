--- Why was a job slow: against like runs, and which node condition goes with it. Pure;
-- docs/decisions.md (Why) has the statistics and the reasons.
--
-- A row is what one node went through in one run: { node, class, elapsed_s, <name of
-- fields.JOB> = value ..., checks = list of { when = "before" or "after", <name of fields.CHECK> =
-- value ... }, the nearest ones }; absent is not known.
local causes = require("syscheck.questions.why.causes")
local checks = require("syscheck.questions.why.checks")
local conditions = require("syscheck.questions.why.conditions")
local statistics = require("syscheck.lib.statistics")
local store_runs = require("syscheck.store.runs")
local stats = require("syscheck.questions.why.stats")

local why = {}

--- What is believed, and named.
why.MIN_LIKE = 3 -- like runs, to say anything about the time; how surely is in its p
why.SLOW = 1.05 -- of the median: less is not called slow, whatever its p
why.ALPHA = 0.05 -- corrected p up to which a condition is called out of line
why.NAMED = 0.20 -- up to which it is still named, as perhaps
why.PERHAPS = 0.25 -- p of the time up to which a job is called perhaps slow
why.ACCOUNTS = 0.5 -- a cause must be able to account for this share of the lost time
why.NORMAL = 1.1 -- like runs up to here, of the median, are the measure for conditions

local ELAPSED_SD = 0.01 -- like runs that agree better than 1 % do so by luck
local KEEP = 10 -- conditions in an answer
local ASSUMED_LOSS = 0.13 -- without like runs to compare with: the share that 1.15x has lost

--- A run's time, see runs.elapsed.
-- @param rows list of { elapsed_s }
-- @return seconds; nil where no node knows it
function why.elapsed(rows)
   local values = {}
   for _, row in ipairs(rows) do
      values[#values + 1] = row.elapsed_s
   end
   return store_runs.elapsed(values)
end

--- Is it slow? Ratios, so on logarithms.
-- @param elapsed seconds, or nil
-- @param like list of seconds of like runs
-- @return { count, median_s, low, high, ratio, p, p_rank, verdict, lost_s };
--   verdict "slow", "perhaps", "no", "unknown"
function why.slow(elapsed, like)
   local out = { count = #like, wanted = why.MIN_LIKE, verdict = "unknown" }
   if #like == 0 then
      return out
   end
   local logs, low, high = {}, math.huge, 0
   for i, t in ipairs(like) do
      logs[i] = math.log(t)
      low, high = math.min(low, t), math.max(high, t)
   end
   out.median_s = math.exp((statistics.robust(logs)))
   if not elapsed then
      return out -- no begin snapshot on any node
   end
   out.low, out.high, out.ratio = low / out.median_s, high / out.median_s, elapsed / out.median_s
   if #like < why.MIN_LIKE then
      return out
   end
   -- Times are whole seconds.
   out.p = stats.new_value(math.log(elapsed), logs, math.max(ELAPSED_SD, 0.5 / elapsed))
   out.p_rank = stats.rank(elapsed, like)
   out.lost_s = math.max(0, elapsed - out.median_s)
   out.verdict = (out.ratio < why.SLOW or out.p > why.PERHAPS) and "no" or out.p <= why.ALPHA and "slow" or "perhaps"
   return out
end

local function flat(runs)
   local out = {}
   for _, rows in ipairs(runs) do
      table.move(rows, 1, #rows, #out + 1, out)
   end
   return out
end

local function by_p(list)
   table.sort(list, function(a, b)
      if a.p ~= b.p then
         return a.p < b.p
      elseif a.cost_s ~= b.cost_s then
         return a.cost_s > b.cost_s
      end
      return (a.node or "") < (b.node or "")
   end)
end

-- One condition for each node and group of metrics that the same trouble shows in, corrected for
-- the groups that were looked at.
-- @param found list of evidence
-- @param metrics how many were looked at, by group
local function conditions_of(found, metrics)
   local list, by, groups = {}, {}, 0
   for _, e in ipairs(found) do
      local key = e.item.group .. " " .. tostring(e.node)
      local c = by[key]
      if not c then
         c = { where = e.where, node = e.node, group = e.item.group, evidence = {}, ps = {} }
         by[key], list[#list + 1] = c, c
      end
      e.name, e.label, e.unit, e.cost_s = e.item.name, e.item.label, e.item.unit, math.max(0, e.cost_s)
      table.insert(c.evidence, e)
      table.insert(c.ps, e.p)
   end
   for _ in pairs(metrics) do
      groups = groups + 1
   end
   for _, c in ipairs(list) do
      by_p(c.evidence)
      c.p, c.cost_s = stats.together(c.ps, metrics[c.group]), c.evidence[1].cost_s
      c.ps = nil
      for _, e in ipairs(c.evidence) do
         c.cost_s = math.max(c.cost_s, e.p <= why.ALPHA and e.cost_s or 0)
      end
   end
   by_p(list)
   stats.holm(list, groups)
   return list
end

-- What the job did more of than like runs.
local function work(state)
   local out = {}
   for _, field in ipairs(causes.WORK) do
      local function total(rows)
         local sum, n = 0, 0
         for _, row in ipairs(rows) do
            if type(row[field.name]) == "number" then
               sum, n = sum + row[field.name], n + 1
            end
         end
         return n > 0 and sum / n or nil
      end
      local now, before = total(state.rows), {}
      for _, rows in ipairs(state.like) do
         before[#before + 1] = total(rows)
      end
      if now and #before >= why.MIN_LIKE then
         local usual = statistics.median(before)
         if usual > 0 then
            out[#out + 1] = { name = field.name, label = field.label, ratio = now / usual,
               p_rank = stats.rank(now, before) }
         end
      end
   end
   return out
end

-- Medians that a reader compares an evidence's value with.
local function fill_in(e, state, like_rows, other_rows)
   if e.item.source == "job" then
      e.peers = e.where == "node" and conditions.typical(e.item, state.rows, e.elapsed_s, e.node) or nil
      e.like = conditions.typical(e.item, like_rows, e.elapsed_s)
      e.class = conditions.typical(e.item, other_rows, e.elapsed_s, e.node)
      e.events = e.row and e.name:find("^throttle_.*_ms$") and e.row.throttle_events or nil
      e.row = nil
      if e.item.each_s then
         -- On its scale a multiple of next to nothing is small; people want the plain one.
         local usual = e.peers or e.like or e.class
         e.times = usual and usual > 0 and e.value / usual or nil
      end
   end
end

local function state_of(input)
   local state = { rows = input.rows, like = {}, others = {}, checks = input.checks or {}, nodes = {}, jobs = {},
      metrics = {}, job_metrics = {}, looked = 0, elapsed = why.elapsed(input.rows) }
   local times, kept = {}, {}
   for _, run in ipairs(input.like or {}) do
      local t = why.elapsed(run.rows)
      if t then
         times[#times + 1], kept[#kept + 1] = t, run.rows
      end
   end
   local slow = why.slow(state.elapsed, times)
   -- Conditions under which the job ran as fast as ever are the measure.
   for i, rows in ipairs(kept) do
      if times[i] <= why.NORMAL * slow.median_s then
         state.like[#state.like + 1] = rows
      end
   end
   slow.normal = #state.like
   for _, run in ipairs(input.others or {}) do
      state.others[#state.others + 1] = run.rows
   end
   return state, slow
end

--- @param input { rows; like = list of { rows }, newest first; others = list of { rows }: runs of
--   anybody on nodes of the same class; checks = { [class] = { [name] = list of { node, value } } };
--   keep = how many conditions at most }
-- @return { elapsed_s; slow = see why.slow; conditions = list, the likeliest first, of { where = "node",
--   "only" (it has no peers) or "all"; node, group, p, p_corrected, cost_s (what it may have cost at most),
--   accounts (as a share of the lost time), out_of_line, blamed, evidence = list of { name, label,
--   unit, when, checks (how many there are), value, peers, like, class, times (nil: of nothing), cost_s, p } };
--   blamed = list of conditions; work = what the job did more of; looked = how many values }
function why.analyse(input)
   local state, slow = state_of(input)
   for _, item in ipairs(causes.JOB) do
      conditions.of_job(state, item)
   end
   for _, item in ipairs(causes.CHECK) do
      checks.of(state, item)
   end
   local lost = slow.lost_s or ASSUMED_LOSS * (state.elapsed or 0)
   local out = { slow = slow, elapsed_s = state.elapsed, conditions = {}, blamed = {}, looked = state.looked,
      work = work(state) }
   for _, list in ipairs({ conditions_of(state.nodes, state.metrics), conditions_of(state.jobs, state.job_metrics) }) do
      for _, c in ipairs(list) do
         c.accounts = lost > 0 and c.cost_s / lost or nil
         c.out_of_line = c.p_corrected <= why.NAMED
         c.blamed = c.out_of_line and slow.verdict ~= "no" and (c.accounts or 0) >= why.ACCOUNTS
         c.perhaps = c.p_corrected > why.ALPHA or nil
         out.conditions[#out.conditions + 1] = c
      end
   end
   table.sort(out.conditions, function(a, b)
      if a.blamed ~= b.blamed then
         return a.blamed
      elseif a.out_of_line ~= b.out_of_line then
         return a.out_of_line
      elseif a.p_corrected ~= b.p_corrected then
         return a.p_corrected < b.p_corrected
      elseif a.p ~= b.p then
         return a.p < b.p
      end
      return a.cost_s > b.cost_s
   end)
   for i = #out.conditions, (input.keep or KEEP) + 1, -1 do
      out.conditions[i] = nil
   end
   local like_rows, other_rows = flat(state.like), flat(state.others)
   for _, c in ipairs(out.conditions) do
      for _, e in ipairs(c.evidence) do
         fill_in(e, state, like_rows, other_rows)
      end
      out.blamed[#out.blamed + 1] = c.blamed and c or nil
   end
   return out
end

return why
