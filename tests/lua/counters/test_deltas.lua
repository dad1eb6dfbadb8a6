-- What changed from one snapshot to another.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local deltas = require("syscheck.counters.deltas")

TestDelta = {}

local function snapshot(boot, values)
   return { boot_id = boot, time = 0, sources = values }
end

local function delta(before, after)
   return deltas.delta(snapshot("a", { s = before }), snapshot("a", { s = after })).s
end

function TestDelta:test_reboot_has_none()
   local d, why = deltas.delta(snapshot("a", {}), snapshot("b", {}))
   lu.assertNil(d)
   lu.assertStrContains(why, "reboot")
end

function TestDelta:test_units_add_up_and_hotplug_takes_its_own_away()
   lu.assertEquals(delta({ ["n:0"] = 5, ["n:1"] = 100 }, { ["n:0"] = 7, ["n:1"] = 103 }), { n = 5 })
   lu.assertEquals(delta({ ["n:0"] = 5, ["n:1"] = 100 }, { ["n:0"] = 7 }), { n = 2 })
   lu.assertEquals(delta({ ["n:0"] = 5 }, { ["n:0"] = 7, ["n:1"] = 1000 }), { n = 2 })
   lu.assertNil(delta({ ["n:0"] = 5 }, { ["n:1"] = 7 }))
end

function TestDelta:test_never_negative()
   lu.assertEquals(delta({ n = 1000 }, { n = 990 }), { n = 0 })
   lu.assertEquals(delta({ n = 10 ^ 12 }, { n = 4 }), { n = 0 })
   lu.assertEquals(delta({ n = 2.5e9 + 0.5 }, { n = 1 }), { n = 0 })
end

function TestDelta:test_only_what_the_kernel_keeps_in_32_bits_wraps()
   local function disk(before, after)
      return deltas.delta(snapshot("a", { disk = before }), snapshot("a", { disk = after })).disk
   end
   lu.assertEquals(disk({ ["busy_ms:sda"] = 4294967290 }, { ["busy_ms:sda"] = 4 }), { busy_ms = 10 })
   -- A device that was replugged, a directory mounted anew.
   lu.assertEquals(disk({ ["read_bytes:sda"] = 3000000000 }, { ["read_bytes:sda"] = 1000 }), { read_bytes = 0 })
   lu.assertEquals(delta({ ["bytes:/home"] = 4294967290 }, { ["bytes:/home"] = 4 }), { bytes = 0 })
end

function TestDelta:test_a_damaged_snapshot_has_none()
   local d, why = deltas.delta({ boot_id = "a" }, snapshot("a", { s = { n = 1 } }))
   lu.assertNil(d)
   lu.assertStrContains(why, "damaged")
   lu.assertEquals(deltas.delta(snapshot("a", { s = 1, t = { n = "x" } }),
      snapshot("a", { s = { n = 1 }, t = { n = 1 } })), {})
end

function TestDelta:test_a_source_on_one_side_only()
   local d = deltas.delta(snapshot("a", { s = { n = 1 } }), snapshot("a", { t = { n = 5 } }))
   lu.assertEquals(d, {})
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
