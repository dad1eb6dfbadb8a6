-- lib/hostlist and slurm/environment: lists of nodes, of CPUs per node, and the job's environment.
local oracle = require("oracle")
local environment = require("syscheck.slurm.environment")
local hostlist = require("syscheck.lib.hostlist")

local function seeds()
   return { "n1", "n[1-3,07],m2", "r[1-2]n[01-10]x", "2(x3),4", "a[", "a]b", "n[1-2000]", "n[1-9][1-9]", "n[,]", ",,",
      "n[3-1]", "n[1-999999999999999999]", "n[]", "SLURM_JOB_ID=5;SLURM_NODELIST=n[1-2];SLURM_JOB_UID=0x5" }
end

local NAMES = { "SLURM_JOB_ID", "SLURM_JOB_UID", "SLURM_NODELIST", "SLURM_HET_JOB_ID", "SLURM_JOB_RESTART_COUNT" }

local function run(input)
   local names = hostlist.expand(input)
   if names then
      assert(#names <= 100000, "too many names")
      for i = 1, math.min(#names, 200) do
         assert(names[i] ~= "" and not names[i]:find("[%[%]]"), "a name")
      end
   end
   local name = hostlist.name(input)
   assert(name == nil or name == input and not name:find("[/%c%s]") and name:sub(1, 1) ~= ".", "a path's part")
   local cpus = environment.cpus_on("n2", input, "n[1-4]")
   assert(cpus == nil or type(cpus) == "number" and cpus >= 0, "CPUs")
   -- A hundred thousand names take their time, as they should: one expansion is enough.
   if names and #names > 1000 then
      return
   end
   cpus = environment.cpus_on("n2", "2(x2),4", input)
   assert(cpus == nil or cpus == 2 or cpus == 4, "CPUs by a list")
   local get = {}
   for i, value in ipairs({ input:match("^([^;]*);?([^;]*);?(.*)$") }) do
      get[NAMES[i]], get[NAMES[i + 2]] = value, value
   end
   local job, err = environment.job(function(key)
      return get[key]
   end)
   if oracle.value_or_line(job, err) then
      oracle.number(job.nodes, "nodes", 1, 100000)
      assert(type(job.id) == "number", "a job's number")
   end
end

return { run = run, seeds = seeds, max = 300 }
