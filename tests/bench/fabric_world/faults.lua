--- Draws faults and puts them into a site. Each writes what the physics reads, and one line of truth.

local Rng = require("fabric_world.rng")
local overlap = require("fabric_world.overlap")

local faults = {}

local SEVERITY <const> = { 0.85, 0.85, 0.70, 0.50, 0.25, 0.10 } -- what is left of a node's rate
local NODE_SHARE <const> = 0.01 -- nodes with a fault
local UPLINK_SHARE <const> = 0.05 -- leaves with an uplink fault
local KINDS <const> = { "dead", "nic", "host", "latency", "uplink_lost", "uplink_link", "leaf_switch", "route" }

local function directions(rng)
   return rng:pick({ "out", "in", "both", "both" })
end

-- A node that has no node fault yet.
local function free_node(rng, s, fits)
   for _ = 1, 1000 do
      local i = rng:int(1, #s.names)
      if not s.faulty[i] and (not fits or fits(i)) then
         s.faulty[i] = true
         return i
      end
   end
end

local add = {}

function add.nic(rng, s)
   local i = free_node(rng, s)
   if not i then
      return
   end
   local direction, factor = directions(rng), rng:pick(SEVERITY)
   if direction ~= "in" then
      s.out[i], s.both_out[i] = s.out[i] * factor, s.both_out[i] * factor
   end
   if direction ~= "out" then
      s.into[i], s.both_into[i] = s.into[i] * factor, s.both_into[i] * factor
   end
   return { node = s.names[i], direction = direction, factor = factor }
end

function add.host(rng, s)
   local i = free_node(rng, s)
   if not i then
      return
   end
   local factor = rng:pick(SEVERITY)
   local how = rng:pick({ "both", "load" })
   if s.leaves[s.leaf_of[i]].size < 4 then
      how = "both" -- nobody else there who could load the leaf
   end
   if how == "both" then
      s.both_out[i], s.both_into[i] = s.both_out[i] * factor, s.both_into[i] * factor
   else
      s.loaded_factor[i] = factor
   end
   return { node = s.names[i], direction = "both", factor = factor, how = how }
end

function add.latency(rng, s)
   local i = free_node(rng, s)
   if not i then
      return
   end
   local add_us = rng:pick({ 0.3, 0.5, 1, 2, 5 })
   s.latency[i] = s.latency[i] + add_us
   return { node = s.names[i], add_us = add_us }
end

function add.dead(rng, s)
   local i = free_node(rng, s)
   if not i then
      return
   end
   s.dead[i] = true
   return { node = s.names[i], factor = 0 }
end

-- A leaf of two nodes or more that has no fault of its own: with one node, its uplink is the node's link.
-- None in a flat site, where no pair is across, and no leaf to compare with.
local function free_leaf(rng, s, fits)
   if #s.leaves < 2 then
      return
   end
   for _ = 1, 200 do
      local leaf = rng:pick(s.leaves)
      if leaf.size > 1 and not leaf.faulty and (not fits or fits(leaf)) then
         leaf.faulty = true
         return leaf
      end
   end
end

local function leaf_truth(s, leaf, truth)
   truth.leaf, truth.nodes = leaf.name, {}
   for n, i in ipairs(leaf.nodes) do
      truth.nodes[n] = s.names[i]
   end
   return truth
end

-- A link that loses packets holds back whoever is routed over it; its queue stays short,
-- so that adaptive routing goes on to use it too.
function add.uplink_link(rng, s)
   local leaf = free_leaf(rng, s)
   if not leaf then
      return
   end
   local link = s.port[rng:pick(leaf.nodes)] % leaf.links
   local direction = rng:pick({ "up", "down", "both", "both" })
   local factor = rng:pick({ 0.1, 0.2, 0.3, 0.4, 0.5 })
   for _, name in ipairs({ "up", "down" }) do
      if direction == name or direction == "both" then
         local side = leaf[name]
         side.limit[link] = factor
         if s.choice.routing == "adaptive" then
            s.capacity[side.first] = s.capacity[side.first] * (1 - (1 - factor) / leaf.links)
         else
            s.capacity[side.first + link] = s.capacity[side.first + link] * factor
         end
      end
   end
   return leaf_truth(s, leaf, { direction = direction, factor = factor, link = link, links = leaf.links })
end

-- How many links of a leaf are left, so that it shows with all nodes loaded, but not with a lone pair.
local function links_left(s, leaf, factor)
   local left, ratio = leaf.links * factor, s.choice.link_ratio
   if s.choice.routing == "adaptive" then
      ratio = ratio * s.choice.adaptive_efficiency
   else
      left = math.max(1, math.floor(left + 0.5))
   end
   local before = math.min(1, leaf.links * ratio / leaf.size)
   local after = math.min(1, left * ratio / leaf.size)
   if left < leaf.links and left * ratio >= 1 and after <= 0.85 * before then
      return left
   end
end

function add.uplink_lost(rng, s)
   local leaf, factor
   for _ = 1, 5 do
      factor = rng:pick({ 0.25, 0.5, 0.5, 0.5, 0.75 })
      leaf = free_leaf(rng, s, function(candidate)
         return links_left(s, candidate, factor)
      end)
      if leaf then
         break
      end
   end
   if not leaf then
      return
   end
   local left = links_left(s, leaf, factor)
   if s.choice.routing == "adaptive" then
      for _, side in ipairs({ leaf.up, leaf.down }) do
         s.capacity[side.first] = s.capacity[side.first] * factor
      end
   else
      leaf.alive = left
   end
   return leaf_truth(s, leaf, { direction = "both", factor = left / leaf.links, links = leaf.links })
end

function add.leaf_switch(rng, s)
   local leaf = free_leaf(rng, s, function(leaf)
      return leaf.size >= 4
   end)
   if not leaf then
      return
   end
   local how = rng:pick({ "within", "all" })
   leaf.within_factor = rng:pick({ 0.75, 0.5, 0.25 })
   leaf.all_factor = how == "all" and leaf.within_factor or nil
   return leaf_truth(s, leaf, { factor = leaf.within_factor, how = how })
end

-- Direction "out" of a route: from the pair's first to its second.
function add.route(rng, s)
   if #s.leaves < 2 then
      return
   end
   local n = #s.names
   local a, b = rng:int(1, n), rng:int(1, n)
   while s.leaf_of[a] == s.leaf_of[b] do
      b = rng:int(1, n)
   end
   local direction = rng:pick({ "out", "both" })
   local factor = rng:pick({ 0.05, 0.1, 0.25, 0.5 })
   local how = rng:pick({ "slow", "detour" })
   local extra = how == "detour" and 2 * s.choice.level_us or 0
   s.route_factor[a * (n + 1) + b], s.detour[a * (n + 1) + b] = factor, extra
   if direction == "both" then
      s.route_factor[b * (n + 1) + a], s.detour[b * (n + 1) + a] = factor, extra
   end
   return { pair = { s.names[a], s.names[b] }, direction = direction, factor = factor, how = how }
end

local function draw_counts(rng, s)
   local nodes, leaves = #s.names, #s.leaves
   local node_faults, uplink_faults = rng:poisson(NODE_SHARE * nodes), rng:poisson(UPLINK_SHARE * leaves)
   local count = { nic = 0, host = 0, latency = 0, uplink_link = 0, uplink_lost = 0 }
   for _ = 1, node_faults do
      local kind = rng:pick({ "nic", "nic", "host", "latency" })
      count[kind] = count[kind] + 1
   end
   for _ = 1, uplink_faults do
      local kind = rng:pick({ "uplink_link", "uplink_lost" })
      count[kind] = count[kind] + 1
   end
   count.route = rng:poisson(0.002 * nodes)
   count.leaf_switch = rng:poisson(0.003 * leaves)
   return count
end

--- Put faults into a site.
-- @param s site, changed in place: s.truth too
-- @param wanted { kind = count }, or nil: drawn
-- @raise unknown kind
function faults.place(s, wanted)
   local rng = Rng.new(Rng.mix(s.seed, 3))
   s.faulty = {}
   for kind in pairs(wanted or {}) do
      if not add[kind] then
         error("unknown kind of fault: " .. tostring(kind))
      end
   end
   wanted = wanted or draw_counts(rng, s)
   for _, kind in ipairs(KINDS) do
      for _ = 1, wanted[kind] or 0 do
         local truth = add[kind](rng, s)
         if truth then
            truth.kind = kind
            s.truth[#s.truth + 1] = truth
         end
      end
   end
   overlap.mark(s)
end

return faults
