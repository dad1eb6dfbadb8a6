--- Who started this process, up to Slurm's daemon. Once one of them is gone (slurmd was
-- killed, or the stage's shell), nobody waits for what a check finds, and the daemon's
-- successor may start the next job's prolog, or the job, beside its kernels.
local uv = require("luv")
local process = require("syscheck.lib.process")

local ancestors = {}

local MOST = 32
local DAEMON = "^slurm[ds]" -- slurmd, slurmstepd

--- Remembers the processes between this one and Slurm's daemon.
-- @return function() -> which of them is gone, in words, or nil while all are there; without a
--   daemon above (a command typed by hand) that is always nil
function ancestors.watch()
   local chain, daemon = {}, nil
   local pid = uv.os_getpid()
   repeat
      local p = process.stat(pid)
      chain[#chain + 1] = p and { pid = pid, start = p.start, parent = p.parent, name = p.name }
      -- The last one that is found: a site's own prolog may be called slurmd_prolog.
      daemon = p and p.name:find(DAEMON) and #chain or daemon
      pid = p and p.parent
   until not p or #chain == MOST
   if not daemon then
      return function() end
   end
   return function()
      for i = 1, daemon - 1 do
         local was, now = chain[i], process.stat(chain[i].pid)
         if not now or now.start ~= was.start or now.parent ~= was.parent then
            local gone = chain[i + 1]
            return ("%s (process %d), which started this check, is gone"):format(gone.name, gone.pid)
         end
      end
   end
end

return ancestors
