-- Throttling counts once a package and once a core.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local deltas = require("syscheck.counters.deltas")
local machine = require("syscheck.hardware.machine")
local prepared = require("prepared")
local throttle = require("syscheck.counters.throttle")
local tree = require("tree")

local CPUS = "/sys/devices/system/cpu"

TestThrottle = { setUp = prepared.setUp, tearDown = prepared.tearDown }

function TestThrottle:test_once_per_package_and_core_with_offline_cpus()
   tree.cpus(prepared.root, { kind = "intel", packages = 2, cores = 4, smt = 2, offline = { 0, 8 } })
   for cpu = 1, 15 do
      if cpu ~= 8 then
         local dir = ("%s/cpu%d/thermal_throttle/"):format(CPUS, cpu)
         prepared.put(dir .. "package_throttle_count", "100\n")
         prepared.put(dir .. "package_throttle_total_time_ms", "300\n")
         prepared.put(dir .. "core_throttle_count", cpu == 4 and "0\n" or "5\n")
      end
   end
   local read = throttle.read(machine.at(prepared.root))
   lu.assertEquals({ read["package_count:1"], read["package_count:4"], read["package_ms:1"] }, { 100, 100, 300 })
   lu.assertEquals({ read["core_count:4"], read["core_ms:4"], read["core_count:1"] }, { 0, 0, 5 })
   local units = 0
   for key in pairs(read) do
      units = units + (key:match("^core_count:") and 1 or 0)
   end
   lu.assertEquals(units, 7)
end

-- One core of 64 that throttles for all of a job shows in no sum's share of the time.
function TestThrottle:test_the_worst_core_and_package()
   tree.cpus(prepared.root, { kind = "intel", packages = 2, cores = 4, smt = 2 })
   local function put(cpu, name, value)
      prepared.put(("%s/cpu%d/thermal_throttle/%s"):format(CPUS, cpu, name), value .. "\n")
   end
   local from = prepared.take(0)
   put(1, "core_throttle_count", 3)
   put(1, "core_throttle_total_time_ms", 500)
   put(6, "core_throttle_count", 9)
   put(6, "core_throttle_total_time_ms", 40)
   put(0, "package_throttle_count", 1)
   put(0, "package_throttle_total_time_ms", 70)
   put(4, "package_throttle_count", 1)
   put(4, "package_throttle_total_time_ms", 900)
   lu.assertEquals(deltas.delta(from, prepared.take(60)).throttle, { core_count = 12, core_ms = 540,
      core_worst_ms = 500, core_power_count = 0, package_count = 2, package_ms = 970, package_worst_ms = 900,
      package_power_count = 0 })
   -- The totals of a snapshot, from which events are counted, have none.
   lu.assertNil(prepared.totals().throttle.core_worst_ms)
end

function TestThrottle:test_throttle_events_count_heat_once()
   lu.assertEquals(throttle.events({ package_count = 10, core_count = 8 }), 10)
   lu.assertEquals(throttle.events({ core_count = 8, core_power_count = 2 }), 10)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
