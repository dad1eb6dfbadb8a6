--- Thermal throttling: /sys/devices/system/cpu/cpuN/thermal_throttle (Intel).
--
-- Linux shows a package's count in the folder of each of its CPUs, and a core's in
-- that of each of its threads. Counted once per package (and die: the counter is
-- per die where a package has several) and once per core.
local files = require("syscheck.files")

local throttle = {}

local CPUS = "/sys/devices/system/cpu"
local FILES = {
   package_throttle_count = "package_count",
   package_throttle_total_time_ms = "package_ms",
   package_power_limit_count = "package_power_count",
   core_throttle_count = "core_count",
   core_throttle_total_time_ms = "core_ms",
   core_power_limit_count = "core_power_count",
}

--- @return counts of events (`_count`) and milliseconds throttled (`_ms`)
function throttle.read(root)
   local out
   local seen = {}
   for _, name in ipairs(files.list(root .. CPUS)) do
      local cpu = name:match("^cpu%d+$") and root .. CPUS .. "/" .. name
      local present = cpu and files.list(cpu .. "/thermal_throttle")
      if present and #present > 0 then
         out = out or {}
         local package = (files.line(cpu .. "/topology/physical_package_id") or "?")
            .. "." .. (files.line(cpu .. "/topology/die_id") or "0")
         local core = package .. "." .. (files.line(cpu .. "/topology/core_id") or name)
         for _, file in ipairs(present) do
            local key = FILES[file]
            local unit = key and (key:match("^package") and package or core)
            local slot = key and key .. ":" .. unit
            if slot and not seen[slot] then
               seen[slot] = true
               out[slot] = files.number(cpu .. "/thermal_throttle/" .. file)
            end
         end
      end
   end
   return out
end

return throttle
