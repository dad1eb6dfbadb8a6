--- Draws a healthy site: leaves, nodes, links, routing. Options override what would be drawn.

local Rng = require("fabric_world.rng")

local site = {}

local PORTS <const> = { 8, 12, 16, 18, 20, 24, 32, 36, 40, 48 } -- node ports of a leaf switch
local RATES <const> = { 3.125, 6.25, 12.5, 12.5, 25, 25, 50 } -- GB/s: 25 to 400 Gbit/s links
local PODS_FROM <const> = 18 -- leaves from which there is a third level of switches

local function choose(option, drawn)
   if option == nil then
      return drawn
   end
   return option
end

-- Every choice is drawn, also where an option overrides it: one option changes no other choice.
local function draw_choices(rng, options)
   local drawn = {
      shape = rng:pick({ "even", "even", "uneven", "uneven", "sparse" }),
      ports = rng:pick(PORTS),
      oversubscription = rng:pick({ 1, 1, 2, 2, 4 }),
      routing = rng:pick({ "adaptive", "adaptive", "static", "static", "ecmp" }),
      link_ratio = rng:pick({ 1, 1, 1, 2, 4 }),
      whole_switch = rng:chance(0.5),
      renumbered = rng:chance(0.2),
      link_rate = rng:pick(RATES),
      efficiency = rng:uniform(0.90, 0.97),
      both_ways = rng:uniform(0.85, 1.0),
      adaptive_efficiency = rng:uniform(0.94, 1.0),
      unfairness = rng:uniform(0.02, 0.08),
      spread = 0.01,
      mixed = rng:chance(0.15),
      rate_known = rng:chance(2 / 3),
      topology_known = true,
      base_us = rng:uniform(0.9, 1.9),
      level_us = rng:uniform(0.3, 0.5),
      noise = 0.03,
      outliers = 0.005,
   }
   for name, value in pairs(drawn) do
      drawn[name] = choose(options[name], value)
   end
   drawn.ports = options.leaf_size or drawn.ports
   if options.noise == 0 and not options.unfairness then
      drawn.unfairness = 0
   end
   return drawn
end

