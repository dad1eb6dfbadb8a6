--- What the SPANK plugin left of a job's steps on this node: its cgroup's counters and
-- its identity (spank/totals.h writes it), for the job's record.
local uv = require("luv")
local files = require("syscheck.lib.files")
local log = require("syscheck.lib.log")

local stepdata = {}

local HEAD = "syscheck-steps 1"
local FILE_SIZE = 4096
local NAME_MAX = 1024

local SOURCES = { step = true, tasks = true, job = true }

-- Numbers of a line, all of them or nil. A value beyond 2^63 is nobody's.
local function numbers(text, count)
   local out = {}
   for word in text:gmatch("%S+") do
      local n = word:match("^%d+$") and math.tointeger(tonumber(word))
      if not n or n < 0 then
         return nil
      end
      out[#out + 1] = n
   end
   return #out == count and out or nil
end

--- Parses the plugin's file.
-- @return { version, steps, sure, name (bytes), array, restart, step = { name = number },
--   tasks = { ... }, job = { ... }, outer_us }; nil for anything but a whole one
function stepdata.parse(text)
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

--- Any bytes as valid UTF-8 of at most max bytes; what is none becomes U+FFFD.
function stepdata.utf8(text, max)
   local parts, size, at = {}, 0, 1
   while at <= #text do
      local bad = select(2, utf8.len(text, at)) or #text + 1
      local good = text:sub(at, bad - 1)
      if size + #good > max then
         local last = utf8.offset(good, 0, max - size + 1) -- where the character that does not fit begins
         parts[#parts + 1] = good:sub(1, last - 1)
         break
      end
      parts[#parts + 1], size = good, size + #good
      if bad > #text or size + 3 > max then
         break
      end
      parts[#parts + 1], size = "\u{FFFD}", size + 3
      at = bad + 1
   end
   return table.concat(parts)
end

-- The job's own group has seen all that ran in it, also what no step waited for; the
-- steps' groups are what is left where Slurm gives the job none; the tasks' own
-- accounting is what is left where it gives them none of that kind.
local function known(steps, name)
   local value = steps.job[name] or steps.step[name]
   if value then
      return value
   end
   return steps.tasks[name], steps.tasks[name] ~= nil
end

local NAMES = { "cpu_us", "io_some_us", "io_full_us", "read_bytes", "written_bytes", "memory_peak_bytes",
   "memory_some_us", "oom_kills" }

--- The record's `cgroup`, see docs/records.md.
-- @param steps from parse
function stepdata.cgroup(steps)
   local out = { v = (steps.version or 0) > 0 and steps.version or nil, steps = steps.steps }
   local by_tasks = {}
   for _, name in ipairs(NAMES) do
      local of_tasks
      out[name], of_tasks = known(steps, name)
      if of_tasks then
         by_tasks[#by_tasks + 1] = name
      end
   end
   out.by_tasks = #by_tasks > 0 and by_tasks or nil
   -- Each group counts its own quota only, so all levels add up.
   for _, part in ipairs({ steps.job.cpu_throttled_us or false, steps.step.cpu_throttled_us or false,
      steps.outer_us or false }) do
      if part then
         out.cpu_throttled_us = (out.cpu_throttled_us or 0) + part
      end
   end
   return out
end

-- The IDs of a heterogeneous job's components follow each other (slurm: MAX_HET_JOB_COMPS).
local HET_MAX = 128

--- Adds to a record what is known of its job's steps.
-- @param steps from parse, or nil
function stepdata.join(record, steps)
   local job = record.job
   local offset = job.het_job_id and job.id - job.het_job_id
   if offset and offset >= 0 and offset < HET_MAX then
      job.het_offset = offset
   end
   if not steps then
      return
   end
   job.name = steps.name and stepdata.utf8(steps.name, NAME_MAX)
   if steps.array then
      job.array_job_id, job.array_task_id = steps.array[1], steps.array[2]
   end
   job.restart = job.restart or steps.restart or (steps.sure == 1 and 0 or nil) -- Slurm sets none for 0
   record.cgroup = stepdata.cgroup(steps)
end

function stepdata.path(node, job_id)
   return node:status_path(job_id) .. ".steps"
end

--- Reads what this job's steps left.
-- @return as of parse; nil when there is nothing that root alone has written
function stepdata.read(node, job_id)
   local path = stepdata.path(node, job_id)
   local stat = uv.fs_lstat(path)
   if not stat then
      return nil
   end
   local sound, err = stat.type == "file", path .. ": no file"
   if sound then
      sound, err = files.trusted(path)
   end
   local text = sound and files.read(path, FILE_SIZE + 1)
   local steps = text and stepdata.parse(text)
   if not steps then
      log.error("what the steps used is not known: %s", sound and path .. ": damaged" or err)
   end
   return steps
end

--- Removes it: of a job that is recorded, or of an earlier run of one that begins.
function stepdata.forget(node, job_id)
   uv.fs_unlink(stepdata.path(node, job_id))
end

return stepdata
