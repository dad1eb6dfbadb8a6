--- Before the job: decide the level, snapshot, check, drain what is bad.
--
-- Everything that goes wrong in here is the checker's own trouble: it is logged
-- and recorded, and the job starts.
local uv = require("luv")
local budget = require("syscheck.node.budget")
local check = require("syscheck.measure.check")
local counters = require("syscheck.hardware.snapshot")
local drain = require("syscheck.slurm.drain")
local files = require("syscheck.lib.files")
local inventory = require("syscheck.hardware.inventory")
local level = require("syscheck.policy.level")
local log = require("syscheck.lib.log")
local node = require("syscheck.node.node")
local policy = require("syscheck.policy.policy")
local printable = require("syscheck.lib.printable")
local records = require("syscheck.spool.records")
local resume = require("syscheck.slurm.resume")
local runs = require("syscheck.node.jobs")
local show = require("syscheck.verdict.show")
local environment = require("syscheck.slurm.environment")
local storm = require("syscheck.slurm.storm")
local yield = require("syscheck.node.claim")

local prolog = {}

--- Exit codes: the one that the shell entry turns into a failed prolog, and all is
-- well (also when the checker could not do its work).
prolog.NODE_BAD = 99
prolog.GO = 0

-- SPANK_SYSCHECK is what the plugin set, or what anybody forged: not a level, not
-- asked. A user's bad value is no trouble of the checker's.
-- @return level or nil, a note for the record
local function asked_level(get)
   local raw = get("SPANK_SYSCHECK")
   if raw == nil or level.is_valid(raw) then
      return raw
   end
   local note = ('SPANK_SYSCHECK is not a level, ignored: "%s"'):format(printable.safe(raw, 32))
   log.error("%s", note)
   return nil, note
end

-- The shell entry's bound is 75 s from its start. Less what it takes to start Lua, to
-- write the record and the begin snapshot, and to exit.
local CALLS_END_S = 72

-- Drains a node that is bad, confirmed. @return action for the record, drain details
local function act(self, job, result, started, boot_id)
   local drained = drain.node(self, result.reason, { until_s = started / 1e9 + CALLS_END_S, job = job,
      settled = function(out)
         resume.drained(self, out, result, boot_id, out.action == "storm")
      end })
   local action = drained.action
   drained.action = nil
   if action == "storm" then
      log.error("STORM GUARD: bad, NOT drained, the job starts: %s", storm.sentence(drained))
   elseif drained.kept then
      log.error("bad, and out of service already (%s): %s", drained.kept, drained.reason)
   elseif drained.done then
      log.error("drained: %s%s", drained.reason, drained.error and " (" .. drained.error .. ")" or "")
   else
      log.error("drain: %s; the node leaves service by the prolog's exit code: %s", drained.error, drained.reason)
   end
   if drained.comment_error then
      log.error("comment of the job: %s", drained.comment_error)
   end
   return action, drained
end

-- What the plugin shows and exports. Written as a new file: the marker of an
-- earlier run of the same job goes first.
local function publish(self, job, result, asked, note)
   local path = self:status_path(job.id)
   uv.fs_unlink(path .. ".shown")
   local ok, err = files.mkdir(self.run)
   if ok then
      ok, err = files.write(path, ("level=%s\nstatus=%s\nasked=%d\nline=%s\n"):format(result.level, result.status,
         asked and 1 or 0, show.line(self.name, result, note)))
   end
   if not ok then
      log.error("status for the job's output: %s", err)
   end
end

local function remember(self, result, ledger, begin_s, asked)
   local ok, err = self:write_state("last.json", result.after)
   if ok and level.is_active(result.level) then
      ok, err = self:pay(ledger, result, begin_s, asked)
   end
   if not ok then
      log.error("state: %s", err)
   end
end

