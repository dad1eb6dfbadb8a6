--- What a node's counters show of a run that nothing disturbs: its own work, its neighbours', the
-- system's, and what is high for ever. Pure.
local causes = require("world.causes")

local counters = {}

-- Sources by what a class has.
local SOURCES = { throttle = "throttle", pressure = "pressure", cpu = "cpu", sched = "sched", disk = "disk",
   nfs = "nfs", lustre = "lustre", memory_errors = "edac", machine_checks = "mce", oom = "oom", link = "link",
   memory_traffic = "traffic", reclaim = "reclaim" }

local ZERO = {
   throttle = { "package_count", "core_count", "package_power_count", "core_power_count", "package_ms", "core_ms",
      "package_worst_ms", "core_worst_ms" },
   pressure = { "io_some_us", "io_full_us", "memory_some_us", "memory_full_us", "cpu_some_us" },
   cpu = { "iowait_ms", "steal_ms", "steal_worst_ms" }, sched = { "wait_ms", "wait_worst_ms" },
   disk = { "busy_ms", "read_bytes", "written_bytes", "ops", "op_ms" }, nfs = { "ops", "op_ms", "bytes" },
   lustre = { "ops", "op_us", "read_bytes", "written_bytes" }, memory_errors = { "corrected", "uncorrected" },
   machine_checks = { "events" }, oom = { "kills" }, link = { "errors", "downed" }, memory_traffic = { "bytes" },
   reclaim = { "stalls", "swapped_in" },
}

--- An empty delta with the sources that a class has.
function counters.empty(class)
   local d = {}
   for source, names in pairs(ZERO) do
      if class.has[SOURCES[source]] then
         d[source] = {}
         for i = 1, #names do
            d[source][names[i]] = 0
         end
      end
   end
   if d.lustre and not class.lustre_times then
      d.lustre.op_us = nil
   end
   return d
end

-- Milliseconds of one operation on a quiet device.
local LATENCY = { nvme = 0.12, ssd = 0.5, hdd = 8, raid = 5 }

local function bytes(put, r, part, n)
   local read = n * r:float()
   if part == "nfs" then
      put("nfs", "bytes", n)
   else
      put(part, "read_bytes", read)
      put(part, "written_bytes", n - read)
   end
end

--- Seconds of one operation of a job, with nothing else going on.
function counters.operation_s(k, class, part)
   return part == "disk" and k.op_s.disk * LATENCY[class.disk] / 1000 or k.op_s[part]
end

local MOST = { nvme = 3e9, ssd = 5e8, hdd = 1.5e8, raid = 5e8 } -- bytes/s of a disk

--- Bytes of n operations.
function counters.moved(k, class, part, n)
   local each = k.op_bytes[part]
   if part == "disk" then
      each = math.min(each, MOST[class.disk] * counters.operation_s(k, class, part) / k.flight.disk)
   end
   return n * each
end

-- Operations that took so long together.
local function operations(put, r, k, class, part, seconds)
   local n = seconds / counters.operation_s(k, class, part) * r:spread(0.1)
   put(part, "ops", n)
   put(part, part == "lustre" and "op_us" or "op_ms", seconds * (part == "lustre" and 1e6 or 1000) * r:spread(0.08))
   bytes(put, r, part, counters.moved(k, class, part, n))
end

-- A job's own work on the node in `work` undisturbed and `wall` real seconds.
function counters.job(put, r, k, class, role, work, wall)
   for _, part in ipairs({ "disk", "nfs", "lustre" }) do
      local busy = work * k.w[part] * role[part]
      if busy > 0 then
         operations(put, r, k, class, part, busy * k.flight[part])
         if part == "disk" then
            put("disk", "busy_ms", busy * 1000 * r:uniform(0.7, 1))
         end
         if part ~= "lustre" or class.lustre_waits then
            put("cpu", "iowait_ms", busy * 1000 * math.min(k.flight[part], class.cpus * k.cores) * r:uniform(0.3, 1))
            put("pressure", "io_some_us", busy * 1e6 * r:uniform(0.7, 1))
            put("pressure", "io_full_us", busy * 1e6 * r:uniform(0.05, 0.6))
         end
      end
   end
   local own = k.own_io
   if own and class.has[own.where] then
      operations(put, r, k, class, own.where, wall * own.busy * own.flight * r:spread(0.2))
      if own.where == "disk" then
         put("disk", "busy_ms", wall * 1000 * own.busy)
      end
      put("cpu", "iowait_ms", wall * 1000 * own.busy * r:uniform(0.5, 2))
      put("pressure", "io_some_us", wall * 1e6 * own.busy * r:uniform(0.2, 0.9))
   end
   if k.press then
      put("pressure", "memory_some_us", wall * 1e6 * k.press * r:spread(0.3))
      put("pressure", "memory_full_us", wall * 1e6 * k.press * 0.3 * r:spread(0.4))
   end
   if k.oversub then
      local share = k.oversub * r:uniform(0.8, 1.1)
      put("sched", "wait_ms", wall * 1000 * share * class.cpus * k.cores)
      put("sched", "wait_worst_ms", wall * 1000 * math.min(1, share * 1.3))
      put("pressure", "cpu_some_us", wall * 1e6 * math.min(1, share * k.cores))
   end
   if k.avx then
      local c = { tau = wall, class = class, r = r, add = put }
      causes.throttled(c, k.avx * r:spread(0.15), class.packages, 2)
      put("throttle", "package_power_count", wall * k.avx * r:uniform(0.3, 1))
   end
   if k.threads then -- its threads wait for each other's CPUs, and all others for them
      put("sched", "wait_ms", wall * 1000 * class.cpus * math.max(0, k.threads - 0.6) * 0.5)
      put("sched", "wait_worst_ms", wall * 1000 * math.min(1, k.threads * 0.4))
      put("pressure", "cpu_some_us", wall * 1e6 * math.min(1, k.threads * 0.5))
   end
   put("memory_traffic", "bytes", k.bandwidth * class.triad * 1e9 * work)
