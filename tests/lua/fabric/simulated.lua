--- A small network for tests: each flow gets what its weakest link carries, an uplink is shared in proportion. No
-- randomness but the noise that is asked for.
local network = require("syscheck.fabric.net")

local simulated = {}

simulated.RATE = 10 -- GB/s of a healthy pair in one direction
simulated.BOTH = 9.5 -- each way, when both are at work
simulated.US = { 2, 3, 4 } -- of a message by hops

--- @param sizes of the leaves: { 8, 8 }; or a number of nodes without a topology
-- @param hops function(leaf's name, leaf's name), or nil: 2
function simulated.net(sizes, hops)
   local names, leaf = {}, {}
   for l, size in ipairs(type(sizes) == "table" and sizes or { sizes }) do
      for k = 1, size do
         local name = ("l%dn%d"):format(l, k)
         names[#names + 1], leaf[name] = name, "l" .. l
      end
   end
   return network.new(names, type(sizes) == "table" and { leaf = leaf, hops = hops } or nil)
end

--- A linear congruential generator (Numerical Recipes'): function() -> -1 to 1.
function simulated.noise(seed)
   local state = seed
   return function()
      state = (1664525 * state + 1013904223) & 0xFFFFFFFF
      return state / 0x80000000 - 1
   end
end

-- What a flow could get if it were alone on the uplinks.
local function weakest(net, world, flow, mode, kind)
   local from, to = flow.from, flow.to
   local rate = math.min(mode == "both" and simulated.BOTH or simulated.RATE, (world.out or {})[from] or 100,
      (world["in"] or {})[to] or 100, (world.path or {})[from .. " " .. to] or 100)
   if kind ~= "alone" then
      rate = math.min(rate, (world.loaded_out or {})[from] or 100, (world.loaded_in or {})[to] or 100)
   end
   if mode == "both" then
      rate = math.min(rate, (world.both or {})[from] or 100, (world.both or {})[to] or 100)
   end
   local p, q = net.leaf[from], net.leaf[to]
   if p == q then
      return math.min(rate, (world.switch or {})[p] or 100)
   end
   -- One of an uplink's links, over which every third pair of nodes goes.
   local hit = (from + to) % 3 == 0
   return math.min(rate, hit and (world.link_up or {})[p] or 100, hit and (world.link_down or {})[q] or 100)
end

-- Flows that are at work at the same time -> their rates.
local function share(net, world, flows, mode, kind)
   local total, rates = { up = {}, down = {} }, {}
   local function ends(flow)
      local p, q = net.leaf[flow.from], net.leaf[flow.to]
      return p ~= q and { up = p, down = q } or {}
   end
   for k, flow in ipairs(flows) do
      rates[k] = weakest(net, world, flow, mode, kind)
      for way, leaf in pairs(ends(flow)) do
         total[way][leaf] = (total[way][leaf] or 0) + rates[k]
      end
   end
   for k, flow in ipairs(flows) do
      local least = 1
      for way, leaf in pairs(ends(flow)) do
         local cap = (world[way] or {})[leaf]
         least = math.min(least, cap and cap / total[way][leaf] or 1)
      end
      rates[k] = rates[k] * least
   end
   return rates
end

--- @param world what is wrong, each by node or leaf, in GB/s: out, in, both (each way, when both are at work),
--   loaded_out and loaded_in (while others are at work), switch (pairs within a leaf), up and down (a leaf's uplink, of
--   all its flows), link_up and link_down (every third pair's), path = { "FROM TO" = GB/s }; latency = { node = us },
--   silent = { node = true }, mute = { "FROM TO" = true }; noise = relative, seed
-- @return function(rounds) -> results, as session.run takes it
function simulated.measure(net, world)
   local noise = simulated.noise(world.seed or 1)
   local function noisy(value)
      return value * (1 + (world.noise or 0) * noise())
   end
   local function pair_of(p)
      local a, b = p[1], p[2]
      local silent, mute = world.silent or {}, world.mute or {}
      if silent[a] or silent[b] or mute[a .. " " .. b] or mute[b .. " " .. a] then
         return { error = "no answer" }
      end
      local us = simulated.US[net.hops(a, b)] + ((world.latency or {})[a] or 0) + ((world.latency or {})[b] or 0)
      return { lat_us = noisy(us) }
   end
   return function(rounds)
      local results = {}
      for r, round in ipairs(rounds) do
         local there, back, list, at = {}, {}, {}, {}
         for k, p in ipairs(round.pairs) do
            list[k] = pair_of(p)
            if not list[k].error then
               at[#at + 1] = k
               there[#there + 1] = { from = p[1], to = p[2] }
               back[#back + 1] = { from = p[2], to = p[1] }
            end
         end
         local all = table.move(back, 1, #back, #there + 1, table.move(there, 1, #there, 1, {}))
         local ab, ba = share(net, world, there, "one", round.kind), share(net, world, back, "one", round.kind)
         local both = share(net, world, all, "both", round.kind)
         for i, k in ipairs(at) do
            list[k].ab_gbs, list[k].ba_gbs = noisy(ab[i]), noisy(ba[i])
            list[k].both_ab_gbs, list[k].both_ba_gbs = noisy(both[i]), noisy(both[#at + i])
         end
         results[r] = list
      end
      return results
   end
end

return simulated
