--- What prolog, epilog and health program have in common.
local uv = require("luv")
local ancestors = require("syscheck.node.ancestors")
local drain = require("syscheck.slurm.drain")
local environment = require("syscheck.slurm.environment")
local files = require("syscheck.lib.files")
local ledger = require("syscheck.node.ledger")
local level = require("syscheck.policy.level")
local log = require("syscheck.lib.log")
local nodes = require("syscheck.node.node")
local printable = require("syscheck.lib.printable")
local resume = require("syscheck.slurm.resume")
local show = require("syscheck.verdict.show")
local storm = require("syscheck.slurm.storm")

local stage = {}

--- Opens the node.
-- @param name of the stage, for the log
-- @param get function(name) -> environment variable
-- @param options see node.open
function stage.open(name, get, options)
   local node = nodes.open(get("SLURMD_NODENAME"), options)
   node.give_up = ancestors.watch()
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

--- Leaves what the plugin shows and exports. Written as a new file: the marker of an
-- earlier run of the same job goes first.
function stage.publish(node, job, result, asked, note)
   local path = node:status_path(job.id)
   if node.inconclusive then
      local problem = printable.safe(node.problems[1], 80)
      note = note and note .. "; " .. problem or problem
   end
   uv.fs_unlink(path .. ".shown")
   local ok, err = files.put(path, ("level=%s\nstatus=%s\nasked=%d\nline=%s\n"):format(result.level, result.status,
      asked and 1 or 0, show.line(node.name, result, note)))
   if not ok then
      log.error("status for the job's output: %s", err)
   end
end

--- Logs what a check could not measure, and wrong data.
-- @param result from check.run
function stage.log_failures(result)
   for _, measurement in ipairs(result.runs) do
      if measurement.state ~= "ok" then
         log.error("%s%s", measurement.state == "corrupt" and "WRONG DATA: " or "", measurement.reason)
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
   local saved = node:save_state("last.json", result.after)
   if saved and result.interrupted then
      ledger.restore(node, l) -- it is as due as it was
   elseif saved and level.is_active(result.level) then
      ledger.pay(node, l, result, begin_s, asked)
   end
end

return stage
