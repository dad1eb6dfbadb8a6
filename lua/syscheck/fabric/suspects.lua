--- From what was measured to who is suspected; nobody is named before he is measured again. Pure.
local latency = require("syscheck.fabric.latency")
local leaves = require("syscheck.fabric.leaves")
local loss = require("syscheck.fabric.loss")
local nodes = require("syscheck.fabric.nodes")
local rates = require("syscheck.fabric.rates")
local samples = require("syscheck.fabric.samples")
local sorted = require("syscheck.lib.sorted")

local suspects = {}

--- More of the flows within a leaf than this being slow, it is the switch that they share: two bad nodes of four leave
-- one pair of six.
local LEAF_SHARE = 0.9
local LEAF_LEAST = 3

--- Pairs of a leaf that are measured again: one bad link of many shows in some of them.
local PATHS = 10

-- Who answered nobody, in the order of how many asked. A partner of such a node is silent in that round, too.
local function silent_nodes(net, measured)
   local asked, answered, dead, order = {}, {}, {}, {}
   for i = 1, #net.names do
      asked[i], answered[i] = {}, false
   end
   for _, one in ipairs(measured.silent) do
      table.insert(asked[one.a], one.b)
      table.insert(asked[one.b], one.a)
   end
   for _, flow in ipairs(measured.flows) do
      answered[flow.from], answered[flow.to] = true, true
   end
   for i = 1, #net.names do
      if #asked[i] > 0 and not answered[i] then
         dead[i] = true
         order[#order + 1] = i
      end
   end
   return dead, order
end

-- Leaves within which nearly all pairs are slow.
local function bad_leaves(net, flows)
   local slow, n, bad, list = {}, {}, {}, {}
   for _, flow in ipairs(flows) do
      local leaf, share = net.leaf[flow.from], flow.one_share or flow.both_share
      if leaf == net.leaf[flow.to] and share then
         n[leaf] = (n[leaf] or 0) + 1
         slow[leaf] = (slow[leaf] or 0) + (share < 1 - nodes.TOLERANCE and 1 or 0)
      end
   end
   for l, leaf in ipairs(net.leaves) do
      if #net.leaves > 1 and #leaf.members >= LEAF_LEAST and n[l] and slow[l] > LEAF_SHARE * n[l] then
         bad[l] = true
         list[#list + 1] = l
      end
   end
   return bad, list
end

--- What a healthy pair reaches where least is in the way: { one, both }, over its nominal rate. Where no leaf has two
-- nodes, the nearest that were measured.
function suspects.near(reference)
   local names = {}
   for name in pairs(reference) do
      names[#names + 1] = name
   end
   table.sort(names, function(a, b)
      local p, q = a:match("^across") and 1 or 0, b:match("^across") and 1 or 0
      return p < q or p == q and tonumber(a:match("%d+")) < tonumber(b:match("%d+"))
   end)
   local of = reference[names[1]] or {}
   return { one = of.one or 1, both = of.both or of.one or 1 }
end

--- @param net from net.new
-- @param measured from samples.of: of all rounds but those that confirm
-- @return { near, guessed = true: net.rate, now over the highest one, is from rates.guess; alike = from rates.guess
--   where it is not; nodes, loses, latency, leaves = what each fit found, reference = of each class,
--   silent = node -> true, leaf = leaf -> true of a bad switch, bad = node -> true: no partner for who is measured
--   again, list = of { kind = "node", "latency", "silent", "within", "leaf" or "path", and node, leaf, direction,
--   flow(s), share }, worst first of each kind }
function suspects.find(net, measured)
   local flows = measured.flows
   local said, guessed = rates.said(net, flows), rates.guess(net, flows)
   net.rate = said or guessed or {}
   samples.normalise(net, flows)
   local first = nodes.find(net, flows)
   local reference = samples.normalise(net, flows, function(node)
      return first.blamed[node] ~= nil
   end)
   local found = nodes.find(net, flows)
   local near = suspects.near(reference)
   local across = leaves.find(net, flows, found, near)
   local slow = latency.find(net, measured.latencies)
   local silent, silent_order = silent_nodes(net, measured)
   local out = { near = near, guessed = not said and guessed ~= nil, alike = said and guessed or nil,
      nodes = found, loses = loss.find(net, flows), leaves = across, latency = slow, reference = reference,
      silent = silent, bad = {}, list = {} }
   local leaf_list
   out.leaf, leaf_list = bad_leaves(net, flows)
   local function add(one)
      if one.node then
         out.bad[one.node] = true
      end
      table.insert(out.list, one)
   end
   for _, node in ipairs(silent_order) do
      add({ kind = "silent", node = node })
   end
   for _, leaf in ipairs(leaf_list) do
      add({ kind = "within", leaf = leaf })
   end
   for _, node in ipairs(found.order) do
      -- With two nodes, who of them is it?
      if not out.leaf[net.leaf[node]] and #net.names > 2 then
         add({ kind = "node", node = node, share = found.blamed[node].share, aspect = found.blamed[node].aspect })
      end
   end
   for _, node in ipairs(sorted(out.loses)) do
      if not found.blamed[node] and not out.leaf[net.leaf[node]] and #net.names > 2 then
         add({ kind = "node", node = node, share = 1 })
      end
   end
   for _, node in ipairs(slow.order) do
      add({ kind = "latency", node = node, us = slow.blamed[node] })
   end
   for _, one in ipairs(across.blamed) do
      add({ kind = "leaf", leaf = one.leaf, direction = one.direction, share = one.share, affected = one.affected,
         flows = one.flows })
   end
   local tried = {}
   local function quota(flow)
      local from, to = net.leaf[flow.from], net.leaf[flow.to]
      if (tried[from] or 0) >= PATHS or (tried[to] or 0) >= PATHS then
         return false
      end
      tried[from], tried[to] = (tried[from] or 0) + 1, (tried[to] or 0) + 1
      return true
   end
   for _, flow in ipairs(across.paths) do
      if quota(flow) then
         add({ kind = "path", flow = flow, share = flow.share })
      end
   end
   for _, one in ipairs(measured.silent) do
      if not silent[one.a] and not silent[one.b] then
         add({ kind = "path", flow = { from = one.a, to = one.b }, share = 0 })
      end
   end
   return out
end

return suspects
