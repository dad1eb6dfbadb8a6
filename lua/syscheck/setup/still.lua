--- Whether Slurm still needs a file that setup has made: without it a job would drain its node, or slurmctld not start.
local uv = require("luv")
local paths = require("syscheck.lib.paths")
local slurmconf = require("syscheck.slurm.conf")
local submit = require("syscheck.doctor.facts.submit")
local probe = require("syscheck.doctor.facts.probe")
local scripts = require("syscheck.setup.scripts")
local stages = require("syscheck.setup.stages")

local still = {}

local TRIES, TRY_MS = 50, 200 -- for a prolog of some seconds to end

-- Seconds since a file was changed; of several the last that was.
local function age_of(disk, files)
   local now, us = uv.gettimeofday()
   local age = math.huge
   for _, file in ipairs(files) do
      local stat = uv.fs_stat(disk.root .. file)
      age = math.min(age, stat and now + us / 1e6 - stat.mtime.sec - stat.mtime.nsec / 1e9 or age)
   end
   return age
end

--- @param path of the file
-- @param disk from setup/disk.lua
-- @param file slurm.conf
-- @param running { slurmd = seconds since the slurmd here was started, nil where none runs; configless = its slurm.conf
--   is what it has fetched; at_work = function() -> whether it runs a prolog or epilog now }
-- @return why it is needed; or nil
function still.needed(path, disk, file, running)
   local conf = slurmconf.parse(file, function(name)
      return probe.text(disk.root .. name)
   end)
   local is_script
   for _, s in ipairs(stages.LIST) do
      is_script = is_script or path == stages.guard(paths, s.stage)
      for _, entry in ipairs(conf and conf.all[s.stage] or {}) do
         if entry.value == path then
            return ("as %s:%d still names it"):format(entry.file, entry.line)
         end
      end
   end
   -- What it says again when its file system is back, nobody knows.
   if not conf and is_script and running.slurmd then
      return ("as %s cannot be read, and may name it"):format(file)
   elseif conf and path == slurmconf.beside(conf, "job_submit.lua") and submit.is_listed(conf) then
      return "as JobSubmitPlugins still has lua, and slurmctld would not start without it"
   elseif is_script and running.slurmd and not running.configless
      and running.slurmd >= age_of(disk, conf and conf.files or {}) then
      return "as the slurmd here was started with it, and would drain this node: restart slurmd, then syscheck setup "
         .. "--undo again"
   elseif not is_script and running.at_work and scripts.is_ours(disk:text(path) or "") then
      -- It has listed a directory's scripts, and runs one after the other.
      local tries = TRIES
      while tries > 0 and running.at_work() do
         tries = tries - 1
         uv.sleep(TRY_MS)
      end
      return tries == 0 and "as slurmd runs a prolog or epilog just now: syscheck setup --undo again" or nil
   end
end

return still
