--- The verdict: results against limits. Pure; the one place where a number
-- becomes good or bad, for the prolog, the health program and the command line.
local lazy = require("syscheck.lib.lazy")
local baseline = lazy.require("syscheck.verdict.baseline")
local busy = lazy.require("syscheck.verdict.busy")
local cpus = lazy.require("syscheck.verdict.cpus")
local expect = require("syscheck.verdict.expectations")
local metrics = require("syscheck.catalogue.metrics")
local parts = require("syscheck.verdict.parts")

local verdict = {}

--- What the sentence on a wrong result says.
verdict.WRONG = "WRONG RESULT"

-- Worst first: what a node is called when its metrics differ.
local ORDER = { "fail", "unknown", "warn", "pass", "unrated" }

local function worst_of(seen)
   for _, status in ipairs(ORDER) do
      if seen[status] then
         return status
      end
   end
end

--- The limits of one class: static from policy, the rest from the baseline.
-- @param p policy
-- @param class hardware class
-- @param learned baseline, or nil
-- @param before its name in older versions, or nil
-- @param lvl of the check, or nil: in whatever time boxes
-- @return { metric = { { bound, op = "<" or ">", source, action, cpus = that the baseline is of, median = its
--   class's, of a baseline's limit } } }; what is
--   expected has op "=" and `among`, the list of right values; a metric's `none` says why the baseline sets no limit
function verdict.limits(p, class, learned, before, lvl)
   local limits = {}
   local wanted = expect.of(p.expect, class, before)
   local rated_as, close, of_class = nil, nil, { metrics = {} }
   if learned then
      rated_as, close = baseline.class_for(learned, class, before)
   end
   if rated_as then
      local c = learned.classes[rated_as]
      of_class = { metrics = c.metrics, config = c.config, cpus = cpus.of_class(c),
         parts = baseline.expected(learned, rated_as) }
   end
   for _, m in ipairs(metrics.LIST) do
      local rule = p.limits[m.name] or {}
      local action = rule.action or "fail"
      local list = {}
      if action ~= "off" then
         -- No rate is below 0: that is no limit.
         if rule.min and rule.min > 0 then
            list[#list + 1] = { bound = rule.min, op = "<", source = "policy", action = action }
         end
         if rule.max then
            list[#list + 1] = { bound = rule.max, op = ">", source = "policy", action = action }
         end
         local b = m.kernel and of_class.metrics[m.name]
         -- Noise varies by more than its own size from hour to hour: a median says
         -- little about what is too much. Only a static limit rates it.
         if b and not m.static then
            local bound, none = baseline.limit(b, m, rule.tolerance or p.tolerance, (p.kernels[m.kernel] or {})[lvl])
            list.none = none
            list[#list + 1] = bound and {
               bound = bound,
               op = m.better == "higher" and "<" or ">",
               source = ("class %s, median %s"):format(rated_as, metrics.show(m, b.median)),
               action = close and action or "warn",
               cpus = of_class.cpus,
               median = b.median,
            } or nil
         end
         if m.expected then
            parts.add_limit(list, m, wanted, of_class, rated_as)
         end
      end
      limits[m.name] = list
   end
   return limits
end

local function beyond(value, limit)
   if limit.op == "<" then
      return value < limit.bound
   end
   return value > limit.bound
end

-- Of several limits, the one that is broken, or the tightest.
local function tighter(a, b)
   if a.op == "<" and b.op == "<" then
      return b.bound > a.bound and b or a
   end
   return a
end

-- What was done in all of a time box, set-up too, is divided by all of its time where threads were stopped for
-- half of that, see kernel_stopped in kernels/common/kernel.h. Where others explain that half, it says nothing
-- of the node: most of its work was set-up, which is in no rate.
local BOUND_LOSS = 0.5

-- A value beyond its limit while others used the node: what they explain at most is no fail.
local function judge_disturbed(m, out, result, limits)
   local best, words = busy.credit(m, out.value, result.loss), busy.words(result.others)
   local explained = out.bound and result.loss >= BOUND_LOSS
   for _, limit in ipairs(limits) do
      if not explained and limit.action == "fail" and cpus.fit(result.cpus, limit) and beyond(best, limit) then
         out.text = ("%s; %s"):format(out.text, words)
         return
      end
   end
   out.status, out.busy = "unknown", true
   out.text = ("busy, not rated: %s; %s"):format(words, out.text)
end

-- The limit that decides: one that is broken, a limit that fails before one that warns, else the
-- tightest. The best that a value can be is compared with what it may not be worse than.
-- @return limit or nil, one of the others: for CPUs that were not measured
local function decisive(m, result, limits)
   local value, worse = result.value or result.bound, m.better == "higher" and "<" or ">"
   local by, other
   for _, limit in ipairs(value and limits or {}) do
      if not cpus.fit(result.cpus, limit) then
         -- The baseline's, which names its CPUs, rather than the policy's.
         other = limit.cpus and limit or other or limit
      elseif not result.bound or limit.op == worse then
         local outranks = by and (not beyond(value, by) or (limit.action == "fail" and by.action ~= "fail"))
         if not by or (outranks and beyond(value, limit)) then
            by = limit
         elseif not beyond(value, limit) and not beyond(value, by) then
            by = tighter(by, limit)
         end
      end
   end
   return by, other
end

local function rate_one(m, result, limits)
   if m.expected and limits[1] then
      return parts.rate(m, result, limits[1])
   end
   local out = { name = m.name, status = "unrated" }
   if result.corrupt then
      out.status, out.text, out.corrupt = "fail", ("%s: %s: %s"):format(m.kernel, verdict.WRONG, result.corrupt), true
      out.source = "the kernel's verification"
      return out
   end
   local by, other = decisive(m, result, limits)
   if result.unknown and not (by and beyond(result.bound, by)) then
      out.status, out.text = "unknown", ("%s: not measured: %s"):format(m.label, result.unknown)
      return out
   end
   out.value, out.bound = result.value or result.bound, result.unknown and true or nil
   for _, limit in ipairs(limits) do
      out.median = cpus.fit(result.cpus, limit) and limit.median or out.median
   end
   local shown = metrics.show(m, out.value, true)
   local strange = result.cpus and not result.cpus.jobs
   if (other and not (by and beyond(out.value, by))) or (strange and not by) then
      out.status, out.text = "unknown", ("%s %s not rated: %s"):format(m.label, shown, cpus.why(result.cpus, other))
      -- Nor is it compared with other nodes' by whoever reads the record.
      if strange then
         out.value, out.bound = nil, nil
      end
      return out
   elseif not by then
      out.text = ("%s %s: %s"):format(m.label, shown, limits.none and "not rated: " .. limits.none
         or "no limit to compare with")
      return out
   end
   out.limit, out.op, out.source = by.bound, by.op, by.source
   if beyond(out.value, by) then
      out.status = by.action == "fail" and "fail" or "warn"
      out.text = ("%s %s %s %s (%s)"):format(metrics.label(m, out), metrics.show(m, out.value), by.op,
         metrics.show(m, by.bound, true), by.source)
   else
      out.status = "pass"
      out.text = ("%s %s, limit %s (%s)"):format(m.label, shown, metrics.show(m, by.bound), by.source)
   end
   out.text = result.text or out.text
   if out.status == "fail" and (result.loss or 0) > 0 then
      judge_disturbed(m, out, result, limits)
   end
   return out
end

-- What the node is called. Kernels ran and nothing compared their values: calm counters
-- are no pass.
local function status_of(rated_metrics)
   local seen, measured, rated_one = {}, false, false
   for _, r in ipairs(rated_metrics) do
      local kernel = metrics.of(r.name).kernel ~= nil
      seen[r.status] = true
      measured = measured or kernel
      rated_one = rated_one or (kernel and r.status ~= "unrated")
   end
   local status = worst_of(seen) or "unrated"
   return status == "pass" and measured and not rated_one and "unrated" or status
end

--- Rates a check.
-- @param results { metric = { value = number, loss = share that others explain, others = who
--   (see busy.loss, busy.words), text = what to say of it } |
--   { unknown = why, bound = the best that it can be, or nil } | { corrupt = what } }; a metric
--   that was not looked at is absent
-- @param limits from verdict.limits
-- @param own entries of verdict/site.lua, which come last; or nil
-- @return { status = fail|unknown|warn|pass|unrated, corrupt = bool, metrics = list of
--   { name, status, value, bound = true where the value is the best that it can be, limit, op, source,
--   median = its class's, text, busy = others used the node, not rated } in the order of metrics.LIST, text = one
--   sentence on the node }
function verdict.rate(results, limits, own)
   local out = { metrics = {} }
   for _, m in ipairs(metrics.LIST) do
      if results[m.name] then
         local rated = rate_one(m, results[m.name], limits[m.name] or {})
         out.metrics[#out.metrics + 1] = rated
         out.corrupt = out.corrupt or rated.corrupt
      end
   end
   table.move(own or {}, 1, #(own or {}), #out.metrics + 1, out.metrics)
   out.status = status_of(out.metrics)
   out.text = verdict.sentence(out)
   return out
end

--- Two measurements make a fail. One that the second does not repeat is a warning. Where the
-- first was disturbed, or the second gives no value (it was killed, not begun so near the
-- deadline, disturbed), it is neither confirmed nor excused: unknown, with what was found.
-- @param rated of the second measurement; changed
-- @param first { metric = what the first one was rated }, of those that were measured twice
-- @return the sentence of the first metric of which one measurement fails, where it is neither confirmed nor excused
function verdict.settle(rated, first)
   local open
   for _, r in ipairs(rated.metrics) do
      local before = first[r.name]
      if before and before.status == "fail" and r.status == "pass" then
         r.status = "warn"
         r.text = ("%s; not confirmed by a second run: %s"):format(before.text,
            r.value and metrics.show(metrics.of(r.name), r.value, true) or r.text)
      elseif before and before.status == "fail" and r.status == "unknown" then
         r.text = ("%s; not confirmed: %s"):format(before.text, r.text)
         open = open or r.text
      elseif before and before.busy and r.status == "fail" and not r.corrupt then
         r.status, r.busy = "unknown", true
         r.text = ("%s; then %s"):format(before.text, r.text)
         open = open or r.text
      end
   end
   rated.status = status_of(rated.metrics)
   return open
end

--- One sentence on the node: the worst metric's, corruption first, and how many more are
-- as bad.
-- @param rated { status, metrics }
function verdict.sentence(rated)
   local worst, n = nil, 0
   for _, m in ipairs(rated.metrics) do
      if m.status == rated.status then
         n = n + 1
         worst = (not worst or (m.corrupt and not worst.corrupt)) and m or worst
      end
   end
   if rated.status == "pass" then
      return ("%d value%s within limits"):format(n, n == 1 and " is" or "s are")
   elseif rated.status == "unrated" then
      return "there is no limit to compare with"
   elseif not worst then
      return "a directory, or the checker's own trouble; no value decided it"
   end
   return n > 1 and ("%s; and %d more"):format(worst.text, n - 1) or worst.text
end

local PATH_STATUS = { unknown = "unknown", corrupt = "warn" }

--- A check's status with what its directories did to it. They have no limits and never
-- make it fail, not even by wrong data: a shared file system's fault would drain every
-- node that looks at it.
-- @param status from verdict.rate
-- @param measurements of the check; those of directories have a `path`
function verdict.with_paths(status, measurements)
   local seen = { [status] = true }
   for _, one in ipairs(measurements) do
      if one.path and PATH_STATUS[one.state] then
         seen[PATH_STATUS[one.state]] = true
      end
   end
   return worst_of(seen)
end

--- What a failed metric is followed by: its limit's own mode, else the policy's. A wrong result is beyond no
-- limit: a limit's "observe" does not excuse it.
-- @param rule of the policy for the metric, or nil
function verdict.mode(p, rule, corrupt)
   if corrupt and p.mode == "enforce" then
      return p.mode
   end
   return rule and rule.mode or p.mode
end

--- Says of each metric that failed whether it drains: see verdict.mode.
-- @return true when at least one of them drains
function verdict.set_modes(rated, p, class, before)
   local enforced = false
   for _, r in ipairs(rated.metrics) do
      if r.status == "fail" then
         local m = metrics.of(r.name)
         local rule = m.expected and expect.of(p.expect, class, before) or m.own and { mode = r.rule_mode }
            or p.limits[r.name]
         r.mode = verdict.mode(p, rule, r.corrupt)
         enforced = enforced or r.mode == "enforce"
      end
      r.rule_mode = nil
   end
   return enforced
end

--- The sentence of the worst metric, for a drain reason: one that drains before one that
-- is only observed (see set_modes), corruption first. Noise beyond
-- its limit is named beside it: something else that runs there makes all rates low.
-- @return text, or nil when nothing failed
function verdict.reason(rated)
   local first, noise
   -- Of two, the one to name.
   local function before(a, b)
      local enforced = a.mode ~= "observe"
      if enforced ~= (b.mode ~= "observe") then
         return enforced
      end
      return a.corrupt and not b.corrupt
   end
   for _, m in ipairs(rated.metrics) do
      if m.status == "fail" and (not first or before(m, first)) then
         first = m
      end
      if m.name == "noise_pct" and m.value and (m.status == "warn" or m.status == "fail") then
         noise = m
      end
   end
   if first and noise and first ~= noise and not first.corrupt then
      return ("%s; noise %s"):format(first.text, metrics.show(metrics.BY_NAME.noise_pct, noise.value, true))
   end
   return first and first.text
end

return verdict
