--- What a check found bad and Slurm did not drain: no answer, refused, the cap used up. The node
-- remembers it in a file: the next prolog or health check settles it first, and asks
-- slurmctld for another list only when it is due.
--
-- The mark is written before Slurm is asked, so it is there when a check is killed meanwhile.
-- Its `action` is what came of asking ("undecided", "storm"; "kept": somebody else drained
-- the node, and no job has started since). With `sent`, slurmctld may have drained the node, or may
-- do it yet, without that this node was counted.
local lazy = require("syscheck.lib.lazy")
local policy = require("syscheck.policy.policy")
local storm = lazy.require("syscheck.slurm.storm")
local time = require("syscheck.lib.time")
local verdict = require("syscheck.verdict.rating")

local mark = {}

local FILE = "bad.json"
local MAX_WAIT_S = 3600 -- between two lists

local function number(value)
   return type(value) == "number" and math.abs(value) < 2 ^ 53 and value or 0
end

-- Wide, as all nodes of a storm got their answers at the same time. What is not settled is
-- tried again at once, first.
local function wait_s(m, recheck)
   local tries = m.tries - ((m.action == "undecided" or m.sent) and 1 or 0)
   return tries < 1 and 0 or math.min(recheck * 2 ^ math.min(tries - 1, 20), math.max(recheck, MAX_WAIT_S))
      * (0.5 + math.random())
end

-- Enters what came of asking, and when to ask again.
local function asked(node, m, action, now_s)
   m.action, m.asked = action, time.show(os.time())
   m.next_s = now_s + wait_s(m, node.policy.health.recheck)
   node:save_state(FILE, m)
   return m
end

