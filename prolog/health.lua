--- The health program: what Slurm runs on idle nodes. Counters and inventory always;
-- kernels when the last pass is old, or to see whether what syscheck drained is well
-- again. It gives way to a prolog at any moment: see node/claim.lua.
--
-- As in the prolog, everything that goes wrong in here is the checker's own trouble.
local uv = require("luv")
local lazy = require("syscheck.lib.lazy")
local budget = lazy.require("syscheck.node.budget")
local check = require("syscheck.measure.check")
local counters = require("syscheck.hardware.snapshot")
local claim = lazy.require("syscheck.node.claim")
local inventory = require("syscheck.hardware.inventory")
local jobs = lazy.require("syscheck.node.jobs")
local ledger = lazy.require("syscheck.node.ledger")
local level = require("syscheck.policy.level")
local log = require("syscheck.lib.log")
local mark = require("syscheck.slurm.mark")
local records = lazy.require("syscheck.spool.records")
local resume = require("syscheck.slurm.resume")
local stage = require("syscheck.node.stage")
local time = require("syscheck.lib.time")

local health = {}

-- Slurm kills a health program after 60 s, the shell entry after 52: kernels, one of
-- them that takes 1.3 s to be ended, and what the drain asks slurmctld.
local MAX_DEADLINE_S = 36
local CALLS_END_S = 50
-- Whether a drain stands that got no answer is asked before it measures.
local SETTLED_S = 10
local LAST = "last_health.json"

-- Makes this process the one that measures here, if nothing else runs.
-- @return whether it is
local function own(node, boot_id)
   local ok, err = claim.enter(node)
   if not ok then
      log.error("not measured: %s", err)
      return false
   end
   if jobs.any(node, boot_id) then
      claim.release(node)
      return false
   end
   return true
end

-- The level that found it, where that is the higher one: a lower one may not see what is bad.
local function raised(at, found)
   return found and level.is_valid(found.level) and level.at_least(found.level, at) and found.level or at
end

-- @param alone whether no other health program runs here
-- @param m mark of the node, or nil
-- @return level; of an active one the ledger, and the marker of a node that is to be measured for its resume
local function decide(node, boot_id, now_s, alone, m)
   local wanted = node.policy.health
   local least = wanted.level == "none" and "none" or "passive"
   -- With a policy or baseline that cannot be used a check finds out nothing.
   if not alone or node.inconclusive then
      return least
   end
   local marker = resume.due(node, boot_id, now_s)
   local open = mark.is_open(node, m, now_s) and m
   local at = raised(raised(level.is_active(wanted.level) and wanted.level or "quick", open), marker)
   -- A drained node's time is nobody's: the budget is not asked. Nor is it for what an
   -- earlier check could not settle.
   local must = marker or open and level.is_active(raised("none", open))
   if not must and not level.is_active(wanted.level) then
      return least
   end
   local l = ledger.read(node, boot_id)
   if not must and not (budget.is_stale(l, wanted.every, at, now_s)
      and budget.affords(l, node.policy.budget, now_s)) then
      return least
   end
   if not own(node, boot_id) then
      return least
   end
   if marker then
      resume.begins(node, marker, now_s)
   else
      local ok, err = ledger.pay_ahead(node, l, at, now_s)
      if not ok then
         log.error("not measured, state: %s", err)
         claim.release(node)
         return least
      end
   end
   return at, l, marker
end

