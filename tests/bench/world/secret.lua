--- What slows jobs and the method's author does not know while writing: causes of one site, of one
-- week, of one update. Pure. Each says whether it leaves a trace.
local causes = require("world.causes")
local plant = require("world.plant")
local rng = require("world.rng")
local shortage = require("world.shortage")
local site = require("world.site")

local secret = {}

local HOUR = 3600

local function bare(class)
   return class.family ~= "cloud"
end

local K = {}

-- A BIOS update puts some nodes on another power profile. Trace: where the vendor counts its
-- versions up, the setting; clock and bandwidth of checks; the packages draw less.
K.power_profile = { group = "clock", also = { "memory" }, needs = bare, often = 0.2, many = true,
   make = function(i, r, s, class)
      i.hit = { clock = 1 + r:log(0.06, 0.35), memory = 1 + r:log(0.02, 0.15) }
      i.check = { gflops = 1 / i.hit.clock, triad = 1 / i.hit.memory, latency = r:uniform(1, 1.25) }
      i.shown = r:chance(0.6)
      for _, n in ipairs(i.nodes) do
         site.reboot(s.nodes[n], i.spans[1].from)
      end
      if i.shown then
         plant.setting(s, i, "config", "bios", class.config.bios .. "." .. r:int(1, 9))
         if class.has.clock and r:chance(0.5) then
            plant.setting(s, i, "config", "epp", "balance_power")
         end
      end
   end,
   trace = function(i, c)
      c.gauge("power", -0.3 * (i.hit.clock - 1))
      if i.shown then
         c.mark()
      end
   end }

