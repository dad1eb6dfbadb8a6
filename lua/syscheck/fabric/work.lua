--- Fixed work on all nodes of a job with an allreduce after each piece, as applications do: how long a step takes, and
-- how long it would undisturbed.
local delays = require("syscheck.catalogue.delays")
local hostlist = require("syscheck.lib.hostlist")
local statistics = require("syscheck.lib.statistics")
local step = require("syscheck.fabric.step")

local work = {}

-- Some thousand steps of the short ones, and 60 of the longest.
local SECONDS = { [100] = 2, [1000] = 3, [10000] = 4, [100000] = 7 }
--- Of all of it, s; the start and the end of the step come on top.
work.SECONDS = 0
for _, seconds in pairs(SECONDS) do
   work.SECONDS = work.SECONDS + seconds
end
local MORE_S = 5 -- beyond it, as kernels/fabric/work.c has it
local KERNEL_S = 300 -- the step's own limit

-- What a kernel says in a word, for a user: both come of cores that have no time.
local WHY = { ["no answer"] = "no answer in time, from it or to it",
   ["not all cores came to the end of a step"] = "not all of its cores came to the end of a step" }
local BUSY = "; does another step, or something else, use the job's cores?"

-- What the nodes say of one column.
-- @return one of work.run's; or nil, why, its node
local function together(names, of, us)
   local out = { work_us = us, cores = {}, call = {}, mean = {}, longest = 0 }
   for _, name in ipairs(names) do
      local one = of[name] or {}
      if one.error or not (one.step_us and one.work_us and one.call_us and one.steps and one.cores) then
         return nil, WHY[one.error] and WHY[one.error] .. BUSY or one.error or "it measured nothing", name
      end
      -- All of them make the same steps, and wait for the slowest.
      out.step_us, out.se_us, out.steps = one.step_us, one.se_us, one.steps
      out.longest = math.max(out.longest, one.work_us)
      out.cores[name] = one.cores
      out.call[#out.call + 1], out.mean[#out.mean + 1] = one.call_us, one.call_mean_us
   end
   out.call_us, out.call_mean_us = statistics.median(out.call), statistics.median(out.mean)
   return out
end

local function measure(one, names, say)
   local columns = {}
   for _, us in ipairs(delays.WORKS) do
      say("%.4g ms of work between two allreduces, for %d s", us / 1000, SECONDS[us])
      local results, err, lost = one:measure({ { kind = "work", groups = { names }, seconds = SECONDS[us] + MORE_S } },
         { work_us = us, seconds = SECONDS[us] })
      if not results then
         return nil, lost and #lost > 0 and ("%s: %s"):format(hostlist.fold(lost), err) or err
      end
      local column, why, name = together(names, results[1], us)
      if not column then
         return nil, ("%s: %s"):format(name, why)
      end
      columns[#columns + 1] = column
   end
   -- The allreduce is the same in all of them: where it took longer something was in its way.
   local least = math.huge
   for _, column in ipairs(columns) do
      least = math.min(least, column.call_us)
   end
   for _, column in ipairs(columns) do
      column.base_us, column.call_us = column.longest + least, least
   end
   return columns
end

--- @param names list of nodes, two or more
-- @param options { srun, kernel = paths, job = id, interrupted = function() -> true when it is no longer wanted }
-- @param say function(format, ...) for progress
-- @return list of { work_us = asked for, step_us = mean of a step, se_us = its standard error or nil, base_us = what
--   it takes undisturbed: the slowest node's work and the allreduce; call_us = of the allreduce alone, the least of all
--   columns' medians, call_mean_us = mean; steps, cores = { name = how many } }; or nil and why
function work.run(names, options, say)
   local one, err = step.start({ srun = options.srun, kernel = options.kernel, nodes = names, job = options.job,
      cores = true, seconds = KERNEL_S, interrupted = options.interrupted })
   if not one then
      return nil, err
   end
   local ok, why, missing = one:hello()
   local columns
   if ok then
      say("%d nodes have started", #names)
      columns, why = measure(one, names, say)
   elseif missing and #missing > 0 then
      why = ("%s: %s"):format(hostlist.fold(missing), why)
   end
   one:finish()
   if options.interrupted() then
      return nil, "interrupted"
   end
   return columns, why
end

return work
