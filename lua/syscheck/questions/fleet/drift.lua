--- Whether what a class measures has changed: on which day, by how much, on which nodes. Pure.
--
-- A series is one metric of one class: a value for each node and day. Nodes come and go, and differ by what they
-- always differ by: each node is compared with itself. Of value = node + day, both fitted by medians (Tukey's median
-- polish), the days' part is the class's own course, and what is left is each node's. In each the day is sought from
-- which the values lie around another median (least absolute deviations, then binary segmentation).
local course = require("syscheck.questions.fleet.course")
local statistics = require("syscheck.lib.statistics")

local drift = {}

--- Days with values, and nodes, that it takes to say anything.
drift.MIN_DAYS, drift.MIN_NODES = course.LEAST, 3
local NODE_SIDE = 2 -- days on either side of a change, of a node that counts there
-- Differences below are no change, and no course is known better, of a class and of a single node: rates and times as
-- a share; noise in points.
local LIMITS = { share = { floor = 0.002, least = 0.01, of_node = 0.03 },
   points = { floor = 0.05, least = 0.5, of_node = 1 } }
-- Nodes are many: one by itself has to be surer than a class; with others of the same day less is enough.
local SURE_ALONE, SURE_WITH_OTHERS, TOGETHER = 8, 5, 4
local POLISH, SAMPLE = 4, 400 -- rounds; nodes that are enough to fit the days
local FEW_OF_DAY = 0.1 -- a day on which fewer of the nodes measured says nothing of the class
local SAME_DAY = 1 -- nodes that changed within so many days of each other did so together

-- What is compared: logarithms, of which differences are shares; of noise, itself in %, the points.
local function scaled(points, value)
   if points then
      return value
   end
   return value > 0 and math.log(value) or nil
end

--- A step in % (or points), as people read it.
function drift.pct(series, step)
   return series.points and step or 100 * (math.exp(step) - 1)
end

