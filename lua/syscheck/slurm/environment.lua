--- The job as Slurm's environment describes it to prolog and epilog. Pure.
local hostlist = require("syscheck.lib.hostlist")

local environment = {}

--- CPUs of the job on one node: SLURM_JOB_CPUS_PER_NODE ("2(x3),4") follows the
-- order of SLURM_NODELIST.
-- @return number, or nil when that is not known
function environment.cpus_on(node, cpus_per_node, nodelist)
   local groups = {}
   for item in (cpus_per_node or ""):gmatch("[^,]+") do
      local cpus, times = item:match("^(%d+)%(x(%d+)%)$")
      cpus = tonumber(cpus or item:match("^%d+$"))
      if not cpus then
         return nil
      end
      groups[#groups + 1] = { cpus = cpus, times = tonumber(times or 1) }
   end
   if #groups == 1 then
      return groups[1].cpus
   end
   local names = hostlist.expand(nodelist or "")
   for index, name in ipairs(names or {}) do
      if name == node then
         for _, group in ipairs(groups) do
            if index <= group.times then
               return group.cpus
            end
            index = index - group.times
         end
      end
   end
   return nil
end

--- The job as its prolog or epilog sees it. Names come from users.
-- @param get function(name) -> value of an environment variable, or nil
-- @return { id, user, uid, partition, account, nodes, nodelist, ... }, absent
--   fields absent; or nil and why
function environment.job(get)
   local id = tonumber((get("SLURM_JOB_ID") or ""):match("^%d+$"))
   if not id then
      return nil, "no SLURM_JOB_ID: this runs as Slurm's Prolog or Epilog"
   end
   local nodes = hostlist.expand(get("SLURM_NODELIST") or get("SLURM_JOB_NODELIST") or "")
   return {
      id = id,
      user = get("SLURM_JOB_USER"),
      uid = tonumber(get("SLURM_JOB_UID") or nil),
      partition = get("SLURM_JOB_PARTITION"),
      account = get("SLURM_JOB_ACCOUNT"),
      qos = get("SLURM_JOB_QOS"), -- Slurm 26.05 and newer
      nodes = nodes and #nodes > 0 and #nodes or nil,
      nodelist = get("SLURM_NODELIST") or get("SLURM_JOB_NODELIST"),
      het_job_id = tonumber(get("SLURM_HET_JOB_ID") or nil),
      restart = tonumber(get("SLURM_JOB_RESTART_COUNT") or nil),
   }
end

return environment
