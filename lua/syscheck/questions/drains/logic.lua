--- Who left service and who would have: stretches of time, out of what was done to nodes check by check. Pure.
local actions = require("syscheck.catalogue.actions")

local drains = {}

local APART_S = 7 * 86400 -- what a node is not found bad for in so long begins anew

--- Whether an entry is of a node that stayed in service.
function drains.is_withheld(entry)
   return entry.what == "observed" or entry.what == "storm" or entry.what == "undecided"
end

local function is_same(entry, e, what)
   if entry.what == "drain" and what == "kept" then
      return e.trigger ~= "prolog" -- out of service still, by another's reason now
   elseif entry.what ~= what then
      return false
   elseif what == "drain" then
      return actions.is_same_drain({ text = entry.text, time = entry.last }, e)
   end
   return e.time - entry.last <= APART_S and actions.kind_of(entry.text) == actions.kind_of(e.text)
end

local function enter(list, open, key, e)
   local what, before = actions.outcome(e), open[key]
   local words, more = actions.words(e)
   e.text = what == "observed" and e.text or words -- "would have been" is what the list says
   if before and is_same(before, e, what) then
      before.times, before.last, before.more = before.times + 1, e.time, more or before.more
      return
   elseif before then
      -- What was drained and is found anew had been in service meanwhile: since when is for the reader.
      before.to = e.time
      if before.what ~= "drain" then
         before.back, before.how = e.time, what
      end
   end
   local entry = { what = what, node = e.node, fabric = e.fabric, time = e.time, last = e.time, times = 1,
      text = e.text, more = more, run = e.run, level = e.level, trigger = e.trigger }
   open[key], list[#list + 1] = entry, entry
end

-- A resume of which the drain is older than what was asked for is an entry of its own.
local function resumed(list, open, key, e)
   local entry = open[key]
   if entry and entry.what == "drain" then
      entry.back, entry.how = e.time, "resume"
   else
      list[#list + 1] = { what = "resume", node = e.node, time = e.time, last = e.time, times = 1,
         text = (actions.words(e)) }
   end
   open[key] = nil
end

--- @param events in the order of time: { time, node = any key, fabric = true for `syscheck fabric`, whose drains no
--   check of the node ends, action, text, drain, trigger, level, run }
-- @return list of { what = outcome of actions, or "resume", node, fabric, time, last, times (found bad), text, more,
--   run, level, trigger, to = when something else of the node began, and where it is known from the events back,
--   how = "resume" or what became of it }
function drains.entries(events)
   local list, open = {}, {}
   for _, e in ipairs(events) do
      local key = (e.fabric and "fabric " or "node ") .. tostring(e.node)
      if e.action == "resume" then
         resumed(list, open, key, e)
      elseif actions.outcome(e) then
         enter(list, open, key, e)
      end
   end
   return list
end

--- How many nodes left, are out still, came back; and how many stayed where they would have left.
function drains.count(list)
   local count, nodes = { drained = 0, out = 0, withheld = 0 }, {}
   for _, one in ipairs(list) do
      if one.what == "drain" then
         count.drained = count.drained + 1
         count.out = count.out + (one.back and 0 or 1)
      elseif drains.is_withheld(one) and not nodes[one.node] then
         nodes[one.node], count.withheld = true, count.withheld + 1
      end
   end
   return count
end

return drains
