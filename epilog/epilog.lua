--- After the job: snapshot again, what changed, one job record.
local uv = require("luv")
local deltas = require("syscheck.counters.deltas")
local counters = require("syscheck.hardware.snapshot")
local gauges = require("syscheck.counters.gauges")
local inventory = require("syscheck.hardware.inventory")
local groups = require("syscheck.node.groups")
local jobs = require("syscheck.node.jobs")
local last = require("syscheck.node.last")
local ledger = require("syscheck.node.ledger")
local log = require("syscheck.lib.log")
local throttle = require("syscheck.counters.throttle")
local machine = require("syscheck.hardware.machine")
local time = require("syscheck.lib.time")
local runs = require("syscheck.node.runs")
local stage = require("syscheck.node.stage")
local steps = require("syscheck.node.steps")
local records = require("syscheck.spool.records")
local samples = require("syscheck.node.samples")
local uncore = require("syscheck.node.uncore")
local waits = require("syscheck.node.waits")

local epilog = {}

-- Totals of every source, for the record: units matter only to the delta.
local function totals(snapshot)
   local out = { time = time.show(snapshot.time) }
   for name, source in pairs(snapshot.sources) do
      out[name] = deltas.total(source)
   end
   return out
end

-- A node that throttled or corrected memory errors has to be checked again.
local function is_suspect(delta)
   if not delta then
      return true
   end
   local events = throttle.events(delta.throttle)
   local errors = delta.memory_errors
   return (events and events > 0) or (errors and ((errors.corrected or 0) + (errors.uncorrected or 0)) > 0) or false
end

-- What the job's prolog and steps left here.
local function forget(node, job)
   jobs.forget_begin(node, job.id)
   node:forget_status(job.id, { "", ".shown", ".told" })
   steps.forget(node, job.id)
   groups.forget(node, job.id)
   samples.forget(node, job.id)
   uncore.forget(node, job.id)
end

--- Runs the epilog's work. Never fails: its trouble is logged.
-- @param get function(name) -> environment variable
-- @param options of node.open, for tests
-- @param again what ended the agent that was at it before, or nil
function epilog.main(get, options, again)
   local started = uv.hrtime()
   local node, job = stage.open_job("epilog", get, options)
   if not job then
      return
   end
   jobs.ends(node, job.id)
   local to = counters.snapshot(node.root)
   local run = runs.read(node, job.id)
   if runs.is_recorded(node, job.id, run, to.boot_id) then
      log.info("ran again; the job's record is written")
      forget(node, job)
      return
   end
   run = run or runs.read_late(node, job.id, to.boot_id)
   if again then
      node:notice(again)
   end
   local begin = jobs.read_begin(node, job.id)
   jobs.append_kept(node, begin)
   local from = begin and begin.snapshot
   local delta, why
   if type(from) == "table" and type(from.sources) == "table" and type(from.time) == "number" then
      delta, why = deltas.delta(from, to)
   else
      from, why = nil, "no begin snapshot"
   end
   if why then
      node:problem("no deltas: " .. why)
   end

   local hardware = inventory.read(node.root)
   local record = records.new("job", node, hardware, to)
   record.job = records.job(job)
   record["begin"], record["end"] = from and totals(from), gauges.add_to(totals(to), machine.at(node.root), hardware)
   record.delta = delta
   record.errors = delta and counters.errors(from, to, node.root)
   record.elapsed_s = from and deltas.seconds(from, to)
   record.throttle_events = delta and throttle.events(delta.throttle)
   -- Kept by a prolog that was ended while it drained the node.
   record.check = begin and (begin.check or jobs.check_of(begin.record))
   runs.join(record, run)
   steps.join(record, steps.read(node, job.id))
   local cores, given = waits.cores(node, get, job, hardware, record.cgroup, record.elapsed_s)
   record.saturation = delta and waits.of(node, { from = from, to = to, seconds = record.elapsed_s,
      own = begin.whole == true and not record.others, class = hardware.class, job_id = job.id,
      cores = cores, given = given })
   record.duration_s = (uv.hrtime() - started) / 1e9
   if stage.record(node, record, to, hardware) then
      runs.recorded(node, job.id, record.id, to.boot_id)
   end

   forget(node, job)
   -- The class stays the last check's: what changed during the job is the next one's to report.
   local was = last.read(node)
   to.class = was and was.class
   last.keep(node, was, to)
   if is_suspect(delta) then
      ledger.make_due(node, ledger.read(node, to.boot_id), "throttled, or memory errors")
   end
end

return epilog