end

-- What the system does beside: daemons, logs, an hourly cron.
local function background(put, r, s, node, from, wall)
   local class = node.class
   local idle = s.p.idle * node.idle * r:spread(s.p.burst * 0.6)
   put("pressure", "cpu_some_us", wall * 1e6 * 1e-4 * idle)
   put("pressure", "io_some_us", wall * 1e6 * 3e-4 * idle * r:spread(s.p.burst))
   put("pressure", "io_full_us", wall * 1e6 * 1e-4 * idle * r:spread(s.p.burst))
   put("pressure", "memory_some_us", wall * 1e6 * 1e-6 * idle * r:spread(s.p.burst))
   put("cpu", "iowait_ms", wall * 1000 * 1e-3 * idle * r:spread(s.p.burst))
   put("cpu", "steal_ms", wall * 1000 * class.steal * class.cpus * r:spread(0.5))
   put("cpu", "steal_worst_ms", wall * 1000 * class.steal * r:uniform(1.5, 5))
   put("sched", "wait_ms", wall * 1000 * class.cpus * 1e-4 * idle ^ 0.7)
   put("sched", "wait_worst_ms", wall * 1000 * r:log(3e-4, 3e-3) * idle ^ 0.7)
   local hours = (from + wall) // 3600 - from // 3600
   put("sched", "wait_ms", hours * s.p.cron * 1000 * r:uniform(0.6, 1.4))
   put("sched", "wait_worst_ms", hours * s.p.cron * 500 * r:uniform(0.3, 1))
   local ops = (wall * 0.5 + hours * 200 * s.p.cron) * idle
   put("disk", "ops", ops)
   put("disk", "op_ms", ops * LATENCY[class.disk] * r:spread(0.4))
   put("disk", "busy_ms", ops * LATENCY[class.disk] * 0.8)
   put("disk", "read_bytes", ops * 3e3 * r:spread(0.8))
   put("disk", "written_bytes", ops * 3e4 * r:spread(0.5))
   ops = wall * 0.2 * idle * r:spread(0.5)
   put("nfs", "ops", ops)
   put("nfs", "op_ms", ops * r:log(0.3, 4))
   put("nfs", "bytes", ops * 1e3)
   put("lustre", "ops", ops * 0.3)
   put("lustre", "op_us", ops * 0.3 * r:log(300, 5000))
   put("memory_traffic", "bytes", wall * r:uniform(1e8, 4e8))
   put("memory_errors", "corrected", r:chance(0.002) and r:int(1, 4) or 0)
   put("link", "errors", r:chance(0.003) and r:int(1, 6) or 0)
end

local FOREVER = {}

