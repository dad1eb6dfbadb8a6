-- passive.lua ROOT DIR: the passive prolog of one job for a prepared tree, as
-- lua/agent.lua runs it; it keeps its files in DIR.
package.path = "lua/?.lua;" .. package.path
local root, dir = arg[1], arg[2]
local env = { SLURM_JOB_ID = "1", SLURM_JOB_PARTITION = "main", SLURM_NODELIST = "b", SLURMD_NODENAME = "b",
   SPANK_SYSCHECK = "passive", SLURM_JOB_CPUS_PER_NODE = "256" }
local code = dofile("prolog/prolog.lua").main(function(name)
   return env[name]
end, { root = root, policy = dir .. "/policy.lua", copy = dir .. "/policy.good" })
os.exit(code)
