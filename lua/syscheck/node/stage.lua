--- What prolog, epilog and health program have in common.
local uv = require("luv")
local lazy = require("syscheck.lib.lazy")
local ancestors = require("syscheck.node.ancestors")
local busy = lazy.require("syscheck.verdict.busy")
local drain = lazy.require("syscheck.slurm.drain")
local environment = lazy.require("syscheck.slurm.environment")
local files = require("syscheck.lib.files")
local hostlist = require("syscheck.lib.hostlist")
local journal = lazy.require("syscheck.spool.journal")
local last = require("syscheck.node.last")
local ledger = lazy.require("syscheck.node.ledger")
local level = require("syscheck.policy.level")
local log = require("syscheck.lib.log")
local mark = require("syscheck.slurm.mark")
local nodes = require("syscheck.node.node")
local printable = require("syscheck.lib.printable")
local process = require("syscheck.lib.process")
local resume = require("syscheck.slurm.resume")
local ruler = lazy.require("syscheck.verdict.ruler")
local show = lazy.require("syscheck.verdict.show")
local storm = lazy.require("syscheck.slurm.storm")
local time = require("syscheck.lib.time")

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

--- Whether this node is its job's first: it speaks for all where they are alike.
function stage.is_first(node, job)
   local names = hostlist.expand(job.nodelist or "") or {}
   return #names < 2 or names[1] == node.name
end

-- Of a job's nodes, for the sentence to its user: how many, whether this is the first, and who they are, where
-- the plugin can hold that.
local MAX_LIST = 2000

