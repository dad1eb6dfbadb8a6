--- Which run of a job a record belongs to. Pure.
-- A requeued job keeps its number, so a run is known by its restart count where records
-- have it, else by its time and its nodes: those of one run overlap, and have the same list. Numbers come again when
-- Slurm's begin anew: what is another user's, or of another season, is another run.
local statistics = require("syscheck.lib.statistics")

local runs = {}

-- Clocks of nodes differ, and a check ends before the job begins; a requeued job mostly starts
-- later than this after the run before (one whose launch was lost with its node: after 6 s).
local SLACK_S = 20
-- A check is recorded at a job's begin, a record without a begin at its end: no job takes longer.
local AGREE_S = 60 * 86400

local function contradicts(run, job)
   local user, counted, list = job.user_id or job.user, run.restart and job.restart, run.nodelist and job.nodelist
   -- A job may shrink, so that its list says something only where there is no count.
   if counted and run.restart ~= job.restart or not counted and list and run.nodelist ~= job.nodelist then
      return true
   end
   return run.user and user and run.user ~= user
end

local function overlaps(run, job, slack_s)
   return job.begin_s <= run.end_s + slack_s and job.end_s >= run.begin_s - slack_s
end

local function agrees(run, job)
   return run.restart and run.restart == job.restart and overlaps(run, job, AGREE_S)
end

--- @param list runs of the job: { restart, nodelist (a hash), user, begin_s, end_s }
-- @param job of a record: the same; user_id where its user is a name
-- @param has function(run) -> whether it has another job record of this one's node, of which each run has one; nil: not
-- @return the run, or nil; and those that turn out to be parts of it
function runs.find(list, job, has)
   local found, parts
   for _, run in ipairs(list) do
      local same = agrees(run, job)
      if not contradicts(run, job) and (same or overlaps(run, job, SLACK_S) and not (has and has(run))) then
         if not found then
            found = run
         elseif contradicts(found, run) then
            -- A record without a count touches two runs that are known to be two: the one
            -- of its own count, else the later.
            found = same and run or agrees(found, job) and found or run.begin_s > found.begin_s and run or found
         else
            -- Of two that may be one that which is surely the record's.
            if same and not agrees(found, job) then
               found, run = run, found
            end
            parts = parts or {}
            parts[#parts + 1] = run
         end
      end
   end
   for i = #(parts or {}), 1, -1 do
      if contradicts(found, parts[i]) then
         table.remove(parts, i)
      end
   end
   return found, parts and parts[1] and parts or nil
end

-- What a job is called and which task of an array it is: the node with the batch step has it from
-- slurmctld, another from the environment of a step, which is its user's.
local IDENTITY = { "name", "array_job_id", "array_task_id" }

--- Drops what is less certain of two records' identities of a job, before one takes what it lacks
-- from the other.
-- @param run, other tables with `batch`: true or 1 where the batch step ran
function runs.identify(run, other)
   local weak
   if other.batch and not run.batch then
      run.batch, weak = 1, run
   elseif run.batch and not other.batch then
      weak = other
   end
   for i = 1, weak and #IDENTITY or 0 do
      weak[IDENTITY[i]] = nil
   end
end

--- Widens a run by what another, or a record's job, knows.
-- @param names columns to take where the run has none
-- @return true when that changed it
function runs.widen(run, other, names)
   local changed = false
   if other.begin_s < run.begin_s then
      run.begin_s, changed = other.begin_s, true
   end
   if other.end_s > run.end_s then
      run.end_s, changed = other.end_s, true
   end
   for i = 1, #names do
      local name = names[i]
      if run[name] == nil and other[name] ~= nil then
         run[name], changed = other[name], true
      end
   end
   return changed
end

--- A run's time: the median of its nodes', as one late epilog is not the job. Each by its own
-- clock: from the first begin to the last end would add what clocks differ by.
-- @param seconds list of its nodes' elapsed_s
-- @return seconds; nil where no node knows it
function runs.elapsed(seconds)
   local values = {}
   for _, value in ipairs(seconds) do
      values[#values + 1] = value > 0 and value or nil
   end
   return statistics.median(values)
end

return runs
