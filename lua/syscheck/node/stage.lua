--- What prolog, epilog and health program have in common.
local busy = require("syscheck.verdict.busy")
local drain = require("syscheck.slurm.drain")
local environment = require("syscheck.slurm.environment")
local ledger = require("syscheck.node.ledger")
local level = require("syscheck.policy.level")
local log = require("syscheck.lib.log")
local nodes = require("syscheck.node.node")
local resume = require("syscheck.slurm.resume")
local storm = require("syscheck.slurm.storm")

local stage = {}

--- Opens the node.
-- @param name of the stage, for the log
-- @param get function(name) -> environment variable
-- @param options see node.open
function stage.open(name, get, options)
   local node = nodes.open(get("SLURMD_NODENAME"), options)
   log.context(("%s %s: "):format(node.name, name))
   return node
end

--- The same for a stage that belongs to a job.
-- @return node, job; no job where this does not run as Slurm's Prolog or Epilog
function stage.open_job(name, get, options)
   local node = stage.open(name, get, options)
   local job, err = environment.job(get)
   if not job then
      log.error("%s", err)
      return node
   end
   log.context(("%s %s: job %d: "):format(node.name, name, job.id))
   node:log_problems()
   return node, job
end

--- Logs what a check could not measure or rate, wrong data, and who stays on the node.
-- @param result from check.run
function stage.log_failures(result)
   for _, measurement in ipairs(result.runs) do
      if measurement.state ~= "ok" then
         log.error("%s%s", measurement.state == "corrupt" and "WRONG DATA: " or "", measurement.reason)
      end
   end
   for _, m in ipairs(result.metrics) do
      if m.busy or m.name == "others_cpus" then
         log.error("%s", m.text)
      end
   end
   if result.unconfirmed then
      log.error("NOT CONFIRMED: %s", result.unconfirmed)
   end
end

--- Drains a node that is bad, confirmed, and logs what came of it.
-- @param boot_id of now
-- @param otherwise what follows where Slurm did not take the drain
-- @param options see drain.node
-- @return action, drain details, both for the record
function stage.drain(node, result, boot_id, otherwise, options)
   function options.decided(out)
      resume.drained(node, out, result, boot_id, out.action == "storm")
   end
   local drained = drain.node(node, result.reason, options)
   local action = drained.action
   drained.action = nil
   if action == "storm" then
      log.error("STORM GUARD: bad, NOT drained%s: %s", options.job and ", the job starts" or "",
         storm.sentence(drained))
   elseif drained.kept then
      log.error("bad, and out of service already (%s): %s", drained.kept, drained.reason)
   elseif drained.done then
      log.error("drained: %s%s", drained.reason, drained.error and " (" .. drained.error .. ")" or "")
   else
      log.error("drain: %s; %s: %s", drained.error, otherwise, drained.reason)
   end
   if drained.comment_error then
      log.error("comment of the job: %s", drained.comment_error)
   end
   return action, drained
end

--- Keeps what the next check needs of this one.
-- @param l ledger, as it was before it was paid ahead
-- @param asked true: somebody asked for the check
function stage.remember(node, l, result, begin_s, asked)
   if result.busy then
      node:save_state(busy.FILE, result.busy)
   elseif result.watched then
      node:forget_state(busy.FILE)
   end
   if node:save_state("last.json", result.after) and level.is_active(result.level) then
      ledger.pay(node, l, result, begin_s, asked)
   end
end

return stage