-- The uplinks of a leaf are full, in working hours or all day. No link has an error; only jobs on
-- several leaves feel it. Trace: none.
K.uplink = { group = "link",
   make = function(i, r, s, _, nodes)
      i.unit, i.spanning, i.hit = "leaf", true, { net = 1 + r:log(0.4, 3) }
      i.hit.lustre = 1 + (i.hit.net - 1) * r:uniform(0, 0.3)
      local first = i.spans[1]
      if r:chance(0.6) then
         local days, from, hours = {}, r:uniform(6, 10), r:uniform(6, 12)
         for day = first.from // site.DAY, first.to // site.DAY do
            local at = (day * 24 + from) * HOUR
            days[#days + 1] = { from = at, to = at + hours * HOUR, strength = r:uniform(0.6, 1.3) }
         end
         i.spans = days
      end
      i.leaf = s.nodes[nodes[1]].leaf
   end,
   trace = function() end,
   sow = function(s, r, name, kind, _, _)
      for _ = 1, r:poisson(1.4 * s.p.prevalence * #s.nodes / 300) do
         local leaf, nodes = r:int(1, s.nodes[#s.nodes].leaf), {}
         for _, node in ipairs(s.nodes) do
            nodes[#nodes + 1] = node.leaf == leaf and node.i or nil
         end
         plant.one(s, r, name, kind, nodes, plant.spans(s, r, r:log(1, 15)))
      end
   end }

-- A monitoring agent of a new image leaks file handles: it takes more of the CPUs from day to day,
-- until a timer restarts it. Trace: run-queue delay, PSI, noise of checks; the image's kernel.
K.agent = { group = "daemon",
   make = function(i, r, s)
      local worst, wide = r:log(0.06, 0.4), r:chance(0.5)
      i.cpu = wide and { all = worst } or { one = math.min(1, 2 * worst) }
      i.check = { noise = wide and 100 * worst or 0, noise_max = 100 * worst, one = not wide }
      for _, n in ipairs(i.nodes) do
         site.reboot(s.nodes[n], i.spans[1].from)
      end
      plant.setting(s, i, "config", "kernel", "6.12.0-" .. r:int(10, 90) .. ".el10.x86_64")
   end,
   trace = function(i, c)
      local a = (i.cpu.all or i.cpu.one) * c.s
      if i.cpu.all then
         causes.queued(c, math.min(1, a * 1.5), a * c.class.cpus * math.min(1, c.k.cores + 0.1))
      else
         causes.queued(c, c.k.cores < 0.95 and a * 0.02 or math.min(0.5, a), c.k.cores < 0.95 and a * 0.05 or a)
      end
   end,
   sow = function(s, r, name, kind, often, able)
      for _ = 1, r:poisson(often * #s.nodes / 300) do
         local from, every = r:uniform(0, s.days * 0.7), r:uniform(1.5, 9)
         local spans, at, last = {}, from, math.min(s.days, from + r:uniform(6, 30))
         while at < last do
            for step = 1, 8 do
               spans[#spans + 1] = { from = (at + every * (step - 1) / 8) * site.DAY, to = (at + every * step / 8)
                  * site.DAY, strength = (step / 8) ^ 1.5 }
            end
            at = at + every
         end
         plant.one(s, r, name, kind, plant.part_of_leaf(s, r, able), spans)
      end
   end, often = 0.8 }

-- Memory in pieces after weeks: the kernel compacts it for huge pages while jobs that allocate much
-- wait. Over with the next restart. Trace: some memory pressure, one busy core, some
-- stalls; free of errors.
K.compaction = { group = "shortage", also = { "memory", "daemon" }, often = 0.25,
   make = function(i, r, s)
      i.hit, i.cpu = { memory = 1 + r:log(0.08, 0.7) }, { one = r:uniform(0.05, 0.4) }
      i.part = r:log(0.05, 0.8)
      i.reclaim = shortage.trouble(s, 0.75) -- compaction itself is counted elsewhere
      function i.applies(run)
         return run.kind.memory > 0.35
      end
      site.reboot(s.nodes[i.nodes[1]], i.spans[#i.spans].to)
   end,
   trace = function(i, c)
      c.add("pressure", "memory_some_us", c.tau * 1e6 * c.loss * i.part * c.slack())
      shortage.stalls(i.reclaim, c, c.tau * c.loss)
      causes.queued(c, i.cpu.one * 0.5 * c.s, i.cpu.one * 0.6 * c.s)
   end }

-- Everybody logs in at nine and each shell reads the same home server, for some weeks of a course.
-- Trace: time of NFS operations, of all jobs in these hours.
K.login = { group = "storage",
   make = function(i, r)
      i.hit = { nfs = r:log(3, 25) }
      local days, hour = {}, r:uniform(7, 13)
      for day = i.spans[1].from // site.DAY, i.spans[1].to // site.DAY do
         if day % 7 < 5 then
            local at = (day * 24 + hour) * HOUR
            days[#days + 1] = { from = at, to = at + r:uniform(0.4, 1.6) * HOUR, strength = r:uniform(0.5, 1.3) }
         end
      end
      i.spans = days
   end,
   trace = function(i, c) causes.slow_operations(c, "nfs", i.hit.nfs) end,
   sow = function(s, r, name, kind)
      if r:chance(0.7) then
         plant.one(s, r, name, kind, nil, plant.spans(s, r, r:uniform(8, 25)))
      end
   end }

-- A disk was changed, and the array is built anew beside the job. Trace: disks busy and read, slower
-- operations; no error.
K.rebuild = { group = "storage", often = 1,
   needs = function(class) return class.disk == "raid" or class.disk == "hdd" end,
   make = function(i, r)
      i.hit, i.rate = { disk = r:uniform(2, 8) }, r:log(4e7, 3e8)
      local from = i.spans[1].from
      i.spans = { { from = from, to = from + r:uniform(8, 50) * HOUR, strength = 1 } }
   end,
   trace = function(i, c)
      causes.slow_operations(c, "disk", i.hit.disk)
      c.add("disk", "read_bytes", c.tau * i.rate)
      c.add("disk", "ops", c.tau * i.rate / 524288)
      c.add("disk", "op_ms", c.tau * 1000 * c.r:uniform(0.8, 2))
      c.add("disk", "busy_ms", c.tau * 1000 * c.r:uniform(0.85, 1))
   end }

-- After a restart a module trains at a lower speed; the next restart mends it. Trace: checks only,
-- and that the boot is another.
K.retrained = { group = "memory", often = 0.25, needs = bare,
   make = function(i, r, s, class)
      local f = r:uniform(0.55, 0.9)
      i.hit = { memory = 1 / f, net = r:chance(0.3) and 1.05 or nil }
      i.check = { triad = f, best = f, latency = r:uniform(1, 1.2) }
      site.reboot(s.nodes[i.nodes[1]], i.spans[1].from)
      site.reboot(s.nodes[i.nodes[1]], i.spans[#i.spans].to)
      i.numa = r:int(1, class.numa)
   end,
   trace = function() end }

-- One user's array opens millions of files: the metadata server is slow for all, in bursts of an hour.
-- Trace: time of Lustre operations (of NFS where there is no Lustre) of whoever uses it then.
K.metadata = { group = "storage",
   make = function(i, r, s)
      i.part = s.p.lustre and "lustre" or "nfs"
      i.hit = { [i.part] = r:log(2, 8) }
      local spans, at = {}, i.spans[1].from
      while at < i.spans[1].to do
         local to = at + r:log(600, 7200)
         spans[#spans + 1] = { from = at, to = to, strength = r:uniform(0.5, 1.4) }
         at = to + r:log(1800, 60000)
      end
      i.spans = spans
   end,
   trace = function(i, c) causes.slow_operations(c, i.part, i.hit[i.part]) end,
   sow = function(s, r, name, kind)
      for _ = 1, r:poisson(1.5 * s.days / 60 + 0.3) do
         plant.one(s, r, name, kind, nil, plant.spans(s, r, r:log(0.4, 5)))
      end
   end }

-- Updates that change nothing, so that not every change of a setting is guilty.
function secret.harmless_updates(s)
   local r = rng.new(s.seed, "updates")
   for _ = 1, r:poisson(3) do
      local nodes = plant.part_of_leaf(s, r, plant.able(s, {}))
      local class, at = s.nodes[nodes[1]].class, r:uniform(0, s.days) * site.DAY
      local name = r:pick({ "bios", "microcode", "kernel" })
      for _, n in ipairs(nodes) do
         local node = s.nodes[n]
         site.reboot(node, at)
         node.changes[#node.changes + 1] = { at = at, config = { [name] = class.config[name] .. "b" } }
      end
   end
end

secret.LIST = {}
for name in pairs(K) do
   K[name].hidden = true -- the truth calls it "secret": a score by kind tells nobody what it was
   secret.LIST[#secret.LIST + 1] = { name, K[name] }
end
table.sort(secret.LIST, function(a, b) return a[1] < b[1] end)

return secret
