--- What `why` answers about a job, for `why` and for `job`.
local data = require("syscheck.questions.why.read")
local why = require("syscheck.questions.why.logic")
local why_show = require("syscheck.questions.why.show")

local answer = {}

--- @param runs from jobid.runs: the last one is looked at
-- @return what why.show prints
function answer.of(store, runs)
   local run = runs[#runs]
   local input, name, comparable, more = data.read(store, run)
   local out = why.analyse(input)
   out.run, out.runs, out.name, out.comparable, out.more = run, #runs, name, comparable, more
   out.recorded, out.nodes = #input.rows, math.tointeger(run.nodes) or #input.rows
   return out
end

--- What `why` says where it blames something, so that `job` is not silent about it.
-- @param rows of the last run: list of { elapsed_s }
-- @return its sentence, or nil
function answer.blame(store, runs, rows)
   -- Most jobs were not slow, and nothing is blamed for that: all else takes ten times as long.
   if why.slow(why.elapsed(rows), data.like_times(store, runs[#runs].key)).verdict == "no" then
      return nil
   end
   local out = answer.of(store, runs)
   return out.blamed[1] and why_show.conclusion(out)
end

return answer
