--- Before the job: decide the level, snapshot, check, drain what is bad.
--
-- Everything that goes wrong in here is the checker's own trouble: it is logged
-- and recorded, and the job starts.
local uv = require("luv")
local lazy = require("syscheck.lib.lazy")
local budget = require("syscheck.node.budget")
local check = require("syscheck.measure.check")
local counters = require("syscheck.hardware.snapshot")
local claim = require("syscheck.node.claim")
local environment = require("syscheck.slurm.environment")
local groups = require("syscheck.node.groups")
local inventory = require("syscheck.hardware.inventory")
local jobs = require("syscheck.node.jobs")
local ledger = require("syscheck.node.ledger")
local level = require("syscheck.policy.level")
local log = require("syscheck.lib.log")
local mark = require("syscheck.slurm.mark")
local policy_bounds = require("syscheck.policy.bounds")
local printable = require("syscheck.lib.printable")
local records = require("syscheck.spool.records")
local requeue = lazy.require("syscheck.slurm.requeue")
local resume = require("syscheck.slurm.resume")
local runs = require("syscheck.node.runs")
local samples = require("syscheck.node.samples")
local slurmconf = lazy.require("syscheck.slurm.conf")
local stage = require("syscheck.node.stage")
local uncore = require("syscheck.node.uncore")

local prolog = {}

--- Exit codes: the one that the shell entry turns into a failed prolog, and all is
-- well (also when the checker could not do its work).
prolog.NODE_BAD = 99
prolog.GO = 0

-- The shell entry ends it after 74 s. Less what it takes to start Lua, to write the record and the begin
-- snapshot, and to exit.
local ENDS_S = 72
-- The same of Slurm's own time-outs. More, as Slurm drains a node whose prolog outlives them,
-- whatever the storm guard says.
local LEAVES_S = 5

-- When kernels and calls of Slurm end at the latest, in seconds from the start.
local function ends_s(node)
   local least = ENDS_S
   local conf = node:read_slurm_conf()
   for _, key in ipairs(conf and { "PrologEpilogTimeout", "PrologTimeout" } or {}) do
      least = math.min(least, (slurmconf.seconds(conf, key) or math.huge) - LEAVES_S)
   end
   return least
end

-- SPANK_SYSCHECK is what the plugin set, or what anybody forged: not a level, not
-- asked. A user's bad value is no trouble of the checker's.
-- @return level or nil, whether a line of each node is wanted, a note for the record
local function asked_level(get)
   local raw = get("SPANK_SYSCHECK")
   local asked, verbose = level.of_request(raw)
   if raw == nil or asked then
      return asked, verbose
   end
   local note = ('SPANK_SYSCHECK is not a level, ignored: "%s"'):format(printable.safe(raw, 32))
   log.error("%s", note)
   return nil, false, note
end

-- What this job gets, within the budget; and what an earlier check could not settle, as
-- far as the partition lets it.
-- @param m mark of the node, or nil
-- @return level, note, ledger, whether somebody asked for kernels
local function decide(node, job, asked, whole, boot_id, begin_s, m)
   local l = ledger.read(node, boot_id)
   if resume.job_starts(node) then
      ledger.make_due(node, l, "resumed")
   end
   mark.job_starts(node, m)
   local open = mark.is_open(node, m, begin_s)
   if open then
      ledger.make_due(node, l, "undecided")
   end
   local bounds, from_whom = policy_bounds.of(node.policy, job)
   local want = level.decide(asked, bounds, {}, from_whom)
   local fresh, why = budget.skips(l, node.policy.budget, want, begin_s)
   local other = whole and jobs.other(node, job.id, boot_id)
   if other and level.is_active(want) then
      log.info("%s not measured: job %d began here, and its epilog has not", want, other)
   end
   local lvl, note = level.decide(asked, bounds, {
      shared = not whole and "other jobs may run here" or other and "another job has not ended here" or nil,
      fresh = fresh,
      why = why,
   }, from_whom)
   if open and whole and level.is_valid(m.level) and level.at_least(bounds.ceiling, m.level)
      and not level.at_least(lvl, m.level) and not other then
      lvl, note = m.level, "bad at the last check, which could not be settled"
   end
   local by_user = asked ~= nil and level.is_active(asked)
   if level.is_active(lvl) and not by_user then
      local ok, err = ledger.pay_ahead(node, l, lvl, begin_s)
      if not ok then
         log.error("not measured, state: %s", err)
         lvl, note = "passive", "what it costs could not be written down"
      end
   end
   return lvl, note, l, by_user
end

local function join_notes(note, more)
   return note and note .. "; " .. more or more
end

