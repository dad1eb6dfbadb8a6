--- A site by its seed: hardware, habits of its users and admins, how often what goes wrong. Every
-- number is drawn from a wide range, so that no two seeds are alike. Pure.
local rng = require("world.rng")
local hardware = require("world.hardware")

local site = {}

site.EPOCH = 1793491200 -- 2026-11-01
site.DAY = 86400

local function habits(r)
   return {
      -- users
      few = r:uniform(0.4, 0.75), -- jobs of kinds that have 5 to 8 runs
      many = r:uniform(0.06, 0.25), -- of kinds with 24 and more
      tight = r:uniform(0.15, 0.6), bimodal = r:uniform(0.04, 0.22), heavy = r:uniform(0.04, 0.25),
      trend = r:uniform(0.05, 0.3), steps = r:uniform(0.01, 0.08),
      wide = r:log(0.08, 0.35), -- spread of kinds that are not tight, at most
      input = r:log(0.006, 0.05), -- runs with a larger input
      reuse = r:uniform(0.05, 0.3), -- kinds with a name that says nothing
      numbered = r:uniform(0, 0.06), -- kinds whose runs have a name each
      cross = r:uniform(0, 0.12), -- kinds that run on any class
      avx = r:log(0.02, 0.15), press = r:log(0.01, 0.08), own_io = r:log(0.02, 0.15), oversub = r:log(0.005, 0.05),
      own_mix = r:uniform(0.05, 0.4), -- by how much a job's own work differs from run to run
      fail = r:uniform(0, 0.05), arrays = r:uniform(0, 0.15),
      coupling = r:uniform(0.5, 0.95), single = r:uniform(0.25, 0.6), large = r:log(0.02, 0.15),
      io_share = r:log(0.07, 0.35), net_share = r:log(0.1, 0.5), spinning = r:uniform(0.3, 0.9),
      utilisation = r:uniform(0.3, 0.7), minutes = r:log(25, 120),
      -- machines
      classes = r:pick({ 1, 2, 3, 3, 4, 5, 6 }), intel = r:uniform(0.4, 0.85), cloud = r:chance(0.4),
      lacks = r:uniform(0, 0.22),
      lustre = r:chance(0.8), rack = r:pick({ 16, 20, 24, 32, 36, 48 }), leaf = r:pick({ 12, 16, 18, 20, 24, 32, 40 }),
      node_name = r:pick({ "n%04d", "cn%d", "node%03d", "c%03d-hpc" }),
      shared_nodes = r:uniform(0.06, 0.22), shared_jobs = r:uniform(0.06, 0.28), hogs = r:uniform(0.03, 0.12),
      confined = r:chance(0.8), -- jobs keep to their CPUs on shared nodes
      idle = r:log(0.15, 8), burst = r:uniform(0.3, 1.5), cron = r:log(0.02, 2),
      skew_s = r:log(0.05, 4), lost = r:log(0.0005, 0.02), late = r:log(0.003, 0.06), late_nodes = r:log(0.002, 0.03),
      requeue = r:log(0.004, 0.03), plugin = r:chance(0.75), io_controller = r:chance(0.6),
      reboots = r:log(0.003, 0.03), -- of a node and day, beside maintenance
      maintenance = r:int(0, 3), first_fit = r:float(),
      -- checks
      checks = r:pick({ "each", "daily", "weekly", "weekly", "rare" }), asked = r:uniform(0, 0.08),
      full = r:uniform(0.03, 0.25), check_error = r:uniform(0.01, 0.035), disturbed = r:log(0.002, 0.03),
      health = r:chance(0.8), passive = r:chance(0.8), enforce_limit = r:uniform(0.06, 0.15),
      -- troubles
      harmless = r:log(0.012, 0.09), feel = r:log(0.65, 1.7), prevalence = r:log(0.65, 1.6),
      pairs = r:uniform(0.05, 0.25),
      flapping = r:uniform(0.1, 0.4), many_nodes = r:uniform(0.05, 0.25), stay = r:log(4, 16),
      slack = r:uniform(0.1, 0.4),
      hot_racks = r:uniform(0.05, 0.35),
      hot_harm = r:uniform(0.25, 0.6),
   }
end

-- Nodes restart alone, all of a class after maintenance, then often with a new kernel.
local function boots(s)
   local r = rng.new(s.seed, "boots")
   for _ = 1, s.p.maintenance do
      local at = r:uniform(2, s.days - 2) * site.DAY
      local class = r:pick(s.classes)
      local kernel = r:chance(0.6) and ("%s.%d"):format(class.config.kernel, r:int(2, 60))
      for n = class.first, class.first + class.count - 1 do
         local node, t = s.nodes[n], at + r:uniform(0, 40000)
         node.boots[#node.boots + 1] = { at = t }
         if kernel then
            node.changes[#node.changes + 1] = { at = t, config = { kernel = kernel } }
         end
      end
   end
   for _, node in ipairs(s.nodes) do
      for _ = 1, r:poisson(s.p.reboots * s.days) do
         node.boots[#node.boots + 1] = { at = r:uniform(0, s.days) * site.DAY }
      end
   end
end

--- Notes a restart of a node; used by causes, too.
function site.reboot(node, at)
   node.boots[#node.boots + 1] = { at = at }
end

--- Sorts what was noted of the nodes, and names each boot.
function site.seal(s)
   local r = rng.new(s.seed, "boot ids")
   for _, node in ipairs(s.nodes) do
      table.sort(node.boots, function(a, b) return a.at < b.at end)
      for i, change in ipairs(node.changes) do
         change.order = i
      end
      table.sort(node.changes, function(a, b)
         if a.at ~= b.at then
            return a.at < b.at
         end
         return a.order < b.order
      end)
      for _, boot in ipairs(node.boots) do
         boot.id = ("%s-%s-4%s-9%s-%s"):format(r:hex(8), r:hex(4), r:hex(3), r:hex(3), r:hex(12))
      end
   end
end

-- Which nodes jobs share: the last ones of a class, in one partition.
local function partitions(s, r)
   s.partitions = {}
   for c, class in ipairs(s.classes) do
      local part = { name = #s.classes == 1 and "main" or "p" .. c, class = class, nodes = {}, shared = false }
      local shared = { name = "shared" .. c, class = class, nodes = {}, shared = true }
      local n_shared = math.floor(class.count * s.p.shared_nodes + r:float())
      for n = class.first, class.first + class.count - 1 do
         local into = n > class.first + class.count - 1 - n_shared and shared or part
         into.nodes[#into.nodes + 1] = n
         s.nodes[n].shared = into == shared
      end
      if #part.nodes > 0 then
         s.partitions[#s.partitions + 1] = part
      end
      if #shared.nodes > 0 then
         s.partitions[#s.partitions + 1] = shared
      end
   end
end

--- @return { seed, p = parameters, classes, nodes, partitions, days }
function site.draw(seed, options)
   local r = rng.new(seed, "site")
   local p = habits(r)
   local s = { seed = seed, p = p, days = options.days, jobs = options.jobs }
   s.classes = hardware.classes(rng.new(seed, "classes"), p)
   s.nodes = hardware.nodes(rng.new(seed, "nodes"), p, s.classes, options.nodes, options.days)
   for c = #s.classes, 1, -1 do
      if s.classes[c].count == 0 then
         table.remove(s.classes, c)
      end
   end
   boots(s)
   partitions(s, r)
   return s
end

return site
