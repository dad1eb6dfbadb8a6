--- Whether Slurm can requeue a job: not an srun or salloc, nor one of `sbatch --no-requeue`. The
-- prolog's environment does not say.
local command = require("syscheck.slurm.command")

local requeue = {}

local CALL_S = 5
-- Nothing in this answer is a user's text.
local FORMAT, ROW = "JobID:12,BatchFlag:12,Requeue:12", "^%s*(%d+)%s+(%d+)%s+(%d+)%s*$"

--- @param shown rows of FORMAT: of an array, one for each task
-- @param id of the job
-- @return true or false; nil where it is not among them
function requeue.find(shown, id)
   for line in shown:gmatch("[^\n]+") do
      local job, batch, may = line:match(ROW)
      if tonumber(job) == id then
         return batch ~= "0" and may ~= "0"
      end
   end
   return nil
end

--- Asks slurmctld.
-- @param scontrol of the policy; squeue is beside it
-- @param left_s seconds that are left
-- @return true or false; nil and why it is not known
function requeue.is_possible(scontrol, id, left_s)
   local shown, err = command.run(command.beside(scontrol, "squeue"),
      { "--noheader", ("--jobs=%d"):format(id), "--Format=" .. FORMAT },
      math.max(0.2, math.min(CALL_S, left_s)))
   if not shown then
      return nil, err
   end
   local possible = requeue.find(shown, id)
   return possible, possible == nil and "squeue: no such job" or nil
end

return requeue
