--- Which class a node is compared with. One that has lost a DIMM or a core shows a class that few have, or it alone: it
-- is compared with what it was, as its checks are (baseline.class_for). A class that a few nodes have had from the
-- beginning is their own; machines are not bought singly, so one node's is not.
local baseline = require("syscheck.verdict.baseline")
local job_store = require("syscheck.questions.job.read")

local classes = {}

local COUNT = "SELECT n.class, count(*) FROM node n WHERE n.class IS NOT NULL GROUP BY n.class"
local FIRST = "SELECT c.key >> 30 FROM check_node c WHERE c.node = ? AND c.class = ? ORDER BY c.key LIMIT 1"

-- Classes of enough nodes, as baseline.class_for wants them; the numbers that the store gives them, by name; and how
-- many nodes each has.
local function read(store, word)
   local known, of_name, counts = { classes = {} }, {}, {}
   for t in store:rows(COUNT) do
      counts[t[1]] = t[2]
      local name = t[2] >= baseline.MIN_NODES and word(t[1])
      if name then
         known.classes[name], of_name[name] = { nodes = t[2] }, t[1]
      end
   end
   return known, of_name, counts
end

--- Nodes and classes are the numbers that the store gives them.
-- @return function(node, class) -> the class that it is compared with: of one with fewer than baseline.MIN_NODES the
--   nearest of its model with more, if that has all that it has, its measured values may fail such a node, and the
--   node's checks were of that class before or no other node has the same; else its own
function classes.rated_as(store)
   local word = job_store.words(store)
   local known, of_name, counts = read(store, word)
   local near, of_node = {}, {}
   local function near_of(class)
      if near[class] == nil then
         local own = (counts[class] or 0) < baseline.MIN_NODES and word(class)
         local name, close, has_all = nil, false, false
         if own then
            name, close, has_all = baseline.class_for(known, own)
         end
         near[class] = close and has_all and of_name[name] or false
      end
      return near[class]
   end
   local function first(node, class)
      local t = store:row(FIRST, node, class)
      return t and t[1] or math.huge
   end
   return function(node, class)
      local was = class and near_of(class)
      if not was then
         return class
      end
      local key = ("%d %d"):format(node, class)
      if of_node[key] == nil then
         local before = first(node, was)
         of_node[key] = before < math.huge and before < first(node, class) or (counts[class] or 0) <= 1
      end
      return of_node[key] and was or class
   end
end

return classes