-- Fits value = node + day.
-- @return { days = ascending, y = { [day] = number }, nodes = list of { name, x = { [day] = number }, own } }
local function fit(series)
   local nodes, names = {}, {}
   for name in pairs(series.values) do
      names[#names + 1] = name
   end
   table.sort(names)
   local count = {}
   for _, name in ipairs(names) do
      local x, n = {}, 0
      for day, value in pairs(series.values[name]) do
         local v = scaled(series.points, value)
         if v then
            x[day], n = v, n + 1
            count[day] = (count[day] or 0) + 1
         end
      end
      if n > 0 then
         nodes[#nodes + 1] = { name = name, x = x, own = 0 }
      end
   end
   local days, y = {}, {}
   for day, n in pairs(count) do
      if n >= FEW_OF_DAY * #nodes then
         days[#days + 1], y[day] = day, 0
      end
   end
   table.sort(days)
   local function center(node)
      local list = {}
      for day, v in pairs(node.x) do
         list[#list + 1] = y[day] and v - y[day] or nil
      end
      node.own = statistics.median(list)
   end
   local every = math.max(1, #nodes // SAMPLE)
   for _ = 1, POLISH do
      local by_day = {}
      for i = 1, #nodes, every do
         center(nodes[i])
         for day, v in pairs(nodes[i].own and nodes[i].x or {}) do
            by_day[day] = by_day[day] or {}
            table.insert(by_day[day], v - nodes[i].own)
         end
      end
      for _, day in ipairs(days) do
         y[day] = by_day[day] and statistics.median(by_day[day]) or y[day]
      end
   end
   for _, node in ipairs(nodes) do
      center(node)
   end
   return { days = days, y = y, nodes = nodes }
end

-- A node's medians on either side of a day, within the days from .. to; nil where it has too few.
local function around(node, day, from, to, less)
   local before, after = {}, {}
   for d, v in pairs(node.x) do
      if d >= from and d <= to then
         table.insert(d < day and before or after, v - (less and less[d] or 0))
      end
   end
   if #before >= NODE_SIDE and #after >= NODE_SIDE then
      return statistics.median(before), statistics.median(after)
   end
end

local function unscaled(points, v)
   return points and v or math.exp(v)
end

-- Which nodes made a step of the class, and which did not. Of a step that only a part of them made, the class's
-- median shows less than what these did.
local function who_moved(series, fitted, change)
   local moved, stayed, befores, afters, steps = {}, {}, {}, {}, {}
   for _, node in ipairs(fitted.nodes) do
      local before, after = around(node, change.day, change.from_day, change.to_day)
      local along = before and (after - before) / change.step
      -- Of a slow change the middle of either half is half of it apart.
      if along and along >= (change.gradual and 0.25 or 0.5) then
         moved[#moved + 1], steps[#steps + 1] = node.name, after - before
         befores[#befores + 1], afters[#afters + 1] = before, after
      elseif along then
         stayed[#stayed + 1] = node.name
      end
   end
   change.moved, change.stayed = moved, stayed
   if #moved > 0 then
      change.step = change.gradual and change.step or statistics.median(steps)
      change.from = unscaled(series.points, statistics.median(befores))
      change.to = unscaled(series.points, statistics.median(afters))
   end
end

-- The one clear step of a node beside the class's course; nil: none.
local function own_step(node, y, limits)
   local days, rest = {}, {}
   for day in pairs(node.x) do
      days[#days + 1] = y[day] and day or nil
   end
   if #days < drift.MIN_DAYS then
      return nil
   end
   table.sort(days)
   local low, high = math.huge, -math.huge
   for i, day in ipairs(days) do
      rest[i] = node.x[day] - node.own - y[day]
      low, high = math.min(low, rest[i]), math.max(high, rest[i])
   end
   if high - low < limits.of_node then
      return nil -- most nodes, and no time is spent on them
   end
   local best = course.step(rest, 1, #rest, limits.floor)
   return best and best.sure >= SURE_WITH_OTHERS and math.abs(best.step) >= limits.of_node
      and { node = node, day = days[best.at], before = days[best.at - 1], step = best.step, sure = best.sure } or nil
end

-- Nodes that changed beside the class, those of one day and direction together.
local function own_changes(series, fitted, limits, changes)
   local list, groups = {}, {}
   for _, node in ipairs(fitted.nodes) do
      local one = own_step(node, fitted.y, limits)
      for _, change in ipairs(one and changes or {}) do
         -- Who went along with the class more than most, or not at all, is counted there.
         if not change.gradual and change.day >= one.before - SAME_DAY + 1 and change.day <= one.day + SAME_DAY then
            one = nil
            break
         end
      end
      list[#list + 1] = one
   end
   table.sort(list, function(a, b)
      if a.day ~= b.day then
         return a.day < b.day
      end
      return a.node.name < b.node.name
   end)
   for _, one in ipairs(list) do
      local group
      for _, g in ipairs(groups) do
         -- Of a node that is not measured each day it is known between which two days.
         local meets = one.before < g.day and g.before < one.day
         group = (meets or math.abs(one.day - g.day) <= SAME_DAY) and one.step * g.steps[1] > 0 and g or group
      end
      if not group then
         group = { day = one.day, before = one.before, moved = {}, steps = {}, befores = {}, afters = {}, few = true }
         groups[#groups + 1] = group
      end
      local before, after = around(one.node, one.day, -math.huge, math.huge)
      group.sure = math.max(group.sure or 0, one.sure)
      if one.before < group.day and group.before < one.day then
         group.day, group.before = math.min(group.day, one.day), math.max(group.before, one.before)
      end
      table.insert(group.moved, one.node.name)
      table.insert(group.steps, one.step)
      table.insert(group.befores, before)
      table.insert(group.afters, after)
   end
   local sure = {}
   for _, group in ipairs(groups) do
      sure[#sure + 1] = (group.sure >= SURE_ALONE or #group.moved >= TOGETHER) and group or nil
   end
   for _, group in ipairs(sure) do
      group.step, group.stayed = statistics.median(group.steps), {}
      group.from = unscaled(series.points, statistics.median(group.befores))
      group.to = unscaled(series.points, statistics.median(group.afters))
   end
   return sure
end

--- Which settings changed when the values did.
-- @param change of drift.of, not a gradual one
-- @param configs { [node name] = { [day] = any } }
-- @return list of { from, to, moved = on how many of change.moved, stayed = of change.stayed }, most first
function drift.settings(change, configs)
   local list, by_pair = {}, {}
   local function count(names, what)
      for _, name in ipairs(names) do
         local last, first, before, after = -math.huge, math.huge, nil, nil
         for day, config in pairs(configs[name] or {}) do
            if day < change.day and day > last then
               last, before = day, config
            elseif day >= change.day + (change.few and SAME_DAY or 0) and day < first then
               first, after = day, config
            end
         end
         if before ~= nil and after ~= nil and before ~= after then
            local key = ("%s %s"):format(before, after)
            if not by_pair[key] then
               by_pair[key] = { from = before, to = after, moved = 0, stayed = 0 }
               list[#list + 1] = by_pair[key]
            end
            by_pair[key][what] = by_pair[key][what] + 1
         end
      end
   end
   count(change.moved, "moved")
   count(change.stayed, "stayed")
   table.sort(list, function(a, b)
      if a.moved ~= b.moved then
         return a.moved > b.moved
      end
      return ("%s %s"):format(a.from, a.to) < ("%s %s"):format(b.from, b.to)
   end)
   return list
end

--- Looks at one metric of one class.
-- @param series { values = { [node name] = { [day] = number } }, days are whole numbers; points = true: of noise, in %,
--   whose differences are points }
-- @return { days, nodes (how many), few = true (too few of them to say anything), least (a change of the class
--   smaller than this, in % or points, would not be seen), changes = list by day of { day (the first of the new
--   values), before_day (the last day before), pct, from, to (medians of the nodes), moved, stayed (names), few = true:
--   nodes beside the class, gradual = true: over the days from_day to to_day } }
function drift.of(series)
   local limits, fitted = LIMITS[series.points and "points" or "share"], fit(series)
   local days, values = fitted.days, {}
   local out = { days = #days, nodes = #fitted.nodes, changes = {} }
   if #days < drift.MIN_DAYS or #fitted.nodes < drift.MIN_NODES then
      out.few = true
      return out
   end
   for i, day in ipairs(days) do
      values[i] = fitted.y[day]
   end
   out.least = drift.pct(series, course.least(values, limits))
   local found = course.changes(values, limits)
   table.sort(found, function(a, b) return a.at < b.at end)
   for i, one in ipairs(found) do
      local change = { day = days[one.at], before_day = days[one.at - 1], step = one.step, gradual = one.gradual,
         from_day = days[i > 1 and found[i - 1].at or 1], to_day = days[i < #found and found[i + 1].at - 1 or #days] }
      who_moved(series, fitted, change)
      out.changes[i] = change
   end
   for _, group in ipairs(own_changes(series, fitted, limits, out.changes)) do
      group.before_day = group.before
      table.insert(out.changes, group)
   end
   for _, change in ipairs(out.changes) do
      change.pct = drift.pct(series, change.step)
   end
   table.sort(out.changes, function(a, b)
      if a.day ~= b.day then
         return a.day < b.day
      end
      return #a.moved > #b.moved
   end)
   return out
end

return drift
