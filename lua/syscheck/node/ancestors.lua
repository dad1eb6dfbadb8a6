--- Who started this process, up to Slurm's daemon. Once one of them is gone (slurmd was
-- killed, or the stage's shell), nobody waits for what a check finds, and the daemon's
-- successor may start the next job's prolog, or the job, beside its kernels.
local uv = require("luv")
local process = require("syscheck.lib.process")

local ancestors = {}

local MOST = 32

--- Remembers the processes between this one and Slurm's daemon.
-- @return function() -> which of them is gone, in words, or nil while all are there; without a
--   daemon above (a command typed by hand) that is always nil
function ancestors.watch()
   local chain = {}
   local pid = uv.os_getpid()
   local p
   repeat
      p = process.stat(pid)
      chain[#chain + 1] = p and { pid = pid, start = p.start, parent = p.parent, name = p.name }
      pid = p and p.parent
   until not p or p.name:find("^slurm") or #chain == MOST
   if not p or not p.name:find("^slurm") then
      return function() end
   end
   return function()
      for i = 1, #chain - 1 do
         local was, now = chain[i], process.stat(chain[i].pid)
         if not now or now.start ~= was.start or now.parent ~= was.parent then
            local gone = chain[i + 1]
            return ("%s (process %d), which started this check, is gone"):format(gone.name, gone.pid)
         end
      end
   end
end

return ancestors
