--- Kinds of jobs: who runs what, on how many nodes, how long, what it needs, and when. Pure.
--
-- `w` splits a run's time by what bounds it: clock, memory, net, lustre, nfs, disk (sum 1).
-- A cause dilates its own part of that.
local rng = require("world.rng")
local site = require("world.site")

local kinds = {}

kinds.PARTS = { "clock", "memory", "net", "lustre", "nfs", "disk" }

local APPS = { "gromacs", "vasp", "lammps", "wrf", "openfoam", "namd", "cp2k", "qe", "amber", "cesm", "star", "blast",
   "bwa", "gatk", "orca", "gaussian", "nemo", "fluent", "abinit", "charmm", "relion", "py-fit", "mc-sweep", "kpm" }
local PLAIN = { "job.sh", "run", "test", "bash", "submit.sh", "prod", "python", "slurm.sh" }

-- Parts of the time by what the program is like.
local function parts_of(r, p, size, s)
   local w = { clock = 0, memory = 0, net = 0, lustre = 0, nfs = 0, disk = 0 }
   local x = r:float()
   local left = 1
   local function take(part, share)
      w[part] = w[part] + left * share
      left = left - left * share
   end
   if x < p.io_share then
      local where = r:pick(s.p.lustre and { "lustre", "lustre", "nfs", "disk", "disk" } or { "nfs", "disk" })
      take(where, r:uniform(0.12, 0.6))
   end
   take(p.lustre and "lustre" or "nfs", r:log(0.002, 0.06))
   take("nfs", r:log(0.0005, 0.02))
   take("disk", r:chance(0.2) and r:log(0.002, 0.08) or 0.0005)
   if size > 1 then
      take("net", r:chance(p.net_share) and r:uniform(0.2, 0.6) or r:log(0.02, 0.2))
   end
   take("memory", r:chance(0.4) and r:uniform(0.4, 0.9) or r:log(0.03, 0.4))
   w.clock = left
   return w
end

local function size_of(r, p, most)
   local x, size = r:float(), 1
   if x >= p.single then
      size = r:pick(r:chance(p.large) and { 24, 32, 48, 64, 96, 128 } or { 2, 2, 2, 3, 4, 4, 4, 6, 8, 8, 12, 16 })
   end
   while size > math.max(1, most) do
      size = size // 2
   end
   return size
end

-- Factors of run times: spread of one run, second mode, tail, trend.
local function times_of(r, p, k)
   local tight = r:chance(p.tight)
   k.sigma = tight and r:log(0.003, 0.027) or r:log(0.03, p.wide)
   k.tight = tight
   local function loose(chance)
      if r:chance(chance) then
         k.tight = false
         return true
      end
   end
   if loose(p.bimodal) then
      k.mode = { ratio = r:uniform(1.15, 2.2), share = r:uniform(0.12, 0.5) }
   end
   if loose(p.heavy) then
      k.tail = { p = r:uniform(0.03, 0.15), scale = r:log(0.1, 0.6) }
   end
   if loose(p.trend) then
      k.trend = r:uniform(-0.04, 0.12) / 7 -- a day
   end
   if loose(p.steps) then
      k.step = { at = r:uniform(0, 60), ratio = r:pick({ 0.6, 0.75, 1.3, 1.6, 2.5 }) }
   end
   k.input = p.input * (k.tight and 0.5 or 1) * r:log(0.3, 3)
end

