--- Thermal throttling: /sys/devices/system/cpu/cpuN/thermal_throttle (Intel).
--
-- Linux shows a package's count in the folder of each of its CPUs, and a core's in
-- that of each of its threads. Read once per package (per die, where a package has
-- several) and once per core: counting again is wrong, and reading again is slow.
-- A unit bears the number of the CPU that was read: each CPU keeps a count of its own,
-- so when that CPU goes offline, another one's count is no continuation.
local throttle = {}

-- each_s, for an event without a duration: a new one is counted only after the last has ended.
throttle.fields = {
   { name = "throttle_events", from = "throttle_events", unit = "count", label = "throttle events", cause = "clock",
      each_s = 10, unless = { "throttle_package_ms", "throttle_core_ms" }, rare = true },
   { "package_ms", name = "throttle_package_ms", unit = "ms", label = "package throttled", cause = "clock",
      rare = true, unless = { "throttle_package_worst_ms" } },
   { "core_ms", name = "throttle_core_ms", unit = "ms", label = "cores throttled", cause = "clock", rare = true,
      unless = { "throttle_core_worst_ms" } },
   { "package_worst_ms", name = "throttle_package_worst_ms", unit = "ms", label = "one package throttled",
      cause = "clock", rare = true },
   { "core_worst_ms", name = "throttle_core_worst_ms", unit = "ms", label = "one core throttled", cause = "clock",
      rare = true },
}

throttle.worst = { package_ms = "package_worst_ms", core_ms = "core_worst_ms" }

-- The first file of each kind counts throttling; without an event there is no time.
local KINDS = {
   { units = "dies", { "package_throttle_count", "package_count" },
      { "package_throttle_total_time_ms", "package_ms", needs_event = true },
      { "package_power_limit_count", "package_power_count" } },
   { units = "cores", { "core_throttle_count", "core_count" },
      { "core_throttle_total_time_ms", "core_ms", needs_event = true },
      { "core_power_limit_count", "core_power_count" } },
}

local function dir_of(cpu)
   return ("/sys/devices/system/cpu/cpu%d/thermal_throttle/"):format(cpu)
end

--- @return counts of events (`_count`) and milliseconds throttled (`_ms`)
function throttle.read(machine)
   local topo = machine:topology()
   if not topo.cores[1] then
      return nil
   end
   -- The files are the same for every CPU.
   local present = {}
   for _, name in ipairs(machine:list(dir_of(topo.cores[1]))) do
      present[name] = true
   end
   if not next(present) then
      return nil
   end
   local out = {}
   for _, kind in ipairs(KINDS) do
      for _, cpu in ipairs(topo[kind.units]) do
         local dir = dir_of(cpu)
         local events
         for i, file in ipairs(kind) do
            if present[file[1]] then
               local value = file.needs_event and events == 0 and 0 or machine:number(dir .. file[1])
               events = i == 1 and value or events
               out[file[2] .. ":" .. cpu] = value
            end
         end
      end
   end
   return out
end

--- Throttle events in a delta, or in totals: a package's and its cores' counts are of the
-- same heat, so the larger one counts, and power limits beside it.
-- @param totals { package_count, ... }, of a delta or of deltas.total
-- @return number, or nil when the machine has no such counters
function throttle.events(totals)
   if not totals then
      return nil
   end
   local heat = math.max(totals.package_count or 0, totals.core_count or 0)
   local power = math.max(totals.package_power_count or 0, totals.core_power_count or 0)
   return heat + power
end

return throttle
