--- What would be without a source, without some nodes; what nodes have at the same time. Pure.
local curve = require("syscheck.questions.noise.curve")
local predict = require("syscheck.questions.noise.predict")
local random = require("syscheck.lib.random")

local without = {}

local MOST_ASKED = 500 -- nodes of a source: enough to say what it costs

local function copy(sample)
   return curve.join(curve.new(sample.grid), { sample.all })
end

--- Has nodes of a source say what they would be without it: some, at random, of many; where one has two of its
-- components, without that which takes more. Once.
-- @param add_without function(node): its first check has its components' `without` from now on
function without.ask(source, add_without)
   if source.asked then
      return
   end
   local list, place = {}, {}
   for _, member in ipairs(source.nodes) do
      local at = place[member.node] or #list + 1
      local other = list[at]
      if not other or member.component.lost_pct > other.component.lost_pct then
         list[at], place[member.node] = member, at
      end
   end
   random.shuffle(list, random.new(#list))
   source.asked = table.move(list, 1, math.min(MOST_ASKED, #list), 1, {})
   source.each = #list / #source.asked -- nodes that each stands for
   for _, member in ipairs(source.asked) do
      add_without(member.node)
      member.without = member.node.checks[1].of.components[member.index].without
   end
end

--- F of the class without a source.
-- @param source of sources.of, after without.ask; of nodes that do not know it is small
-- @return F; F of those nodes with it, and without it (nil where none is known)
function without.source(sample, source)
   local with, rest = curve.new(sample.grid), curve.new(sample.grid)
   for _, member in ipairs(source.asked or {}) do
      local one = member.without and predict.of_work(member.without, sample.work)
      -- As its newest check had it: what is compared is of one time.
      local had = one and predict.of_work(member.node.checks[1].of.delays, sample.work)
      if had then
         curve.add(with, had)
         curve.add(rest, one)
      end
   end
   if with.n == 0 then
      return sample.f
   end
   local sum = curve.join(copy(sample), { with }, -source.each)
   return curve.mean(curve.join(sum, { rest }, source.each)), curve.mean(with), curve.mean(rest)
end

--- F of the class without some of its nodes.
-- @param names set
-- @return F; nil where none is left
function without.nodes(sample, names)
   local sum = copy(sample)
   for _, node in ipairs(sample.nodes) do
      if names[node.name] then
         predict.add(sum, node, -1)
      end
   end
   return sum.n > 0.5 and curve.mean(sum) or nil
end

-- W, the integral of w from 0 on, and the integral of W, at each x of the grid. w = n F^(n - 1), in a cell its mean.
local function weights(f, n)
   local grid, w, first, second = f.grid, {}, { 0 }, { 0 }
   for i = 1, #grid - 1 do
      local width = grid[i + 1] - grid[i]
      w[i] = n * ((f.at[i] + f.before[i + 1]) / 2) ^ (n - 1)
      first[i + 1] = first[i] + w[i] * width
      second[i + 1] = second[i] + (first[i] + w[i] * width / 2) * width
   end
   w[#grid] = 0
   return { grid = grid, w = w, first = first, second = second }
end

-- The mean of W at a node's delays, which is the integral of w times its P(delay > x).
local function weighed(by, one)
   local grid, w, first, second, us, above = by.grid, by.w, by.first, by.second, one.us, one.above
   local last, place_of = #grid, curve.place_of
   local from, high = us[1], above[1]
   local i = math.max(1, place_of(grid, from) - 1)
   local x = from - grid[i]
   local reached, mean = second[i] + (first[i] + w[i] * x / 2) * x, 0
   for k = 2, #us do
      local to, low = us[k], above[k]
      if to - from > 1e-6 * to then
         -- From a knot to the next it is a few cells; to the first it is many.
         if i == 1 then
            i = math.max(1, place_of(grid, to) - 1)
         end
         while i < last and grid[i + 1] < to do
            i = i + 1
         end
         x = to - grid[i]
         local til = second[i] + (first[i] + w[i] * x / 2) * x
         mean = mean + (high - low) * (til - reached) / (to - from)
         from, reached = to, til
      else
         -- At one delay, or of what is narrower than a rounding of its integral tells.
         mean = mean + (high - low) * (first[i] + w[i] * x)
      end
      high = low
   end
   return mean
end

--- The nodes that cost most, by how the slowest of n reacts to each one's part in the class: the derivative of the
-- integral of 1 - F^n.
-- @param most of them
-- @return list of { name, us }, the worst first
function without.worst(sample, n, most)
   if most < 1 then
      return {}
   end
   local by, costs, mean = weights(sample.f, n), {}, 0
   for i, node in ipairs(sample.nodes) do
      local own = 0
      for k = 1, #node do
         own = own + node[k].window_s / node.window_s * weighed(by, node[k])
      end
      costs[i] = own
      mean = mean + own / #sample.nodes
   end
   -- Those that may be among them; only these are sorted by name.
   local sorted = table.move(costs, 1, #costs, 1, {})
   table.sort(sorted)
   local least, list = sorted[#sorted - math.min(most, #sorted) + 1], {}
   for i, own in ipairs(costs) do
      list[#list + 1] = own >= least and { name = sample.nodes[i].name, us = (own - mean) / #costs } or nil
   end
   table.sort(list, function(a, b)
      if a.us ~= b.us then
         return a.us > b.us
      end
      return a.name < b.name
   end)
   return table.move(list, 1, math.min(most, #list), 1, {})
end

--- A source that beats on all of its nodes at the same time costs a job once, not once a node: the slowest of n has
-- what they would have without it, to the n, times what one of its nodes has because of it, if one is in the job.
-- @param source of sources.of, in phase
-- @return function for predict.drawn; nil where it is not known what they would have without it
function without.phase(sample, source)
   local f, with, rest = without.source(sample, source)
   if not with then
      return nil
   end
   local share, at, before, least = math.min(1, #source.names / #sample.nodes), {}, {}, 1
   -- From the longest delay on: F of a distribution does not fall.
   for i = #sample.grid, 1, -1 do
      least = math.min(least, rest.at[i] > 0 and with.at[i] / rest.at[i] or 1)
      at[i] = least
      least = math.min(least, rest.before[i] > 0 and with.before[i] / rest.before[i] or 1)
      before[i] = least
   end
   return function(n)
      local there, factor = 1 - (1 - share) ^ n, { at = {}, before = {} }
      for i = 1, #at do
         factor.at[i], factor.before[i] = 1 - there + there * at[i], 1 - there + there * before[i]
      end
      return f, factor
   end
end

return without
