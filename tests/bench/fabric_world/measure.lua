--- What is measured in a round: true rates and latencies, with noise and outliers.

local Rng = require("fabric_world.rng")
local collisions = require("fabric_world.collisions")
local physics = require("fabric_world.physics")
local site = require("fabric_world.site")

local measure = {}

local NODE_PART <const> = 0.15 -- of the noise's variance, from each of the two nodes, the same in all phases
local LASTING <const> = 0.2 -- share of outliers that last a whole round
local WITHIN <const> = 0.1 -- outliers within a leaf, against those across
local FIELDS <const> = { ab = "ab_gbs", ba = "ba_gbs", both_ab = "both_ab_gbs", both_ba = "both_ba_gbs" }
local PHASES <const> = { "ab", "ba", "both_ab", "both_ba" }

-- Node numbers of a round's pairs. Errors are the caller's.
local function numbers(s, pairs_)
   local seen, list = {}, {}
   for p, pair in ipairs(pairs_) do
      list[p] = {}
      for side = 1, 2 do
         local i = s.index[pair[side]]
         if not i then
            error("no such node: " .. tostring(pair[side]))
         elseif seen[i] then
            error("node twice in a round: " .. pair[side])
         end
         seen[i], list[p][side] = true, i
      end
   end
   return list
end

local function latency_us(s, a, b, rng)
   local choice, n = s.choice, #s.names + 1
   local hops = site.hops(s, a, b)
   local detour = 0.5 * ((s.detour[a * n + b] or 0) + (s.detour[b * n + a] or 0))
   local us = s.latency[a] + s.latency[b] + (hops - 1) * choice.level_us + detour
   us = us * math.exp(choice.noise * rng:normal())
   local chance = choice.outliers * (hops > 1 and 1 or WITHIN)
   if rng:chance(chance) then
      us = us * rng:uniform(1.1, 3)
   end
   return us
end

-- Factor of a value that other jobs' traffic holds down: 10 to 60 % lower.
local function held_down(rng, chance)
   if rng:chance(chance) then
      return 1 - rng:uniform(0.1, 0.6)
   end
   return 1
end

local function observe(s, a, b, true_rates, p, rng)
   local noise, outliers = s.choice.noise, s.choice.outliers
   if s.leaf_of[a] == s.leaf_of[b] then
      outliers = outliers * WITHIN
   end
   local shared = noise * math.sqrt(NODE_PART) * (rng:normal() + rng:normal())
   local lasting = held_down(rng, LASTING * outliers)
   local own = noise * math.sqrt(1 - 2 * NODE_PART)
   local result = { lat_us = latency_us(s, a, b, rng) }
   for _, phase in ipairs(PHASES) do
      local factor = lasting * held_down(rng, (1 - LASTING) * outliers)
      result[FIELDS[phase]] = true_rates[phase][p] * factor * math.exp(shared + own * rng:normal())
   end
   return result
end

--- One round.
-- @param s site; its count of rounds goes up: a round's noise follows from the site's seed and the round's number
-- @param pairs_ list of { name, name }
-- @return list of results in the order of pairs: { lat_us, ab_gbs, ba_gbs, both_ab_gbs, both_ba_gbs } or
-- { error = "no answer" }
-- @raise unknown node, node twice in a round
function measure.round(s, pairs_)
   s.rounds = s.rounds + 1
   local number = s.rounds
   local round_seed = Rng.mix(Rng.mix(s.seed, 4), number)
   local rng = Rng.new(round_seed)
   local all, alive = numbers(s, pairs_), {}
   for _, pair in ipairs(all) do
      if not s.dead[pair[1]] and not s.dead[pair[2]] then
         alive[#alive + 1] = pair
      end
   end
   local rates = physics.rates(s, alive, rng, round_seed)
   collisions.record(s, rates.forth, rates.ab, number)
   collisions.record(s, rates.back, rates.ba, number)
   local results, p = {}, 0
   for q, pair in ipairs(all) do
      if alive[p + 1] == pair then
         p = p + 1
         results[q] = observe(s, pair[1], pair[2], rates, p, rng)
      else
         results[q] = { error = "no answer" }
      end
   end
   return results
end

return measure
