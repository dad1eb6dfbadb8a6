--- Before there is a baseline: a job's nodes against each other and against their class, in what the check before the
-- job measured: nodes of one class, measured on the same CPUs in the same time box. It warns; nothing drains. Pure.
--
-- A value is out where healthy nodes' single measurements are not: with k others around their median, further below it
-- than Student's t times their standard deviation times sqrt(1 + variance of the median of k). Of few others that
-- deviation is hardly known, so what fleets usually have counts as PRIOR_NODES more of them; t is for a share of
-- PER_JOB / n, as n nodes are looked at, and of TAILS degrees of freedom however many there are, as noise has heavier
-- tails than a normal distribution. docs/performance.md has how often that is wrong (tests/bench/first_days.lua).
local cpus = require("syscheck.verdict.cpus")
local hostlist = require("syscheck.lib.hostlist")
local metrics = require("syscheck.catalogue.metrics")
local spread = require("syscheck.verdict.spread")
local statistics = require("syscheck.lib.statistics")

local alike = {}

local PER_JOB = 1e-3
local TAILS, PRIOR_NODES = 10, 4
-- Standard deviation of a healthy class' measurements before any is seen, and what is no matter, in %.
local USUAL = { triad_gbs = { prior = 3, least = 5 }, gflops = { prior = 3, least = 5 },
   latency_ns = { prior = 6, least = 10 }, best_gbs = { prior = 6, least = 10 } }
-- More than this share of them is no matter of single nodes.
local MOST = 0.25
-- Of more, median and deviation are the same without whichever of the worse ones.
local MANY = 16
-- A class says something from so many other nodes on.
local LEAST_OF_CLASS = 3

local quantiles = {}

local function quantile(n)
   quantiles[n] = quantiles[n] or statistics.student(PER_JOB / n, TAILS)
   return quantiles[n]
end

-- From how far below the median of others a value is out, in % of it.
-- @param k how many others
-- @param deviation scaled MAD of them, in %
-- @param n how many values are looked at
local function room(name, k, deviation, n)
   local usual = USUAL[name]
   local square = (PRIOR_NODES * usual.prior ^ 2 + (k - 1) * deviation ^ 2) / (PRIOR_NODES + k - 1)
   return math.max(usual.least, quantile(n) * math.sqrt(square * (1 + spread.of_median(k))))
end

-- By how many % a value is worse than a median.
local function worse_by(name, value, median)
   return 100 * (metrics.BY_NAME[name].better == "higher" and 1 - value / median or value / median - 1)
end

