--- The health program: what Slurm runs on idle nodes. Counters and inventory always;
-- kernels when the last pass is old, or to see whether what syscheck drained is well
-- again. It gives way to a prolog at any moment: see yield.lua.
--
-- As in the prolog, everything that goes wrong in here is the checker's own trouble.
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
local process = require("syscheck.lib.process")
local records = require("syscheck.spool.records")
local resume = require("syscheck.slurm.resume")
local storm = require("syscheck.slurm.storm")
local yield = require("syscheck.node.claim")

local health = {}

-- Slurm kills a health program after 60 s, the shell entry after 52: kernels, one of
-- them that takes 1.3 s to be ended, and what the drain asks slurmctld.
local MAX_DEADLINE_S = 36
local CALLS_END_S = 50
local LAST = "last_health.json"

-- Slurm starts the next one after HealthCheckInterval, whether this one is over or not.
-- @return descriptor; or nil, why, true when another one is at it
local function alone(self)
   local ok, err = files.mkdir(self.run)
   if not ok then
      return nil, err
   end
   return process.lock_file(self.run .. "/health.lock", 0)
end

-- Makes this process the one that measures here, if nothing else runs.
-- @return true; or false and why not
local function own(self, boot_id)
   local ok, err = yield.claim(self)
   if not ok then
      log.error("not measured: %s", err)
      return false
   end
   local busy = self:busy(boot_id)
   if busy then
      yield.release(self)
      return false
   end
   return true
end

-- @return level, ledger, marker of a node that is to be measured for its resume
local function decide(self, boot_id, now_s, locked)
   local wanted = self.policy.health
   local ledger = self:read_ledger(boot_id)
   local least = wanted.level == "none" and "none" or "passive"
   -- With a policy or baseline that cannot be used a check finds out nothing.
   if not locked or self.doubtful then
      return least, ledger
   end
   local marker = resume.due(self, boot_id, now_s)
   local at = level.is_active(wanted.level) and wanted.level or "quick"
   -- A drained node's time is nobody's: the budget is not asked.
   if not marker and not (level.is_active(wanted.level) and budget.is_stale(ledger, wanted.every, at, now_s)
      and budget.affords(ledger, self.policy.budget, now_s)) then
      return least, ledger
   end
   if not own(self, boot_id) then
      return least, ledger
   end
   if marker then
      resume.begins(self, marker, now_s)
   else
      local ok, err = self:pay_ahead(ledger, at, now_s)
      if not ok then
         log.error("not measured, state: %s", err)
         yield.release(self)
         return least, ledger
      end
   end
   return at, ledger, marker
end

-- Drains an idle node, as a prolog would; there is no job to send elsewhere.
-- @return action for the record, drain details
local function act(self, result, last, boot_id, now_s, started)
   if not result.confirmed or resume.is_ours(self) then
      return "none"
   end
   -- A lack of memory fails every run: neither a call nor a line each time.
   local ago = last.boot_id == boot_id and type(last.asked_s) == "number" and now_s - last.asked_s
   if ago and ago >= 0 and ago < self.policy.health.recheck then
      return "none"
   end
   last.asked_s = now_s
   if not result.enforced then
      log.error("would drain (mode is observe): %s", result.reason)
      return "observed"
   end
   local drained = drain.node(self, result.reason, { until_s = started / 1e9 + CALLS_END_S })
   local action = drained.action
   drained.action = nil
   if action == "storm" then
      log.error("STORM GUARD: bad, NOT drained: %s", storm.sentence(drained))
      resume.drained(self, drained, result, boot_id, true)
      return "storm", drained
   elseif drained.done then
      log.error("drained: %s", drained.reason)
      resume.drained(self, drained, result, boot_id)
      return "drain", drained
   elseif drained.kept then
      log.error("bad, and out of service already (%s): %s", drained.kept, drained.reason)
   else
      log.error("drain: %s; tried again later: %s", drained.error, drained.reason)
   end
   return "none", drained
end

local function remember(self, result, ledger, now_s, by_marker)
   local ok, err = self:write_state("last.json", result.after)
   if ok and level.is_active(result.level) then
      ok, err = self:pay(ledger, result, now_s, by_marker)
   end
   if not ok then
      log.error("state: %s", err)
   end
end

local function log_runs(result)
   for _, run in ipairs(result.runs) do
      if run.state ~= "ok" then
         log.error("%s%s", run.state == "corrupt" and "WRONG DATA: " or "", run.reason)
      end
   end
end

local function write_record(self, hardware, result, action, drained, marker, started)
   local record = records.new("check", self, hardware, result.after)
   record.trigger = "health"
   record.level = result.level
   record.note = marker and "drained by syscheck, measured again" or nil
   record.status, record.reason, record.corrupt = result.status, result.reason, result.corrupt
   record.text = result.text
   record.metrics = #result.metrics > 0 and result.metrics or nil
   record.runs = records.runs(result)
   record.action, record.drain = action, drained
   record.kernel_s, record.box_s = result.kernel_s, result.box_s
   record.duration_s = (uv.hrtime() - started) / 1e9
   local ok, err = records.append(self.spool, record, self.policy)
   if not ok then
      log.error("check record lost: %s", err)
   end
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

-- The part that a second health program at the same time would spoil.
local function run(self, locked, started)
   local from = counters.snapshot(self.root)
   local begin_s = self.now_s()
   local lvl, ledger, marker = decide(self, from.boot_id, begin_s, locked)
   if lvl == "none" then
      return
   end
   for _, name in ipairs({ "quick", "full" }) do
      self.policy.deadline[name] = math.min(self.policy.deadline[name], MAX_DEADLINE_S)
   end
   local hardware = inventory.read(self.root)
   local result = check.run(lvl, self, hardware, from)
   log_runs(result)
   remember(self, result, ledger, begin_s, marker ~= nil)
   if level.is_active(lvl) then
      yield.release(self)
   end

   local last = self:read_state(LAST) or {}
   local action, drained
   -- Bad still, and beyond the storm guard's cap: it could not step back then.
   if marker and not (marker.surplus and result.confirmed) then
      action = resume.after(self, marker, result, self.now_s())
      if action == "resume" then
         budget.make_due(ledger, "resumed")
         self:write_ledger(ledger)
      end
   else
      action, drained = act(self, result, last, from.boot_id, begin_s, started)
   end
   -- What counters and inventory say is told once, and not every few minutes.
   local active, said = level.is_active(lvl), what_is_wrong(result)
   if active or said ~= last.said or drained then
      write_record(self, hardware, result, action, drained, marker, started)
   end
   last.boot_id, last.said = from.boot_id, active and (last.said or "nothing") or said
   local ok, err = self:write_state(LAST, last)
   if not ok then
      log.error("state: %s", err)
   end
end

--- Runs the health program's work. Never fails: its trouble is logged.
-- @param get function(name) -> environment variable
-- @param options { policy = file, root } for tests, see node.open
function health.main(get, options)
   local started = uv.hrtime()
   local self = node.open(get("SLURMD_NODENAME"), options)
   log.context(("%s health: "):format(self.name))
   local fd, err, busy = alone(self)
   if busy then
      return
   elseif not fd then
      log.error("no kernels, the lock: %s", err)
   end
   for _, problem in ipairs(self.problems) do
      log.error("%s", problem)
   end
   local conf = self:slurm_conf()
   if conf and not get("SLURM_CONF") then
      uv.os_setenv("SLURM_CONF", conf) -- for scontrol, see slurm.lua
   end
   run(self, fd ~= nil, started)
   if fd then
      uv.fs_close(fd)
   end
end

return health
