--- Which nodes add latency. Pure. Latencies add up, t_ij = mu_hops + a_i + a_j: what both ends' hosts and NICs take,
-- and the switches between them. Huber's M-estimate (k = 1.345: 95 % of least squares' efficiency for normal errors)
-- by iteratively reweighted least squares, its scale from the MAD of the residuals; each step solves the normal
-- equations by sweeps over nodes (Gauss-Seidel), which the schedule's odd cycles make regular.
local statistics = require("syscheck.lib.statistics")

local latency = {}

local HUBER = 1.345
local STEPS = 8
local SWEEPS = 8 -- in a step; errors halve at least with each where nodes have five partners

--- A node is suspected that adds this share of what a message within a leaf takes, and SIGMAS of what nodes scatter by.
latency.TOLERANCE = 0.15
latency.SIGMAS = 6

local function medians(list)
   local by_hops, mu = {}, {}
   for _, one in ipairs(list) do
      by_hops[one.hops] = by_hops[one.hops] or {}
      table.insert(by_hops[one.hops], one.us)
   end
   for hops, values in pairs(by_hops) do
      mu[hops] = statistics.median(values)
   end
   return mu
end

-- Weighted mean of what is left of each pair for one node or class; `take(one)` is what the others explain.
local function sweep(groups, out, take)
   for key, members in pairs(groups) do
      local sum, weight = 0, 0
      for _, one in ipairs(members) do
         sum = sum + one.weight * (one.us - take(one, key))
         weight = weight + one.weight
      end
      out[key] = weight > 0 and sum / weight or out[key]
   end
end

--- @param net from net.new
-- @param list of { a, b, hops, us } from samples.of
-- @return { mu = hops -> us of a pair of ordinary nodes, added = node -> us, or nil where nothing is known; sigma = us
--   that nodes scatter by, blamed = node -> us, order = list of blamed, worst first }
function latency.find(net, list)
   local mu, added, pairs_, of_node, of_hops = medians(list), {}, {}, {}, {}
   for k, one in ipairs(list) do
      local p = { a = one.a, b = one.b, hops = one.hops, us = one.us, weight = 1 }
      pairs_[k] = p
      of_hops[p.hops] = of_hops[p.hops] or {}
      table.insert(of_hops[p.hops], p)
      for _, node in ipairs({ p.a, p.b }) do
         of_node[node] = of_node[node] or {}
         table.insert(of_node[node], p)
         added[node] = 0
      end
   end
   local scale = 0
   for step = 1, STEPS do
      for _ = 1, SWEEPS do
         sweep(of_node, added, function(p, node)
            return mu[p.hops] + added[p.a == node and p.b or p.a]
         end)
         sweep(of_hops, mu, function(p)
            return added[p.a] + added[p.b]
         end)
      end
      local residuals = {}
      for k, p in ipairs(pairs_) do
         residuals[k] = math.abs(p.us - mu[p.hops] - added[p.a] - added[p.b])
      end
      scale = statistics.MAD_SCALE * (statistics.median(residuals) or 0)
      for k, p in ipairs(pairs_) do
         p.weight = step < STEPS and residuals[k] > HUBER * scale and HUBER * scale / residuals[k] or 1
      end
   end
   -- What all nodes have belongs to the network.
   local values = {}
   for _, value in pairs(added) do
      values[#values + 1] = value
   end
   local typical, sigma = statistics.robust(values)
   -- Of few nodes it says little: no less than what a node's mean scatters by as messages of one pair do.
   sigma = math.max(sigma or 0, #values > 0 and scale / math.sqrt(2 * #list / #values) or 0)
   for hops, value in pairs(mu) do
      mu[hops] = value + 2 * (typical or 0)
   end
   local least = math.huge
   for _, value in pairs(mu) do
      least = math.min(least, value)
   end
   local blamed, order = {}, {}
   for node, value in pairs(added) do
      added[node] = value - typical
      if added[node] > math.max(latency.TOLERANCE * least, latency.SIGMAS * sigma) then
         blamed[node] = added[node]
         order[#order + 1] = node
      end
   end
   table.sort(order, function(a, b)
      return blamed[a] > blamed[b]
   end)
   return { mu = mu, added = added, sigma = sigma, blamed = #net.names > 2 and blamed or {},
      order = #net.names > 2 and order or {} }
end

return latency
