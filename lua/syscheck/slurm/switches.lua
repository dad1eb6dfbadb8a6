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

return switches
