--- What /proc/vmstat counts of memory on nodes that nothing disturbs: stalls (tasks that freed memory
-- themselves) and pages read back from swap. All draws are from streams of their own: the rest of a
-- site is as it was without them. Pure.
local counters = require("world.counters")
local rng = require("world.rng")

local reclaim = {}

local GIB, DAY = 2 ^ 30, 86400
local CLUSTER = 8192 -- stalls that free a GiB: each frees 32 pages of 4 KiB

--- Habits, classes and nodes.
function reclaim.draw(s)
   local r = rng.new(s.seed, "reclaim")
   s.memory = {
      bursts = r:log(1e-3, 0.5), -- an hour and node, of nobody's jobs: updates, backups, scans
      confined = r:chance(0.65), -- a job at its limit reclaims in its own cgroup, which allocstall leaves out
      drops = r:chance(0.25), -- an epilog drops the page cache
      io = r:log(0.03, 0.4), size = r:log(0.1, 0.6), -- kinds that stall by their I/O, by their size
      always = r:log(0.003, 0.06), stallers = r:log(0.003, 0.05),
      wakes = r:log(0.01, 1.5), -- an hour: daemons that were swapped out
   }
   local swap = r:pick({ 0, 0, 0, 0.4, 1, 1 })
   for c, class in ipairs(s.classes) do
      local q = rng.new(s.seed, "reclaim class " .. c)
      class.swap = q:chance(swap)
      class.margin = q:log(0.15, 4) -- how late kswapd wakes: min_free_kbytes, watermarks
      class.huge = class.config.thp == "always" and q:log(1, 3) or 1 -- huge pages need more at once
   end
   for _, node in ipairs(s.nodes) do
      local q = rng.new(s.seed, "reclaim node " .. node.i)
      local m = { bursts = q:spread(1), wakes = q:spread(0.8) }
      if q:chance(s.memory.always) then
         -- A service at its own limit, for ever or from some day on. It waits, and no job does.
         local swapped = node.class.swap and q:chance(0.5)
         m.from = q:chance(0.6) and -1 or q:uniform(0, s.days * 0.7) * DAY
         m.stalls = (not swapped or q:chance(0.3)) and q:log(1e-3, 5) or 0
         m.pages = swapped and q:log(0.05, 500) or 0
         m.gap = q:uniform(0, 0.6)
      end
      node.memory = m
   end
end

-- How a kind of job takes memory: the same in every run.
local function of_kind(s, k)
   if not k.reclaim then
      local p, r, g = s.memory, rng.new(s.seed, "reclaim kind " .. k.i), {}
      -- Share of the pages that it has to free for itself: kswapd keeps up, or nearly so.
      g.io = not r:chance(0.15) and (r:chance(p.io) and r:log(1e-5, 0.02) or r:log(1e-9, 1e-5)) or 0 -- 0: direct I/O
      local large = k.memory > 0.6
      g.start = r:chance(large and p.size or p.size * 0.2) and r:log(1e-6, 0.03) or r:log(1e-9, 1e-6)
      g.steady = r:chance(p.stallers) and r:log(1e-3, 20) or nil -- a second: large buffers, network packets
      g.parallel = r:log(0.5, 6)
      -- A batch of pages in a stall; at a limit that the kernel does not count none is seen.
      g.press_s = k.press and not (p.confined and (k.shared or r:chance(0.7))) and r:log(2e-4, 0.02) or nil
      g.press = r:log(0.02, 1)
      local pages = k.press and r:chance(0.6) or large and r:chance(0.3)
      g.pages = pages and r:log(0.01, 300) or nil -- a second: its own, that it seldom needs
      g.sigma = r:log(0.15, 1.5)
      k.reclaim = g
   end
   return k.reclaim
end

