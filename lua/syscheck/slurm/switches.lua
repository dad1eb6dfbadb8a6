--- Which leaf switch a node is at, as `scontrol show topology` prints it. Pure.
local hostlist = require("syscheck.lib.hostlist")

local switches = {}

local MAX_NODES = 100000 -- five times the largest cluster
local MAX_NAME = 255

-- What begins a line whose nodes are next to each other. Slurm's own unit in each of its topologies: a tree's
-- leaf switch, a block (not one that aggregates others), a ring.
local UNITS = { "^SwitchName=(%S+) Level=0 ", "^BlockName=(%S+) ", "^RingName=(%S+) " }

local function unit_of(line)
   for _, pattern in ipairs(UNITS) do
      local name = line:match(pattern)
      if name then
         return #name <= MAX_NAME and name:find("^[!-~]+$") and name or nil
      end
   end
end

--- Reads a topology. Lines of upper switches, and of what newer versions may add, are passed over.
-- @return { node's name = its leaf's }, of a node at several the first; or nil and why there is none
function switches.leaves(text)
   local leaves, left = {}, MAX_NODES
   for line in text:gmatch("[^\n]+") do
      local leaf = unit_of(line)
      local list = leaf and line:match(" Nodes=(%S+)")
      local names = list and hostlist.expand(list, left) or {}
      if list and not names[1] then
         return nil, ("the nodes of %s cannot be read"):format(leaf)
      end
      left = left - #names
      for _, name in ipairs(names) do
         leaves[name] = leaves[name] or leaf
      end
   end
   if not next(leaves) then
      return nil, "no leaf switch, block or ring with nodes in it"
   end
   return leaves
end

-- Upper switches of a tree: child's name -> list of { name, level }.
local function parents_of(text)
   local parents, left = {}, MAX_NODES
   for line in text:gmatch("[^\n]+") do
      local name, level = line:match("^SwitchName=(%S+) Level=(%d+) ")
      local list = name and line:match(" Switches=(%S+)")
      for _, child in ipairs(list and hostlist.expand(list, left) or {}) do
         left = left - 1
         parents[child] = parents[child] or {}
         table.insert(parents[child], { name = name, level = tonumber(level) })
      end
   end
   return parents
end

-- Name -> lowest level, of the switch and all above it.
local function above(parents, leaf)
   local level, queue, at = { [leaf] = 0 }, { leaf }, 1
   while queue[at] do
      for _, one in ipairs(parents[queue[at]] or {}) do
         if not level[one.name] then
            level[one.name] = one.level
            queue[#queue + 1] = one.name
         end
      end
      at = at + 1
   end
   return level
end

--- How far leaves are from each other.
-- @param text as leaves() reads it
-- @return function(leaf, leaf) -> 2 where one switch joins them, 3 where two levels are between, ...; 2 where
--   the topology does not say (blocks, rings)
function switches.distance(text)
   local parents, known, memo = parents_of(text), {}, {}
   return function(a, b)
      local name = a < b and a .. "\n" .. b or b .. "\n" .. a
      if not memo[name] then
         known[a], known[b] = known[a] or above(parents, a), known[b] or above(parents, b)
         local least
         for switch, level in pairs(known[a]) do
            if known[b][switch] and level > 0 then
               least = math.min(least or level, level)
            end
         end
         memo[name] = 1 + (least or 1)
      end
      return memo[name]
   end
end

return switches
