--- What `why` answers about a job, for `why` and for `job`.
local data = require("syscheck.questions.why.read")
local times = require("syscheck.questions.why.times")
local why = require("syscheck.questions.why.logic")
local why_show = require("syscheck.questions.why.show")

local answer = {}

local CHECKS = 8 -- of the job that found something wrong

--- @param runs from jobid.runs: the last one is looked at
-- @return what why.show prints
function answer.of(store, runs)
   local run = runs[#runs]
   local input, name, comparable, more = data.read(store, run)
   local out = why.analyse(input)
   out.run, out.runs, out.name, out.comparable, out.more = run, #runs, name, comparable, more
   out.checks = data.found(store, run, CHECKS)
   out.recorded, out.nodes = #input.rows, math.tointeger(run.nodes) or #input.rows
   return out
end

--- What `why` says where it names something, so that `job` is not silent about it.
-- @return its sentence, or nil
function answer.blame(store, runs)
   -- Most jobs were not slow, and nothing is named for that: all else takes ten times as long.
   local run = times.new(store):of(runs[#runs].key)
   if why.slow(run.elapsed_s, run.e, #run.like).verdict == "no" then
      return nil
   end
   local out = answer.of(store, runs)
   return out.named and why_show.conclusion(out)
end

return answer