--- The mark, or nil.
-- @param boot_id of now: what an earlier boot found is measured again, whatever it was
function mark.read(node, boot_id)
   local m = node:read_state(FILE)
   if not m or type(m.reason) ~= "string" then
      return nil
   end
   m.tries, m.next_s = number(m.tries), number(m.next_s)
   local metrics = {}
   for _, metric in ipairs(type(m.metrics) == "table" and m.metrics or {}) do
      metrics[#metrics + 1] = type(metric) == "table" and type(metric.name) == "string" and metric or nil
   end
   m.metrics = metrics
   local full = type(m.full) == "table" and m.full
   m.full = full and type(full.name) == "string" and { name = full.name, total = number(full.total) // 1 | 0,
      taken = number(full.taken) // 1 | 0, cap = number(full.cap) // 1 | 0 } or nil
   if m.boot_id ~= boot_id then
      m.boot_id, m.corrupt, m.tries, m.next_s = boot_id, nil, 0, 0
   end
   return m
end

--- Whether slurmctld may be asked again.
-- @param now_s monotonic seconds
function mark.is_due(node, m, now_s)
   local wait = m.next_s - now_s
   -- A time further off than any that is set here is damage.
   return wait <= 0 or wait > 1.5 * math.max(MAX_WAIT_S, node.policy.health.recheck)
end

--- For a prolog: what somebody else had drained the node for is over, as a job starts here. What was
-- found meanwhile is open again.
function mark.job_starts(node, m)
   if m and m.action == "kept" then
      m.action, m.tries, m.next_s = "undecided", 0, 0
      node:save_state(FILE, m)
   end
end

--- Whether there is something to settle now, by measuring it again.
function mark.is_open(node, m, now_s)
   return m ~= nil and m.action == "undecided" and policy.enforces(node.policy) and not node.inconclusive
      and mark.is_due(node, m, now_s)
end

--- Whether slurmctld has to be asked now for a drain of ours.
function mark.is_sent(node, m, now_s)
   return m ~= nil and m.sent == true and policy.enforces(node.policy) and mark.is_due(node, m, now_s)
end

-- Enters a finding in a mark that is there, where it is graver or the node was thought to be well:
-- also where Slurm is not asked again yet, it is what the next check settles.
local function enter(node, m, found)
   if found.corrupt and not m.corrupt or m.action == "passed" then
      m.reason, m.corrupt, m.level, m.metrics = found.reason, found.corrupt, found.level, found.metrics
      m.action = m.action == "passed" and "undecided" or m.action
      node:save_state(FILE, m)
   end
end

-- Whether it holds a wrong result that the policy drains for. An older version did not write down whose
-- result it was: then the policy's own mode holds.
local function is_owed(p, m)
   local enforced = p.mode == "enforce"
   for _, metric in ipairs(m.metrics) do
      enforced = enforced or metric.corrupt and verdict.mode(p, p.limits[metric.name], true) == "enforce"
   end
   return m.corrupt and enforced
end

--- What is to be drained for: what a check found, or a wrong result that an earlier one found.
-- Measuring right once takes back no wrong result, and a low rate is the lesser finding.
-- @param m from read, or nil
-- @return { reason, corrupt, level, metrics = list of { name, corrupt } }; or nil
function mark.finding(node, m, result, now_s)
   local drains = result.confirmed and result.enforced
   if m and is_owed(node.policy, m) and not (drains and result.corrupt) then
      local owed = (m.action == "undecided" or m.action == "storm") and not node.inconclusive
         and mark.is_due(node, m, now_s)
      return (drains or owed) and m or nil
   elseif not drains then
      return nil
   end
   local found = { reason = result.reason, corrupt = result.corrupt, level = result.level, metrics = {} }
   for _, r in ipairs(result.metrics) do
      if r.status == "fail" then
         table.insert(found.metrics, { name = r.name, corrupt = r.corrupt })
      end
   end
   if m then
      enter(node, m, found)
   end
   return found
end

--- Begins to ask Slurm.
-- @param found from finding
-- @param m from read, or nil
-- @return the mark as it now is
function mark.begin(node, found, m, boot_id, now_s)
   local new = { boot_id = boot_id, sent = m and m.sent, tries = (m and m.tries or 0) + 1, reason = found.reason,
      corrupt = found.corrupt, level = found.level, metrics = found.metrics, error = "ended before Slurm had answered" }
   return asked(node, new, "undecided", now_s)
end

--- Enters that Slurm is told to drain.
function mark.sending(node, m)
   m.sent = true
   node:save_state(FILE, m)
end

--- Enters what came of it.
-- @param out from drain.node
function mark.decided(node, m, out, now_s)
   if out.action == "drain" and not out.kept then
      return node:forget_state(FILE)
   end
   m.sent, m.error, m.full = out.open, out.error, out.full
   asked(node, m, out.kept and "kept" or out.action, now_s)
end

--- After a look at whether a drain of ours stands: it does not, or slurmctld did not say.
function mark.looked(node, m, out, now_s)
   m.sent, m.error = out.open, out.error
   if not m.sent and m.action == "passed" then
      return node:forget_state(FILE)
   elseif m.sent then
      m.tries = m.tries + 1
      return asked(node, m, m.action, now_s)
   end
   node:save_state(FILE, m)
end

-- Whether what was bad is measured and no longer bad.
local function is_well(m, result)
   local status = {}
   for _, r in ipairs(result.metrics) do
      status[r.name] = r.status
   end
   for _, failed in ipairs(m.metrics) do
      local now = status[failed.name]
      if now == nil or now == "fail" or now == "unknown" then
         return false
      end
   end
   return result.node_status ~= "fail" and result.node_status ~= "unknown"
end

--- After a check: what is well again needs no drain; what could not be measured, or is only observed
-- by now, is not tried before every job.
function mark.checked(node, m, result, now_s)
   if not m or is_owed(node.policy, m) then
      return
   elseif m.corrupt or not is_well(m, result) then
      if mark.is_open(node, m, now_s) and not (result.confirmed and result.enforced) and #result.runs > 0 then
         m.tries = m.tries + 1
         asked(node, m, m.action, now_s)
      end
   elseif m.sent then
      m.action = "passed"
      node:save_state(FILE, m)
   else
      node:forget_state(FILE)
   end
end

--- What to record where slurmctld is not asked again yet.
-- @return action, drain
function mark.standing(m, reason)
   return m.action == "storm" and "storm" or "undecided",
      { done = false, reason = storm.reason(reason), full = m.full, error = ("as of %s, not asked again yet%s"):format(
         tostring(m.asked), type(m.error) == "string" and ": " .. m.error or "") }
end

return mark
