--- What `why` answers about a job, for `why` and for `job`.
local data = require("syscheck.questions.why.read")
local jobid = require("syscheck.questions.jobid")
local stored_waits = require("syscheck.questions.why.waits")
local times = require("syscheck.questions.why.times")
local why = require("syscheck.questions.why.logic")
local why_show = require("syscheck.questions.why.show")

local answer = {}

local CHECKS = 8 -- of the job that found something wrong
local OTHERS = 4 -- jobs on a shared node that are named

-- Jobs that shared a node with a run: list of { id, user (as far as known) }.
local function neighbours(store, run, ids)
   local out = {}
   for i = 1, math.min(OTHERS, #ids) do
      local one = { id = ids[i] }
      for _, other in ipairs(jobid.runs(store, { kind = "job", id = one.id })) do
         local meanwhile = other.cluster == run.cluster and (other.begin_s or math.huge) < (run.end_s or math.huge)
         one.user = meanwhile and other.user or one.user
      end
      out[i] = one
   end
   return out
end

--- @param runs from jobid.runs: the last one is looked at
-- @param private true: nothing of other users' jobs
-- @return what why.show prints
function answer.of(store, runs, private)
   local run = runs[#runs]
   local input, name, comparable, more = data.read(store, run)
   local out = why.analyse(input)
   out.run, out.runs, out.name, out.comparable, out.more = run, #runs, name, comparable, more
   out.checks = data.found(store, run, CHECKS)
   out.waits, out.waits_like = stored_waits.of(store, run.key, name)
   for _, h in ipairs(out.explanations) do
      h.jobs = h.others and not private and neighbours(store, run, h.others) or nil
   end
   out.recorded, out.nodes = input.recorded, math.tointeger(run.nodes) or input.recorded
   return out
end

--- How long a job's last run took, and its like runs, for a picture.
-- @param runs from jobid.runs
-- @return of times.of
function answer.times(store, runs)
   return times.new(store):of(runs[#runs].key)
end

--- What `why` says where it names something, so that `job` is not silent about it.
-- @param private see answer.of
-- @return its sentence, or nil
function answer.blame(store, runs, private)
   -- Most jobs were not slow, and nothing is named for that: all else takes ten times as long. Where like runs are of
   -- two kinds, a node may have made one of them.
   local run = times.new(store):of(runs[#runs].key)
   local slow = why.slow(run.elapsed_s, run.e, #run.like)
   if slow.verdict == "no" and (slow.high or 0) < why.SLOW then
      return nil
   end
   local out = answer.of(store, runs, private)
   return (out.named or out.beside) and why_show.conclusion(out)
end

return answer
