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

-- Jobs whose epilog began while the state directory did not let it say so (read-only, hidden by a mount): a line
-- each, in the run directory, which is another file system. A begin that stayed would keep others' kernels off
-- this node for a day.
local OVER, OVER_MOST = "/over", 64

local function over(node)
   local list, of = {}, {}
   for id in (files.read(node.run_dir .. OVER, 4096) or ""):gmatch("(%d+)\n") do
      id = math.tointeger(tonumber(id))
      list[#list + 1], of[id or 0] = id, true
   end
   return list, of
end

local function write_over(node, list)
   local text = {}
   for i = math.max(1, #list - OVER_MOST + 1), #list do
      text[#text + 1] = ("%d\n"):format(list[i])
   end
   local ok, err = files.put(node.run_dir .. OVER, table.concat(text), 384) -- 0600
   if not ok then
      log.error("that the job is over will not be known: %s", err)
   end
end

--- Keeps what the epilog needs of a job's begin.
-- @param value { snapshot = counters, check = of this job, whole = it has the node for itself, first = this is
--   its first node, record = see keep_record }
-- @return true, or nil and why
function jobs.write_begin(node, job_id, value)
   local list, of = over(node)
   if of[job_id] then
      local rest = {}
      for _, id in ipairs(list) do
         rest[#rest + 1] = id ~= job_id and id or nil
      end
      write_over(node, rest)
   end
   return node:write_state(begin_name(job_id), value)
end

function jobs.read_begin(node, job_id)
   return node:read_state(begin_name(job_id)) or node:read_state(over_name(job_id))
end

--- Before all that an epilog does: whatever becomes of it (a disk that hangs may take it and its second try),
-- the job runs here no more.
function jobs.ends(node, job_id)
   local done, _, code = uv.fs_rename(node.state .. "/" .. begin_name(job_id), node.state .. "/" .. over_name(job_id))
   -- Without a begin, but with the directory of begins, it never had one, or this is its second epilog.
   if not done and (code ~= "ENOENT" or not uv.fs_lstat(node.state .. "/begin")) then
      local list, of = over(node)
      if not of[job_id] then
         list[#list + 1] = job_id
         write_over(node, list)
      end
   end
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
   local _, ended = over(node)
   for _, name in ipairs(files.list(node.state .. "/begin")) do
      local digits, kind = name:match("^(%d+)%.(%a+)$")
      local id = (kind == "json" or kind == "over") and math.tointeger(tonumber(digits))
      local begin = id and id ~= but and jobs.read_begin(node, id)
      local snapshot = begin and type(begin.snapshot) == "table" and begin.snapshot or {}
      if begin and snapshot.boot_id and snapshot.boot_id ~= boot_id then
         jobs.append_kept(node, begin)
         -- Which run it was stays: its epilog is still to come.
         forget_state(node, id)
      elseif begin and kind == "json" and not ended[id] then
         local began = type(snapshot.uptime_s) == "number" and snapshot.uptime_s or -math.huge
         with_steps = with_steps or steps.jobs()
         if with_steps[id] or node.now_s() - began < runs.STALE_S then
            return id
         end
      end
   end
end

--- A job other than this one that runs here, for its prolog. @return its number, or nil
function jobs.other(node, job_id, boot_id)
   return find(node, boot_id, job_id)
end

--- Whether any job runs here, for the health program, to which Slurm has given no CPUs.
function jobs.any(node, boot_id)
   -- A job may have left no begin. On a machine of several virtual nodes (they share a
   -- lock) a step without one is another node's.
   return find(node, boot_id) ~= nil or not node.lock and next(steps.jobs()) ~= nil
end

return jobs
