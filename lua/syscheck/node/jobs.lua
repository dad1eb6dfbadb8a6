--- What runs on this node: the begins that prologs leave for their epilogs, in the state
-- directory, and the steps' processes. Nobody else is asked.
local uv = require("luv")
local files = require("syscheck.lib.files")
local log = require("syscheck.lib.log")
local runs = require("syscheck.node.runs")
local steps = require("syscheck.node.steps")

local jobs = {}

local function begin_name(job_id)
   return ("begin/%d.json"):format(job_id)
end

-- The same once its epilog is at work.
local function over_name(job_id)
   return ("begin/%d.over"):format(job_id)
end

--- Keeps what the epilog needs of a job's begin.
-- @param value { snapshot = counters, check = of this job, record = see keep_record }
-- @return true, or nil and why
function jobs.write_begin(node, job_id, value)
   return node:write_state(begin_name(job_id), value)
end

function jobs.read_begin(node, job_id)
   return node:read_state(begin_name(job_id)) or node:read_state(over_name(job_id))
end

--- Before all that an epilog does: whatever becomes of it (a disk that hangs may take it and its second try),
-- the job runs here no more.
function jobs.ends(node, job_id)
   uv.fs_rename(node.state .. "/" .. begin_name(job_id), node.state .. "/" .. over_name(job_id))
end

local function forget_state(node, job_id)
   node:forget_state(begin_name(job_id))
   node:forget_state(over_name(job_id))
end

function jobs.forget_begin(node, job_id)
   forget_state(node, job_id)
   runs.forget(node, job_id)
end

--- Keeps a check's record while Slurm is asked to drain: see append_kept.
function jobs.keep_record(node, job_id, snapshot, record)
   record.action = "undecided"
   record.drain = { done = false, error = "the agent was ended before Slurm had answered" }
   local ok, err = jobs.write_begin(node, job_id, { snapshot = snapshot, record = record })
   if not ok then
      log.error("check record not kept: %s", err)
   end
end

--- Appends the record of a check whose agent was ended before it could.
-- @param begin from read_begin, or nil
function jobs.append_kept(node, begin)
   if begin and type(begin.record) == "table" then
      node:append(begin.record)
   end
end

--- Of a check's record, what the job's record keeps.
-- @param record of the check, or what was read for one
function jobs.check_of(record)
   return type(record) == "table" and { id = record.id, level = record.level, asked = record.asked,
      status = record.status, reason = record.reason, action = record.action } or nil
end

-- A job other than `but` whose begin is here, whose epilog has not begun, and that has a step or began within a
-- day: one of several nodes may start its first step here after hours. Forgets those that went down with an
-- earlier boot.
local function find(node, boot_id, but)
   local with_steps
   for _, name in ipairs(files.list(node.state .. "/begin")) do
      local digits, kind = name:match("^(%d+)%.(%a+)$")
      local id = (kind == "json" or kind == "over") and math.tointeger(tonumber(digits))
      local begin = id and id ~= but and jobs.read_begin(node, id)
      local snapshot = begin and type(begin.snapshot) == "table" and begin.snapshot or {}
      if begin and snapshot.boot_id and snapshot.boot_id ~= boot_id then
         jobs.append_kept(node, begin)
         -- Which run it was stays: its epilog is still to come.
         forget_state(node, id)
      elseif begin and kind == "json" then
         local began = type(snapshot.uptime_s) == "number" and snapshot.uptime_s or -math.huge
         with_steps = with_steps or steps.jobs()
         if with_steps[id] or node.now_s() - began < runs.STALE_S then
            return id
         end
      end
   end
end

--- Whether a job other than this one runs here, for its prolog.
function jobs.has_others(node, job_id, boot_id)
   return find(node, boot_id, job_id) ~= nil
end

--- Whether any job runs here, for the health program, to which Slurm has given no CPUs.
function jobs.any(node, boot_id)
   -- A job may have left no begin. On a machine of several virtual nodes (they share a
   -- lock) a step without one is another node's.
   return find(node, boot_id) ~= nil or not node.lock and next(steps.jobs()) ~= nil
end

return jobs
