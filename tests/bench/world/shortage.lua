--- What /proc/vmstat counts of causes that take memory: see reclaim.lua. Pure.
local rng = require("world.rng")

local shortage = {}

-- Seconds in which one page comes back from a quiet swap device; some come along unasked.
local PAGE_S = { nvme = 1e-4, ssd = 3e-4, hdd = 6e-3, raid = 4e-3 }

--- How a leak is felt, or memory in pieces.
-- @param odd chance that nearly all of the lost time is spent elsewhere: files read again, compaction
function shortage.trouble(s, odd)
   local r = rng.new(s.seed, "reclaim cause " .. #s.causes + 1)
   local few = r:chance(odd)
   return { share = few and r:log(1e-6, 0.02) or r:log(0.05, 1), -- of the lost time
      each_s = few and r:log(5e-5, 2e-3) or r:log(5e-5, 0.02), thrash = r:chance(0.3) and r:log(1, 20) or 1,
      parallel = r:log(0.01, 0.3), sigma = r:uniform(0.25, 1), quiet = r:chance(0.4) and r:log(1e-4, 0.5) or 0,
      pages = r:log(0.02, 1), ahead = r:uniform(1, 8) }
end

--- Stalls of a trouble that takes `stalled` seconds.
function shortage.stalls(g, c, stalled)
   -- All tasks that ask for memory stall, and in each other's way: each longer.
   local tasks = math.max(1, c.class.cores * c.k.cores * g.parallel)
   local each = g.each_s * tasks ^ 0.5 * (1 + (g.thrash - 1) * c.loss) * c.m:spread(g.sigma)
   c.add("reclaim", "stalls", c.m:poisson(stalled * math.min(1, g.share * c.m:spread(0.4)) * tasks / each))
end

--- A leak: stalls, and the job's own pages read back from swap.
function shortage.leak(i, c)
   local g = i.reclaim
   if c.loss <= 0 then
      -- The job has what it needs; the node is fuller all the same, and files have less room.
      local room = 1 - c.k.memory - i.missing * c.s
      if room < 0.2 then
         c.add("reclaim", "stalls", c.m:poisson(c.tau * g.quiet * c.m:spread(1.2) * (1 - math.max(0, room) / 0.2)))
      end
      return
   end
   local stalled = c.tau * c.loss
   shortage.stalls(g, c, stalled)
   if i.swap and c.class.swap then -- else what thrashes the disk is files alone
      local page = PAGE_S[c.class.disk] / g.ahead * c.m:spread(0.5)
      c.add("reclaim", "swapped_in", c.m:poisson(stalled * math.min(1, g.pages * c.m:spread(0.5)) / page))
   end
end

return shortage