function FOREVER.corrected(put, r, level, wall, class, fault)
   local n = r:poisson(wall / 3600 * 10 ^ (3 * level))
   put("memory_errors", "corrected", n)
   put("machine_checks", "events", level > 0.6 and n // 2 or 0)
   fault("dimm", "mc0 CPU0_DIMM_B1", "corrected", class.has.edac and n or 0)
end

function FOREVER.link_errors(put, r, level, wall, class, fault)
   local n = r:poisson(wall / 3600 * 10 ^ (2.5 * level))
   put("link", "errors", n)
   fault("link", "mlx5_0/1", "errors", class.has.link and n or 0)
end

function FOREVER.throttle_core(put, r, level, wall, class)
   local ms = wall * 1000 * level * r:uniform(0.6, 1)
   local name = class.core_throttle and "core" or "package"
   put("throttle", name .. "_ms", ms)
   put("throttle", name .. "_worst_ms", ms)
   put("throttle", name .. "_count", ms / 1000 * r:uniform(0.1, 2))
end

function FOREVER.disk_busy(put, r, level, wall)
   put("disk", "busy_ms", wall * 1000 * level * 0.9)
   put("disk", "ops", wall * 300 * level)
   put("disk", "op_ms", wall * 1000 * level * r:uniform(1, 4))
   put("disk", "written_bytes", wall * 300 * level * 16384)
   put("pressure", "io_some_us", wall * 1e6 * level * r:uniform(0.1, 0.5))
end

function FOREVER.hot_sensor() end

function FOREVER.wait_core(put, r, level, wall, class)
   put("sched", "wait_ms", wall * 1000 * level * r:uniform(0.7, 1.5))
   put("sched", "wait_worst_ms", wall * 1000 * level * r:uniform(0.6, 0.9))
   put("pressure", "cpu_some_us", wall * 1e6 * level / class.cpus)
end

function FOREVER.machine_checks(put, r, level, wall)
   put("machine_checks", "events", r:poisson(wall / 3600 * 10 ^ (2 * level)))
end

function FOREVER.steal_core(put, _, level, wall)
   put("cpu", "steal_ms", wall * 1000 * level * 0.6)
   put("cpu", "steal_worst_ms", wall * 1000 * level * 0.6)
end

-- A process that waits for ever for a server that is gone.
function FOREVER.iowait(put, r, level, wall)
   put("cpu", "iowait_ms", wall * 1000 * math.ceil(level * 3) * r:uniform(0.9, 1))
   put("pressure", "io_some_us", wall * 1e6 * r:uniform(0.9, 1))
end

function FOREVER.nfs_timeouts(put, r, level, wall)
   put("nfs", "ops", wall / 60)
   put("nfs", "op_ms", wall * 1000 * level * r:uniform(0.5, 2))
end

--- Whether something on a node is high without harm at a time.
function counters.harmless(node, at)
   return node.harmless ~= nil and at >= node.harmless.from
end

--- Fills a delta in.
-- @param put function(source, name, amount)
-- @param fault function(kind, unit, name, count)
-- @param wall seconds
function counters.fill(put, fault, r, s, run, node, role, wall)
   local rate = run.clean / run.seconds
   background(put, r, s, node, run.begin, wall)
   counters.job(put, r, run.kind, node.class, role, wall * rate * run.mix, wall)
   for _, other in ipairs(run.others or {}) do
      local both = math.min(run.begin + wall, other.begin + other.seconds) - math.max(run.begin, other.begin)
      if both > 0 then
         counters.job(put, r, other.kind, node.class, role, both * other.clean / other.seconds, both)
      end
   end
   if counters.harmless(node, run.begin) and not r:chance(node.harmless.gap) then
      FOREVER[node.harmless.kind](put, r, node.harmless.level, wall, node.class, fault)
   end
end

-- Bounds that no counter passes: so much time there was. By CPUs, cores, packages, or once.
local BOUNDS = { throttle = { package_ms = "packages", core_ms = "cores", package_worst_ms = 1, core_worst_ms = 1 },
   cpu = { iowait_ms = "cpus", steal_ms = "cpus", steal_worst_ms = 1 }, sched = { wait_worst_ms = 4 },
   disk = { busy_ms = 1 } }

--- Rounds, and keeps times within what there was.
function counters.seal(d, class, wall)
   for source, values in pairs(d) do
      for name, value in pairs(values) do
         local bound = BOUNDS[source] and BOUNDS[source][name]
         if bound then
            value = math.min(value, wall * 1000 * (class[bound] or bound))
         elseif source == "pressure" then
            value = math.min(value, wall * 1e6)
         end
         values[name] = math.floor(value)
      end
   end
   for _, pair in ipairs({ { "throttle", "package_" }, { "throttle", "core_" }, { "cpu", "steal_" },
      { "sched", "wait_" } }) do
      local values, name = d[pair[1]], pair[2]
      if values then -- the worst one is one of them
         values[name .. "worst_ms"] = math.min(values[name .. "worst_ms"], values[name .. "ms"])
      end
   end
   if d.memory_traffic then
      d.memory_traffic.bytes = math.min(d.memory_traffic.bytes, math.floor(wall * class.triad * 1.12e9))
   end
   if d.cpu then -- /proc/stat counts ticks
      for name, value in pairs(d.cpu) do
         d.cpu[name] = value // 10 * 10
      end
   end
end

return counters
