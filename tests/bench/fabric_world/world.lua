--- A simulated interconnect with known faults, for a checker of networks to be judged by.
--
-- Modelled:
--  * leaf switches with a number of parallel uplinks, oversubscribed 1:1, 2:1 or 4:1, in pods from 18 leaves on;
--    leaves full, uneven, or as a scheduler hands them out (some with 1 to 3 nodes); uplinks of the whole switch or
--    in proportion to the job's nodes, so that a leaf's own oversubscription may be lower than the site's;
--  * routing: "adaptive" (load spread evenly over the uplinks), "static" (d-mod-k: the spine follows from the
--    destination's port; whole leaf to whole leaf is free of conflicts, random pairs meet on uplinks), "ecmp"
--    (spine by hash of the ordered pair; pairs meet on uplinks and downlinks);
--  * weighted max-min sharing of uplinks, a little unfair (2 to 8 %);
--  * nodes that differ by up to 1 %, rates lower with both directions at once (by site, 0 to 15 %), sites of two link
--    rates (by leaf or scattered), sites that do not know their rates or their topology;
--  * run noise, log-normal, 3 %: 30 % of its variance is common to a pair's values of a round, from its two nodes;
--  * outliers: values 10 to 60 % lower (0.5 % across leaves, a tenth of it within; a fifth of them last the pair's
--    whole round), and rounds in which other jobs take 20 to 60 % of an uplink;
--  * faults of nodes, uplinks, routes, leaf switches: see faults.lua.
-- Not modelled: conflicts above the leaf (pods' uplinks are free of them), back-pressure of a slow receiver onto flows
-- behind it, a rate that depends on the size of messages, faults that come and go, wrong entries in the topology,
-- several rails, topologies other than trees, a healthy node's rate that other nodes of its leaf lower.

local faults = require("fabric_world.faults")
local measure = require("fabric_world.measure")
local physics = require("fabric_world.physics")
local site = require("fabric_world.site")

local world = {}

--- Sites that a benchmark should run: list of { seed = offset to the benchmark's seed, options }.
world.SUITE = require("fabric_world.suite")

local function describe(s)
   local choice, least, most = s.choice, math.huge, 0
   for _, leaf in ipairs(s.leaves) do
      least, most = math.min(least, leaf.size), math.max(most, leaf.size)
   end
   local shape = "flat"
   if #s.leaves > 1 then
      shape = ("%d leaves of %d to %d, %d pods, %d:1, %s routing, links of %gx"):format(#s.leaves, least, most,
         s.pods, choice.oversubscription, choice.routing, choice.link_ratio)
   end
   return ("%d nodes, %s, %s GB/s%s%s%s, noise %g %%, %d faults"):format(#s.names, shape, choice.link_rate,
      s.mixed and " mixed " .. s.mixed or "", choice.rate_known and "" or ", rates unknown",
      choice.topology_known and "" or ", topology unknown", 100 * choice.noise, #s.truth)
end

-- What the scheduler says of each node, and what is true.
local function tables(s)
   local leaf, real_leaf, rate = {}, {}, {}
   for i, name in ipairs(s.names) do
      real_leaf[name] = s.leaves[s.leaf_of[i]].name
      leaf[name] = s.choice.topology_known and real_leaf[name] or "all"
      rate[name] = s.rate[i]
   end
   return leaf, real_leaf, s.choice.rate_known and rate or nil
end

--- Build a site.
-- @param seed integer
-- @param options table; nodes: 16 to 10,000. All others override what the seed draws: faults = {kind = count}
-- ({}: healthy), noise (standard deviation), outliers (share of values), oversubscription (1, 2, 4), leaves (number,
-- even; 1: flat), leaf_size (node ports of a leaf switch), shape ("even", "uneven", "sparse"), routing ("adaptive",
-- "static", "ecmp"), link_ratio (uplink's rate in node rates), whole_switch (uplinks of the whole switch though the
-- job has a part of it), renumbered (names out of leaf order), link_rate (GB/s), mixed (two link rates), rate_known,
-- topology_known, spread (of healthy nodes), efficiency, both_ways, adaptive_efficiency, unfairness, base_us, level_us
-- @return w. What a checker may see: nodes, leaf ("all" for every node where the topology is unknown), hops(a, b),
-- rate (nominal GB/s by name, or nil), measure(rounds), and routing where a site's users know it. What only the judge
-- may see: truth, real_leaf, describe(), site (all of the inside).
-- truth: list of { kind, node | leaf and nodes | pair, direction, factor, how, add_us, overlap, overlap_why };
-- measure may append kind "collision".
function world.build(seed, options)
   local s = site.draw(seed, options or {})
   faults.place(s, options and options.faults)
   local leaf, real_leaf, rate = tables(s)
   local w = {
      nodes = s.names, leaf = leaf, real_leaf = real_leaf, rate = rate, truth = s.truth, site = s,
      routing = s.choice.routing, topology_known = s.choice.topology_known,
   }
   function w.hops(a, b)
      if not w.topology_known then
         return 1
      end
      return site.hops(s, s.index[a], s.index[b])
   end
   function w.measure(rounds)
      local results = {}
      for r, round in ipairs(rounds) do
         results[r] = measure.round(s, round.pairs)
      end
      return results
   end
   function w.describe()
      return describe(s)
   end
   --- True rates of pairs at the same time: no noise, no other jobs. Dead nodes count as alive.
   function w.true_rates(pairs_)
      local list = {}
      for p, pair in ipairs(pairs_) do
         list[p] = { s.index[pair[1]], s.index[pair[2]] }
      end
      return physics.rates(s, list)
   end
   return w
end

return world
