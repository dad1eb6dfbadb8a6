--- The budget: which share of a node's time may go into checks that nobody asked for.
-- Pure. A check that began at t and took c seconds pays for itself by t + c / share;
-- until then no other unasked one runs. So of any long time at most `share` is spent.
--
-- Time is the kernel's monotonic clock, which no clock step moves, and holds within
-- one boot; after another boot a check is due anyway.
--
-- The ledger, a table that survives as JSON:
--   boot_id, next_s = when all is paid for, pass_s = begin of the last pass,
--   level = its level (absent when the last check did not pass),
--   due = why a check must not be skipped
local level = require("syscheck.policy.level")

local budget = {}

-- Checks that are due run on credit. So much of it, in seconds of waiting, is paid
-- back; a node that was in trouble for a week is not left unchecked for a month.
local MAX_CREDIT_S = 86400
--- Seconds: more than any check takes, as the prolog entry ends it after 74.
budget.MAX_COST_S = 75

local function is_time(value)
   return type(value) == "number" and value == value and value >= 0 and value < math.huge
end

--- A ledger to work on, whatever was read.
-- @param raw what the file held, or nil
-- @param boot_id of now
-- @return ledger, always a new table
function budget.open(raw, boot_id)
   if type(raw) ~= "table" or type(raw.boot_id) ~= "string" then
      return { boot_id = boot_id, next_s = 0, due = "never checked" }
   elseif raw.boot_id ~= boot_id then
      return { boot_id = boot_id, next_s = 0, due = "rebooted" }
   end
   return {
      boot_id = boot_id,
      next_s = is_time(raw.next_s) and raw.next_s or 0,
      pass_s = is_time(raw.pass_s) and raw.pass_s or nil,
      level = level.is_valid(raw.level) and raw.level or nil,
      due = type(raw.due) == "string" and raw.due or nil,
   }
end

-- A time further off than any that is set here is damage: nothing would be checked until the next boot.
local function is_paid(l, share, now_s)
   local wait = l.next_s - now_s
   return wait <= 0 or wait > math.max(budget.MAX_COST_S / share, MAX_CREDIT_S)
end

--- Whether an unasked check is to be skipped.
-- @param l ledger
-- @param share of node time, 0: never unasked, 1: always
-- @param want level of the check
-- @param now_s monotonic seconds
-- @return false; or true and why
function budget.skips(l, share, want, now_s)
   if share <= 0 then
      return true, "the policy's budget is 0"
   elseif share >= 1 or l.due or is_paid(l, share, now_s) then
      return false
   elseif l.level and not level.at_least(l.level, want) then
      return false
   end
   return true, l.level and "the last pass is fresh" or "the last check is not paid for yet"
end

--- The same for a check that may wait: nothing makes it due, it only has its turn.
function budget.affords(l, share, now_s)
   return share > 0 and (share >= 1 or is_paid(l, share, now_s))
end

--- Enters what a check costs.
-- @param begin_s when it began
-- @param cost_s its seconds; before it is over, what it may take: a check that is killed has paid
-- @param asked true: it counts as a pass, and is not limited
function budget.charge(l, share, begin_s, cost_s, asked)
   if share <= 0 then
      return
   end
   local price = cost_s / share
   local from = is_paid(l, share, begin_s) and begin_s or l.next_s
   local most = begin_s + math.max(price, MAX_CREDIT_S)
   l.next_s = asked and math.max(from, begin_s + price) or math.min(from + price, most)
end

--- Enters how a check ended. It was made, so none is due, whatever it found: one that
-- hangs must not cost every job a deadline.
-- @param passed true for a pass
-- @param at level that ran
function budget.done(l, passed, at, begin_s)
   l.due = nil
   l.level = passed and at or nil
   l.pass_s = passed and begin_s or nil
end

--- Makes a check due.
function budget.make_due(l, why)
   l.due = why
end

--- Whether the last pass is older than `every` seconds, or there is none.
function budget.is_stale(l, every, at, now_s)
   return l.due ~= nil or not l.pass_s or not l.level or not level.at_least(l.level, at)
      or now_s - l.pass_s >= every or l.pass_s > now_s
end

return budget