-- Runs differ, and all of a run's nodes with them.
local function of_run(s, run)
   if not run.reclaim then
      local r = rng.new(s.seed, ("reclaim run %d.%d"):format(run.id, run.restart))
      run.reclaim = { felt = r:spread(of_kind(s, run.kind).sigma), cache = r:uniform(0.05, 1) }
   end
   return run.reclaim
end

-- Bytes that a job's files move through the page cache.
local function cached(k, class, role, work, wall)
   local n = 0
   for _, part in ipairs({ "disk", "nfs", "lustre" }) do
      local each = counters.operation_s(k, class, part)
      n = n + counters.moved(k, class, part, work * k.w[part] * role[part] * k.flight[part] / each)
      if k.own_io and k.own_io.where == part then
         n = n + counters.moved(k, class, part, wall * k.own_io.busy * k.own_io.flight / each)
      end
   end
   return n
end

-- A job on a node, its own record's or a neighbour's.
-- @param starts whether it gets its memory in this time
local function job(put, m, s, run, class, role, wall, starts)
   local k, x = run.kind, of_run(s, run)
   local g, own, felt = of_kind(s, k), k.memory * class.memory_gib, x.felt * m:spread(0.3)
   local free = s.memory.drops and class.memory_gib or class.memory_gib * (1 - x.cache)
   local late = class.margin * class.huge
   local moved = cached(k, class, role, wall * run.clean / run.seconds, wall) / GIB
   -- Files find free memory first, then what is cached has to go; on a full node soon.
   moved = math.max(0, moved - math.max(0, free - own))
   local n = moved * CLUSTER * g.io * math.min(1, 0.2 + k.memory) * class.margin
   n = n + (starts and math.max(0, own - free) * CLUSTER * g.start * late or 0)
   n = n + wall * (g.steady or 0)
   if g.press_s then
      n = n + wall * k.press * g.press * g.parallel / g.press_s
   end
   put("reclaim", "stalls", m:poisson(n * felt))
   if class.swap and g.pages then
      put("reclaim", "swapped_in", m:poisson(wall * g.pages * (k.press or 0.05) * x.felt * m:spread(0.7)))
   end
end

-- What nobody's job did.
local function background(put, m, s, node, from, wall)
   local p, hours, up = node.memory, wall / 3600, from
   for _, boot in ipairs(node.boots) do
      up = boot.at <= from and from - boot.at or up
   end
   for _ = 1, m:poisson(hours * s.memory.bursts * p.bursts) do
      put("reclaim", "stalls", math.floor(m:log(1, 400) * node.class.margin ^ 0.5) + 1)
   end
   if node.class.swap then
      -- More lies in swap the longer a node is up; a job's begin and end wake daemons, too.
      local old = math.min(1.5, 0.1 + up / (20 * DAY))
      for _ = 1, m:poisson((hours * s.memory.wakes + 0.15) * p.wakes * old) do
         put("reclaim", "swapped_in", math.floor(m:log(1, 4000)))
      end
   end
   if p.from and from >= p.from and not m:chance(p.gap) then
      local felt = m:spread(0.6)
      put("reclaim", "stalls", m:poisson(wall * p.stalls * felt))
      put("reclaim", "swapped_in", m:poisson(wall * p.pages * felt))
   end
end

--- The stream of a run on one of its nodes.
function reclaim.stream(s, run, node)
   return rng.new(s.seed, ("reclaim %d.%d on %d"):format(run.id, run.restart, node.i))
end

--- Adds what a run and its neighbours do, and the system.
-- @param m the run's stream
function reclaim.fill(put, m, s, run, node, role, wall)
   background(put, m, s, node, run.begin, wall)
   job(put, m, s, run, node.class, role, wall, true)
   for _, other in ipairs(run.others or {}) do
      local to = math.min(run.begin + wall, other.begin + other.seconds)
      local both = to - math.max(run.begin, other.begin)
      if both > 0 then
         job(put, m, s, other, node.class, role, both, other.begin >= run.begin)
      end
   end
end

return reclaim
