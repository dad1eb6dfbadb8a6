--- Counters of a node: snapshots, and what changed between two of them.
--
-- A source is a module in counters/ with read(root). It returns a flat table of
-- numbers that only grow, keyed `name:unit` (`package_count:0`) or `name`, or nil
-- where the machine has no such files: absent is not zero. Units stay apart in a
-- snapshot, so that a CPU taken offline takes only its own share away; a delta
-- adds them up by name. What counters grow like at their ends is in deltas.lua.
local uv = require("luv")
local deltas = require("syscheck.counters.deltas")
local files = require("syscheck.lib.files")
local log = require("syscheck.lib.log")

local counters = {}

--- Sources by name; the order is the reading order.
counters.SOURCES = { "throttle", "pressure", "cpu", "disk", "nfs", "lustre", "memory_errors", "machine_checks", "oom",
   "link", "energy", "memory_traffic" }

-- What a source tells beside its numbers, by its name in a snapshot.
local BESIDE = { memory_errors = "blamed", nfs = "ages" }

-- What a file of numbers cannot mean, and JSON not hold exactly: 2^53.
local MAX = 9007199254740992

-- Keeps the numbers that can be counts; nil for none.
local function sound(values)
   for key, value in pairs(values or {}) do
      if value < 0 or value > MAX then
         values[key] = nil
      end
   end
   return values and next(values) and values or nil
end

local function read(name, root)
   return require("syscheck.counters." .. name).read(root)
end

--- Reads every source below root. One that fails is absent, and logged.
-- @param root "" for the machine itself, or the root of a prepared tree
-- @return { boot_id, time (s since the epoch), uptime_s (of the kernel's monotonic clock),
--   sources = { name = { key = number } }, blamed, ages (see the sources memory_errors, nfs) }
function counters.snapshot(root)
   local snapshot = {
      boot_id = files.line(root .. "/proc/sys/kernel/random/boot_id") or "unknown",
      time = os.time(),
      uptime_s = uv.hrtime() / 1e9,
      sources = {},
   }
   for _, name in ipairs(counters.SOURCES) do
      local ok, values, beside = pcall(read, name, root)
      if ok then
         snapshot.sources[name] = sound(values)
         if BESIDE[name] then
            snapshot[BESIDE[name]] = beside and (sound(beside) or {})
         end
      else
         log.error("counters: %s: %s", name, tostring(values))
      end
   end
   return snapshot
end

--- Adds the units of one source up: { name = number }; nil for nil.
function counters.total(source)
   if not source then
      return nil
   end
   local sum = {}
   for key, value in pairs(source) do
      local name = deltas.name_of(key)
      sum[name] = (sum[name] or 0) + value
   end
   return sum
end

--- What happened from one snapshot to a later one, see deltas.lua.
counters.delta = deltas.delta

--- Which module, which port had errors from one snapshot to a later one, by the names
-- that people know them by.
-- @return list as of deltas.errors, or nil
function counters.errors(from, to, root)
   local list = deltas.errors(from, to)
   for _, entry in ipairs(list or {}) do
      if entry.kind == "dimm" then
         entry.unit = require("syscheck.counters.memory_errors").label(root, entry.unit)
      end
   end
   return list
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
