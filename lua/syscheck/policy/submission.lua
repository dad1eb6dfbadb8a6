--- job_submit's decision: may this job ask for this level? Pure, 5.1 to 5.4.
local level = require("syscheck.policy.level")
local policy = require("syscheck.policy.policy")
local policy_bounds = require("syscheck.policy.bounds")
local printable = require("syscheck.lib.printable")

local submit = {}

local VARIABLE = "SPANK_SYSCHECK"
-- Each costs microseconds under slurmctld's locks. More than this no cluster has, and of
-- names that are none Slurm refuses the job.
local MAX_PARTITIONS = 256

--- The raw value of the option in a job's SPANK environment.
-- @param env what pairs() gives of job_desc.spank_job_env: "NAME=value" strings,
--   or names with values; anybody may have written it
-- @return string, or nil when the job asked for nothing
function submit.asked(env)
   if env == nil then
      return nil
   end
   for key, value in pairs(env) do
      if type(value) == "string" then
         if key == VARIABLE then
            return value
         end
         local name, rest = value:match("^([^=]*)=(.*)$")
         -- The plugin's name for it is SYSCHECK, the prolog's SPANK_SYSCHECK.
         if name == VARIABLE or name == "SYSCHECK" then
            return rest
         end
      end
   end
   return nil
end

-- "partition main", "account physics"; a job that names none is under the rule for all.
local function owner(job, partition, from)
   local name = from[1] == "partition" and partition or job[from[1]]
   return from[1] == "qos" and "QOS" or from[1], name and " " .. printable.safe(name, 64) or " *"
end

-- What the user reads where the level is out of the bounds of one partition; else nil.
local function out_of_bounds(p, job, asked, partition)
   local bounds, from = policy_bounds.of(p, { partition = partition, account = job.account, qos = job.qos })
   if not level.at_least(asked, bounds.floor) then
      local kind, name = owner(job, partition, from.floor)
      return ("--syscheck=%s is below the floor of %s%s: use %s or more, or leave it out")
         :format(asked, kind, name, bounds.floor)
   end
   if not level.at_least(bounds.ceiling, asked) then
      local kind, name = owner(job, partition, from.ceiling)
      return ("--syscheck=%s is more than %s%s allows: use %s or less")
         :format(asked, kind, name, bounds.ceiling)
   end
end

-- First partition in which the job may get a part of a node only, or nil.
local function shared_in(job)
   for _, partition in ipairs(job.is_whole and not job.exclusive and job.partitions or {}) do
      if job.is_whole(partition) == false then
         return partition
      end
   end
end

-- Whether hardware that is missing drains, which every level but none looks at.
local function expects(p)
   for _, rule in pairs(p.expect) do
      if rule.action == "fail" then
         return true
      end
   end
   return false
end

-- Whether a check may drain a node before the job starts there.
local function may_drain(p, job)
   local asked = level.of_request(job.asked)
   local least = expects(p) and "passive" or "quick"
   for i = 1, policy.enforces(p) and math.max(1, #job.partitions) or 0 do
      local bounds = policy_bounds.of(p, { partition = job.partitions[i], account = job.account, qos = job.qos })
      if level.at_least(level.decide(asked, bounds, {}), least) then
         return true
      end
   end
   return false
end

--- What --no-requeue means where nodes are drained: Slurm cancels the job.
-- @param job as for check, and allowed by it
-- @return a line for the user, or nil
function submit.warning(p, job)
   if p.no_requeue ~= "cancel" or not may_drain(p, job) then
      return nil
   end
   return "syscheck: with --no-requeue the job is cancelled if one of its nodes fails the check before it; "
      .. "without, it is requeued and runs on others"
end

--- Decides about a submission.
-- @param p policy
-- @param job { asked = raw value or nil, partitions = list of names the job may
--   start in (empty: the default partition is not known), account, qos = names or nil,
--   component = number within a heterogeneous job or nil, exclusive = it asked for whole
--   nodes, is_whole = function(partition) -> whether it gives whole nodes, nil: unknown }
-- @return true, a line for the user or nil, whether the job has to be made exclusive;
--   or nil and the line that the user reads
function submit.check(p, job)
   if job.asked == nil then
      return true
   end
   local prefix = job.component and ("syscheck: component %d: "):format(job.component) or "syscheck: "
   local asked = level.of_request(job.asked)
   if not asked then
      local _, why = level.parse(job.asked)
      -- "" and "(null)" never come from the plugin: it sends a level's name.
      return nil, prefix .. (why or ("unknown level (%s)"):format(table.concat(level.NAMES, ", ")))
   end
   for i = 1, math.max(1, #job.partitions) do
      local why = out_of_bounds(p, job, asked, job.partitions[i])
      if why then
         return nil, prefix .. why
      end
   end
   local shared = level.is_active(asked) and shared_in(job)
   if not shared then
      return true
   end
   local needs = ("%s--syscheck=%s needs whole nodes, and partition %s gives parts of them"):format(prefix, asked,
      printable.safe(shared, 64))
   if p.shared == "refuse" then
      return nil, needs .. ": add --exclusive, or use passive"
   elseif p.shared == "exclusive" then
      return true, needs .. ": the job is made exclusive", true
   end
   return true, needs .. ": passive runs where the job does not get a whole one (or add --exclusive)"
end

--- Partitions of a request, each once.
-- @param names job_desc.partition: "a,b", or nil
-- @param default name of the cluster's default partition, or nil
function submit.partitions(names, default)
   local list, seen = {}, {}
   for name in (names or default or ""):gmatch("[^,]+") do
      if not seen[name] then
         list[#list + 1], seen[name] = name, true
      end
      if #list >= MAX_PARTITIONS then
         break
      end
   end
   return list
end

return submit
