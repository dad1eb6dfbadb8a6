-- job_submit.lua: refuses --syscheck levels that the site's policy does not
-- allow. A shim: the decision is in syscheck/submit.lua. A site with its own
-- job_submit.lua copies the two lines marked (*) into it.
--
-- It runs under slurmctld's locks: the policy is read once, when Slurm loads this
-- file. After a change of the policy: `touch job_submit.lua`, which slurmctld
-- notices at the next submission. Trouble of its own never refuses a job.
local DATADIR, POLICY = "@DATADIR@", "@SYSCONFDIR@/syscheck/policy.lua"
package.path = DATADIR .. "/lua/?.lua;" .. package.path

local slurm = slurm -- luacheck: ignore 113 (slurmctld's table)

local function load_modules()
   -- slurmctld keeps its Lua state over reloads: forget older versions.
   for _, name in ipairs({ "level", "policy", "submit" }) do
      package.loaded["syscheck." .. name] = nil
   end
   return require("syscheck.submit"), require("syscheck.policy")
end

local function load_policy(policy)
   local file, err = io.open(POLICY, "r")
   if not file then
      return policy.default(), err
   end
   local text = file:read("*a")
   file:close()
   local parsed
   parsed, err = policy.parse(text or "", POLICY)
   return parsed or policy.default(), err
end

local loaded, submit, policy = pcall(load_modules)
local site
if loaded then
   local err
   site, err = load_policy(policy)
   if err then
      slurm.log_error("%s", "syscheck: policy not used, defaults hold: " .. err)
   end
else
   slurm.log_error("%s", "syscheck: not loaded: " .. tostring(submit))
end

local function default_partition(part_list)
   for name, part in pairs(part_list) do
      if part.flag_default == 1 then
         return name
      end
   end
end

-- @return true, or nil and the message for the user
local function syscheck(job_desc, part_list)
   local asked = submit.asked(job_desc.spank_job_env)
   if asked == nil then
      return true
   end
   return submit.check(site, {
      asked = asked,
      partitions = submit.partitions(job_desc.partition, default_partition(part_list)),
   })
end

function slurm_job_submit(job_desc, part_list, submit_uid) -- luacheck: ignore 111 212
   if not loaded then
      return slurm.SUCCESS
   end
   local ok, allowed, message = pcall(syscheck, job_desc, part_list) -- (*)
   if not ok then
      slurm.log_error("%s", "syscheck: job_submit: " .. tostring(allowed))
   elseif not allowed then
      slurm.log_user("%s", message) -- (*)
      return slurm.ERROR
   end
   return slurm.SUCCESS
end

function slurm_job_modify() -- luacheck: ignore 111
   -- The level is fixed at submission: SPANK's environment cannot be modified.
   return slurm.SUCCESS
end

return slurm.SUCCESS
