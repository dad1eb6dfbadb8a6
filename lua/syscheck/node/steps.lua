--- The steps of jobs on this node: their processes, and what the SPANK plugin left of a
-- job's steps (its cgroup's counters and its identity, see spank/totals.h) for its record.
local uv = require("luv")
local files = require("syscheck.lib.files")
local log = require("syscheck.lib.log")
local unicode = require("syscheck.lib.unicode")

local steps = {}

local HEAD = "syscheck-steps 1"
local FILE_SIZE = 4096
local NAME_MAX = 1024

local SOURCES = { step = true, tasks = true, job = true }

-- What no counter of a job reaches: sums of some still fit a record, and the store.
local MAX = 9007199254740992 -- 2^53

-- Numbers of a line, all of them or nil.
local function numbers(text, count)
   local out = {}
   for word in text:gmatch("%S+") do
      local n = word:match("^%d+$") and math.tointeger(tonumber(word))
      if not n or n < 0 or n > MAX then
         return nil
      end
      out[#out + 1] = n
   end
   return #out == count and out or nil
end

--- Parses the plugin's file.
-- @return { version, steps, sure, name (bytes), array, restart, energy_uj, stopped_ms, step = { name = number },
--   tasks = { ... }, job = { ... }, outer_us }; nil for anything but a whole one
function steps.parse(text)
   if #text ~= FILE_SIZE or text:sub(1, #HEAD + 1) ~= HEAD .. "\n" or text:sub(-5) ~= "\nend\n" then
      return nil
   end
   local out = { version = 0, steps = 0, step = {}, tasks = {}, job = {} }
   for key, rest in text:sub(#HEAD + 2):gmatch("(%w+) ([^\n]+)\n") do
      local field, values = rest:match("^([%a_]+) (.*)$")
      if SOURCES[key] and field then
         -- job: the group's value, which group, the sum of those before it
         local n = numbers(values, key == "job" and 3 or 1)
         out[key][field] = n and (key == "job" and field ~= "memory_peak_bytes" and n[1] + n[3] or n[1])
      elseif key == "outer" then
         -- value, group, sum of those before, value at the begin
         local n = numbers(rest, 4)
         out.outer_us = n and math.max(0, n[1] - n[4]) + n[3]
      elseif key == "energy" or key == "stopped" then
         local n = numbers(rest, 1)
         out[key == "energy" and "energy_uj" or "stopped_ms"] = n and n[1]
      elseif key == "array" then
         out.array = numbers(rest, 2)
      elseif key == "name" then
         out.name = #rest <= 2 * NAME_MAX and rest:match("^%x+$") and (rest:gsub("%x%x", function(byte)
            return string.char(tonumber(byte, 16))
         end)) or nil
      elseif key == "version" or key == "steps" or key == "sure" or key == "restart" then
         local n = numbers(rest, 1)
         out[key] = n and n[1]
      end
   end
   return out
end

-- The job's own group has seen all that ran in it, also what no step waited for; the
-- steps' groups are what is left where Slurm gives the job none; the tasks' own
-- accounting is what is left where it gives them none of that kind.
local function known(left, name)
   local value = left.job[name] or left.step[name]
   if value then
      return value
   end
   return left.tasks[name], left.tasks[name] ~= nil
end

local NAMES = { "cpu_us", "io_some_us", "io_full_us", "read_bytes", "written_bytes", "memory_peak_bytes",
   "memory_some_us", "oom_kills" }

--- The record's `cgroup`, see docs/records.md.
-- @param left from parse
function steps.cgroup(left)
   local out = { v = (left.version or 0) > 0 and left.version or nil, steps = left.steps }
   local by_tasks = {}
   for _, name in ipairs(NAMES) do
      local of_tasks
      out[name], of_tasks = known(left, name)
      if of_tasks then
         by_tasks[#by_tasks + 1] = name
      end
   end
   out.suspended_ms = left.stopped_ms
   out.by_tasks = #by_tasks > 0 and by_tasks or nil
   -- Each group counts its own quota only, so all levels add up.
   local job, step, outer = left.job.cpu_throttled_us, left.step.cpu_throttled_us, left.outer_us
   if job or step or outer then
      out.cpu_throttled_us = (job or 0) + (step or 0) + (outer or 0)
   end
   return out
end

-- The IDs of a heterogeneous job's components follow each other (slurm: MAX_HET_JOB_COMPS).
local HET_MAX = 128

--- Adds to a record what is known of its job's steps.
-- @param left from parse, or nil
function steps.join(record, left)
   local job = record.job
   local offset = job.het_job_id and job.id - job.het_job_id
   if offset and offset >= 0 and offset < HET_MAX then
      job.het_offset = offset
   end
   if not left then
      return
   end
   -- Between snapshots RAPL's own counter is known for minutes only.
   if left.energy_uj and record.delta and not record.delta.energy then
      record.delta.energy = { package_j = math.floor(left.energy_uj / 1000 + 0.5) / 1000 }
   end
   if left.steps == 0 then
      return
   end
   job.name = left.name and unicode.cut(unicode.repair(left.name), NAME_MAX)
   if left.array then
      job.array_job_id, job.array_task_id = left.array[1], left.array[2]
   end
   -- Only the batch step has these from slurmctld; any other's environment is its user's. A restart
   -- count tells runs apart, so one that may be made up is none.
   job.batch = left.sure == 1 or nil
   job.restart = job.restart or (job.batch and (left.restart or 0)) or nil -- Slurm sets none for 0
   record.cgroup = steps.cgroup(left)
end

function steps.path(node, job_id)
   return node:status_path(job_id) .. ".steps"
end

--- Reads what this job's steps left.
-- @return as of parse; nil when there is nothing that root alone has written
function steps.read(node, job_id)
   local path = steps.path(node, job_id)
   local stat = uv.fs_lstat(path)
   if not stat then
      return nil
   end
   local sound, err = stat.type == "file", path .. ": no file"
   if sound then
      sound, err = files.trusted(path)
   end
   local text = sound and files.read(path, FILE_SIZE + 1)
   local left = text and steps.parse(text)
   if not left then
      log.error("what the steps used is not known: %s", sound and path .. ": damaged" or err)
   end
   return left
end

--- Removes it: of a job that is recorded, or of an earlier run of one that begins.
function steps.forget(node, job_id)
   uv.fs_unlink(steps.path(node, job_id))
end

--- Job IDs of the slurmstepd processes, by their titles: "slurmstepd: [4711.batch]". Only
-- root's: a title is its owner's text and, worse, his memory, which can make a read hang.
-- @return set
function steps.jobs()
   local jobs = {}
   for _, pid in ipairs(files.list("/proc", "^%d+$")) do
      local stat = uv.fs_stat("/proc/" .. pid)
      local title = stat and stat.uid == 0 and (files.line("/proc/" .. pid .. "/comm") or ""):match("^slurmstepd")
         and files.read("/proc/" .. pid .. "/cmdline", 256)
      local id = title and title:match("^slurmstepd: %[(%d+)")
      if id then
         jobs[tonumber(id)] = true
      end
   end
   return jobs
end

return steps
