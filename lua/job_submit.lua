-- job_submit.lua: refuses --syscheck levels that the site's policy does not
-- allow. A shim: the decision is in syscheck/policy/submission.lua. A site's own
-- job_submit.lua loads it with dofile behind its functions, which `syscheck setup` adds: then
-- the site's run first, as before, and what they let through is looked at here.
--
-- It runs under slurmctld's locks: the policy is read once, when Slurm loads this
-- file. After a change of the policy: `touch job_submit.lua`, which slurmctld
-- notices at the next submission. Trouble of its own never refuses a job.
--
-- Each load is a new Lua: what a broken policy is replaced by has to be on disk. Where
-- SlurmUser can write to COPY's directory, that is the last good policy.
local DATADIR, POLICY = "@DATADIR@", "@SYSCONFDIR@/syscheck/policy.lua"
local COPY = "@LOCALSTATEDIR@/lib/syscheck-submit/policy.good"
package.path = DATADIR .. "/lua/?.lua;" .. package.path

local slurm = slurm -- luacheck: ignore 113 (slurmctld's table)

-- A site whose globals are strict (an error for one that is not there) goes on so behind these lines.
local strict = getmetatable(_G)
pcall(setmetatable, _G, nil)

-- The site's own functions, where there are some; loaded twice, this file does not run behind itself.
local before = rawget(_G, "syscheck_job_submit")
local chain = before or { submit = rawget(_G, "slurm_job_submit"), modify = rawget(_G, "slurm_job_modify") }
rawset(_G, "syscheck_job_submit", chain)

local function load_modules()
   -- A site's own job_submit.lua may load this file more than once.
   for name in pairs(package.loaded) do
      if name:find("^syscheck%.") then
         package.loaded[name] = nil
      end
   end
   return require("syscheck.policy.submission"), require("syscheck.policy.policy"), require("syscheck.policy.copy")
end

local function read(path)
   local file, err = io.open(path, "r")
   if not file then
      return nil, err
   end
   local text = file:read(1048576)
   file:close()
   return text or ""
end

local function keep_copy(copies, text)
   local old = read(COPY)
   if old and copies.is_of(old, text) then
      return
   end
   local file = io.open(COPY .. ".new", "w")
   if not file then
      slurm.log_info("%s", "syscheck: no copy of the policy is kept: " .. COPY .. " cannot be written to")
      return
   end
   local written = file:write(copies.wrap(text, os.date("!%Y-%m-%dT%H:%M:%SZ")))
   if file:close() and written then
      os.rename(COPY .. ".new", COPY)
   end
end

-- @return policy, what is wrong with the file or nil
local function load_policy(policy, copies)
   local text, err = read(POLICY)
   local parsed
   if text then
      parsed, err = policy.parse(text, POLICY)
      if parsed then
         keep_copy(copies, text)
         return parsed
      end
   end
   local old, time = copies.unwrap(read(COPY) or "")
   parsed = old and policy.parse(old, COPY)
   if parsed then
      return parsed, ("policy not used, last good copy of %s holds: %s"):format(time, err)
   end
   return policy.default(), "policy not used, defaults hold: " .. err
end

local loaded, submit, policy, copies = pcall(load_modules)
local site
if loaded then
   local good, err
   good, site, err = pcall(load_policy, policy, copies)
   if not good then
      site, err = policy.default(), "policy not used, defaults hold: " .. tostring(site)
   end
   if err then
      slurm.log_error("%s", "syscheck: " .. err)
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

local NO_REQUEUE = 0 -- job_desc.requeue of `sbatch --no-requeue`; no other command has it
local EXCLUSIVE = 0 -- job_desc.shared of --exclusive, max_share of OverSubscribe=EXCLUSIVE

-- @return true, lines for the user or nil; or nil and the message for the user
local function syscheck(job_desc, part_list)
   local asked = submit.asked(job_desc.spank_job_env)
   local no_requeue = job_desc.requeue == NO_REQUEUE
   if asked == nil and not no_requeue then
      return true
   end
   local component = job_desc.het_job_offset
   local job = {
      asked = asked,
      partitions = submit.partitions(job_desc.partition or default_partition(part_list)),
      account = next(site.accounts) and (job_desc.account or job_desc.default_account) or nil,
      qos = next(site.qos) and (job_desc.qos or job_desc.default_qos) or nil,
      -- NO_VAL where the job is not heterogeneous.
      component = component and component < 1000 and component or nil,
      exclusive = job_desc.shared == EXCLUSIVE,
      is_whole = function(partition)
         local part = part_list[partition]
         return part and part.max_share and part.max_share == EXCLUSIVE
      end,
   }
   local allowed, message, make_exclusive = submit.check(site, job)
   if make_exclusive then
      job_desc.shared = EXCLUSIVE
   end
   local warning = allowed and no_requeue and submit.warning(site, job)
   return allowed, warning and message and message .. "\n" .. warning or warning or message
end

-- @return slurm.SUCCESS or slurm.ERROR
local function check(job_desc, part_list)
   if not loaded then
      return slurm.SUCCESS
   end
   local ok, allowed, message = pcall(syscheck, job_desc, part_list)
   if not ok then
      slurm.log_error("%s", "syscheck: job_submit: " .. tostring(allowed))
      return slurm.SUCCESS
   end
   if message then
      slurm.log_user("%s", message)
   end
   return allowed and slurm.SUCCESS or slurm.ERROR
end

function slurm_job_submit(job_desc, part_list, ...) -- luacheck: ignore 111
   local code = slurm.SUCCESS
   if chain.submit then
      code = chain.submit(job_desc, part_list, ...)
      -- To slurmctld what is no number is success.
      if type(code) == "number" and code ~= slurm.SUCCESS then
         return code
      end
   end
   local ours = check(job_desc, part_list)
   return ours == slurm.SUCCESS and code or ours
end

function slurm_job_modify(...) -- luacheck: ignore 111
   -- The level is fixed at submission: SPANK's environment cannot be modified.
   return chain.modify and chain.modify(...) or slurm.SUCCESS
end

pcall(setmetatable, _G, strict)
return slurm.SUCCESS
