--- A job's memory traffic on this node, by the ruler that the last check left: see verdict/saturation.lua.
local environment = require("syscheck.slurm.environment")
local groups = require("syscheck.node.groups")
local memory_traffic = require("syscheck.counters.memory_traffic")
local ruler = require("syscheck.verdict.ruler")
local samples = require("syscheck.node.samples")
local saturation = require("syscheck.verdict.saturation")
local uncore = require("syscheck.node.uncore")

local waits = {}

local function traffic_of(snapshot)
   local source = type(snapshot) == "table" and type(snapshot.sources) == "table" and snapshot.sources.memory_traffic
   return type(source) == "table" and source or nil
end

-- Of its cores: with so many at work, all of them are.
local NEARLY_ALL = 0.9

-- Of the tasks' own accounting, which lacks all that was killed before anybody waited for it: a job at its time limit.
local function has(list, name)
   for _, one in ipairs(list or {}) do
      if one == name then
         return true
      end
   end
   return false
end

--- Cores of a job on this node: those that it was given, or fewer where its CPU time says that it used fewer. What
-- fewer cores can move bends downwards, so that the mean of a rate is never more than the mean count can move.
-- @param hardware inventory: { threads, cores }
-- @param cgroup of the job's record, or nil; seconds that it ran
-- @return number, and how many it was given; nil: all of the node's, or not known
function waits.cores(node, get, job, hardware, cgroup, seconds)
   local threads, cores = hardware.threads or 0, hardware.cores or 0
   local cpus = environment.cpus_on(node.name, get("SLURM_JOB_CPUS_PER_NODE"), job.nodelist)
   if threads == 0 or cores == 0 then
      return nil
   end
   local given = cpus and not node:is_whole(cpus, hardware) and math.max(1, math.ceil(cpus * cores / threads)) or cores
   local cpu_us = cgroup and not has(cgroup.by_tasks, "cpu_us") and cgroup.cpu_us
   local busy = cpu_us and seconds and seconds > 0 and cpu_us / 1e6 / seconds
   local part = given < cores and given or nil
   if busy and busy < NEARLY_ALL * given then
      return math.max(1, math.ceil(busy)), part
   end
   return part, part
end

-- What each domain moved, by which counters, for how long; nil where nothing counts.
local function moved(node, o)
   local before, now = traffic_of(o.from), traffic_of(o.to)
   if before or now then
      local caches, why = memory_traffic.by_cache(before or {}, now or {})
      return { source = "resctrl", caches = caches, why = why, seconds = o.seconds }
   end
   local caches, seconds = nil, nil
   if o.job_id then
      caches, seconds = uncore.read(node, o.job_id)
   end
   if caches then
      return { source = "perf", caches = caches, seconds = seconds }
   end
   return seconds and { source = "perf", why = seconds, seconds = o.seconds }
end

--- @param o { from, to = snapshots, seconds = between them, own = nobody else's traffic is in it, cores, given = of
--   waits.cores, class or nil, job_id = its group (node/groups.lua) is asked where it has not the node for itself, its
--   samples, and what was counted while it ran (node/uncore.lua); or nil }
-- @return of saturation.of; nil where the machine does not count it
function waits.of(node, o)
   local one = moved(node, o)
   if not one then
      return nil
   end
   one.all, one.own = one.caches, o.own
   if not one.own and o.job_id then
      local of_group, why = groups.read(node, o.job_id)
      if of_group or why then
         one.caches, one.why, one.own = of_group, why, true
      end
   end
   local kept = node:read_state(ruler.FILE)
   kept = type(kept) == "table" and kept or {}
   one.ruler = type(kept.ruler) == "table" and kept.ruler or nil
   one.curve, one.no_ruler = kept.curve, type(kept.why) == "string" and kept.why or nil
   one.samples = one.own and o.job_id and samples.left(node, o.job_id) or nil
   one.elapsed_s, one.cores, one.given, one.boot_id = o.seconds, o.cores, o.given, o.to.boot_id
   one.class = o.class or one.ruler and one.ruler.class
   return saturation.of(one)
end

return waits
