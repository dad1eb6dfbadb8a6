--- Which CPUs a check measures: those that jobs get, not those that slurmd happens to have. With
-- CoreSpecCount, CpuSpecList or systemd's AllowedCPUs= slurmd is confined to reserved cores, and
-- the prolog with it.
local files = require("syscheck.lib.files")
local topology = require("syscheck.hardware.topology")

local cpus = {}
cpus.__index = cpus

local MAX_LIST = 16384 -- characters of a kernel's list; 1024 cores of two threads take 5000

-- CPUs of `list` that a set has, or has not.
local function those(list, set, has)
   local out = {}
   for _, cpu in ipairs(list) do
      if (set[cpu] or false) == has then
         out[#out + 1] = cpu
      end
   end
   return out
end

local function same(a, b)
   return topology.format_list(a) == topology.format_list(b)
end

--- Where this process is among cgroups. Pure.
-- @param own text of /proc/self/cgroup
-- @param mounts text of /proc/self/mountinfo
-- @return root of the hierarchy that has cpusets, where the process is below it and that root is mounted, or
--   nil; whether it is in a job's cgroup (PrologFlags=RunInJob, a step): "/slurm/uid_1/job_2/step_extern" of v1,
--   "/system.slice/slurmstepd.scope/job_2/step_extern" of v2
function cpus.cgroup(own, mounts)
   local in_job = own:find("/job_%d+/") ~= nil or own:find("/job_%d+\n") ~= nil
   local v1, v2
   for line in own:gmatch("[^\n]+") do
      local controllers, path = line:match("^%d+:([^:]*):(/.*)$")
      if controllers == "" then
         v2 = path
      elseif controllers and ("," .. controllers .. ","):find(",cpuset,", 1, true) then
         v1 = path
      end
   end
   local below = v1 or v2
   for line in (below and below ~= "/" and mounts or ""):gmatch("[^\n]+") do
      -- "29 23 0:26 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset": of which the root, where.
      local root, dir, kind, options = line:match("^%d+ %d+ %S+ (%S+) (%S+) .* %- (%S+) %S+ (%S+)$")
      if root == "/" and not dir:find("\\", 1, true)
         and (v1 and kind == "cgroup" and ("," .. options .. ","):find(",cpuset,", 1, true)
         or not v1 and kind == "cgroup2") then
         return dir, in_job
      end
   end
   return nil, in_job
end

-- Whether a list is as many CPUs as a whole node's job has: threads, or cores where slurm.conf counts those.
local function is_a_jobs(self, list)
   local n = self.node_cpus
   if n == "threads" then
      return #list == #self.topo.online
   end
   local cores = #self.topo.cores - #topology.cores_without(self.topo, topology.set_of(list))
   return #list == n or cores == (n == "cores" and #self.topo.cores or n)
end

-- The CPUs that jobs get, as far as that is known; else all that are online. slurmd's own set is what it
-- has reserved, or (SlurmdOffSpec, a container) what jobs have: the policy's number tells.
-- @return list, whether slurmd's set told it
local function of_jobs(self, remembered)
   local online, allowed = self.topo.online, self.allowed
   if self.in_job then
      return is_a_jobs(self, allowed) and allowed or online
   elseif type(self.node_cpus) ~= "number" or self.node_cpus >= #online then
      return online
   end
   local rest = those(online, topology.set_of(allowed), false)
   local here, there = is_a_jobs(self, allowed), is_a_jobs(self, rest)
   if here ~= there then
      return here and allowed or rest, true
   end
   -- A shell of root's is not confined; what the prolog saw holds.
   local known = topology.parse_list(remembered)
   return #known > 0 and is_a_jobs(self, known) and #those(known, topology.set_of(online), false) == 0 and known
      or online
end

-- Cores and memory nodes that a measurement left out: "0-1", "0-1; memory 1"; "" for none.
local function left_out(self, list, mems)
   local text = topology.format_list(topology.cores_without(self.topo, topology.set_of(list)))
   local missing = mems and those(self.memory, topology.set_of(mems), false) or {}
   if #missing > 0 then
      text = ("%s%smemory %s"):format(text, text ~= "" and "; " or "", topology.format_list(missing))
   end
   return text
end

--- Reads which CPUs this process may use, and which it should measure.
-- @param root of a prepared tree, or ""
-- @param node_cpus of the policy
-- @param is_root whether kernels may leave this process' set
-- @param remembered what `jobs` was the last time that it was known, or nil
-- @param process whose they are; default: this one
-- @return { allowed = list, wanted = list, jobs = text of the CPUs that jobs get or nil, where slurmd's own set
--   told it, args = list of arguments for kernels, lacks = text of the NUMA nodes whose memory it may not
--   use }, with describe()
function cpus.read(root, node_cpus, is_root, remembered, process)
   local dir = ("%s/proc/%s"):format(root, process or "self")
   local status = files.read(dir .. "/status", 65536) or ""
   local self = setmetatable({ topo = topology.read(root), node_cpus = node_cpus, args = {} }, cpus)
   local online = topology.set_of(self.topo.online)
   self.memory = topology.parse_list(files.line(root .. "/sys/devices/system/node/has_memory"))
   self.allowed = those(topology.parse_list(status:match("\nCpus_allowed_list:%s*(%S+)")), online, true)
   if #self.allowed == 0 then
      self.wanted = self.topo.online
      return self
   end
   local top
   top, self.in_job = cpus.cgroup(files.read(dir .. "/cgroup") or "", files.read(dir .. "/mountinfo") or "")
   local told
   self.wanted, told = of_jobs(self, remembered)
   self.jobs = told and topology.format_list(self.wanted) or nil
   local mems = topology.parse_list(status:match("\nMems_allowed_list:%s*(%S+)"))
   self.lacks = topology.format_list(those(self.memory, topology.set_of(mems), false))
   local confined = self.lacks ~= "" or not same(self.allowed, self.wanted)
   -- Never out of a job's own cgroup: its CPUs are the job's.
   if confined and is_root and not self.in_job then
      self.args = { "--widen", topology.format_list(self.wanted) }
      if top then
         table.move({ "--cgroup", top }, 1, 2, 3, self.args)
      end
   end
   return self
end

--- What a kernel has measured.
-- @param result its object
-- @return { list = "2-63", one CPU a core; count; of = cores of the node; left_out = "0-1", cores and memory that
--   were not measured; jobs = true: these are the CPUs that jobs get }; nil where the kernel does not say
function cpus:describe(result)
   local list, mems = result.cpus, result.mems
   if type(list) ~= "string" or #list > MAX_LIST or not list:find("^%d[%d,-]*$") then
      return nil
   end
   local measured = topology.parse_list(list)
   mems = type(mems) == "string" and #mems <= MAX_LIST and topology.parse_list(mems) or nil
   local out = { list = list, count = #measured, of = math.max(#measured, #self.topo.cores),
      left_out = left_out(self, measured, mems) }
   out.jobs = out.left_out == left_out(self, self.wanted)
   return out
end

return cpus
