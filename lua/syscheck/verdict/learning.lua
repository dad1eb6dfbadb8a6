--- Learns a baseline from check records. Pure: an iterator in, a table out. What is kept
-- of a record is numbers, of the last KEEP checks of a node, however many there were.
local baseline = require("syscheck.verdict.baseline")
local cpus = require("syscheck.verdict.cpus")
local lesson = require("syscheck.verdict.lesson")
local metrics = require("syscheck.catalogue.metrics")
local spread = require("syscheck.verdict.spread")
local statistics = require("syscheck.lib.statistics")

local learn = {}

local KEEP = 64
-- A node further from the median than this many standard deviations, and by more than
-- OUTLIER_PCT, is not what the class is.
local OUTLIERS = 4
local OUTLIER_PCT = 3

local function child(t, key)
   local value = t[key]
   if not value then
      value = {}
      t[key] = value
   end
   return value
end

-- An id as a number where it is the usual one, 128 random bits in hex: less to keep.
local function short_id(id)
   if type(id) ~= "string" then
      return nil
   end
   local high, low = tonumber(id:sub(1, 16), 16), tonumber(id:sub(17), 16)
   return #id == 32 and high and low and high ~ low or id
end

-- @param one of lesson.of
-- @param left { class = { checks, busy = how many others disturbed } }, to count
local function take(seen, one, left)
   local nodes = child(seen, one.class)
   local node = nodes[one.node]
   if not node then
      node = { sets = {} }
      nodes[one.node] = node
   end
   local id, values, measured = short_id(one.id), one.values, one.cpus
   if id == nil then
      return
   end
   local set = measured and node.sets[cpus.key(measured)]
   if set and set.known[id] then
      return
   end
   if one.busy or measured then
      left.checks, left.busy = left.checks + 1, left.busy + (one.busy and 1 or 0)
   end
   node.parts = one.parts
   node.config = one.config or node.config
   if not measured then
      return
   elseif not set then
      set = { at = 0, n = 0, ids = {}, known = {}, values = {} }
      node.sets[cpus.key(measured)] = set
   end
   set.cpus = measured
   set.at = set.at % KEEP + 1
   set.n = math.max(set.n, set.at)
   if set.ids[set.at] ~= nil then
      set.known[set.ids[set.at]] = nil
   end
   set.ids[set.at], set.known[id] = id, true
   for name, value in pairs(values) do
      child(child(set.values, name), value.box_s)
   end
   for name, boxes in pairs(set.values) do
      local value = values[name]
      for box_s, list in pairs(boxes) do
         list[set.at] = value and value.box_s == box_s and value.value or false
      end
   end
end

