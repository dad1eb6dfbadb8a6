--- Snapshots of a node's counters; what changed between two of them: counters/deltas.lua.
local uv = require("luv")
local lazy = require("syscheck.lib.lazy")
local deltas = lazy.require("syscheck.counters.deltas")
local log = require("syscheck.lib.log")
local machine = require("syscheck.hardware.machine")
local memory_errors = lazy.require("syscheck.counters.memory_errors")
local sources = require("syscheck.counters.sources")

local counters = {}

-- What a file of numbers cannot mean. The kernel's bytes pass 2^53 within hours, and 2^63 after
-- a year at 300 GB/s.
local MAX = math.maxinteger

-- Keeps the numbers that can be counts; nil for none. Large ones as floats: their sums must not
-- wrap, and JSON holds 14 digits of them anyway.
local function sound(values)
   for key, value in pairs(values or {}) do
      if value < 0 or value > MAX then
         values[key] = nil
      elseif value > 1e14 then
         values[key] = value + 0.0
      end
   end
   return values and next(values) and values or nil
end

--- Reads every source below root, or those that are named. One that fails is absent, and logged.
-- @param root "" for the machine itself, or the root of a prepared tree
-- @param names list, or nil
-- @return { boot_id, time (s since the epoch), uptime_s (of the kernel's monotonic clock),
--   sources = { name = { key = number } }, and what sources have `beside` }
function counters.snapshot(root, names)
   local from = machine.at(root)
   local snapshot = {
      boot_id = from:line("/proc/sys/kernel/random/boot_id") or "unknown",
      time = os.time(),
      uptime_s = uv.hrtime() / 1e9,
      sources = {},
   }
   for _, key in ipairs(names or sources) do
      local source = names and sources[key] or key
      local ok, values, beside = pcall(source.read, from)
      if ok then
         snapshot.sources[source.name] = sound(values)
         if source.beside then
            snapshot[source.beside] = beside and (sound(beside) or {})
         end
      else
         log.error("counters: %s: %s", source.name, tostring(values))
      end
   end
   return snapshot
end

--- Which module, which port had errors from one snapshot to a later one, by the names
-- that people know them by.
-- @return list as of deltas.errors, or nil
function counters.errors(from, to, root)
   local list = deltas.errors(from, to)
   for _, entry in ipairs(list or {}) do
      if entry.kind == "dimm" then
         entry.unit = memory_errors.label(machine.at(root), entry.unit)
      end
   end
   return list
end

return counters
