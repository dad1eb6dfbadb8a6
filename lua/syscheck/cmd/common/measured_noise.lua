--- What noise costs on a running job's nodes, measured in a step of it.
local uv = require("luv")
local allocated = require("syscheck.cmd.common.allocated")
local report = require("syscheck.cmd.common.report")
local slurm = require("syscheck.slurm.command")
local work = require("syscheck.fabric.work")

local measured_noise = {}

local ALONE = "there is nobody that it waits for; two nodes are the least"

measured_noise.SECONDS = work.SECONDS

--- Which job is meant, and its nodes; ends the command where there is none, or something is missing.
-- @param args { job = of jobid.parse, or nil: the one in which this runs }
-- @return { job = number, names, kernel, scontrol }
function measured_noise.where(args, policy)
   local kernel, err = allocated.kernel()
   if not kernel then
      report.stop(report.UNKNOWN, "%s", err)
   elseif args.job and args.job.kind ~= "job" then
      report.stop(report.USAGE, "--verify: a job is named by its own number, as squeue -o %%A has it, not %s",
         args.job.text)
   end
   local job = args.job and args.job.id or allocated.here()
   if not job then
      report.stop(report.USAGE, "--verify: no job to measure in: run it inside salloc or sbatch, or name --job ID")
   end
   return { job = job, names = allocated.of_job(policy.scontrol, job, ALONE), kernel = kernel,
      scontrol = policy.scontrol }
end

--- Measures.
-- @param where of where()
-- @param names those of its nodes that are wanted
-- @return as of work.run; or nil and why
function measured_noise.run(args, where, names)
   local interrupted
   local unstop = allocated.on_stop(function(name)
      interrupted = name
   end)
   local from = uv.hrtime()
   local columns, err = work.run(names, { srun = slurm.beside(where.scontrol, "srun"), kernel = where.kernel,
      job = where.job, interrupted = function()
         return interrupted ~= nil
      end }, allocated.progress(args, function()
         return (uv.hrtime() - from) / 1e9
      end))
   unstop()
   return columns, err
end

return measured_noise
