--- After an agent that ended otherwise than it should (killed, hung, out of memory, broken):
-- what would have been its record, so that whoever reads the store sees it, and the line of a
-- job whose user asked. The shell entry has logged it; it bounds this, too.
local counters = require("syscheck.hardware.snapshot")
local inventory = require("syscheck.hardware.inventory")
local jobs = require("syscheck.node.jobs")
local level = require("syscheck.policy.level")
local records = require("syscheck.spool.records")
local stage = require("syscheck.node.stage")

local ended = {}

local LAST = "last_health.json"

-- A check that found out nothing.
local function unknown(trigger, node, why, asked)
   local snapshot = counters.snapshot(node.root)
   local result = { level = asked or "none", status = "unknown", text = why, metrics = {}, runs = {}, after = snapshot }
   local record = records.check(trigger, node, inventory.read(node.root), result)
   record.action, record.asked = "none", asked
   return record, result
end

local function of_prolog(node, job, why, get)
   local begin = jobs.read_begin(node, job.id)
   if begin and type(begin.record) == "table" then
      return -- ended while Slurm was asked to drain: the epilog appends that record
   end
   local asked, verbose = level.of_request(get("SPANK_SYSCHECK"))
   local record, result = unknown("prolog", node, why, asked)
   record.job = records.job(job)
   if asked then
      stage.publish(node, job, result, { asked = asked, verbose = verbose, note = why })
   end
   stage.record(node, record, result.after)
   if begin then
      begin.check = jobs.check_of(record)
      jobs.write_begin(node, job.id, begin)
   end
end

-- Once, and not every few minutes: see prolog/health.lua.
local function of_health(node, why)
   local last = node:read_state(LAST) or {}
   if last.said ~= why then
      local record, result = unknown("health", node, why)
      stage.record(node, record, result.after)
      last.said = why
      node:save_state(LAST, last)
   end
end

-- The job's record is lost. It is over all the same: its begin would be another job's for a day.
local function of_epilog(node, job, why)
   local record = records.new("loss", node, { config = {} }, counters.snapshot(node.root))
   record.class, record.problems, record.policy, record.baseline = nil, nil, nil, nil
   record.lost_records, record.lost_bytes, record.reason = 1, 0, why
   jobs.append_kept(node, jobs.read_begin(node, job.id))
   node:append(record)
   jobs.forget_begin(node, job.id)
end

--- Records the end of a stage's agent.
-- @param get function(name) -> environment variable
-- @param name of the stage: prolog, health; epilog, where a second try failed, too
-- @param why in words
-- @param options of node.open, for tests
function ended.main(get, name, why, options)
   if name == "health" then
      return of_health(stage.open(name, get, options), why)
   end
   local node, job = stage.open_job(name, get, options)
   if job and name == "epilog" then
      of_epilog(node, job, why)
   elseif job then
      of_prolog(node, job, why, get)
   end
end

return ended