-- Nodes of each leaf. "sparse": what a scheduler hands a job on a busy machine.
local function draw_sizes(rng, nodes, choice, leaves)
   local sizes = {}
   if leaves then
      for l = 1, leaves do
         sizes[l] = nodes * l // leaves - nodes * (l - 1) // leaves
      end
      return sizes
   end
   local left = nodes
   while left > 0 do
      local size = choice.ports
      if choice.shape == "sparse" and rng:chance(0.25) then
         size = rng:int(1, 3)
      elseif choice.shape ~= "even" then
         size = rng:int(math.ceil(0.4 * choice.ports), choice.ports)
      end
      size = math.min(size, left)
      sizes[#sizes + 1] = size
      left = left - size
   end
   return sizes
end

-- The ports that a leaf's nodes are in, from 0: all in a row, or any of the switch's.
local function draw_ports(rng, size, ports, scattered)
   local list = {}
   for p = 0, (scattered and ports or size) - 1 do
      list[#list + 1] = p
   end
   if scattered then
      rng:shuffle(list)
      for p = #list, size + 1, -1 do
         list[p] = nil
      end
      table.sort(list)
   end
   return list
end

local function add_leaf(s, rng, size)
   local choice = s.choice
   local whole = choice.whole_switch and size <= choice.ports
   local served = whole and choice.ports or size
   local l = #s.leaves + 1
   local links = math.max(1, math.ceil(served / (choice.oversubscription * choice.link_ratio)))
   local leaf = {
      number = l, name = ("leaf%03d"):format(l), size = size, nodes = {},
      links = links, alive = links, pod = (l - 1) // s.pod_size + 1,
      ports = draw_ports(rng, size, choice.ports, whole and choice.shape ~= "even"),
      up = { limit = {} }, down = { limit = {} }, -- limit: by link's number from 0, the factor of a bad link
   }
   s.leaves[l] = leaf
   return leaf
end

-- Ids of links, and what each carries in GB/s. Adaptive routing makes one wide link of a leaf's uplinks.
local function number_links(s)
   local choice = s.choice
   local rate = choice.link_rate * choice.efficiency * choice.link_ratio
   local id = 0
   for _, leaf in ipairs(s.leaves) do
      for _, side in ipairs({ leaf.up, leaf.down }) do
         side.first = id
         if choice.routing == "adaptive" then
            local lone = choice.link_rate * choice.efficiency
            s.capacity[id] = math.max(lone, rate * leaf.links * choice.adaptive_efficiency)
            id = id + 1
         else
            for _ = 1, leaf.links do
               s.capacity[id] = rate
               id = id + 1
            end
         end
      end
   end
end

-- Nominal rates where a site has two kinds of nodes: by rack mostly, as they were bought.
local function draw_rates(rng, s, places)
   local choice = s.choice
   local slow = choice.link_rate / rng:pick({ 2, 2, 4 })
   local share = rng:uniform(0.2, 0.5)
   local by_leaf = #s.leaves > 3 and rng:chance(0.75)
   local turn = rng:int(0, #s.leaves - 1)
   local slow_leaf = {}
   for l in ipairs(s.leaves) do
      slow_leaf[l] = (l + turn) % #s.leaves < math.ceil(share * #s.leaves)
   end
   for _, place in ipairs(places) do
      local is_slow = slow_leaf[place.leaf.number]
      if not by_leaf then
         is_slow = rng:chance(share)
      end
      place.rate = choice.mixed and is_slow and slow or choice.link_rate
   end
   s.mixed = choice.mixed and (by_leaf and "by leaf" or "scattered")
end

local function add_node(s, rng, place)
   local choice = s.choice
   local i = #s.names + 1
   local name = ("node%05d"):format(i)
   s.names[i], s.index[name] = name, i
   s.leaf_of[i], s.port[i], s.rate[i] = place.leaf.number, place.port, place.rate
   local own = place.rate * choice.efficiency * (1 - choice.spread * rng:uniform())
   s.healthy[i], s.out[i], s.into[i] = own, own, own
   s.both_out[i], s.both_into[i] = own * choice.both_ways, own * choice.both_ways
   s.latency[i] = 0.5 * choice.base_us * (1 + rng:uniform(-0.02, 0.02))
   place.leaf.nodes[#place.leaf.nodes + 1] = i
end

--- Draw a healthy site.
-- @param seed integer
-- @param options see world.build
-- @return table: choice (what was drawn), leaves, and by node number: names, leaf_of, port (from 0), rate (nominal,
-- GB/s), healthy, out, into, both_out, both_into (what its link moves, GB/s), latency (its share, us)
function site.draw(seed, options)
   local rng = Rng.new(Rng.mix(seed, 1))
   local choice = draw_choices(rng, options)
   local nodes = options.nodes or 256
   if not options.leaf_size then
      choice.ports = math.max(4, math.min(choice.ports, nodes // 2))
   end
   if options.leaves then
      choice.ports = math.ceil(nodes / options.leaves)
   end
   local sizes = draw_sizes(rng, nodes, choice, options.leaves)
   local s = {
      seed = seed, choice = choice, leaves = {}, names = {}, index = {}, leaf_of = {}, port = {}, rate = {},
      healthy = {}, out = {}, into = {}, both_out = {}, both_into = {}, latency = {}, capacity = {},
      loaded_factor = {}, dead = {}, route_factor = {}, detour = {}, truth = {}, rounds = 0, collided = {},
      pod_size = #sizes < PODS_FROM and #sizes or rng:int(8, math.max(8, math.min(20, #sizes // 2))),
      hash_salt = Rng.mix(seed, 2),
   }
   local places = {}
   for _, size in ipairs(sizes) do
      local leaf = add_leaf(s, rng, size)
      for n = 1, size do
         places[#places + 1] = { leaf = leaf, port = leaf.ports[n] }
      end
   end
   s.pods = s.leaves[#s.leaves].pod
   number_links(s)
   if choice.renumbered then
      rng:shuffle(places)
   end
   draw_rates(rng, s, places)
   for _, place in ipairs(places) do
      add_node(s, rng, place)
   end
   return s
end

--- Switch levels between two nodes: 1 within a leaf, 2 within a pod, 3 across pods.
function site.hops(s, a, b)
   local la, lb = s.leaf_of[a], s.leaf_of[b]
   if la == lb then
      return 1
   end
   return s.leaves[la].pod == s.leaves[lb].pod and 2 or 3
end

--- The route of a flow, always the same for an ordered pair. Node numbers as arguments.
-- "static" is d-mod-k as fat-tree routing engines set it: the spine follows from the destination's port, so no two
-- nodes of a leaf share its downlink more than its oversubscription asks, and all of a leaf sending to all of another
-- share no uplink; random pairs meet on uplinks. "ecmp" draws the spine by hash. "adaptive" spreads load evenly.
-- @return up link's id, down link's id, number of the uplink and of the downlink in their leaves (from 0);
-- nothing within a leaf
function site.route(s, a, b)
   local from, to = s.leaves[s.leaf_of[a]], s.leaves[s.leaf_of[b]]
   if from == to then
      return
   end
   local spine_up, spine_down
   if s.choice.routing == "static" then
      spine_up = s.port[b]
      spine_down = spine_up
   else
      local h = Rng.mix(Rng.mix(s.hash_salt, a), b)
      spine_up = h & 0x7fffffff
      spine_down = spine_up
      if from.pod ~= to.pod then
         spine_down = (h >> 32) & 0x7fffffff
      end
   end
   local i, j = spine_up % from.alive, spine_down % to.alive
   if s.choice.routing == "adaptive" then
      return from.up.first, to.down.first, i, j
   end
   return from.up.first + i, to.down.first + j, i, j
end

return site
