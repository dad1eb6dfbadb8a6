--- Which class a node is compared with. One that has lost a DIMM or a core shows a class that few have, or it alone: it
-- is compared with what it was, as its checks are (baseline.class_for). Several may have lost one, of a chassis or by
-- the same firmware: fewer than have kept it. A class that nodes have had from the beginning is their own, unless it is
-- one node's, and a DIMM less than another's.
local baseline = require("syscheck.verdict.baseline")
local job_store = require("syscheck.questions.job.read")

local classes = {}

local COUNT = "SELECT n.class, count(*) FROM node n WHERE n.class IS NOT NULL GROUP BY n.class"
local OTHERS = "SELECT count(*) FROM node n WHERE n.id <> ? AND (n.class = ? OR "
   .. "(SELECT c.class FROM check_node c WHERE c.node = n.id ORDER BY c.key LIMIT 1) = ?)"
local ONE_DIMM = 1 / 8 -- of a node's memory at most; nodes with fewer DIMMs are rare, and less may have been bought
local FIRST = "SELECT c.key >> 30 FROM check_node c WHERE c.node = ? AND c.class = ? ORDER BY c.key LIMIT 1"

-- Whether a class has as many cores as another, and no more than a DIMM less.
local function lost_one(class, other)
   local own, of = baseline.parse_class(class), baseline.parse_class(other)
   return own ~= nil and of ~= nil and own.cores == of.cores and own.memory_gib ~= nil and of.memory_gib ~= nil
      and own.memory_gib >= (1 - ONE_DIMM) * of.memory_gib
end

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
--   nearest of its model with more (else the nearest of those with more nodes than it has, and a DIMM more at most),
--   if that has all that it has, its measured values may fail such a node, and the node's checks were of that class
--   before, or it lacks no more than a DIMM and no other node has its class or began with it (of nodes that get more
--   memory one after the other the last is not alone); else its own
function classes.rated_as(store)
   local word = job_store.words(store)
   local known, of_name, counts = read(store, word)
   local near, of_node = {}, {}
   -- The classes that a class may have been.
   local function greater(own, count)
      local out = { classes = {} }
      for name, of in pairs(known.classes) do
         out.classes[name] = of.nodes > count and lost_one(own, name) and of or nil
      end
      return out
   end
   local function near_of(class)
      if near[class] == nil then
         local own, count = word(class), counts[class] or 0
         local name, close, has_all = nil, false, false
         if own then
            name, close, has_all = baseline.class_for(count < baseline.MIN_NODES and known or greater(own, count), own)
         end
         near[class] = close and has_all and of_name[name] or false
      end
      return near[class]
   end
   local function first(node, class)
      local t = store:row(FIRST, node, class)
      return t and t[1] or math.huge
   end
   local function is_alone(node, class, of)
      return lost_one(word(class), word(of)) and store:row(OTHERS, node, class, class)[1] == 0
   end
   return function(node, class)
      local was = class and near_of(class)
      if not was then
         return class
      end
      local key = ("%d %d"):format(node, class)
      if of_node[key] == nil then
         local before = first(node, was)
         of_node[key] = before < math.huge and before < first(node, class) or is_alone(node, class, was)
      end
      return of_node[key] and was or class
   end
end

return classes
