--- Which nodes have links of another rate. Pure.
--
-- Where all links say their rate, that is who is made alike; how much faster the ones are than the others is measured,
-- as one connection may fill a link of 25 Gbit/s and not one of 100, or none of it goes by the port that is said. What
-- only few say is trouble: a link that has come up with half of its lanes.
-- Where links say nothing, levels that many nodes share are rates of links; what only few have is trouble. A node
-- reaches its link's rate with one partner at least.
local statistics = require("syscheck.lib.statistics")

local rates = {}

local WIDTH = 1.12 -- levels of one rate, highest over lowest: run noise, and healthy nodes' differences
local LEAST_NODES = 4
local LEAST_SHARE = 0.08

-- The highest of a node's flows in GB/s; of many the second one, as the highest is luck. Only of rounds in which
-- uplinks are hardly used.
local function levels(net, flows)
   local best, second, n, level = {}, {}, {}, {}
   for _, flow in ipairs(flows) do
      local value = flow.one and not flow.class:find("^across") and flow.one
      for _, node in ipairs(value and { flow.from, flow.to } or {}) do
         n[node] = (n[node] or 0) + 1
         if value > (best[node] or 0) then
            best[node], second[node] = value, best[node]
         elseif value > (second[node] or 0) then
            second[node] = value
         end
      end
   end
   for i = 1, #net.names do
      level[i] = (n[i] or 0) >= 4 and second[i] or best[i]
   end
   return level
end

-- Of an ascending list of { node, level } the most that lie within WIDTH of each other: first, last.
local function densest(list)
   local from, first, last = 1, 1, 0
   for to = 1, #list do
      while list[to].level > WIDTH * list[from].level do
         from = from + 1
      end
      if to - from > last - first then
         first, last = from, to
      end
   end
   return first, last
end

-- All of one leaf and none of another: that leaf's switch is as likely.
local function is_one_leaf(net, members)
   local leaf = net.leaf[members[1].node]
   for _, one in ipairs(members) do
      if net.leaf[one.node] ~= leaf then
         return false
      end
   end
   return #net.leaves > 1
end

-- Rates of nodes in none of the groups: what most of their leaf have, or of all.
-- @param rate node -> its group's, in place
local function fill(net, rate, most)
   local of_leaf = {}
   for i = 1, #net.names do
      local leaf = net.leaf[i]
      of_leaf[leaf] = of_leaf[leaf] or {}
      table.insert(of_leaf[leaf], rate[i])
   end
   for i = 1, #net.names do
      rate[i] = rate[i] or statistics.median(of_leaf[net.leaf[i]]) or most
   end
end

--- By what was reached alone.
-- @param flows from samples.of
-- @return node -> rate over the highest one; nil where all have the same
function rates.guess(net, flows)
   local level, list = levels(net, flows), {}
   for i = 1, #net.names do
      list[#list + 1] = level[i] and { node = i, level = level[i] } or nil
   end
   table.sort(list, function(a, b)
      return a.level < b.level
   end)
   local least, found = math.max(LEAST_NODES, LEAST_SHARE * #list), {}
   while #list >= least do
      local first, last = densest(list)
      if last - first + 1 < least then
         break
      end
      local members, rest = table.move(list, first, last, 1, {}), {}
      for k, one in ipairs(list) do
         rest[#rest + 1] = (k < first or k > last) and one or nil
      end
      list = rest
      if #found == 0 or not is_one_leaf(net, members) then
         found[#found + 1] = { level = members[(#members + 1) // 2].level, members = members }
      end
   end
   if #found < 2 then
      return nil
   end
   local most, rate = 0, {}
   for _, group in ipairs(found) do
      most = math.max(most, group.level)
   end
   for _, group in ipairs(found) do
      for _, one in ipairs(group.members) do
         rate[one.node] = group.level / most
      end
   end
   fill(net, rate, 1)
   return rate
end

-- Groups of nodes by what their links say: list of { said, members }, of many nodes each, the largest first; nil where
-- most say nothing or what few say.
local function said_groups(net)
   local of, list, n = {}, {}, 0
   for i = 1, #net.names do
      local said = net.rate[i]
      if said and not of[said] then
         of[said] = { said = said, members = {} }
         list[#list + 1] = of[said]
      end
      table.insert(said and of[said].members or {}, i)
   end
   local groups = {}
   for _, group in ipairs(list) do
      if #group.members >= math.max(LEAST_NODES, LEAST_SHARE * #net.names) then
         groups[#groups + 1] = group
         n = n + #group.members
      end
   end
   table.sort(groups, function(a, b)
      return #a.members > #b.members or #a.members == #b.members and a.said > b.said
   end)
   return n > #net.names / 2 and groups or nil
end

--- By what links say, and what such links reached.
-- @param net its `rate` as links say it, of some nodes or all
-- @param flows from samples.of
-- @return node -> rate over the highest one, empty where all have the same; nil where too few say anything
function rates.said(net, flows)
   local groups = said_groups(net)
   if not groups or #groups == 1 then
      return groups and {}
   end
   local level, most = levels(net, flows), 0
   for _, group in ipairs(groups) do
      local values = {}
      for _, node in ipairs(group.members) do
         values[#values + 1] = level[node]
      end
      group.level = statistics.median(values)
      if not group.level then
         return nil
      end
      most = math.max(most, group.level)
   end
   local rate = {}
   for _, group in ipairs(groups) do
      for _, node in ipairs(group.members) do
         rate[node] = group.level / most
      end
   end
   fill(net, rate, groups[1].level / most)
   return rate
end

return rates
