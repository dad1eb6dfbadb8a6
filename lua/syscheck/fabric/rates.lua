--- Which nodes have links of another rate, where nobody knows the rates. Pure.
-- A node reaches its link's rate with one partner at least. Levels that many nodes share are rates of links; what only
-- few have is trouble.
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

--- @param flows from samples.of
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
   local of_leaf = {}
   for _, group in ipairs(found) do
      for _, one in ipairs(group.members) do
         rate[one.node] = group.level / most
         local leaf = net.leaf[one.node]
         of_leaf[leaf] = of_leaf[leaf] or {}
         table.insert(of_leaf[leaf], rate[one.node])
      end
   end
   -- Who has a level of his own has what most of his leaf have.
   for i = 1, #net.names do
      rate[i] = rate[i] or of_leaf[net.leaf[i]] and statistics.median(of_leaf[net.leaf[i]]) or 1
   end
   return rate
end

return rates
