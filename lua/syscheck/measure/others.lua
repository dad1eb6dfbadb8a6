--- Evidence of who else used the node while a kernel measured: CPU time of each CPU less what
-- our own children used, what hypervisor and quotas took, and, when it has to be explained,
-- who. verdict/busy.lua says what that may have cost.
local uv = require("luv")
local busy = require("syscheck.verdict.busy")
local files = require("syscheck.lib.files")
local process = require("syscheck.lib.process")
local processes = require("syscheck.measure.processes")
local topology = require("syscheck.hardware.topology")

local others = {}

local TICKS = 100 -- a second, see counters/cpu.lua
local NORMAL = 0.02 -- of a CPU: its system's own work
local LEVELS = 16 -- of cgroups, at most

-- The lines of CPUs only: what follows grows with interrupts.
-- @return { [cpu] = { busy, interrupts (of that), stolen } } in ticks
local function read_cpus(root)
   local file, cpus = io.open(root .. "/proc/stat"), {}
   if not file then
      return cpus
   end
   for line in file:lines() do
      local cpu, rest = line:match("^cpu(%d*) (.*)$")
      if not cpu then
         break
      elseif cpu ~= "" then
         local t = {}
         for field in rest:gmatch("%d+") do
            t[#t + 1] = tonumber(field)
         end
         if #t >= 8 then
            -- user nice system idle iowait irq softirq steal; guests' time is in user's
            cpus[tonumber(cpu)] = { busy = t[1] + t[2] + t[3] + t[6] + t[7], interrupts = t[6] + t[7], stolen = t[8] }
         end
      end
   end
   file:close()
   return cpus
end

-- Files of this process' cgroups that count what a quota took, up to the root, which in a container is its own.
local function quota_files(root)
   local list = {}
   for id, names, path in (files.read(root .. "/proc/self/cgroup") or ""):gmatch("(%d+):([^:\n]*):([^\n]*)\n") do
      local top = id == "0" and "/sys/fs/cgroup" or (names:find("%f[%w]cpu%f[^%w]") and "/sys/fs/cgroup/" .. names)
      path = path ~= "/" and path or ""
      while top and path and #list < LEVELS do
         list[#list + 1] = root .. top .. path .. "/cpu.stat"
         path = path:match("^(.*)/[^/]*$")
      end
   end
   return list
end

-- Seconds that quotas took from this process' cgroups, summed over CPUs.
local function read_quota(root)
   local sum = 0
   for _, path in ipairs(quota_files(root)) do
      local text = files.read(path, 4096) or ""
      sum = sum + (tonumber(text:match("throttled_usec (%d+)") or 0)) / 1e6
         + (tonumber(text:match("throttled_time (%d+)") or 0)) / 1e9
   end
   return sum
end

local function rounded(value)
   return math.floor(1000 * value + 0.5) / 1000
end

local function now(root)
   local own = process.parse(files.read("/proc/self/stat", 1024)) or { own = 0, children = 0 }
   return {
      at = uv.hrtime() / 1e9,
      cpus = read_cpus(root),
      own = own.own + own.children,
      quota = read_quota(root),
      stalled = tonumber((files.read(root .. "/proc/pressure/memory", 256) or ""):match("some [^\n]-total=(%d+)")),
   }
end

--- Before a measurement.
-- @param root of node.open
-- @param watch whether to look at processes, too: it costs up to a quarter of a second
function others.begin(root, watch)
   local list, at
   if watch then
      list, at = processes.list(root)
   end
   local from = now(root)
   from.root, from.list, from.list_at = root, list, at
   return from
end

-- The last-level cache of a CPU: how many CPUs share it; whether its core has another thread.
local function around(root, cpu, all)
   local dir = ("%s%s/cpu%d/"):format(root, topology.DIR, cpu)
   local llc
   for level = 4, 2, -1 do
      llc = llc or files.line(("%scache/index%d/shared_cpu_list"):format(dir, level))
   end
   local core = files.line(dir .. "topology/thread_siblings_list")
   return math.max(1, llc and #topology.parse_list(llc) or all), core ~= nil and #topology.parse_list(core) > 1
end

-- Seconds in which the kernel lost what it says. Older kernels do not say it.
local function worked(result, seconds)
   local s = result.worked_s
   return type(s) == "number" and s > 0 and math.min(s, seconds) or seconds
end

-- What grew between two readings, of measured CPUs and of those beside them.
local function compare(from, to, measured)
   local out = { measured = 0, beside = 0, interrupts = 0, stolen = {}, busy = {}, cpus = 0, all = 0 }
   local seconds, is_measured = to.at - from.at, {}
   for _, cpu in ipairs(measured) do
      is_measured[cpu] = true
   end
   for cpu, t in pairs(to.cpus) do
      local f = from.cpus[cpu] or t
      local used = math.max(0, t.busy - f.busy) / TICKS / seconds
      out.all = out.all + 1
      out.busy[cpu] = used
      out.interrupts = out.interrupts + math.max(0, t.interrupts - f.interrupts) / TICKS / seconds
      if is_measured[cpu] then
         out.cpus = out.cpus + 1
         out.measured = out.measured + used
         out.stolen[#out.stolen + 1] = math.max(0, t.stolen - f.stolen) / TICKS / seconds
      else
         out.beside = out.beside + math.max(0, used - NORMAL)
      end
   end
   out.measured = math.max(0, out.measured - (to.own - from.own) / TICKS / seconds)
   out.seconds = seconds
   return out
end

-- Interrupts have no process; beside one that has more, they are not named.
local function most_of(from, root, e)
   if not from.list then
      return nil
   end
   local used = e.measured + e.beside
   local since = processes.since(from.list, processes.list(root), e.seconds * TICKS * e.all, from.list_at)
   local most = processes.most(root, since, e.seconds, used)
   if e.interrupts >= 0.2 * used and e.interrupts > (most and most.cpus or 0) then
      return { kind = "interrupts", cpus = rounded(e.interrupts) }
   end
   return most
end

--- After it.
-- @param from of others.begin
-- @param result the kernel's object, or nil
-- @param state of busy.follow, of the check before, or nil
-- @param when { boot_id, s = monotonic seconds }
-- @return share that others explain; what a record says of them (nil: nothing), see
--   docs/records.md. nil where the kernel's object does not say what it lost
function others.finish(from, result, state, when)
   local to, root = now(from.root), from.root
   local lost, cpu = result and result.lost_pct, result and result.lost_cpu
   local measured = topology.parse_list(result and type(result.cpus) == "string" and result.cpus or "")
   if type(lost) ~= "number" or type(cpu) ~= "number" or #measured == 0 or to.at - from.at <= 0 then
      return nil
   end
   local e = compare(from, to, measured)
   if e.cpus == 0 then
      return nil
   end
   e.worked = worked(result, e.seconds)
   e.quota = math.max(0, to.quota - from.quota) / e.cpus / e.seconds
   e.stalled = from.stalled and to.stalled and math.max(0, to.stalled - from.stalled) / 1e6 / e.seconds or 0
   e.neighbours, e.smt = around(root, measured[1], e.all)
   e.smt = e.smt and e.cpus < e.all
   e.most = most_of(from, root, e)
   local loss = busy.loss(e, lost, state, when)
   if loss == 0 and not busy.is_much(e.measured + e.beside, e.all) then
      return 0
   end
   local stolen = 0
   for _, one in ipairs(e.stolen) do
      stolen = math.max(stolen, one)
   end
   local of_core = type(result.lost_core_pct) == "number" and result.lost_core_pct or 0
   return loss, {
      loss_pct = rounded(100 * loss),
      cpus = rounded(e.measured + e.beside),
      cpu = math.tointeger(cpu),
      cpu_pct = rounded(math.max(0, math.min(100, of_core - 100 * e.quota, 100 * (e.busy[cpu] or 0)))),
      steal_pct = rounded(100 * stolen),
      most = e.most,
   }
end

return others