-- What counters and inventory of a passive check complain of, in few words.
local function what_is_wrong(result)
   local wrong = { result.status == "unknown" and "unknown" or nil }
   for _, m in ipairs(result.metrics) do
      if m.status == "fail" or m.status == "warn" then
         wrong[#wrong + 1] = m.name
      end
   end
   return #wrong > 0 and table.concat(wrong, " ") or "nothing"
end

-- Drains an idle node, as a prolog would; there is no job to send elsewhere.
-- @param found from mark.finding, or nil
-- @return action for the record, drain details
-- @param wrong of what_is_wrong
local function act(node, result, found, m, last, wrong, boot_id, now_s, started)
   if resume.is_ours(node) then
      return "none"
   elseif found then
      if m and not mark.is_due(node, m, now_s) then
         return "none"
      end
      local action, drained = stage.drain(node, found, m, boot_id, { until_s = started / 1e9 + CALLS_END_S })
      return drained.kept and "none" or action, drained
   elseif result.confirmed then
      -- A lack of memory fails every check: not a line each time.
      local ago = last.boot_id == boot_id and last.asked == wrong and type(last.asked_s) == "number"
         and now_s - last.asked_s
      if ago and ago >= 0 and ago < node.policy.health.recheck then
         return "none"
      end
      last.asked_s, last.asked = now_s, wrong
      log.error("would drain (mode is observe): %s", result.reason)
      return "observed"
   end
   return "none"
end

local function examine(node, alone, started)
   -- The others are read for a job, and for Prometheus.
   local from = counters.snapshot(node.root, not node.policy.textfile and check.COUNTERS or nil)
   local begin_s = node.now_s()
   local m = mark.read(node, from.boot_id)
   local action, drained, answers
   if alone and mark.is_sent(node, m, begin_s) then
      action, drained, answers = stage.settle(node, from.boot_id, { until_s = started / 1e9 + SETTLED_S })
      m = mark.read(node, from.boot_id)
   end
   local settled = drained ~= nil
   -- Nothing is drained where slurmctld does not answer.
   local lvl, l, marker = decide(node, from.boot_id, begin_s, alone and not settled and answers ~= false, m)
   if lvl == "none" and not settled then
      return
   end
   for _, name in ipairs({ "quick", "full" }) do
      node.policy.deadline[name] = math.min(node.policy.deadline[name], MAX_DEADLINE_S)
   end
   local hardware = inventory.read(node.root)
   if node.policy.leftovers then
      node.quiet = not jobs.any(node, from.boot_id)
   end
   node.alone = not node.lock -- as in the prolog
   local result = check.run(settled and "passive" or lvl, node, hardware, from)
   stage.log_failures(result)
   stage.remember(node, l, result, begin_s, marker ~= nil)
   if level.is_active(lvl) then
      claim.release(node)
   end
   mark.checked(node, m, result, begin_s)

   local last = node:read_state(LAST) or {}
   local asked_s, wrong = last.asked_s, what_is_wrong(result)
   local at = time.show(os.time())
   if marker then
      action = resume.after(node, marker, result, node.now_s())
      if action == "resume" then
         ledger.make_due(node, l, "resumed")
      end
   elseif not settled and answers ~= false then
      local found = mark.finding(node, m, result, begin_s)
      action, drained = act(node, result, found, m, last, wrong, from.boot_id, begin_s, started)
   end
   -- What counters and inventory show is recorded once, and not every few minutes.
   local active = level.is_active(lvl)
   local told = active or wrong ~= last.said or drained
   if told or node.policy.textfile then
      local record = records.check("health", node, hardware, result)
      record.time, record.duration_s = at, (uv.hrtime() - started) / 1e9
      if told then
         record.note = marker and "drained by syscheck, measured again" or nil
         record.action, record.drain = action or "none", drained
      end
      (told and stage.record or stage.count)(node, record, result.after, hardware)
   end
   local said = active and (last.said or "nothing") or wrong
   if last.boot_id ~= from.boot_id or last.said ~= said or last.asked_s ~= asked_s then
      last.boot_id, last.said = from.boot_id, said
      node:save_state(LAST, last)
   end
end

--- Runs the health program's work. Never fails: its trouble is logged.
-- @param get function(name) -> environment variable
-- @param options of node.open, for tests
function health.main(get, options)
   local started = uv.hrtime()
   local node = stage.open("health", get, options)
   -- Slurm starts the next one after HealthCheckInterval, whether this one is over or not.
   local fd, err, busy = node:lock_file("health.lock", 0)
   if busy then
      return
   elseif not fd then
      log.error("no kernels, the lock: %s", err)
   end
   node:log_problems()
   local conf = node:slurm_conf()
   if conf and not get("SLURM_CONF") then
      uv.os_setenv("SLURM_CONF", conf) -- for scontrol, see slurm/command.lua
   end
   examine(node, fd ~= nil, started)
   if fd then
      uv.fs_close(fd)
   end
end

return health
