--- Pairs that static routes put onto a shared uplink again and again: a fact of the site, no fault.

local collisions = {}

local SLOW <const> = 0.8 -- of what the flow would have, were the load spread evenly

-- Flows through each leaf's uplinks, and through its downlinks.
local function count(s, list)
   local up, down = {}, {}
   for _, f in ipairs(list) do
      if f.up then
         local from, to = s.leaf_of[f.a], s.leaf_of[f.b]
         up[from] = (up[from] or 0) + 1
         down[to] = (down[to] or 0) + 1
      end
   end
   return up, down
end

local function even_share(s, leaf, users)
   local choice = s.choice
   return leaf.links * choice.link_ratio * choice.link_rate * choice.efficiency / users
end

local function note(s, f, rate, number)
   local key = f.a * (#s.names + 1) + f.b
   local seen = s.collided[key]
   if not seen then
      s.collided[key] = { round = number }
   elseif seen.round ~= number and not seen.told then
      seen.told = true
      s.truth[#s.truth + 1] = {
         kind = "collision", pair = { s.names[f.a], s.names[f.b] }, direction = "out", factor = rate / f.alone,
      }
   end
end

--- Note the flows of a phase that are slow because others share their link; from an ordered pair's second such round
-- on, s.truth has it as kind "collision".
-- @param s site
-- @param list flows of the phase, as physics.rates gives them
-- @param rate their rates in GB/s
-- @param number the round's
function collisions.record(s, list, rate, number)
   if s.choice.routing == "adaptive" or #s.leaves == 1 then
      return
   end
   local up, down = count(s, list)
   for i, f in ipairs(list) do
      if f.up and rate[i] < SLOW * f.alone then
         local from, to = s.leaves[s.leaf_of[f.a]], s.leaves[s.leaf_of[f.b]]
         local even = math.min(f.alone, even_share(s, from, up[from.number]), even_share(s, to, down[to.number]))
         if not from.faulty and not to.faulty and rate[i] < SLOW * even then
            note(s, f, rate[i], number)
         end
      end
   end
end

return collisions
