--- After the job: snapshot again, what changed, one job record.
local uv = require("luv")
local budget = require("syscheck.node.budget")
local counters = require("syscheck.hardware.snapshot")
local deltas = require("syscheck.counters.deltas")
local gauges = require("syscheck.counters.gauges")
local inventory = require("syscheck.hardware.inventory")
local log = require("syscheck.lib.log")
local machine = require("syscheck.hardware.machine")
local node = require("syscheck.node.node")
local records = require("syscheck.spool.records")
local runs = require("syscheck.node.jobs")
local environment = require("syscheck.slurm.environment")
local stepdata = require("syscheck.node.steps")
local throttle = require("syscheck.counters.throttle")

local epilog = {}

-- Totals of every source, for the record: units matter only to the delta.
local function totals(snapshot)
   local out = { time = records.time(snapshot.time) }
   for name, source in pairs(snapshot.sources) do
      out[name] = deltas.total(source)
   end
   return out
end

-- A node that throttled or corrected memory errors has to be looked at again.
local function is_suspect(delta)
   if not delta then
      return true
   end
   local events = throttle.events(delta.throttle)
   local errors = delta.memory_errors
   return (events and events > 0) or (errors and ((errors.corrected or 0) + (errors.uncorrected or 0)) > 0) or false
end

-- The check of a prolog that was ended while it drained the node.
local function check_of(r)
   return type(r) == "table" and { id = r.id, level = r.level, asked = r.asked, status = r.status, reason = r.reason,
      action = r.action } or nil
end

-- What the job's prolog and steps left here.
local function forget(self, job)
   self:forget_begin(job.id)
   uv.fs_unlink(self:status_path(job.id))
   uv.fs_unlink(self:status_path(job.id) .. ".shown")
   stepdata.forget(self, job.id)
end

--- Runs the epilog's work. Never fails: its trouble is logged.
-- @param get function(name) -> environment variable
-- @param options { policy = file, root } for tests, see node.open
function epilog.main(get, options)
   local started = uv.hrtime()
   local self = node.open(get("SLURMD_NODENAME"), options)
   log.context(("%s epilog: "):format(self.name))
   local job, err = environment.job(get)
   if not job then
      log.error("%s", err)
      return
   end
   log.context(("%s epilog: job %d: "):format(self.name, job.id))
   for _, problem in ipairs(self.problems) do
      log.error("%s", problem)
   end

   local run = runs.read(self, job.id)
   if runs.is_recorded(self, job.id, run) then
      log.info("ran again; the job's record is written")
      forget(self, job)
      return
   end
   local to = counters.snapshot(self.root)
   local begin = self:read_begin(job.id)
   self:settle(begin)
   local from = begin and begin.snapshot
   local delta, why
   if type(from) == "table" and type(from.sources) == "table" and type(from.time) == "number" then
      delta, why = deltas.delta(from, to)
   else
      from, why = nil, "no begin snapshot"
   end
   if why then
      self:problem("no deltas: " .. why)
   end

   local hardware = inventory.read(self.root)
   local record = records.new("job", self, hardware, to)
   record.job = job
   record["begin"], record["end"] = from and totals(from), gauges.add_to(totals(to), machine.at(self.root), hardware)
   record.delta = delta
   record.errors = delta and counters.errors(from, to, self.root)
   record.elapsed_s = from and math.max(0, to.time - from.time)
   record.throttle_events = delta and throttle.events(delta.throttle)
   record.check = begin and (begin.check or check_of(begin.record))
   runs.join(record, run)
   stepdata.join(record, stepdata.read(self, job.id))
   record.duration_s = (uv.hrtime() - started) / 1e9
   local ok
   ok, err = records.append(self.spool, record, self.policy)
   if ok then
      runs.recorded(self, job.id, record.id)
   else
      log.error("job record lost: %s", err)
   end

   forget(self, job)
   ok, err = self:write_state("last.json", to)
   if not ok then
      log.error("state: %s", err)
   end
   if is_suspect(delta) then
      local ledger = self:read_ledger(to.boot_id)
      budget.make_due(ledger, "throttled, or memory errors")
      ok, err = self:write_ledger(ledger)
      if not ok then
         log.error("state: %s", err)
      end
   end
end

return epilog