-- What this job gets, within the budget.
-- @return level, note, ledger, whether somebody asked for kernels
local function decide(self, job, asked, whole, boot_id, begin_s)
   local ledger = self:read_ledger(boot_id)
   if resume.job_starts(self) then
      budget.make_due(ledger, "resumed")
      self:write_ledger(ledger)
   end
   local bounds, from_whom = policy.bounds(self.policy, job)
   local want = level.decide(asked, bounds, { owned = true }, from_whom)
   local fresh, why = budget.skips(ledger, self.policy.budget, want, begin_s)
   local lvl, note = level.decide(asked, bounds, {
      owned = whole and not self:has_other_jobs(job.id, boot_id),
      fresh = fresh,
      why = why,
   }, from_whom)
   local by_user = asked ~= nil and level.is_active(asked)
   if level.is_active(lvl) and not by_user then
      local ok, err = self:pay_ahead(ledger, lvl, begin_s)
      if not ok then
         log.error("not measured, state: %s", err)
         lvl, note = "passive", "what it costs could not be written down"
      end
   end
   return lvl, note, ledger, by_user
end

--- Runs the prolog's work.
-- @param get function(name) -> environment variable
-- @param options { policy = file, root } for tests, see node.open
-- @return exit code
function prolog.main(get, options)
   local started = uv.hrtime()
   local self = node.open(get("SLURMD_NODENAME"), options)
   log.context(("%s prolog: "):format(self.name))
   local job, err = environment.job(get)
   if not job then
      log.error("%s", err)
      return prolog.GO
   end
   log.context(("%s prolog: job %d: "):format(self.name, job.id))
   for _, problem in ipairs(self.problems) do
      log.error("%s", problem)
   end

   local from = counters.snapshot(self.root)
   -- Of the same job, which was requeued after this node had crashed under it.
   self:settle(self:read_begin(job.id))
   local ok
   ok, err = self:write_begin(job.id, { snapshot = from })
   if not ok then
      log.error("begin snapshot: %s", err)
      self:problem("begin snapshot: " .. err)
   end
   runs.begin(self, job, from.boot_id)
   local ended = yield.take(self)
   if ended then
      log.info("ended the health check of process %d", ended)
   end
   self:slurm_conf(get("SLURM_CONF"))
   local begin_s = self.now_s()
   local asked, forged = asked_level(get)
   local hardware = inventory.read(self.root)
   local whole = self:is_whole(environment.cpus_on(self.name, get("SLURM_JOB_CPUS_PER_NODE"), job.nodelist), hardware)
   local lvl, note, ledger, by_user = decide(self, job, asked, whole, from.boot_id, begin_s)
   note = forged or note

   local result = check.run(lvl, self, hardware, from)
   for _, run in ipairs(result.runs) do
      if run.path and run.state ~= "ok" then
         log.error("%s%s", run.state == "corrupt" and "WRONG DATA: " or "", run.reason)
      end
   end

   local record = records.new("check", self, hardware, result.after)
   record.trigger = "prolog"
   record.job = job
   record.level, record.asked = lvl, asked
   record.status, record.reason, record.corrupt = result.status, result.reason, result.corrupt
   record.text = result.text
   record.metrics = #result.metrics > 0 and result.metrics or nil
   record.runs = records.runs(result)
   record.kernel_s, record.box_s = result.kernel_s, result.box_s
   local action = "none"
   if result.confirmed and not result.enforced then
      action = "observed"
      log.error("would drain (mode is observe): %s", result.reason)
      note = (note and note .. "; " or "") .. "observe: not drained"
   elseif result.confirmed then
      -- Kept before Slurm is asked: the epilog, or the next prolog after a crash, appends
      -- it if this agent does not come that far. The same id: one check, one record.
      record.note = note
      self:keep_record(job.id, from, record)
      action, record.drain = act(self, job, result, started, from.boot_id)
      if action == "storm" then
         note = (note and note .. "; " or "") .. "storm guard: not drained"
      end
   end
   record.note, record.action = note, action
   remember(self, result, ledger, begin_s, by_user)
   if lvl ~= "none" or asked then
      publish(self, job, result, asked, note)
   end
   record.duration_s = (uv.hrtime() - started) / 1e9
   if lvl ~= "none" then
      ok, err = records.append(self.spool, record, self.policy)
      if not ok then
         log.error("check record lost: %s", err)
      end
   end
   ok, err = self:write_begin(job.id, {
      snapshot = result.after,
      check = {
         id = record.id,
         level = lvl,
         asked = asked,
         status = result.status,
         reason = result.reason,
         action = action,
      },
   })
   if not ok then
      log.error("begin snapshot: %s", err)
   end
   return action == "drain" and prolog.NODE_BAD or prolog.GO
end

return prolog
