--- What slows jobs: the kinds that everybody knows. Pure.
--
-- `often` is how many on 100 nodes in 30 days, before the site's own factors. In a trace, c has
-- tau (seconds of the run with it), work (seconds of undisturbed work in them), s (strength), r,
-- m (as r, for what shortage.lua draws), k (kind of job), class, role (1: this node does the job's I/O), loss
-- (share of tau that is lost on this node), add(source, name, amount), gauge(name, value), slack() about 1.
local plant = require("world.plant")
local shortage = require("world.shortage")
local site = require("world.site")

local causes = {}

local function bare(class)
   return class.family ~= "cloud"
end

-- Throttled time of some packages and of their cores.
local function throttled(c, duty, packages, event_s)
   local class = c.class
   local ms = c.tau * 1000 * math.min(1, duty)
   local cores = class.cores / class.packages * packages
   c.add("throttle", "package_ms", ms * packages)
   c.add("throttle", "package_worst_ms", ms)
   c.add("throttle", "package_count", math.ceil(ms / 1000 / event_s) * packages)
   if class.core_throttle then
      local part = c.r:uniform(0.5, 1)
      c.add("throttle", "core_ms", ms * cores * part)
      c.add("throttle", "core_worst_ms", ms * c.r:uniform(part, 1))
      c.add("throttle", "core_count", math.ceil(ms / 1000 / event_s) * cores * part)
   end
end
causes.throttled = throttled

-- In a share of the time no more clock can be lost than there is.
local function depth(duty, factor)
   return math.min(factor, 1 / (1 - 0.6 * duty))
end

-- Time of operations that take f times as long, and who waits for it.
local function slow_operations(c, part, factor)
   local k, class, f = c.k, c.class, 1 + (factor - 1) * c.s
   local busy = c.role[part] * k.w[part] * c.work
   local own = k.own_io and k.own_io.where == part and k.own_io.busy * c.tau * k.own_io.flight or 0
   local seconds = (busy * k.flight[part] + own + c.tau * 0.002) * (f - 1) * c.slack()
   if part == "lustre" then
      c.add("lustre", "op_us", seconds * 1e6)
   else
      c.add(part, "op_ms", seconds * 1000)
   end
   if part == "disk" then
      c.add("disk", "busy_ms", math.min(c.tau, busy * f + c.tau * 0.01 * f) * 1000 * c.r:uniform(0.6, 1))
   end
   if part ~= "lustre" or class.lustre_waits then
      local wait = busy * (f - 1)
      c.add("cpu", "iowait_ms", wait * 1000 * math.min(k.flight[part], class.cpus * k.cores) * c.r:uniform(0.3, 1))
      c.add("pressure", "io_some_us", math.min(c.tau, wait) * 1e6 * c.r:uniform(0.7, 1))
      c.add("pressure", "io_full_us", math.min(c.tau, wait) * 1e6 * c.r:uniform(0.05, 0.6))
   end
end
causes.slow_operations = slow_operations

-- Tasks that wait for a CPU; worst: share of the worst core that others have, sum: cores' worth.
local function queued(c, worst, sum)
   c.add("sched", "wait_ms", c.tau * 1000 * sum * c.slack())
   c.add("sched", "wait_worst_ms", c.tau * 1000 * worst * c.slack())
   c.add("pressure", "cpu_some_us", c.tau * 1e6 * math.min(1, sum / c.class.cpus) * c.r:uniform(0.7, 1.2))
end
causes.queued = queued

local K = {}
causes.KINDS = K

K.thermal = { group = "clock", often = 0.9, many = true, flaps = true, needs = bare,
   make = function(i, r, _, class)
      i.duty, i.packages = r:uniform(0.2, 1), r:chance(0.7) and 1 or class.packages
      i.hit = { clock = depth(i.duty, 1 + r:log(0.08, 0.9)), memory = 1 + r:log(0.005, 0.08) }
      i.check = { gflops = 1 / i.hit.clock ^ r:uniform(0.6, 1), triad = 1 / i.hit.memory }
      i.loaded, i.event_s, i.heat, i.cooling = true, r:log(0.1, 30), r:uniform(4, 20), r:chance(0.3)
   end,
   trace = function(i, c)
      throttled(c, i.duty * c.s * c.heats * c.slack(), i.packages, i.event_s)
      c.gauge("heat", i.heat * c.heats)
      c.gauge("cooling", i.cooling and 1 or 0)
   end }

K.power_cap = { group = "clock", often = 0.4, many = true, needs = bare,
   make = function(i, r, _, class)
      i.watts = math.floor(class.watts * r:uniform(0.45, 0.85))
      i.hit, i.loaded = { clock = 1 + r:log(0.06, 0.8), memory = 1 + r:log(0.003, 0.1) }, true
      i.check = { gflops = 1 / i.hit.clock ^ r:uniform(0.7, 1.1), triad = 1 / i.hit.memory }
      i.counted, i.shown = r:chance(0.5), r:chance(0.75) -- a cap by the BMC is not in RAPL's limits
   end,
   trace = function(i, c)
      c.gauge("power_w", i.shown and i.watts or nil)
      if i.counted then
         local n = c.tau * c.heats * c.r:log(0.05, 3)
         c.add("throttle", "package_power_count", math.floor(n * c.class.packages))
         c.add("throttle", "core_power_count", math.floor(n * c.class.cores * c.r:uniform(0.2, 1)))
      end
      c.gauge("power", -0.3 * (i.hit.clock - 1))
   end }

K.clock_limit = { group = "clock", often = 0.35, many = true, needs = bare,
   make = function(i, r, s, class)
      local f = r:uniform(0.45, 0.88)
      i.mhz = class.mhz * f
      -- All cores' turbo clock is below the highest: some of the limit costs nothing.
      i.hit = { clock = math.max(1.04, r:uniform(0.75, 0.9) / f), memory = 1 + r:log(0.003, 0.06) }
      i.check = { gflops = 1 / i.hit.clock, triad = 1 / i.hit.memory }
      plant.setting(s, i, "config", "clock_limit_mhz", math.floor(i.mhz))
   end,
   trace = function(i, c) c.gauge("clock_mhz", math.floor(i.mhz)) end }

K.prochot = { group = "clock", often = 0.2, flaps = true, needs = bare,
   make = function(i, r)
      i.hit = { clock = 1 + r:log(0.15, 2), memory = 1 + r:log(0.02, 0.3) }
      i.check = { gflops = 1 / i.hit.clock, triad = 1 / i.hit.memory }
   end,
   -- Of the board's signal no counter tells; the packages draw less.
   trace = function(i, c) c.gauge("power", -0.5 * (i.hit.clock - 1)) end }

K.ce_storm = { group = "memory", often = 0.7, flaps = true, grows = 0.4, needs = bare,
   make = function(i, r, _, class)
      i.loss, i.rate = r:log(0.04, 0.4), r:log(0.02, 100)
      i.smi = r:chance(0.6) -- the firmware stops all cores for each; else the kernel takes an interrupt
      i.cpu = { all = i.loss, quiet = true }
      i.interrupts, i.module = r:chance(0.7), ("mc%d CPU%d_DIMM_%s%d"):format(r:int(0, class.packages - 1),
         r:int(0, class.packages - 1), r:pick({ "A", "B", "C", "D" }), r:int(1, 2))
      i.uncorrected = r:chance(0.05)
      i.check = { noise = 100 * i.loss, noise_max = 110 * i.loss, triad = 1 - i.loss * r:uniform(0.5, 1),
         gflops = 1 - i.loss * r:uniform(0.6, 1) }
   end,
   trace = function(i, c)
      local n = c.r:poisson(i.rate * c.s * c.tau * c.slack())
      c.add("memory_errors", "corrected", n)
      c.error("dimm", i.module, "corrected", n)
      c.add("machine_checks", "events", i.interrupts and not i.smi and math.floor(n * c.r:uniform(0.3, 1)) or 0)
   end }

K.slow_memory = { group = "memory", often = 0.7, many = true, needs = bare,
   make = function(i, r, s, class)
      local lost = r:chance(0.35) and class.dimms >= 8
      local f = lost and 1 - 2 / class.dimms * r:uniform(0.8, 2) or r:uniform(0.45, 0.88)
      i.hit = { memory = 1 / f }
      i.check = { triad = f, best = f, latency = r:uniform(1, 1.35), gflops = r:uniform(0.97, 1) }
      if lost then -- the firmware has mapped a module out: the class is named by what the node has
         for _, n in ipairs(i.nodes) do
            site.reboot(s.nodes[n], i.spans[1].from)
         end
         local gib = class.memory_gib // class.dimms * (class.dimms - 1)
         plant.setting(s, i, "parts", "dimms", class.dimms - 1)
         plant.setting(s, i, "parts", "memory_gib", gib)
         plant.setting(s, i, "class", nil, (class.name:gsub("%-%d+g$", "-" .. gib .. "g")))
      end
      i.lost = lost
   end,
   trace = function(i, c)
      if i.lost then
         c.mark()
      end
   end }

K.one_core = { group = "daemon", often = 1.2, many = true, flaps = true,
   make = function(i, r)
      i.cpu = { one = r:uniform(0.1, 1) }
      i.check = { noise = 0, noise_max = 100 * math.min(i.cpu.one, 0.9) * r:uniform(0.5, 1), one = true }
   end,
   trace = function(i, c)
      local took = i.cpu.one * c.s
      local free = c.k.cores < 0.95
      -- On a busy core the daemon waits, too.
      local lost = free and took * 0.02 or math.min(took, 0.5)
      queued(c, lost + (free and 0 or math.max(0, took - 0.5)), lost * 1.5)
   end }

K.all_cores = { group = "daemon", often = 0.45, many = true, flaps = true,
   make = function(i, r)
      local a = r:log(0.04, 0.35)
      i.cpu = { all = a }
      i.check = { noise = 100 * a, noise_max = 100 * math.min(0.9, a * r:uniform(1.2, 3)), triad = 1 - a * 0.7,
         gflops = 1 - a }
   end,
   trace = function(i, c)
      local a = i.cpu.all * c.s
      queued(c, math.min(1, a * c.r:uniform(1, 2)), a * c.class.cpus * math.min(1, c.k.cores + 0.05))
   end }

K.steal = { group = "daemon", often = 1, many = true, flaps = true,
   needs = function(class) return class.steal > 0 end,
   make = function(i, r)
      local a, all = r:log(0.05, 0.5), r:chance(0.5)
      i.cpu = all and { all = a } or { one = a, held = true }
      i.check = { noise = all and 100 * a or 0, noise_max = 100 * a, triad = all and 1 - a * 0.6 or 1,
         gflops = all and 1 - a or 1 }
   end,
   trace = function(i, c)
      local a = (i.cpu.all or i.cpu.one) * c.s * c.slack()
      c.add("cpu", "steal_ms", c.tau * 1000 * a * (i.cpu.all and c.class.cpus or 1))
      c.add("cpu", "steal_worst_ms", c.tau * 1000 * a * (i.cpu.all and c.r:uniform(1, 1.6) or 1))
   end }

K.night_backup = { group = "daemon", also = { "storage" }, often = 0.12, many = true,
   make = function(i, r)
      i.cpu, i.hit = { all = r:log(0.03, 0.2) }, { disk = r:uniform(1.5, 6), nfs = r:uniform(1.2, 3) }
      local first, hours, hour = i.spans[1], r:uniform(1, 5), r:uniform(0, 5)
      local days = {}
      for day = first.from // site.DAY, first.to // site.DAY do
         local at = (day * 24 + hour) * 3600
         days[#days + 1] = { from = at, to = at + hours * 3600, strength = r:uniform(0.7, 1.2) }
      end
      i.spans = days
   end,
   trace = function(i, c)
      K.all_cores.trace(i, c)
      slow_operations(c, "disk", i.hit.disk)
      slow_operations(c, "nfs", i.hit.nfs)
      c.add("disk", "read_bytes", c.tau * c.r:log(2e6, 2e8))
   end }

K.slow_disk = { group = "storage", often = 2.2, many = true, flaps = true, grows = 0.3,
   needs = function(class) return class.disk ~= nil end,
   make = function(i, r) i.hit = { disk = r:log(1.8, 20) } end,
   trace = function(i, c) slow_operations(c, "disk", i.hit.disk) end }

K.client = { group = "storage", often = 1, many = true, flaps = true,
   make = function(i, r, s)
      i.part = s.p.lustre and r:chance(0.7) and "lustre" or "nfs"
      i.hit = { [i.part] = r:log(1.6, 12) }
   end,
   trace = function(i, c) slow_operations(c, i.part, i.hit[i.part]) end }

-- A server: everybody's, for hours.
K.file_system = { group = "storage", often = 2,
   make = function(i, r, s)
      i.part = s.p.lustre and r:chance(0.75) and "lustre" or "nfs"
      i.hit = { [i.part] = r:log(1.6, 10) }
   end,
   trace = function(i, c) slow_operations(c, i.part, i.hit[i.part]) end,
   sow = function(s, r, name, kind, often)
      for _ = 1, 1 + r:poisson(often * s.days / 30) do
         plant.one(s, r, name, kind, nil, plant.spans(s, r, r:log(0.04, 0.7)))
      end
   end }

K.link_errors = { group = "link", often = 0.9, many = true, flaps = true,
   needs = function(class) return class.has.link end,
   make = function(i, r, _, _)
      i.rate = r:log(0.003, 5)
      i.hit = { net = 1 + r:log(0.15, 4) }
      i.hit.lustre = 1 + (i.hit.net - 1) * r:uniform(0.05, 0.5)
   end,
   trace = function(i, c)
      local n = c.r:poisson(i.rate * c.s * c.tau * c.slack())
      c.add("link", "errors", n)
      c.error("link", "mlx5_0/1", "errors", n)
   end }

K.link_rate = { group = "link", often = 0.4, many = true, needs = function(class) return class.has.link end,
   make = function(i, r, _, class)
      local f = r:pick({ 2, 2, 4, 4, 10 })
      i.rails = class.rails > 1 and r:chance(0.5)
      f = i.rails and 2 or f
      i.rate = class.rate / f
      i.hit = { net = 1 + (f - 1) * r:uniform(0.2, 0.9), lustre = 1 + (f - 1) * r:uniform(0.02, 0.2) }
   end,
   trace = function(i, c)
      if i.rails then
         c.gauge("ports", c.class.rails - 1)
      else
         c.gauge("rate_gbps", i.rate)
      end
   end }

K.link_flaps = { group = "link", often = 0.5, flaps = true, needs = function(class) return class.has.link end,
   make = function(i, r)
      i.every, i.stall_s = r:log(600, 14400), r:uniform(10, 90)
      i.stall = i.stall_s * 6 / i.every -- retraining, routes, time-outs and what waits for all that
   end,
   trace = function(i, c)
      local n = c.r:poisson(c.tau / i.every * c.s)
      c.add("link", "downed", n)
      c.add("link", "errors", n * c.r:int(1, 40))
      c.error("link", "mlx5_0/1", "downed", n)
   end }

K.pcie_width = { group = "link", often = 0.25, needs = bare,
   make = function(i, r) i.hit = { net = 1 + r:log(0.2, 3) } end, trace = function() end }

K.leak = { group = "shortage", often = 0.9, many = true, grows = 0.6,
   make = function(i, r, s)
      i.missing, i.gain, i.swap = r:uniform(0.2, 0.75), r:log(0.05, 0.6), r:chance(0.4)
      i.kills = r:chance(0.3) and r:log(0.05, 1) or 0
      i.reclaim = shortage.trouble(s, 0.3)
   end,
   trace = function(i, c)
      shortage.leak(i, c)
      if c.loss <= 0 then
         return
      end
      local stalled = c.tau * c.loss
      c.add("pressure", "memory_some_us", stalled * 1e6 * c.slack() * c.r:uniform(0.6, 1))
      c.add("pressure", "memory_full_us", stalled * 1e6 * c.r:uniform(0.1, 0.6))
      if i.swap then
         c.add("disk", "read_bytes", stalled * c.r:log(2e7, 4e8))
         c.add("disk", "written_bytes", stalled * c.r:log(2e7, 4e8))
         c.add("disk", "op_ms", stalled * 1000 * c.r:log(0.5, 8))
         c.add("cpu", "iowait_ms", stalled * 1000 * c.r:log(0.5, 8))
      end
      c.add("oom", "kills", c.r:poisson(i.kills * c.tau / 3600))
   end }

K.quota = { group = "quota", also = { "daemon" }, often = 0.15,
   make = function(i, r) i.cpu = { all = r:log(0.08, 0.5), quiet = true } end,
   trace = function(i, c) c.cgroup("cpu_throttled_us",
      c.tau * 1e6 * i.cpu.all * c.s * c.class.cores * c.k.cores * c.slack()) end }

-- In afternoons whole racks throttle a bit: mostly it costs nothing to speak of.
K.hot_rack = { group = "clock", often = 1, needs = bare,
   make = function(i, r, s)
      i.harmful, i.loaded = r:chance(s.p.hot_harm), true
      i.duty, i.packages, i.event_s = i.harmful and r:log(0.2, 0.9) or r:log(0.01, 0.5), 1, r:log(0.1, 10)
      i.hit = { clock = i.harmful and depth(i.duty, 1 + r:log(0.1, 0.5)) or 1 + r:log(5e-4, 0.01) }
      i.heat, i.unit, i.hot = r:uniform(3, 12), "rack", true
   end,
   trace = function(i, c)
      throttled(c, i.duty * c.s * c.heats * c.r:spread(0.7), c.r:int(1, c.class.packages), i.event_s)
      c.gauge("heat", i.heat)
   end,
   sow = function(s, r, name, kind)
      local racks = s.nodes[#s.nodes].rack
      for rack = 1, racks do
         local nodes = {}
         for _, node in ipairs(s.nodes) do
            nodes[#nodes + 1] = node.rack == rack and bare(node.class) and node.i or nil
         end
         if #nodes > 0 and (r:chance(s.p.hot_racks) or rack == 1 and r:chance(0.7)) then
            local days, hour = {}, r:uniform(11, 14)
            for day = 0, s.days - 1 do
               if r:chance(0.6) then
                  local at = (day * 24 + hour + r:normal(0, 0.5)) * 3600
                  days[#days + 1] = { from = at, to = at + r:uniform(1.5, 8) * 3600, strength = r:log(0.5, 1.5) }
               end
            end
            if days[1] then
               plant.one(s, r, name, kind, nodes, days)
            end
         end
      end
   end }

--- In a fixed order, so that each has its own stream whatever the others draw.
causes.LIST = {}
for name in pairs(K) do
   causes.LIST[#causes.LIST + 1] = { name, K[name] }
end
table.sort(causes.LIST, function(a, b) return a[1] < b[1] end)

return causes
