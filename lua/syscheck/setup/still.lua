--- Whether Slurm still needs a file that setup has made: without it a job would drain its node, or slurmctld not start.
local slurmconf = require("syscheck.slurm.conf")
local probe = require("syscheck.doctor.facts.probe")
local stages = require("syscheck.setup.stages")

local still = {}

--- @param path of the file
-- @param disk from setup/disk.lua
-- @param file slurm.conf
-- @param running { slurmd = one runs here, config = what `scontrol show config` prints, or nil }
-- @return why it is needed; or nil
function still.needed(path, disk, file, running)
   local conf = slurmconf.parse(file, function(name)
      return probe.text(disk.root .. name)
   end)
   for _, s in ipairs(stages.LIST) do
      for _, entry in ipairs(conf and conf.all[s.stage] or {}) do
         if entry.value == path then
            return ("as %s:%d still names it"):format(entry.file, entry.line)
         end
      end
   end
   if conf and path == probe.parent(file) .. "/job_submit.lua" and (slurmconf.has(conf, "JobSubmitPlugins", "lua")
      or slurmconf.has(conf, "JobSubmitPlugins", "job_submit/lua")) then
      return "as JobSubmitPlugins still has lua, and slurmctld would not start without it"
   end
   if running.slurmd and path:find("/slurm%-%l+log$") then
      if not running.config then
         return "as slurmctld does not answer, and a slurmd here may run with it"
      elseif (running.config .. "\n"):find("= " .. path:gsub("%p", "%%%0") .. "%s*\n") then
         return "as Slurm still runs with it, and would drain this node: scontrol reconfigure, then syscheck setup --undo again"
      end
   end
end

return still