local function without(values, i)
   local others = table.move(values, 1, #values, 1, {})
   table.remove(others, i)
   return others
end

local function worst(name, values)
   local at = 1
   for i, value in ipairs(values) do
      at = worse_by(name, value, values[at]) > 0 and i or at
   end
   return at
end

--- Which of some values are out against the others.
-- @param name of a metric
-- @param values list of numbers > 0, from two on
-- @return list of { index, pct = how much worse in %, median = of the others, others = how many }
function alike.out(name, values)
   local n, found, median, scaled = #values, {}, nil, nil
   if n > MANY then
      median, scaled = statistics.robust(without(values, worst(name, values)))
   end
   for i, value in ipairs(values) do
      if n <= MANY then
         median, scaled = statistics.robust(without(values, i))
      end
      local pct = worse_by(name, value, median)
      if pct > room(name, n - 1, 100 * scaled / median, n) then
         found[#found + 1] = { index = i, pct = pct, median = median, others = n - 1 }
      end
   end
   return found
end

--- Whether a value is out against those of other nodes of its class.
-- @param n how many values are looked at
-- @return { pct, median, others }, or nil
function alike.below_class(name, value, others, n)
   if #others < LEAST_OF_CLASS then
      return nil
   end
   local median, scaled = statistics.robust(others)
   local pct = worse_by(name, value, median)
   return pct > room(name, #others, 100 * scaled / median, n)
      and { pct = pct, median = median, others = #others } or nil
end

--- What a check's values compare with: the same text, the same quantity.
-- @param measured CPUs, or nil: nothing was measured
-- @param boxes { metric = time box in seconds }
-- @return { metric = text }
function alike.keys(class, measured, boxes)
   local out = {}
   for name in pairs(measured and USUAL or {}) do
      if boxes[name] then
         out[name] = ("%s %s %g"):format(class, cpus.key(measured), boxes[name])
      end
   end
   return out
end

-- The last check of each node with this metric, by what it compares with.
local function groups_of(rows, name)
   local groups, keys, last = {}, {}, {}
   for i, row in ipairs(rows) do
      last[row.node] = row.alike and row.alike[name] and (row.metrics[name] or 0) > 0 and i or last[row.node]
   end
   for i, row in ipairs(rows) do
      local key = last[row.node] == i and row.alike[name]
      if key then
         if not groups[key] then
            groups[key], keys[#keys + 1] = {}, key
         end
         table.insert(groups[key], i)
      end
   end
   return groups, keys
end

local function way(name, pct)
   local m = metrics.BY_NAME[name]
   return ("%s %.0f %% %s"):format(m.label, pct, m.better == "higher" and "below" or "above")
end

local function add(list, rows, name, found, of, text)
   local row = rows[found.row]
   list[#list + 1] = { row = found.row, node = row.node, name = name, value = row.metrics[name], pct = found.pct,
      median = found.median, others = found.others, of = of, text = text }
end

-- More nodes are out than single ones would be: said of all of them at once.
local function add_group(list, rows, name, out, n)
   local nodes = {}
   for i, found in ipairs(out) do
      nodes[i] = rows[found.row].node
   end
   for _, found in ipairs(out) do
      add(list, rows, name, found, "job", ("%s others of this job, as are %d of its %d nodes (%s): other hardware, or "
         .. "one fault?"):format(way(name, found.pct), #out, n, hostlist.fold(nodes)))
   end
end

-- Against the others of the job.
-- @param told { index of a row = true }: of those nothing more is said; those that are out are added
local function by_job(list, rows, name, group, told)
   local values = {}
   for k, i in ipairs(group) do
      values[k] = rows[i].metrics[name]
   end
   local n, out = #group, {}
   for _, found in ipairs(n >= 2 and alike.out(name, values) or {}) do
      found.row = group[found.index]
      out[#out + 1] = rows[found.row].unrated and not told[found.row] and found or nil
      told[found.row] = true
   end
   if n == 2 then
      for _, found in ipairs(out) do
         add(list, rows, name, found, "job", ("%s the other node of this job: two do not say which is right"):format(
            way(name, found.pct)))
      end
   elseif #out > math.max(1, MOST * n) then
      add_group(list, rows, name, out, n)
   else
      for _, found in ipairs(out) do
         add(list, rows, name, found, "job", ("%s the %d others of this job"):format(way(name, found.pct),
            found.others))
      end
   end
end

-- Against the others of the class.
-- @param told as of by_job
-- @param others function() -> values
local function by_class(list, rows, name, group, told, others)
   local values
   for _, i in ipairs(group) do
      if rows[i].unrated and not told[i] then
         values = values or others()
         local found = alike.below_class(name, rows[i].metrics[name], values, #group)
         if found then
            found.row, told[i] = i, true
            add(list, rows, name, found, "class", ("%s %d other nodes of its class"):format(way(name, found.pct),
               found.others))
         end
      end
   end
end

--- Warnings on a run's nodes that no baseline rated.
-- @param rows of the run; those with a check have `alike` (from keys) and `unrated` (true: nothing rated its values)
-- @param class function(key, name) -> values of other nodes with this key; nil: the class is not known
-- @return list of { row = index, node, name = of the metric, value, pct = how much worse, median, others = how many,
--   of = "job" or "class", text }, in the order of rows
function alike.of_run(rows, class)
   local list = {}
   for _, m in ipairs(metrics.LIST) do
      local groups, keys = {}, {}
      if USUAL[m.name] then
         groups, keys = groups_of(rows, m.name)
      end
      for _, key in ipairs(keys) do
         local group, told = groups[key], {}
         local function others()
            return class and class(key, m.name) or {}
         end
         -- Of two the class is asked first, as they do not say which is right.
         for _, by in ipairs(#group == 2 and { by_class, by_job } or { by_job, by_class }) do
            by(list, rows, m.name, group, told, others)
         end
      end
   end
   table.sort(list, function(a, b)
      if a.row ~= b.row then
         return a.row < b.row
      end
      return a.name < b.name
   end)
   return list
end

--- "triad 31 % below the 15 others of this job (61.3 GB/s, their median 88.9 GB/s)"
-- @param warning of of_run
function alike.sentence(warning)
   local m = metrics.BY_NAME[warning.name]
   return ("%s (%s, their median %s)"):format(warning.text, metrics.show(m, warning.value, true),
      metrics.show(m, warning.median, true))
end

--- The same for programs.
function alike.object(warning)
   return { node = warning.node, status = "warn", metric = warning.name, value = warning.value,
      median = warning.median, pct = warning.pct, others = warning.others, of = warning.of, text = warning.text }
end

return alike
