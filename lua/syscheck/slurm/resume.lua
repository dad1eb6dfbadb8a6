--- Back into service: what syscheck drained, after resume_after passing checks in a row.
--
-- A node knows that it is drained by a marker that the draining check left here, so a
-- health check that has nothing to do asks nobody. slurmctld is asked when a resume is due, or
-- a job has started here, and has the last word: it must hold exactly our reason.
local lazy = require("syscheck.lib.lazy")
local command = lazy.require("syscheck.slurm.command")
local log = require("syscheck.lib.log")
local policy = require("syscheck.policy.policy")
local storm = lazy.require("syscheck.slurm.storm")
local verdict = require("syscheck.verdict.rating")

local resume = {}

local MARKER = "drained.json"
local MAX_WAIT_S = 3600 -- between two checks of a node that stays bad
local CALL_S = 5
-- A state with any other flag (DOWN, MAINTENANCE, REBOOT, POWERED_DOWN, ...), or with a
-- mark behind it (* for not responding), is not ours to change.
local MAY_RESUME = { IDLE = true, DRAIN = true, CLOUD = true, DYNAMIC_NORM = true, DYNAMIC_FUTURE = true,
   RESERVED = true, PLANNED = true }

-- A drain of before may be found again by a check that sees something else, after a
-- reboot that took the marker away: then only its reason still shows it.
local function is_corrupt(reason, found)
   return found and found.corrupt or reason:find(verdict.WRONG, 1, true) ~= nil or nil
end

--- Leaves the marker: this node is drained, and may be.
-- @param reason as it stands, with prefix
-- @param found { metrics = list of { name }, level, corrupt }, see mark.finding
function resume.drained(node, reason, found, boot_id)
   local failed = {}
   for i, metric in ipairs(found.metrics) do
      failed[i] = metric.name
   end
   node:save_state(MARKER, {
      reason = reason,
      corrupt = is_corrupt(reason, found),
      metrics = failed,
      level = found.level,
      boot_id = boot_id,
      passes = 0,
      fails = 0,
   })
end

--- For a prolog: a job starts here. Somebody put the node back, or Slurm had chosen it just before the
-- drain: due() asks.
-- @return true for the first job on a node that had been drained by us
function resume.job_starts(node)
   local marker = node:read_state(MARKER)
   if not marker or marker.job then
      return false
   end
   marker.job = true
   node:save_state(MARKER, marker)
   return true
end

--- Whether this node is out of service by our own drain, as far as it knows.
function resume.is_ours(node)
   local marker = node:read_state(MARKER)
   return marker ~= nil and not marker.job
end

-- Once for each drain, and not every few minutes.
local function log_once(node, marker, text)
   if not marker.told then
      marker.told = true
      node:save_state(MARKER, marker)
      log.info("%s: %s", text, marker.reason)
   end
end

-- What the node was drained for has to be measured and good. A warning about something
-- else keeps no node out of service.
-- @return true; or false and what was missing, when it was not measured at all
local function is_repaired(marker, result)
   -- Where no kernel's value has a limit, the site's own checks alone decide.
   local by_site = result.node_status == "unrated" and type(marker.metrics) == "table" and #marker.metrics > 0
   for _, name in ipairs(by_site and marker.metrics or {}) do
      by_site = by_site and type(name) == "string" and name:find(":", 1, true) ~= nil
   end
   if result.node_status ~= "pass" and result.node_status ~= "warn" and not by_site then
      return false
   end
   local status = {}
   for _, m in ipairs(result.metrics) do
      status[m.name] = m.status
   end
   for _, name in ipairs(type(marker.metrics) == "table" and marker.metrics or {}) do
      if status[name] ~= "pass" then
         return false, (status[name] == nil or status[name] == "unrated") and name or nil
      end
   end
   return true
end

-- Whether others used the node, so that something of it was not rated.
local function is_disturbed(result)
   for _, m in ipairs(result.status ~= "fail" and result.metrics or {}) do
      if m.busy then
         return true
      end
   end
   return false
end

