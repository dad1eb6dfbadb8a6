--- How long a policy's checks keep a prolog busy. Pure.
local level = require("syscheck.policy.level")
local policy_bounds = require("syscheck.policy.bounds")

local times = {}

-- The prolog entry's own bound, and what ending an agent takes: after a confirmed fail, calls to a slurmctld
-- that hangs may last as long, whatever the kernels' deadline was.
local BOUND_S = 74 + 7

-- Seconds of all kernels' boxes at a level, and of those that may run a second time.
local function boxes(p, lvl)
   local once, again = 0, 0
   for name, box in pairs(p.kernels) do
      local s = box[lvl] or 0
      if name == "io" then
         once = once + s * #p.io_paths
      else
         once, again = once + s, again + s
      end
   end
   return once, again
end

--- Times of a level.
-- @return { level, once_s = its kernels' boxes, confirmed_s = and each a second time,
--   deadline_s, longest_s = until the prolog has ended, whatever happens }; nil for a
--   level that runs no kernels
function times.of(p, lvl)
   if not level.is_active(lvl) then
      return nil
   end
   local deadline = p.deadline[lvl]
   local once, again = boxes(p, lvl)
   return { level = lvl, once_s = once, confirmed_s = once + again, deadline_s = deadline,
      longest_s = BOUND_S }
end

--- Times of the levels that any partition lets through, shortest first.
function times.reachable(p)
   local highest = "none"
   for name in pairs(p.partitions) do
      local ceiling = policy_bounds.of(p, { partition = name }).ceiling
      highest = level.at_least(ceiling, highest) and ceiling or highest
   end
   local out = {}
   for _, lvl in ipairs(level.NAMES) do
      local t = level.at_least(highest, lvl) and times.of(p, lvl)
      if t then
         out[#out + 1] = t
      end
   end
   return out
end

--- The time-out that every reachable level fits in, as a round number; nil without kernels.
function times.needed(p)
   local longest
   for _, t in ipairs(times.reachable(p)) do
      longest = math.max(longest or 0, t.longest_s)
   end
   return longest and math.ceil(longest), longest and math.max(100, math.ceil(longest / 10) * 10)
end

return times
