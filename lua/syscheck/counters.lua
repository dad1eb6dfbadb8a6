--- Counters of a node: snapshots, and what changed between two of them.
--
-- A source is a module in counters/ with read(root). It returns a flat table of
-- numbers that only grow, keyed `name:unit` (`package_count:0`) or `name`, or nil
-- where the machine has no such files: absent is not zero. Units stay apart in a
-- snapshot, so that a CPU taken offline takes only its own share away; a delta
-- adds them up by name.
local files = require("syscheck.files")

local counters = {}

--- Sources by name; the order is the reading order.
counters.SOURCES = { "throttle", "pressure", "cpu", "disk", "nfs", "lustre", "memory_errors", "oom" }

--- Reads every source below root.
-- @param root "" for the machine itself, or the root of a prepared tree
-- @return { boot_id, time (s since the epoch), sources = { name = { key = number } } }
function counters.snapshot(root)
   local snapshot = {
      boot_id = files.line(root .. "/proc/sys/kernel/random/boot_id") or "unknown",
      time = os.time(),
      sources = {},
   }
   for _, name in ipairs(counters.SOURCES) do
      snapshot.sources[name] = require("syscheck.counters." .. name).read(root)
   end
   return snapshot
end

-- "package_count:0" -> "package_count"
local function name_of(key)
   return key:match("^[^:]*")
end

--- Adds the units of one source up: { name = number }; nil for nil.
function counters.total(source)
   if not source then
      return nil
   end
   local sum = {}
   for key, value in pairs(source) do
      local name = name_of(key)
      sum[name] = (sum[name] or 0) + value
   end
   return sum
end

local WRAP = 1 << 32
-- The kernel keeps these in 32 bits (block/genhd.c, part_stat: jiffies_to_msecs).
local WRAPS = { disk = { busy_ms = true } }

-- Never negative. What wraps shows a small step modulo 2^32; anything else that went
-- back (a driver reset, a new mount, iowait's own jitter) tells nothing.
local function growth(before, now, wraps)
   local step = now - before
   if step < 0 and wraps and before < WRAP and step + WRAP < WRAP // 2 then
      return step + WRAP
   end
   return math.max(step, 0)
end

--- What happened from one snapshot to a later one.
-- Only what both hold counts: a unit that came or went has no delta.
-- @return { source = { name = number } }; or nil and why
function counters.delta(from, to)
   if from.boot_id ~= to.boot_id then
      return nil, "the node rebooted in between"
   end
   if type(from.sources) ~= "table" then
      return nil, "the earlier snapshot is damaged"
   end
   local delta = {}
   for source, now in pairs(to.sources) do
      local before = from.sources[source]
      if type(before) == "table" then
         local sum, wraps = {}, WRAPS[source] or {}
         for key, value in pairs(now) do
            if type(before[key]) == "number" then
               local name = name_of(key)
               sum[name] = (sum[name] or 0) + growth(before[key], value, wraps[name])
            end
         end
         if next(sum) then
            delta[source] = sum
         end
      end
   end
   return delta
end

--- Throttle events in a delta, or in totals: a package's and its cores' counts
-- tell of the same heat, so the larger one speaks, and power limits beside it.
-- @param throttle delta.throttle or total(sources.throttle)
-- @return number, or nil when the machine has no such counters
function counters.throttle_events(throttle)
   if not throttle then
      return nil
   end
   local heat = math.max(throttle.package_count or 0, throttle.core_count or 0)
   local power = math.max(throttle.package_power_count or 0, throttle.core_power_count or 0)
   return heat + power
end

return counters