-- What it does to a node besides taking time.
local function loads_of(r, p, k)
   local memory = k.w.memory
   k.bandwidth = memory > 0.4 and r:uniform(0.5, 0.95) or r:uniform(0.3, 1) * (0.03 + memory)
   k.cores = k.shared and r:log(0.02, 0.45) or (r:chance(0.8) and 1 or r:pick({ 0.25, 0.5, 0.75, 0.9 }))
   k.power = r:uniform(0.35, 0.75) + 0.25 * k.w.clock
   k.pinned = r:chance(0.7)
   k.spin = r:chance(p.spinning)
   k.coupling = k.size == 1 and r:uniform(0.2, 1) or r:chance(p.coupling) and r:uniform(0.8, 1) or r:uniform(0.05, 0.6)
   k.memory = r:chance(0.25) and r:uniform(0.5, 0.9) or r:log(0.02, 0.5)
   if k.shared then
      k.memory = math.min(k.memory, k.cores * r:uniform(0.5, 1.3))
   end
   k.rank0 = k.size > 1 and r:chance(0.35)
   if k.rank0 then
      k.coupling = math.max(k.coupling, 0.8) -- all wait for the rank that reads and writes
   end
   -- Operations in flight; time of an operation with all servers idle, of this kind's sizes.
   k.flight = { lustre = r:log(1, 48), nfs = r:log(1, 6), disk = r:log(1, 12) }
   k.op_bytes = { lustre = r:log(2e4, 4e6), nfs = r:log(2e3, 3e5), disk = r:log(8e3, 1e6) }
   k.op_s = { lustre = r:log(3e-4, 2e-2), nfs = r:log(3e-4, 5e-3), disk = r:log(1, 4) }
   local most = { lustre = 2.5e9, nfs = 4e8 } -- bytes/s of a node
   for part, rate in pairs(most) do
      k.op_bytes[part] = math.min(k.op_bytes[part], rate * k.op_s[part] / k.flight[part])
   end
   k.mix = p.own_mix * r:uniform(0.2, 1.2)
   k.avx = r:chance(p.avx) and r:uniform(0.2, 0.95) or nil
   k.press = r:chance(p.press) and r:uniform(0.01, 0.25) or nil
   k.oversub = r:chance(p.oversub) and r:uniform(0.2, 0.9) or nil
   if k.press then
      k.memory = r:uniform(0.85, 0.97)
   end
   if r:chance(p.own_io) then
      -- A job that keeps disks or file systems busy beside its work; it waits for none of it.
      k.own_io = { where = r:pick({ "disk", "lustre", "nfs" }), busy = r:uniform(0.3, 1), flight = r:log(2, 64) }
   end
   if k.shared and r:chance(p.hogs) then
      k.hog = r:pick(p.confined and { "memory", "memory", "disk" } or { "memory", "memory", "disk", "cpu" })
      k.own_io = k.hog == "disk" and { where = "disk", busy = r:uniform(0.7, 1), flight = r:log(4, 32) } or k.own_io
      if k.hog == "memory" then
         k.bandwidth, k.cores = r:uniform(0.5, 0.95), math.max(k.cores, 0.12)
         for _, part in ipairs(kinds.PARTS) do
            k.w[part] = k.w[part] * 0.3 / (1 - memory)
         end
         k.w.memory = 0.7
      end
      k.threads = k.hog == "cpu" and r:uniform(0.7, 2) or nil -- of the node's CPUs
   elseif k.shared then
      k.bandwidth = math.min(0.5, k.bandwidth * math.min(1, 1.3 * k.cores))
   end
end

-- How many runs: most jobs are of kinds that have few.
local function runs_of(r, p)
   local which = r:weighted({ p.few / 6.2, (1 - p.few - p.many) / 14, p.many / 95 })
   if which == 1 then
      return r:chance(0.1) and r:int(1, 3) or r:int(5, 8)
   elseif which == 2 then
      return math.floor(r:log(8, 25))
   end
   return math.floor(r:log(24, 260))
end

