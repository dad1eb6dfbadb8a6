--- States of a node at the end of a job: limits that are set, heat, links. No counters: a
-- gauge has no delta.
local energy = require("syscheck.counters.energy")
local link = require("syscheck.counters.link")

local gauges = {}

--- See catalogue/fields.lua.
gauges.fields = {
   { name = "clock_limit_mhz", from = "end.limits.clock_mhz", unit = "mhz", label = "clock limit", kind = "gauge",
      better = "higher", cause = "clock" },
   { name = "power_limit_w", from = "end.limits.power_w", unit = "watts", label = "power limit", kind = "gauge",
      better = "higher", cause = "clock" },
   -- Says of throttling what there is to say where the kernel does not count it (AMD, Arm).
   { name = "temperature_c", from = "end.temperature.max_c", unit = "celsius", label = "hottest CPU sensor",
      kind = "gauge", better = "lower", cause = "clock", unless = { "throttle_package_worst_ms",
      "throttle_core_worst_ms", "throttle_package_ms", "throttle_core_ms", "throttle_events" } },
   { name = "link_rate_gbps", from = "end.link.rate_gbps", unit = "gbps", label = "slowest InfiniBand port's rate",
      kind = "gauge", better = "higher", cause = "link" },
   { name = "link_ports", from = "end.link.active_ports", unit = "ports", label = "InfiniBand ports in use",
      kind = "gauge", better = "higher", cause = "link", none = true },
}

local HWMON = "/sys/class/hwmon"
local THERMAL = "/sys/class/thermal"

-- Sensors of the CPU by their driver: "first" where it is the package's and each other
-- one interrupts a core. Those of disks, DIMMs and power supplies take milliseconds.
local CPU_SENSORS = { coretemp = "first", k10temp = "all", zenpower = "all", apm_xgene = "first" }

-- What no sensor, package or cable can be, on a node that runs.
local MIN_C, MAX_C = 1, 150
local MAX_W, MAX_GBPS = 100000, 100000

-- An ACPI processor is a cooling device, hundreds of them: the clock limit covers all.
local MAX_COOLING = 64

local function larger(a, b)
   return a and b and math.max(a, b) or a or b
end

local function smaller(a, b)
   return a and b and math.min(a, b) or a or b
end

-- Millidegrees of a file as degrees; nil for what cannot be one.
local function celsius(machine, path)
   local value = machine:number(path)
   value = value and value / 1000
   return value and value >= MIN_C and value <= MAX_C and value or nil
end

local function hwmon_c(machine)
   local hottest
   for _, device in ipairs(machine:list(HWMON)) do
      local dir = ("%s/%s/"):format(HWMON, device)
      local which = CPU_SENSORS[machine:line(dir .. "name") or ""]
      if which == "first" then
         hottest = larger(hottest, celsius(machine, dir .. "temp1_input"))
      elseif which then
         for _, file in ipairs(machine:list(dir, "^temp%d+_input$")) do
            hottest = larger(hottest, celsius(machine, dir .. file))
         end
      end
   end
   return hottest
end

-- Where no driver has sensors of the CPU (aarch64): the zones that are named after it,
-- else what ACPI calls the machine's.
local function zone_c(machine)
   local cpu, board
   for _, zone in ipairs(machine:list(THERMAL, "^thermal_zone%d")) do
      local dir = ("%s/%s/"):format(THERMAL, zone)
      local kind = (machine:line(dir .. "type") or ""):lower()
      if kind == "x86_pkg_temp" or kind:find("cpu", 1, true) or kind:find("^soc") then
         cpu = larger(cpu, celsius(machine, dir .. "temp"))
      elseif kind == "acpitz" then
         board = larger(board, celsius(machine, dir .. "temp"))
      end
   end
   return cpu or board
end

-- The lowest of the packages' long-term limits that are switched on, in watts. AMD sets none here.
local function power_w(machine)
   local lowest
   for _, package in ipairs(energy.packages(machine)) do
      local uw = machine:number(package.dir .. "constraint_0_power_limit_uw")
      if uw and uw > 0 and uw / 1e6 <= MAX_W and machine:number(package.dir .. "enabled") ~= 0 then
         lowest = smaller(lowest, uw / 1e6)
      end
   end
   return lowest
end

-- Devices that cool by slowing down; fans do not.
local function cooling(machine)
   local active, seen
   for _, device in ipairs(machine:list(THERMAL, "^cooling_device%d")) do
      if (seen or 0) < MAX_COOLING then
         local dir = ("%s/%s/"):format(THERMAL, device)
         local state = machine:number(dir .. "cur_state")
         if state then
            seen = (seen or 0) + 1
            active = active or 0
            if state > 0 and not (machine:line(dir .. "type") or ""):lower():find("fan", 1, true) then
               active = active + 1
            end
         end
      end
   end
   return active
end

-- Ports in use, and the slowest one's rate in Gbit/s: a cable with a bad lane runs slower.
local function ports(machine)
   local active, slowest
   for _, port in ipairs(link.ports(machine)) do
      local state = machine:line(port.dir .. "state")
      if state then
         active = active or 0
         if state:find("^4:") then -- ACTIVE
            active = active + 1
            local rate = tonumber((machine:line(port.dir .. "rate") or ""):match("^(%d+%.?%d*) Gb/sec"))
            slowest = rate and rate <= MAX_GBPS and smaller(slowest, rate) or slowest
         end
      end
   end
   return active, slowest
end

--- Reads the gauges.
-- @param inventory of inventory.read: it has the clocks
-- @return { limits = { clock_mhz = the lowest of the CPUs', power_w = the lowest of the
--   packages' }, temperature = { max_c }, cooling = { active }, link = { active_ports,
--   rate_gbps } }; what is not known is absent
function gauges.read(machine, inventory)
   local config = inventory.config or {}
   local active_ports, rate = ports(machine)
   local out = {
      limits = { clock_mhz = config.clock_limit_mhz or config.max_mhz, power_w = power_w(machine) },
      temperature = { max_c = hwmon_c(machine) or zone_c(machine) },
      cooling = { active = cooling(machine) },
      link = { active_ports = active_ports, rate_gbps = rate },
   }
   for name, values in pairs(out) do
      out[name] = next(values) and values or nil
   end
   return out
end

--- Adds the gauges to the totals of a snapshot.
function gauges.add_to(totals, machine, inventory)
   for name, values in pairs(gauges.read(machine, inventory)) do
      totals[name] = totals[name] or {}
      for key, value in pairs(values) do
         totals[name][key] = value
      end
   end
   return totals
end

return gauges