-- Nodes that were measured on the same CPUs: one set of them is learned, those that jobs get before others, then
-- that of most nodes.
-- @param nodes of a class: node -> what is kept
-- @return list of { cpus, nodes = count, checks, of = node -> values }, the one to learn first
local function by_cpus(nodes)
   local by, list = {}, {}
   for name, node in pairs(nodes) do
      for key, set in pairs(node.sets) do
         local one = by[key]
         if not one then
            one = { key = key, cpus = set.cpus, nodes = 0, checks = 0, of = {} }
            by[key], list[#list + 1] = one, one
         end
         one.nodes, one.checks, one.of[name] = one.nodes + 1, one.checks + set.n, set
      end
   end
   table.sort(list, function(a, b)
      if (a.cpus.jobs == true) ~= (b.cpus.jobs == true) then
         return a.cpus.jobs == true
      elseif a.nodes ~= b.nodes then
         return a.nodes > b.nodes
      end
      return a.key < b.key
   end)
   return list
end

-- A node's values of one metric in one box, the oldest first.
local function in_order(node, list)
   local out = {}
   for i = 1, node.n do
      local value = list[(node.at + i - 1) % node.n + 1]
      if value then
         out[#out + 1] = value
      end
   end
   return out
end

local function medians_of(nodes)
   local medians = {}
   for i, node in ipairs(nodes) do
      medians[i] = node.median
   end
   return medians
end

-- Drops nodes that are not what the class is, until none is left.
-- @param nodes list of { median, values }
-- @return the rest, median, scaled MAD in %, list of the dropped, how far from the median a node may be in %
local function without_outliers(nodes)
   local dropped = {}
   while true do
      local m, mad = spread.statistics(medians_of(nodes))
      local room, kept = math.max(OUTLIERS * mad, OUTLIER_PCT), {}
      for _, node in ipairs(nodes) do
         if math.abs(node.median / m - 1) * 100 <= room then
            kept[#kept + 1] = node
         else
            dropped[#dropped + 1] = node
         end
      end
      if #kept == #nodes then
         return nodes, m, mad, dropped, room
      end
      nodes = kept
   end
end

-- Standard deviation of the nodes about the class median, in %.
local function deviation(nodes, m)
   local sum = 0
   for _, node in ipairs(nodes) do
      sum = sum + (node.median / m - 1) ^ 2
   end
   return 100 * math.sqrt(sum / math.max(1, #nodes - 1))
end

-- Nodes in their order of value, those below the others first.
local function sort(nodes)
   table.sort(nodes, function(a, b)
      if a.median ~= b.median then
         return a.median < b.median
      end
      return a.name < b.name
   end)
   return nodes
end

local function names(nodes, from, to)
   local out = {}
   for i = from, to do
      out[#out + 1] = nodes[i].name
   end
   table.sort(out)
   return out
end

-- The time boxes that a metric was measured in.
-- @param nodes name -> values on the CPUs that are learned
-- @return list of { box_s (0: older records do not say), checks, nodes = list of { name, median, values } }, the one
--   of most checks first
local function boxes_of(nodes, name)
   local by, list = {}, {}
   for node, set in pairs(nodes) do
      for box_s, kept in pairs(set.values[name] or {}) do
         local values = in_order(set, kept)
         if #values > 0 then
            if not by[box_s] then
               by[box_s] = { box_s = box_s, checks = 0, nodes = {} }
               list[#list + 1] = by[box_s]
            end
            local box = by[box_s]
            box.checks = box.checks + #values
            box.nodes[#box.nodes + 1] = { name = node, median = statistics.median(values), values = values }
         end
      end
   end
   table.sort(list, function(a, b)
      if a.checks ~= b.checks then
         return a.checks > b.checks
      end
      return a.box_s < b.box_s
   end)
   return list
end

-- From fewer nodes than a class usually has nobody is left out, as who of them is unlike the others they do not say.
-- @return spread between them in %, how far the outermost are apart in %
local function of_few(kept, m, noise)
   local between = #kept > 1 and math.sqrt(math.max(0, deviation(kept, m) ^ 2 - noise)) or 0
   return between, 100 * (kept[#kept].median - kept[1].median) / m
end

-- What is learned of a metric: in one time box, as a limit is of one.
local function metric_of(nodes, name)
   local boxes = boxes_of(nodes, name)
   if #boxes == 0 then
      return nil
   end
   local list = boxes[1].nodes
   local few = #list < baseline.MIN_NODES
   local kept, m, mad, dropped, room
   if few then
      kept, dropped, room = sort(list), {}, 0
      m, mad = spread.statistics(medians_of(list))
   else
      kept, m, mad, dropped, room = without_outliers(list)
      sort(kept)
   end
   local lists, medians, n, share = {}, {}, 0, 0
   for i, node in ipairs(kept) do
      lists[i], medians[i] = node.values, node.median
      n = n + #node.values
      share = share + spread.of_median(#node.values)
   end
   local within = spread.of_measurements(lists)
   -- A node's median of a few measurements carries their noise, too.
   local noise = (within or 0) ^ 2 * share / #kept
   -- Without outliers the deviation is known better than the MAD; the larger is taken.
   local between, outermost
   if few then
      between, outermost = of_few(kept, m, noise)
   else
      between = math.sqrt(math.max(0, math.max(mad, deviation(kept, m)) ^ 2 - noise))
   end
   local slower, apart = spread.split(medians)
   local first, last = spread.group(sort(dropped), m, room, #list)
   local smaller = slower and slower <= #kept / 2
   return {
      median = m,
      mad_pct = math.min(100, mad),
      run_pct = within and math.min(100, within),
      -- Dips widen it as far as a limit may be at all: a node that is as slow has to be found.
      tolerance_pct = math.max(few and spread.tolerance_of_few(between, within or 0, #kept, n)
         or spread.tolerance(between, within or 0, #kept),
         math.min(spread.dips(lists, m, metrics.BY_NAME[name].better), 100 * baseline.MAX_TOLERANCE)),
      box_s = boxes[1].box_s > 0 and boxes[1].box_s or nil,
      n = n,
      nodes = #kept,
      dropped = #dropped,
      split = slower and { nodes = slower, apart_pct = apart,
         names = smaller and names(kept, 1, slower) or names(kept, slower + 1, #kept) },
      -- For the remarks of `choose` only.
      outermost_pct = outermost,
      boxes = table.move(boxes, 2, #boxes, 1, {}),
      unlike = names(dropped, 1, #dropped),
      group = first and { names = names(dropped, first, last), of = #list,
         pct = 100 * (dropped[(first + last) // 2].median / m - 1) },
   }
end

-- The value of more than half of the nodes whose record has one.
local function majority(nodes, field, key)
   local votes, all, most = {}, 0, nil
   for _, node in pairs(nodes) do
      local value = type(node[field]) == "table" and node[field][key]
      if type(value) == "string" or type(value) == "number" then
         votes[value] = (votes[value] or 0) + 1
         all = all + 1
         if not most or votes[value] > votes[most] then
            most = value
         end
      end
   end
   return most and votes[most] > all / 2 and most or nil
end

local function size(t)
   local n = 0
   for _ in pairs(t) do
      n = n + 1
   end
   return n
end

--- Learns from lessons. Every node speaks with one value, its own median, so that a node
-- with many jobs does not outvote the others.
-- @param lessons iterator of lesson.of's, of each node in the order of time
-- @return { v, classes }, for learn.choose; { class = { checks, busy } }, of how many of them
--   something was left out as others used the node
function learn.of(lessons)
   local seen, left = {}, {} -- class -> node -> what is kept
   for one in lessons do
      left[one.class] = left[one.class] or { checks = 0, busy = 0 }
      take(seen, one, left[one.class])
   end
   local classes = {}
   for class, nodes in pairs(seen) do
      local sets = by_cpus(nodes)
      local c = { nodes = size(nodes), metrics = {}, expect = {}, config = {}, cpus = sets[1] and sets[1].cpus,
         others = table.move(sets, 2, #sets, 1, {}) }
      for _, m in ipairs(sets[1] and metrics.LIST or {}) do
         if m.kernel then
            c.metrics[m.name] = metric_of(sets[1].of, m.name)
         end
      end
      for _, part in ipairs(metrics.PARTS) do
         c.expect[part] = majority(nodes, "parts", part)
      end
      for _, key in ipairs(baseline.SETTINGS) do
         c.config[key] = majority(nodes, "config", key)
      end
      if next(c.metrics) then
         classes[class] = c
      end
   end
   return { v = baseline.VERSION, classes = classes }, left
end

--- The same from an iterator of decoded records.
function learn.from(records)
   return learn.of(lesson.each(records))
end

return learn