local function nodes_of(node, job)
   local names = hostlist.expand(job.nodelist or "") or {}
   return ("nodes=%d\nfirst=%d\n%s"):format(math.max(1, #names), stage.is_first(node, job) and 1 or 0,
      #names > 1 and #job.nodelist <= MAX_LIST and ("list=%s\n"):format(job.nodelist) or "")
end

--- Leaves what the plugin shows and exports (spank/status.h). Written as a new file: the marker of an
-- earlier run of the same job goes first.
-- @param request { asked = level or nil, verbose = a line of each node is wanted, note = why the level is
--   another one, or nil }
function stage.publish(node, job, result, request)
   local path, note = node:status_path(job.id), request.note
   if node.inconclusive then
      local problem = printable.safe(node.problems[1], 80)
      note = note and note .. "; " .. problem or problem
   end
   local brief, off = show.brief(result)
   local lines = {
      "level=" .. result.level,
      "status=" .. result.status,
      ("asked=%d"):format(request.asked and 1 or 0),
      ("verbose=%d"):format(request.verbose and 1 or 0),
      ("partly=%d"):format(show.is_partly(result) and 1 or 0),
      ("restarts=%d"):format(math.tointeger(job.restart or 0) or 0),
      -- In a tenth of a percent, 0 where it is not below its class.
      ("off=%.0f"):format(math.max(0, math.min(off or 0, 100000)) * 10),
      "brief=" .. printable.plain(brief, 120),
      "note=" .. printable.plain(note or "", 160),
      "line=" .. show.line(node.name, result, note),
   }
   uv.fs_unlink(path .. ".shown")
   uv.fs_unlink(path .. ".told")
   local ok, err = files.put(path, nodes_of(node, job) .. table.concat(lines, "\n") .. "\n")
   if not ok then
      log.error("status for the job's output: %s", err)
   end
end

--- Logs what a check could not measure, look at or rate, wrong data, and who stays on the node.
-- @param result from check.run
function stage.log_failures(result)
   for _, measurement in ipairs(result.runs) do
      if measurement.state ~= "ok" then
         log.error("%s%s", measurement.state == "corrupt" and "WRONG DATA: " or "", measurement.reason)
      end
   end
   for _, m in ipairs(result.metrics) do
      local of_site = m.name:find(":", 1, true) and m.status == "unknown" and m.text ~= result.unconfirmed
      if m.busy or m.name == "others_cpus" or of_site then
         log.error("%s", m.text)
      end
   end
   if result.unconfirmed then
      log.error("NOT CONFIRMED: %s", result.unconfirmed)
   end
end

-- Asks Slurm, one check of this node at a time: a step back of one would pull the drain away
-- under the other.
-- @param text what to drain for; nil: only settles a drain that may be standing
-- @param begin function() -> mark, called when it is this check's turn; nil: there is nothing to ask
-- @return drained as from drain.node; or nil and why it is not this check's turn
local function ask(node, text, boot_id, options, begin)
   lazy.load()
   files.mkdir(node.state)
   local fd, err, held = process.lock_file(node.state .. "/drain.lock",
      math.max(0, (options.until_s - node.now_s()) / 2))
   if held then
      return nil, "another check of this node is at it: " .. err
   end
   local m = begin()
   if not m then
      if fd then
         uv.fs_close(fd)
      end
      return { action = "none" }
   end
   options.open = m.sent
   function options.sending()
      mark.sending(node, m)
   end
   function options.decided(out)
      if out.action == "drain" and not out.kept then
         resume.drained(node, out.reason, m, boot_id)
      end
      if text or out.action == "drain" or out.action == "storm" then
         mark.decided(node, m, out, node.now_s())
      else
         mark.looked(node, m, out, node.now_s())
      end
   end
   local drained = drain.node(node, text, options)
   if fd then
      uv.fs_close(fd)
   end
   drained.open = nil
   return drained
end

-- One line on what came of asking Slurm.
local function log_drain(action, drained, job)
   local starts = job and ", the job starts" or ""
   if action == "storm" then
      log.error("STORM GUARD: bad, NOT drained%s: %s", starts, storm.sentence(drained))
   elseif action == "undecided" then
      log.error("UNDECIDED: bad, NOT drained%s, to be settled by the next check: %s", starts, storm.sentence(drained))
   elseif drained.kept then
      log.error("bad, and out of service already (%s): %s", drained.kept, drained.reason)
   else
      log.error("drained: %s%s", drained.reason, drained.error and " (" .. drained.error .. ")" or "")
   end
   if drained.comment_error then
      log.error("comment of the job: %s", drained.comment_error)
   end
end

--- Drains a node that is bad, confirmed, and logs what came of it. Before a job: where slurmctld
-- is not to be asked again yet, what it answered last holds.
-- @param found from mark.finding
-- @param m from mark.read, or nil
-- @param boot_id of now
-- @param options see drain.node
-- @return action, drain details, both for the record
function stage.drain(node, found, m, boot_id, options)
   local action, drained, err
   if options.job and m and not mark.is_due(node, m, node.now_s()) then
      action, drained = mark.standing(m, found.reason)
   else
      drained, err = ask(node, found.reason, boot_id, options, function()
         return mark.begin(node, found, mark.read(node, boot_id), boot_id, node.now_s())
      end)
      if not drained then
         drained = { action = "undecided", done = false, reason = storm.reason(found.reason), error = err }
         if not mark.read(node, boot_id) then
            mark.begin(node, found, nil, boot_id, node.now_s())
         end
      end
      action, drained.action = drained.action, nil
   end
   log_drain(action, drained, options.job)
   return action, drained
end

--- Asks Slurm whether a drain of ours stands that got no answer, and whether it may.
-- @return action, drain details where there is news; whether slurmctld answered
function stage.settle(node, boot_id, options)
   local drained, err = ask(node, nil, boot_id, options, function()
      local m = mark.read(node, boot_id) -- another check may have settled it meanwhile
      return m and m.sent and m
   end)
   local action = drained and drained.action or "undecided"
   if action == "none" then
      return nil, nil, true
   elseif action == "undecided" then
      log.error("whether slurmctld has drained this node is not known yet: %s", err or drained.error)
      return nil, nil, false
   end
   drained.action = nil
   log_drain(action, drained)
   return drained.kept and "none" or action, drained, true
end

-- What brings the node's metrics up to date; nil where the policy wants none. The module is loaded only then.
local function metrics_of(node, record, snapshot, hardware)
   return node.policy.textfile and function()
      local ok, err = pcall(function()
         require("syscheck.node.textfile").update(node, record, snapshot, (hardware or {}).class_before)
      end)
      if not ok then
         log.error("metrics for Prometheus: %s", tostring(err))
      end
   end
end

--- Appends a record, and brings what Prometheus reads up to date: under the spool's lock, which is held for the record
-- anyway. So no count of two that end at once is lost, none is seen to go back, and no second lock costs a process.
-- @param snapshot counters of now
-- @param hardware inventory, or nil
-- @return true; or nil, and it is logged
function stage.record(node, record, snapshot, hardware)
   return node:append(record, metrics_of(node, record, snapshot, hardware))
end

--- The same of a check that is not recorded.
function stage.count(node, record, snapshot, hardware)
   local update = metrics_of(node, record, snapshot, hardware)
   if update then
      local ok, err = files.mkdir(node.spool)
      if ok then
         ok, err = journal.locked(node.spool, update)
      end
      if not ok then
         log.error("metrics for Prometheus: %s", err)
      end
   end
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
   if level.is_active(result.level) then
      local kept = ruler.keep(node:read_state(ruler.FILE), result.runs, { class = result.after.class,
         boot_id = result.after.boot_id, time = time.show(result.after.time) })
      if kept then
         node:save_state(ruler.FILE, kept)
      end
   end
   local kept = last.keep(node, result.last, result.after)
   if kept and level.is_active(result.level) then
      ledger.pay(node, l, result, begin_s, asked)
   end
end

return stage
