--- A job's memory traffic on this node, by the ruler that the last check left: see verdict/saturation.lua.
local environment = require("syscheck.slurm.environment")
local groups = require("syscheck.node.groups")
local memory_traffic = require("syscheck.counters.memory_traffic")
local ruler = require("syscheck.verdict.ruler")
local samples = require("syscheck.node.samples")
local saturation = require("syscheck.verdict.saturation")

local waits = {}

local function traffic_of(snapshot)
   local source = type(snapshot) == "table" and type(snapshot.sources) == "table" and snapshot.sources.memory_traffic
   return type(source) == "table" and source or nil
end

-- Of its cores: with so many at work, all of them are.
local NEARLY_ALL = 0.9

--- Cores of a job on this node: those that it was given, or fewer where its CPU time says that it used fewer. What
-- fewer cores can move bends downwards, so that the mean of a rate is never more than the mean count can move.
-- @param hardware inventory: { threads, cores }
-- @param cpu_us CPU time of the job, or nil; seconds that it ran
-- @return number; nil: all of the node's, or not known
function waits.cores(node, get, job, hardware, cpu_us, seconds)
   local threads, cores = hardware.threads or 0, hardware.cores or 0
   local cpus = environment.cpus_on(node.name, get("SLURM_JOB_CPUS_PER_NODE"), job.nodelist)
   if threads == 0 or cores == 0 then
      return nil
   end
   local given = cpus and not node:is_whole(cpus, hardware) and math.max(1, math.ceil(cpus * cores / threads)) or cores
   local busy = cpu_us and seconds and seconds > 0 and cpu_us / 1e6 / seconds
   if busy and busy < NEARLY_ALL * given then
      return math.max(1, math.ceil(busy))
   end
   return given < cores and given or nil
end

--- @param o { from, to = snapshots, seconds = between them, own = nobody else's traffic is in it, cores, class or nil,
--   job_id = its group (node/groups.lua) is asked where it has not the node for itself, and its samples; or nil }
-- @return of saturation.of; nil where the machine does not count it
function waits.of(node, o)
   local before, now = traffic_of(o.from), traffic_of(o.to)
   if not before and not now then
      return nil
   end
   local caches, why = memory_traffic.by_cache(before or {}, now or {})
   local all, own = caches, o.own
   if not own and o.job_id then
      local of_group, group_why = groups.read(node, o.job_id)
      if of_group or group_why then
         caches, why, own = of_group, group_why, true
      end
   end
   local kept = node:read_state(ruler.FILE)
   kept = type(kept) == "table" and kept or {}
   local one = type(kept.ruler) == "table" and kept.ruler or nil
   local left = own and o.job_id and samples.left(node, o.job_id) or nil
   return saturation.of({ samples = left, caches = caches, all = all, why = why, seconds = o.seconds,
      elapsed_s = o.seconds, own = own, cores = o.cores, ruler = one,
      curve = kept.curve, no_ruler = type(kept.why) == "string" and kept.why or nil,
      class = o.class or one and one.class, boot_id = o.to.boot_id })
end

return waits
