--- While a job runs: for how much of its time it moved how much memory. The plugin runs this beside the job's extern
-- step (spank/sampler.h) where the policy wants it, and ends it with that; so what is known is written after each
-- sample.
local uv = require("luv")
local ancestors = require("syscheck.node.ancestors")
local environment = require("syscheck.slurm.environment")
local log = require("syscheck.lib.log")
local nodes = require("syscheck.node.node")
local samples = require("syscheck.node.samples")

local sample = {}

-- Behind everything else that is to be done on the node.
local NICE = 19

--- @param get function(name) -> environment variable
-- @param options of node.open, for tests; and sleep = function(seconds)
function sample.main(get, options)
   local node = nodes.open(get("SLURMD_NODENAME"), options)
   log.context(("%s sample: "):format(node.name))
   local job = environment.job(get)
   local sampler = job and samples.open(node, job.id)
   if not sampler then
      return
   end
   local sleep = options and options.sleep or function(seconds)
      uv.sleep(math.floor(seconds * 1000))
   end
   uv.os_setpriority(0, NICE)
   -- slurmstepd's end is ours, too (PR_SET_PDEATHSIG); this is for one that has not that.
   local gone = ancestors.watch()
   repeat
      sleep(sampler.every)
   until gone() or not sampler:take()
end

return sample
