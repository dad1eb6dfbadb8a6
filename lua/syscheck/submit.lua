--- job_submit's decision: may this job ask for this level? Pure, 5.1 to 5.4.
local level = require("syscheck.level")
local policy = require("syscheck.policy")

local submit = {}

local VARIABLE = "SPANK_SYSCHECK"

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

--- Decides about a submission.
-- @param p policy
-- @param job { asked = raw value or nil, partitions = list of names the job may
--   start in (nil names the default partition's absence) }
-- @return true, or nil and the line that the user reads
function submit.check(p, job)
   if job.asked == nil then
      return true
   end
   if not level.is_valid(job.asked) then
      local _, why = level.parse(job.asked)
      -- "" and "(null)" never come from the plugin: it sends a level's name.
      return nil, "syscheck: " .. (why or ("unknown level (%s)"):format(table.concat(level.NAMES, ", ")))
   end
   for _, partition in ipairs(job.partitions) do
      local bounds = policy.bounds(p, partition)
      if not level.at_least(job.asked, bounds.floor) then
         return nil, ("syscheck: --syscheck=%s is below the floor of partition %s: use %s or more, or leave it out")
            :format(job.asked, level.show(partition, 64), bounds.floor)
      end
      if not level.at_least(bounds.ceiling, job.asked) then
         return nil, ("syscheck: --syscheck=%s is more than partition %s allows: use %s or less")
            :format(job.asked, level.show(partition, 64), bounds.ceiling)
      end
   end
   return true
end

--- Partitions of a request.
-- @param names job_desc.partition: "a,b", or nil
-- @param default name of the cluster's default partition, or nil
function submit.partitions(names, default)
   local list = {}
   for name in (names or default or ""):gmatch("[^,]+") do
      list[#list + 1] = name
   end
   return list
end

return submit
