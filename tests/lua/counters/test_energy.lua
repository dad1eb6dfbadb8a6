-- Energy wraps at its range, and is known for short jobs only.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local deltas = require("syscheck.counters.deltas")
local prepared = require("prepared")
local tree = require("tree")

TestEnergy = { setUp = prepared.setUp, tearDown = prepared.tearDown }

function TestEnergy:test_wraps_at_its_range_and_is_known_for_short_jobs_only()
   prepared.use("intel")
   local from = prepared.take(1000)
   prepared.put("/sys/class/powercap/intel-rapl:0/energy_uj", "1000000\n")
   prepared.put("/sys/class/powercap/intel-rapl:1/energy_uj", "31500000\n")
   local delta = deltas.delta(from, prepared.take(1200)).energy
   lu.assertAlmostEquals(delta.package_j, 262143.328850 - 233113.828733 + 1 + 30.5, 0.002)
   -- At 1 kW the counter may have come round after 262 s: not known, and no small number.
   lu.assertNil(deltas.delta(from, prepared.take(1263)).energy)
   lu.assertNil(deltas.delta(from, prepared.take(999)).energy) -- time ran backwards
   from.uptime_s, from.time = nil, nil
   lu.assertNil(deltas.delta(from, prepared.take(1200)).energy)
end

function TestEnergy:test_a_package_that_went()
   prepared.use("intel")
   local from = prepared.take(0)
   tree.remove(prepared.root .. "/sys/class/powercap/intel-rapl:1")
   prepared.put("/sys/class/powercap/intel-rapl:0/energy_uj", "233114828733\n")
   lu.assertEquals(deltas.delta(from, prepared.take(9)).energy, { package_j = 1 })
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
