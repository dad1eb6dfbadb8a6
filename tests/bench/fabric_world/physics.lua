--- True rates of one round: which flows run, what holds each back, how they share the uplinks.

local Rng = require("fabric_world.rng")
local flows = require("fabric_world.flows")
local site = require("fabric_world.site")

local physics = {}

-- Nodes whose host is too slow while the rest of their leaf is busy: half of the leaf's others, partner not counted.
local function loaded_factors(s, pairs_)
   local factor = {}
   if not next(s.loaded_factor) then
      return factor
   end
   local busy = {}
   for _, pair in ipairs(pairs_) do
      for _, i in ipairs(pair) do
         busy[s.leaf_of[i]] = (busy[s.leaf_of[i]] or 0) + 1
      end
   end
   for _, pair in ipairs(pairs_) do
      local within = s.leaf_of[pair[1]] == s.leaf_of[pair[2]] and 1 or 0
      for _, i in ipairs(pair) do
         local leaf = s.leaf_of[i]
         local others = busy[leaf] - 1 - within
         if s.loaded_factor[i] and others > 0 and 2 * others >= s.leaves[leaf].size - 1 - within then
            factor[i] = s.loaded_factor[i]
         end
      end
   end
   return factor
end

-- The smallest of the factors on a flow's way: wrong route, bad link, bad switch. 1 where all is well.
local function way_factor(s, a, b, up_link, down_link)
   local factor = s.route_factor[a * (#s.names + 1) + b] or 1
   local from, to = s.leaves[s.leaf_of[a]], s.leaves[s.leaf_of[b]]
   if from == to then
      return math.min(factor, from.within_factor or 1)
   end
   return math.min(factor, from.up.limit[up_link] or 1, to.down.limit[down_link] or 1,
      from.all_factor or 1, to.all_factor or 1)
end

-- Flow from a to b: its limit alone and with both directions at once, in GB/s, and its links.
local function flow(s, a, b, loaded)
   local up, down, up_link, down_link = site.route(s, a, b)
   local way = way_factor(s, a, b, up_link, down_link) * math.min(s.healthy[a], s.healthy[b])
   local la, lb = loaded[a] or 1, loaded[b] or 1
   return {
      a = a, b = b, up = up, down = down,
      alone = math.min(s.out[a] * la, s.into[b] * lb, way),
      both = math.min(s.both_out[a] * la, s.both_into[b] * lb, way),
   }
end

-- What a link carries in this round: in some rounds other jobs take a part of it.
local function capacity_now(s, round_seed)
   local chance = 0.2 * s.choice.outliers
   if not round_seed or chance == 0 then
      return function(id)
         return s.capacity[id]
      end
   end
   return function(id)
      local h = Rng.mix(round_seed, id)
      if Rng.unit(h) < chance then
         return s.capacity[id] * (1 - 0.2 - 0.4 * Rng.unit(Rng.mix(h, 1)))
      end
      return s.capacity[id]
   end
end

-- Uneven shares on a full link: credits and window sizes are not fair to each flow.
local function phase(s, list, field, capacity, rng)
   local unfair = rng and s.choice.unfairness or 0
   local set = { n = #list, limit = {}, weight = {}, up = {}, down = {} }
   for i, f in ipairs(list) do
      set.limit[i], set.up[i], set.down[i] = f[field], f.up, f.down
      set.weight[i] = f.up and unfair > 0 and math.exp(unfair * rng:normal()) or 1
   end
   return flows.share(set, capacity)
end

--- True rates of a round, without errors of measurement.
-- @param s site
-- @param pairs_ list of { a, b }, node numbers, nobody dead
-- @param rng generator for unequal shares, nil: all are fair
-- @param round_seed integer for what other jobs take of uplinks, nil: nothing
-- @return { ab = {GB/s by pair}, ba = {}, both_ab = {}, both_ba = {}, forth = {flows a to b}, back = {flows b to a} },
-- and the function from link id to capacity
function physics.rates(s, pairs_, rng, round_seed)
   local loaded = loaded_factors(s, pairs_)
   local capacity = capacity_now(s, round_seed)
   local forth, back, all = {}, {}, {}
   local n = #pairs_
   for i, pair in ipairs(pairs_) do
      forth[i] = flow(s, pair[1], pair[2], loaded)
      back[i] = flow(s, pair[2], pair[1], loaded)
      all[i] = forth[i]
   end
   for i = 1, n do
      all[n + i] = back[i]
   end
   local both = phase(s, all, "both", capacity, rng)
   return {
      ab = phase(s, forth, "alone", capacity, rng),
      ba = phase(s, back, "alone", capacity, rng),
      both_ab = table.move(both, 1, n, 1, {}),
      both_ba = table.move(both, n + 1, 2 * n, 1, {}),
      forth = forth,
      back = back,
   }, capacity
end

return physics