-- Whether the job starts on a node that is drained, as Slurm could only cancel it and the site wants
-- it to run. Not on one that computes wrong. What slurmctld does not answer cancels no job.
-- @param found from mark.finding
-- @return whether it does, and a note for the record
local function starts_anyway(node, job, found, until_s)
   if node.policy.no_requeue ~= "start" or found.corrupt then
      return false
   end
   local possible, err = requeue.is_possible(node.policy.scontrol, job.id, until_s - node.now_s())
   if err then
      log.error("whether the job can be requeued: %s", err)
   end
   return not possible, possible == false and "drained; Slurm cannot requeue this job, so it starts here"
      or "drained; whether Slurm can requeue this job is not known, so it starts here"
end

--- Runs the prolog's work.
-- @param get function(name) -> environment variable
-- @param options of node.open, for tests
-- @return exit code
function prolog.main(get, options)
   local started = uv.hrtime()
   local node, job = stage.open_job("prolog", get, options)
   if not job then
      return prolog.GO
   end
   local from = counters.snapshot(node.root)
   -- Of the same job, which was requeued after this node had crashed under it.
   jobs.append_kept(node, jobs.read_begin(node, job.id))
   local ok, err = jobs.write_begin(node, job.id, { snapshot = from })
   if not ok then
      log.error("begin snapshot: %s", err)
      node:problem("begin snapshot: " .. err)
   end
   runs.begin(node, job, from.boot_id)
   local ended = claim.take(node)
   if ended then
      log.info("ended the health check of process %d", ended)
   end
   node:remember_slurm(get)
   local begin_s = node.now_s()
   local asked, verbose, forged = asked_level(get)
   local hardware = inventory.read(node.root)
   local whole = node:is_whole(environment.cpus_on(node.name, get("SLURM_JOB_CPUS_PER_NODE"), job.nodelist), hardware)
   local m = mark.read(node, from.boot_id)
   local lvl, note, l, by_user = decide(node, job, asked, whole, from.boot_id, begin_s, m)
   note = forged or note
   if node.policy.leftovers then
      node.quiet = whole and not jobs.other(node, job.id, from.boot_id) or false
   end
   node.alone = not node.lock -- on a machine of several nodes a job's process may be another node's
   -- slurm.conf is read where it may matter: a passive check that finds nothing does without.
   node.until_s = level.is_active(lvl) and started / 1e9 + ends_s(node) or nil

   local result = check.run(lvl, node, hardware, from)
   stage.log_failures(result)
   local record = records.check("prolog", node, hardware, result)
   record.job, record.asked = records.job(job), asked
   local action, starts = "none", false
   if result.orphan then
      -- This job's prolog may be running anew, or its epilog be over.
      log.error("ended: %s", result.interrupted)
      record.note, record.action = note, action
      stage.remember(node, l, result, begin_s, by_user)
      node:append(record)
      return prolog.GO
   end
   mark.checked(node, m, result, begin_s)
   local found = mark.finding(node, m, result, begin_s)
   if found then
      -- Kept before Slurm is asked: the epilog, or the next prolog after a crash, appends
      -- it if this agent does not come that far. The same id: one check, one record.
      record.note = note
      jobs.keep_record(node, job.id, from, record)
      local until_s = node.until_s or started / 1e9 + ends_s(node)
      action, record.drain = stage.drain(node, found, m, from.boot_id, { until_s = until_s, job = job })
      if action ~= "drain" then
         note = join_notes(note, action == "storm" and "storm guard: not drained" or "undecided: not drained")
      else
         local why
         starts, why = starts_anyway(node, job, found, until_s)
         record.drain.starts = starts or nil
         note = starts and join_notes(note, why) or note
      end
   elseif result.confirmed then
      action, note = "observed", join_notes(note, "observe: not drained")
      log.error("would drain (mode is observe): %s", result.reason)
   end
   -- slurmd may have been killed while Slurm was asked, and the job's epilog be over: what is left here
   -- now would be taken for a job that runs.
   local gone = found and node.give_up()
   record.note, record.action = gone and join_notes(note, gone) or note, action
   stage.remember(node, l, result, begin_s, by_user)
   if not gone and (lvl ~= "none" or asked) then
      stage.publish(node, job, result, { asked = asked, verbose = verbose, note = note })
   end
   record.duration_s = (uv.hrtime() - started) / 1e9
   if lvl ~= "none" or record.drain then
      stage.record(node, record, result.after, hardware)
   end
   if gone then
      log.error("ended: %s", gone)
      return prolog.GO
   end
   local grouped = not whole and groups.begin(node, job.id, function(id)
      return id ~= job.id and jobs.read_begin(node, id) ~= nil
   end)
   -- Samples of others' traffic are for nothing.
   samples.forget(node, job.id)
   if whole or grouped then
      samples.begin(node, job.id, from.boot_id)
   end
   uncore.begin(node, job.id, whole, from.boot_id)
   ok, err = jobs.write_begin(node, job.id, { snapshot = result.after, check = jobs.check_of(record),
      whole = whole, first = stage.is_first(node, job) })
   if not ok then
      log.error("begin snapshot: %s", err)
   end
   return action == "drain" and not starts and prolog.NODE_BAD or prolog.GO
end

return prolog
