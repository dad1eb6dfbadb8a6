--- What would be without a source, without some nodes; what nodes have at the same time. Pure.
local curve = require("syscheck.questions.noise.curve")
local predict = require("syscheck.questions.noise.predict")

local without = {}

-- A copy of a class's sums, to take from.
local function whole(sample)
   local sum = curve.new(sample.grid)
   for _, group in ipairs(sample.groups) do
      sum.n = sum.n + group.n
      for i = 1, #sum.at do
         sum.at[i], sum.at_ones[i] = sum.at[i] + group.at[i], sum.at_ones[i] + group.at_ones[i]
      end
      for i = 1, sum.before ~= sum.at and #sum.at or 0 do
         sum.before[i], sum.before_ones[i] = sum.before[i] + group.before[i], sum.before_ones[i] + group.before_ones[i]
      end
   end
   return sum
end

local function add(sum, parts, sign)
   for _, one in ipairs(parts) do
      curve.add(sum, one, sign * one.weight)
   end
end

-- Nodes of a source -> what each would have without it at that quantum. Only where its newest check says so: what was
-- not asked for there is small.
local function replaced(sample, source)
   local of = {}
   for _, member in ipairs(source.nodes) do
      local one = member.without and predict.of_work(member.without, sample.work)
      -- Its other checks had it, too: they are not known without it.
      of[member.node] = one and { { above = one.above, us = one.us, weight = 1 } } or of[member.node]
   end
   return of
end

--- F of the class without a source.
-- @param source of sources.of whose nodes have `without` filled in where it is known
-- @return F; F of those nodes with it, and without it (nil where none is known)
function without.source(sample, source)
   local of, sum = replaced(sample, source), whole(sample)
   local with, rest = curve.new(sample.grid), curve.new(sample.grid)
   for _, node in ipairs(sample.nodes) do
      local parts = of[node.node]
      if parts then
         -- As its newest check had it: what is compared is of one time.
         local had = predict.parts({ name = node.name, checks = { node.node.checks[1] } }, sample.work)
         add(with, had, 1)
         add(rest, parts, 1)
         add(sum, node.parts, -1)
         add(sum, parts, 1)
      end
   end
   if with.n == 0 then
      return curve.mean({ sum })
   end
   return curve.mean({ sum }), curve.mean({ with }), curve.mean({ rest })
end

--- F of the class without some of its nodes.
-- @param names set
-- @return F; nil where none is left
function without.nodes(sample, names)
   local sum, left = whole(sample), 0
   for _, node in ipairs(sample.nodes) do
      if names[node.name] then
         add(sum, node.parts, -1)
      else
         left = left + 1
      end
   end
   return left > 0 and curve.mean({ sum }) or nil
end

--- The nodes that cost most, by how the slowest of n reacts to each one's part in the class: the derivative of the
-- integral of 1 - F^n.
-- @param most of them
-- @return list of { name, us }, the worst first
function without.worst(sample, n, most)
   local f, grid, weights, list = sample.f, sample.grid, {}, {}
   for i = 1, #grid - 1 do
      weights[i] = n * ((f.at[i] + f.before[i + 1]) / 2) ^ (n - 1) * (grid[i + 1] - grid[i])
   end
   for _, node in ipairs(sample.nodes) do
      local own, sum = predict.node(sample, node), 0
      for i = 1, #weights do
         sum = sum + weights[i] * ((f.at[i] - own.at[i]) + (f.before[i + 1] - own.before[i + 1])) / 2
      end
      list[#list + 1] = { name = node.name, us = sum / #sample.nodes }
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
