--- The network as it is known before it is measured: nodes, which leaf switch each is at, how far
-- leaves are from each other. Pure. Nodes and leaves are numbers from here on, in the order of their names.
local hostlist = require("syscheck.lib.hostlist")

local net = {}

-- Where no topology is known, all are next to each other.
local ONE_LEAF = "-"

--- @param names list of nodes' names
-- @param topology { leaf = { node's name = its leaf's }, hops = function(leaf, leaf) -> 2, 3.. or nil: 2 };
--   nil: one leaf
-- @param rate { node's name = nominal rate of its link, any unit }, or nil: not known
-- @return { names, leaf = node -> leaf, leaves = list of { name, members = list of nodes }, rate = node -> number
--   or nil, hops = function(node, node) -> 1 within a leaf, 2 or more across, known = there is a topology }
function net.new(names, topology, rate)
   local self = { names = table.move(names, 1, #names, 1, {}), leaf = {}, leaves = {}, rate = {},
      known = topology ~= nil }
   hostlist.sort(self.names)
   local number = {}
   for i, name in ipairs(self.names) do
      -- A node that the topology does not name is at no leaf of the others.
      local leaf = topology and (topology.leaf[name] or "of " .. name) or ONE_LEAF
      if not number[leaf] then
         number[leaf] = #self.leaves + 1
         self.leaves[number[leaf]] = { name = leaf, members = {} }
      end
      self.leaf[i] = number[leaf]
      table.insert(self.leaves[number[leaf]].members, i)
      self.rate[i] = rate and rate[name] or nil
   end
   local far = topology and topology.hops
   function self.hops(a, b)
      local from, to = self.leaf[a], self.leaf[b]
      return from == to and 1 or far and far(self.leaves[from].name, self.leaves[to].name) or 2
   end
   return self
end

local function names_of(self, list)
   local out = {}
   for i, nodes in ipairs(list) do
      out[i] = {}
      for k, node in ipairs(nodes) do
         out[i][k] = self.names[node]
      end
   end
   return out
end

--- Rounds of nodes by number -> by name.
-- @param rounds list of { kind, pairs = list of { node, node }, or groups = list of lists of nodes }
function net.named(self, rounds)
   local out = {}
   for r, round in ipairs(rounds) do
      out[r] = { kind = round.kind, seconds = round.seconds, pairs = round.pairs and names_of(self, round.pairs),
         groups = round.groups and names_of(self, round.groups) }
   end
   return out
end

return net
