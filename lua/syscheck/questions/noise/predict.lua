--- What jobs of N nodes lose to noise, from what was sampled on single nodes. Pure.
--
-- All nodes do a quantum of work g, then wait for the slowest. Drawn from a class, each node's delay has the mean F of
-- the class, so the slowest has F^N and loses the integral of 1 - F^N; certain nodes have the product of theirs. What
-- began while they waited is in chain.lua. All noise counts, as a barrier has it; what is absorbed where nodes wait for
-- some others only is between that and the mean.
local chain = require("syscheck.questions.noise.chain")
local curve = require("syscheck.questions.noise.curve")
local random = require("syscheck.lib.random")
local statistics = require("syscheck.lib.statistics")
local tail = require("syscheck.questions.noise.tail")

local predict = {}

local GROUPS, DRAWS = 40, 60 -- of the bootstrap
local LOW, HIGH = 0.05, 0.95
local NOTHING_US = 1e-6 -- no factor is made of less
local SUPPORT = 10 -- samples in the store for each node of a job

--- What one of a node's checks says of a quantum.
-- @param list of delays.of, or nil
function predict.of_work(list, work)
   for i = 1, list and #list or 0 do
      if list[i].work_us == work then
         return list[i]
      end
   end
end

--- Delays of a node at one quantum, of all its checks: each counts as long as it sampled.
-- @param node { name, checks = list of { of = of delays.of } }
-- @return list of what delays.of has of it, name, window_s = of all; nil where there is none
local function at_work(node, work)
   local checks, list = node.checks, nil
   for i = 1, #checks do
      local one = predict.of_work(checks[i].of.delays, work)
      if one and list then
         list[#list + 1], list.window_s = one, list.window_s + one.window_s
      elseif one then
         list = { one, name = node.name, window_s = one.window_s }
      end
   end
   return list
end

--- Adds a node's.
-- @param node one of a sample's
-- @param weight of it (1)
function predict.add(sum, node, weight)
   for i = 1, #node do
      curve.add(sum, node[i], (weight or 1) * node[i].window_s / node.window_s)
   end
end

-- What is found once all nodes of a sample are known.
local function complete(out, all)
   out.grid = curve.grid(all)
   -- Groups at random, nodes in their order: so memory is read faster.
   local order = {}
   for i = 1, #out.nodes do
      order[i] = (i - 1) % GROUPS + 1
      out.groups[order[i]] = out.groups[order[i]] or curve.new(out.grid)
   end
   random.shuffle(order, random.new(#order))
   for i, node in ipairs(out.nodes) do
      predict.add(out.groups[order[i]], node)
   end
   out.all = curve.join(curve.new(out.grid), out.groups)
   out.f = curve.mean(out.all)
   out.mean_us = curve.slowest(out.f, 1)
   -- Asked only of jobs of more nodes than the samples support.
   function out.tail()
      if out.fit == nil then
         local lists = {}
         for _, one in ipairs(all) do
            lists[#lists + 1] = one.largest_us
         end
         out.fit = tail.fit(lists) or false
      end
      return out.fit or nil
   end
   return out
end

--- All that a table's columns are made of, one for each quantum. Nodes are read once: there may be many.
-- @param nodes list of { name, checks = list of { of = of delays.of } }
-- @param works list of us
-- @return list of { work, nodes = list of { name, window_s, what delays.of has of each check }, grid, groups = curves
--   of parts of the nodes, f = F of the class, cores = of a node, median, all = their sums, samples = independent
--   quanta that were seen, tail = function() -> of tail.fit or nil, mean_us }; without those of which no node has any
function predict.samples(nodes, works)
   local found, out = {}, {}
   for w, work in ipairs(works) do
      found[w] = { sample = { work = work, nodes = {}, samples = 0, groups = {} }, all = {}, cores = {} }
   end
   for i = 1, #nodes do
      local node = nodes[i]
      local cores = math.max(1, node.checks[1].of.cores or 1)
      for w = 1, #works do
         local own = at_work(node, works[w])
         if own then
            local one = found[w]
            local sample, all = one.sample, one.all
            sample.nodes[#sample.nodes + 1], one.cores[#one.cores + 1] = own, cores
            for k = 1, #own do
               all[#all + 1] = own[k]
            end
            sample.samples = sample.samples + own.window_s * 1e6 / works[w]
         end
      end
   end
   for _, one in ipairs(found) do
      one.sample.cores = statistics.median(one.cores)
      out[#out + 1] = #one.all > 0 and complete(one.sample, one.all) or nil
   end
   return out
end

--- One of them.
function predict.sample(nodes, work)
   return predict.samples(nodes, { work })[1]
end

--- F of one node of a sample.
function predict.node(sample, node)
   local sum = curve.new(sample.grid)
   predict.add(sum, node)
   return curve.mean(sum)
end

local function interval(values)
   table.sort(values)
   local function at(p)
      return values[math.max(1, math.min(#values, math.floor(p * #values + 0.5)))]
   end
   return at(LOW), at(HIGH)
end

-- The draws knew one wait and no phases: as much more or less.
local function scale(row, plain)
   if plain > NOTHING_US then
      row.low, row.high = row.low * row.us / plain, row.high * row.us / plain
   end
   row.low, row.high = math.min(row.low, row.us), math.max(row.high, row.us)
end

-- By how much more it is with the tail instead of what was seen beyond its threshold.
local function with_tail(sample, f, n, factor)
   local fit = sample.tail()
   local cut = { grid = {}, at = {}, before = {} }
   for i, x in ipairs(sample.grid) do
      if x >= fit.from then
         break
      end
      cut.grid[i], cut.at[i], cut.before[i] = x, f.at[i], f.before[i]
   end
   local above = curve.above(f, fit.from)
   local last = #cut.grid + 1
   cut.grid[last], cut.at[last], cut.before[last] = fit.from, 1 - above, 1 - above
   local kept = factor and { at = factor.at, before = table.move(factor.before, 1, last - 1, 1, {}) }
   if kept then
      kept.before[last] = factor.before[last] or 1
   end
   local seen = curve.slowest(f, n, factor)
   return seen > NOTHING_US and math.max(1, (curve.slowest(cut, n, kept) + tail.beyond(fit, above, n)) / seen) or 1
end

-- Of the slowest of n with this F.
local function row_of(sample, f, n, factor)
   local row = { nodes = n, us = chain.slowest(f, n, sample, factor), at_least = n * SUPPORT > sample.samples or nil }
   if row.at_least and sample.tail() then
      row.most_us = row.us * with_tail(sample, f, n, factor)
   end
   return row
end

--- Jobs whose nodes are drawn from the class.
-- @param sample of predict.sample
-- @param sizes list of numbers of nodes
-- @param phase nil, or function(n) -> F without what is in phase, factor of curve.slowest: see without.phase
-- @return list of { nodes, us = expected delay of a quantum, low, high = 90 % of the bootstrap over nodes, at_least =
--   true: more than the samples support, most_us = with a Pareto tail, nil where there are too few events for one }
function predict.drawn(sample, sizes, phase)
   local rows, draws = {}, {}
   for i, n in ipairs(sizes) do
      local f, factor = sample.f, nil
      if phase then
         f, factor = phase(n)
      end
      rows[i], draws[i] = row_of(sample, f, n, factor), {}
   end
   local draw, groups, times = random.new(4711), {}, {}
   for g, group in ipairs(sample.groups) do
      groups[g] = curve.totals(group)
   end
   for d = 1, #groups > 1 and DRAWS or 0 do
      for g = 1, #groups do
         times[g] = 0
      end
      for _ = 1, #groups do
         local g = draw(#groups)
         times[g] = times[g] + 1
      end
      local f = curve.mix(groups, times)
      for i, n in ipairs(sizes) do
         draws[i][d] = chain.again(f, n, sample, rows[i].us)
      end
   end
   for i, row in ipairs(rows) do
      if draws[i][1] then
         row.low, row.high = interval(draws[i])
         scale(row, chain.again(sample.f, row.nodes, sample, row.us))
      end
   end
   return rows
end

--- A job on all nodes of a sample.
-- @return a row as of predict.drawn; without an interval: no other nodes are drawn
function predict.own(sample)
   local list = {}
   for i, node in ipairs(sample.nodes) do
      list[i] = predict.node(sample, node)
   end
   return row_of(sample, curve.product(list), #list)
end

return predict
