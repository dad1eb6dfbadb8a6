--- The runs of jobs on this node: one record for each, and which jobs shared the node.
-- Files in the state directory, root's; nothing here is needed for a job to start.
--
--   begin/JOB.run   while it runs: "run ID BOOT_ID UPTIME RESTART", then the jobs it met, one
--                   a line.
--                   A prolog enters its job first and looks for others then, and each of
--                   two that meet is written down with both: one that begins and ends
--                   meanwhile, too.
--   ended/SLOT      "JOB ID BOOT_ID UPTIME": the last run that was recorded, of the jobs that
--                   share this slot
--
-- UPTIME: whole seconds of the kernel's clock, as the wall clock may be set meanwhile. (Before
-- November 2026: epoch seconds; read as a time that is still to come.)
local uv = require("luv")
local files = require("syscheck.lib.files")
local log = require("syscheck.lib.log")
local steps = require("syscheck.node.steps")

local runs = {}

local C = uv.constants

local OTHERS_MAX = 64 -- in a record
local FILE_MAX = 65536 -- some 8,000 jobs met; more are not counted
local HEAD_MAX = 128
-- An epilog that Slurm repeats comes soon, not hundreds of jobs later. Without its begin it
-- could also be that of a next run, which had no prolog: for so long it is not.
local SLOTS = 256
local REPEAT_S = 600
--- An epilog that never ran (slurmd was killed) leaves its job's begin here. A job of several
-- nodes may leave one of them without a step for hours.
runs.STALE_S = 86400

local function run_path(node, job_id)
   return ("%s/begin/%d.run"):format(node.state, job_id)
end

local function slot_path(node, job_id)
   return ("%s/ended/%d"):format(node.state, job_id % SLOTS)
end

-- One short line to a file that is there: not to one that its epilog has just removed.
local function note(path, line)
   local fd = uv.fs_open(path, C.O_WRONLY + C.O_APPEND + files.NOFOLLOW, 0)
   if not fd then
      return false
   end
   local stat = uv.fs_fstat(fd)
   if stat and stat.size < FILE_MAX then
      uv.fs_write(fd, line .. "\n", -1)
   end
   uv.fs_close(fd)
   return true
end

local function uptime_s()
   return uv.hrtime() // 1000000000
end

-- @return ID of the run, boot ID, uptime of its begin, restart count or "-"; nil for none
local function head_of(text)
   return (text or ""):match("^run (%x+) (%S+) (%-?%d+) (%S+)\n")
end

-- @param restart Slurm's count, or nil
-- @return id of the run, or nil and why
local function enter(node, job_id, boot_id, restart)
   local id = files.random_id()
   local ok, err = files.put(run_path(node, job_id), ("run %s %s %d %s\n"):format(id, boot_id, uptime_s(),
      restart and ("%d"):format(restart) or "-"), 384) -- 0600
   return ok and id or nil, err
end

--- A job begins: forgets an earlier run of the same ID, and writes down which jobs it meets.
-- Call it when its begin is written.
-- @param job of slurm.job
-- @param boot_id of this boot: what an earlier one left is no job
function runs.begin(node, job, boot_id)
   local job_id = job.id
   local ok, err = files.mkdir(node.run_dir) -- where the plugin leaves what its steps used
   if not ok then
      log.error("what the steps use will not be known: %s", err)
   end
   steps.forget(node, job_id)
   local slot = slot_path(node, job_id)
   if (files.line(slot) or ""):match("^%d+") == tostring(job_id) then
      uv.fs_unlink(slot)
   end
   local own = run_path(node, job_id)
   ok, err = enter(node, job_id, boot_id, job.restart)
   if not ok then
      log.error("who shares the node will not be known: %s", err)
      return
   end
   local met = {}
   for _, name in ipairs(files.list(node.state .. "/begin")) do
      local other = name:match("^(%d+)%.run$")
      local path = other and tonumber(other) ~= job_id and node.state .. "/begin/" .. name
      local boot = path and select(2, head_of(files.read(path, HEAD_MAX)))
      if path and boot == boot_id then
         met[#met + 1] = note(path, tostring(job_id)) and other or nil
      elseif path and uptime_s() > runs.STALE_S then
         uv.fs_unlink(path) -- of an earlier boot, and its epilog never came
      end
   end
   if #met > 0 then
      note(own, table.concat(met, "\n"))
   end
end

-- Whether a job began so long ago that it runs only if it has a step: else its epilog never came.
local function is_old(node, job_id)
   local _, _, began = head_of(files.read(run_path(node, job_id), HEAD_MAX))
   return began and uptime_s() - tonumber(began) > runs.STALE_S
end

--- What is known of a job's run.
-- @return { id (of its record), restart, others (job IDs), more (how many are not in it) };
--   nil without its begin
function runs.read(node, job_id)
   local text = files.read(run_path(node, job_id), FILE_MAX + 4096)
   local id, _, _, restart = head_of(text)
   if not id or #id ~= 32 then
      return nil
   end
   local seen, others, with_steps = {}, {}, nil
   for line in text:gmatch("\n(%d+)%f[\n]") do
      local other = math.tointeger(tonumber(line))
      if other and other ~= job_id and not seen[other] then
         seen[other] = true
         local old = is_old(node, other)
         with_steps = with_steps or old and steps.jobs()
         if not old or with_steps[other] then
            others[#others + 1] = other
         end
      end
   end
   table.sort(others)
   restart = math.tointeger(tonumber(restart))
   local more = math.max(0, #others - OTHERS_MAX)
   return {
      id = id,
      restart = restart and restart >= 0 and restart or nil,
      others = table.move(others, 1, math.min(#others, OTHERS_MAX), 1, {}),
      more = more,
   }
end

--- The same where no prolog wrote it down: an epilog that is killed when its record is written, and tried
-- again, writes the same one.
-- @return as from read; nil where it could not be written
function runs.read_late(node, job_id, boot_id)
   local id, err = enter(node, job_id, boot_id)
   if not id then
      log.error("state: %s", err)
   end
   return id and runs.read(node, job_id)
end

--- Whether this run has its record: Slurm repeats an epilog when it missed its end,
-- and one that was killed between its record and its end leaves the begin.
-- @param run from read, or nil
-- @param boot_id of now
function runs.is_recorded(node, job_id, run, boot_id)
   local other, id, boot, at = (files.line(slot_path(node, job_id)) or ""):match("^(%d+) (%x+) ?(%S*) (%-?%d+)$")
   if other ~= tostring(job_id) then
      return false
   end
   if run then
      return id == run.id
   end
   -- One of an earlier boot ended before this one began.
   local ago = uptime_s() - (boot == boot_id and tonumber(at) or 0)
   return ago >= 0 and ago < REPEAT_S and not uv.fs_lstat(steps.path(node, job_id))
end

--- Its record is on disk.
function runs.recorded(node, job_id, record_id, boot_id)
   local line = ("%d %s %s %d\n"):format(job_id, record_id, boot_id, uptime_s())
   local ok, err = files.put(slot_path(node, job_id), line, 384) -- 0600
   if not ok then
      log.error("state: %s", err)
   end
end

--- Adds to a record which run it is and which jobs shared the node.
-- @param run from read, or nil
function runs.join(record, run)
   -- Slurm's count in the epilog of a run that is requeued is the next run's already.
   record.job.restart = run and run.restart or nil
   if run then
      record.id = run.id
      record.others = #run.others > 0 and run.others or nil
      record.others_more = run.more > 0 and run.more or nil
   end
end

--- Forgets a job whose record is written.
function runs.forget(node, job_id)
   uv.fs_unlink(run_path(node, job_id))
end

return runs
