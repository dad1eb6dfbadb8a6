-- passive.lua ROOT DIR [STAGE]: the passive prolog (or, STAGE epilog, the epilog) of one
-- job for a prepared tree, as lua/agent.lua runs it; it keeps its files in DIR.
package.path = "lua/?.lua;" .. package.path
local root, dir, stage = arg[1], arg[2], arg[3] or "prolog"
local env = { SLURM_JOB_ID = "1", SLURM_JOB_PARTITION = "main", SLURM_NODELIST = "b", SLURMD_NODENAME = "b",
   SPANK_SYSCHECK = "passive", SLURM_JOB_CPUS_PER_NODE = "256" }
local code = dofile(("%s/%s.lua"):format(stage, stage)).main(function(name)
   return env[name]
end, { root = root, policy = dir .. "/policy.lua", copy = dir .. "/policy.good" })
os.exit(code)