-- When they are submitted: in a campaign, day after day, or all at once.
local function submissions(r, k, n, days)
   local out = {}
   local length = n < 10 and r:log(0.3, 14) or n < 25 and r:log(2, 35) or r:log(8, days)
   length = math.min(length, days - 0.5)
   local start = r:uniform(0.01, days - length)
   local batches = r:chance(0.2) and r:int(1, math.max(1, n // 3)) or n
   local at = {}
   for i = 1, batches do
      at[i] = start + length * (k.daily and (i - r:uniform(0.3, 0.5)) / batches or r:float())
   end
   for i = 1, n do
      local span = i > batches and r:uniform(0, 0.02) or 0
      out[i] = { kind = k, at = (at[(i - 1) % batches + 1] + span) * site.DAY }
   end
   return out
end

local function kind_of(s, r, users, i)
   local p = s.p
   local part
   repeat
      local shared = r:chance(p.shared_jobs)
      part = r:pick(s.partitions)
   until part.shared == shared or #s.partitions == 1
   local user = users[math.floor(#users * r:float() ^ 1.7) + 1]
   local k = { i = i, user = user.name, uid = user.uid, account = user.account, partition = part, shared = part.shared }
   k.size = part.shared and 1 or size_of(r, p, #part.nodes // 3)
   local app = r:pick(APPS)
   k.name = r:chance(p.reuse) and r:pick(PLAIN) or ("%s-%d"):format(app, r:int(1, 40))
   k.numbered = r:chance(p.numbered)
   k.array = r:chance(p.arrays)
   k.daily = r:chance(0.2)
   k.seconds = math.max(90, math.min(86400, p.minutes * 60 * r:spread(1.1)))
   k.w = parts_of(r, p, k.size, s)
   times_of(r, p, k)
   loads_of(r, p, k)
   if not part.shared and r:chance(p.cross) then
      k.cross, k.tight, k.by_class = true, false, {}
      for c, class in ipairs(s.classes) do
         k.by_class[class] = c == 1 and 1 or r:log(0.65, 1.5)
      end
   end
   if k.tight then -- its own work may not move its time by more than its spread
      k.mix = math.min(k.mix, 0.4 * k.sigma / (k.w.lustre + k.w.nfs + k.w.disk))
   end
   return k
end

-- Run times so short that the machine is as full as this site's is.
local function fit(s, list)
   local demand = {}
   for _, k in ipairs(list) do
      local per_node = k.shared and k.cores or 1
      demand[k.partition] = (demand[k.partition] or 0) + k.runs * k.size * k.seconds * per_node
   end
   for _, k in ipairs(list) do
      local part = k.partition
      local most = #part.nodes * s.days * site.DAY * s.p.utilisation * (part.shared and 0.6 or 1)
      if demand[part] > most then
         k.seconds = math.max(60, k.seconds * most / demand[part])
      end
   end
end

-- A name that stands for two programs is no tight kind, whatever each of them is.
local function mark_reused(list)
   local seen = {}
   for _, k in ipairs(list) do
      k.key = ("%s\0%s\0%d"):format(k.user, k.name, k.size)
      if seen[k.key] then
         seen[k.key].tight, k.tight, k.reused, seen[k.key].reused = false, false, true, true
      end
      seen[k.key] = k
   end
end

--- @return list of kinds, and list of { kind, at = s since the world's first day }, by time
function kinds.draw(s)
   local r = rng.new(s.seed, "kinds")
   local users = {}
   for i = 1, math.max(5, s.jobs // r:int(80, 300)) do
      users[i] = { name = ("u%03d"):format(i), uid = 10000 + i, account = ("a%02d"):format(r:int(1, 30)) }
   end
   local list, runs, total = {}, {}, 0
   while total < s.jobs do
      local k = kind_of(s, r, users, #list + 1)
      k.runs = math.min(runs_of(r, s.p), k.hog and 14 or math.huge, s.jobs - total)
      total = total + k.runs
      list[#list + 1] = k
      for _, one in ipairs(submissions(r, k, k.runs, s.days)) do
         runs[#runs + 1] = one
         one.order = #runs
      end
   end
   fit(s, list)
   mark_reused(list)
   table.sort(runs, function(a, b)
      if a.at ~= b.at then
         return a.at < b.at
      end
      return a.order < b.order
   end)
   return list, runs
end

return kinds