-- Whether slurmctld holds the node out of service for exactly this reason.
-- @param reason as it was set, with prefix
-- @return "drained": it does, and nothing else is the matter; "wait": it does, and the node
--   is not idle; "other": it is in service, or somebody else's reason stands there; nil and
--   why when slurmctld does not answer that
local function standing(node, reason)
   local shown, err = command.run(node.policy.scontrol, { "show", "node", "--oneliner", node.name }, CALL_S)
   if not shown then
      return nil, err
   end
   local _, by_name = storm.parse(shown)
   local now = by_name[node.name]
   if not now then
      return nil, "scontrol show: not a node: " .. shown:sub(1, 100)
   elseif now.reason ~= reason or not ("+" .. now.state):find("+DRAIN", 1, true) then
      return "other"
   end
   for flag in now.state:gmatch("[^+]+") do
      if not MAY_RESUME[flag] then
         return "wait"
      end
   end
   return "drained"
end

-- Asks slurmctld, and forgets a drain that is over.
-- @return as standing
local function look(node, marker)
   local held, err = standing(node, marker.reason)
   if held == "other" then
      log.info("in service, or out of it for another reason; no longer ours to resume: %s", marker.reason)
      node:forget_state(MARKER)
   elseif not held then
      log.error("resume: %s", err)
   end
   return held
end

-- Asks slurmctld, and resumes the node if that is due.
-- @return "resume" if the node is back
local function ask(node, marker)
   if look(node, marker) ~= "drained" or marker.passes < node.policy.resume_after then
      return nil
   end
   local ok, err = command.run(node.policy.scontrol, { "update", "nodename=" .. node.name, "state=resume" }, CALL_S)
   if not ok then
      log.error("resume: %s", err)
      return nil
   end
   log.info("resumed after %d passing checks; was drained for: %s", marker.passes, marker.reason)
   node:forget_state(MARKER)
   return "resume"
end

--- The marker, if this node is to be measured again.
-- @param now_s monotonic seconds
-- @return marker; or nil
function resume.due(node, boot_id, now_s)
   local marker = node:read_state(MARKER)
   if not marker or type(marker.reason) ~= "string" or not policy.enforces(node.policy) then
      return nil
   end
   if marker.job then
      local held = look(node, marker)
      if not held or held == "other" then
         return nil
      end
      marker.job = nil
      node:save_state(MARKER, marker)
   end
   if marker.corrupt or is_corrupt(marker.reason) then
      log_once(node, marker, "wrong results: stays drained until an admin resumes it")
      return nil
   elseif node.policy.resume_after <= 0 then
      return nil
   end
   if marker.boot_id ~= boot_id then
      -- What a reboot repaired shows in new checks; what an old one found counts no more.
      marker.boot_id, marker.passes, marker.fails, marker.next_s = boot_id, 0, 0, nil
   end
   for _, field in ipairs({ "passes", "fails", "next_s" }) do
      marker[field] = type(marker[field]) == "number" and marker[field] or 0
   end
   -- A time further off than any that is set here is damage.
   if now_s < marker.next_s and marker.next_s - now_s <= math.max(MAX_WAIT_S, node.policy.health.recheck) then
      return nil
   end
   return marker
end

--- Enters that a check begins, so that one that is killed is not begun at once again.
function resume.begins(node, marker, now_s)
   marker.next_s = now_s + node.policy.health.recheck
   node:save_state(MARKER, marker)
end

--- Counts a check of a drained node, and resumes the node when it is due.
-- @param marker from due()
-- @return "resume" if the node is back in service, else "none"
function resume.after(node, marker, result, now_s)
   -- A job began meanwhile.
   if not resume.is_ours(node) then
      return "none"
   end
   local repaired, missing = is_repaired(marker, result)
   local wait = node.policy.health.recheck
   if is_disturbed(result) then
      missing = nil -- neither good nor bad: it counts for nothing
   elseif repaired then
      marker.passes, marker.fails = marker.passes + 1, 0
   else
      marker.passes, marker.fails = 0, marker.fails + 1
      wait = math.max(wait, math.min(wait * 2 ^ math.min(marker.fails - 1, 20), MAX_WAIT_S))
   end
   marker.next_s = now_s + wait
   if result.corrupt then
      marker.corrupt = true
   end
   node:save_state(MARKER, marker)
   if missing then
      log_once(node, marker, ("stays drained until an admin resumes it, %s is not rated by this check"):format(missing))
   end
   -- One question a fail, too: an admin may have put the node back, and then it is not
   -- this check's turn but an ordinary one's to drain it.
   if result.status == "fail" or marker.passes >= node.policy.resume_after then
      return ask(node, marker) or "none"
   end
   return "none"
end

return resume
