-- What changed from one snapshot to another.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local memory_traffic = require("syscheck.counters.memory_traffic")
local deltas = require("syscheck.counters.deltas")
local sources = require("syscheck.counters.sources")

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

-- 49.7 days: in a longer job it may have wrapped, however large the step.
function TestDelta:test_a_disk_is_not_busy_for_longer_than_time_goes_by()
   local function busy(before, after, seconds)
      local from, to = snapshot("a", { disk = { ["busy_ms:sda"] = before } }), snapshot("a",
         { disk = { ["busy_ms:sda"] = after } })
      from.uptime_s, to.uptime_s = 50, 50 + seconds
      return (deltas.delta(from, to).disk or {}).busy_ms
   end
   lu.assertEquals(busy(4294967290, 4, 10), 10)
   lu.assertEquals(busy(2294967296, 1000000000, 40 * 86400), 3000000000) -- more than half of it
   lu.assertNil(busy(100000, 4, 10)) -- a device that was replugged
   lu.assertNil(busy(100000, 4, 50 * 86400))
   lu.assertNil(busy(4, 100000, 50 * 86400))
end

-- How long operations take together is bounded by how long the disk was busy and how many can be under way.
function TestDelta:test_operation_times_wrap_as_often_as_many_are_under_way()
   local function disk(before, after, seconds)
      local from, to = snapshot("a", { disk = before }), snapshot("a", { disk = after })
      from.uptime_s, to.uptime_s = 50, seconds and 50 + seconds
      return deltas.delta(from, to).disk or {}
   end
   local function times(read, write, busy, name)
      name = name or "sda"
      return { ["op_ms:" .. name .. "/read"] = read, ["op_ms:" .. name .. "/write"] = write,
         ["busy_ms:" .. name] = busy }
   end
   lu.assertEquals(disk(times(5, 100, 7), times(12, 350, 90), 3600).op_ms, 257)
   -- Each wraps by itself.
   lu.assertEquals(disk(times(4294967290, 100, 7), times(4, 350, 90), 3600).op_ms, 260)
   lu.assertEquals(disk(times(4294967290, 4294967295, 4294967000), times(4, 0, 100), 3600).op_ms, 11)
   -- Busy for 4.5 of 30 hours is little enough, 5 may be two turns.
   lu.assertEquals(disk(times(0, 0, 0), times(3e9, 9, 4.5 * 3600e3), 30 * 3600).op_ms, 3000000009)
   lu.assertEquals(disk(times(3e9, 0, 0), times(2e9, 0, 4.5 * 3600e3), 30 * 3600).op_ms, 3294967296)
   lu.assertNil(disk(times(0, 0, 0), times(3e9, 0, 5 * 3600e3), 30 * 3600).op_ms)
   lu.assertNil(disk(times(0, 0, 0), times(3, 0, 5), 50 * 86400).op_ms) -- nor is it known how long it was busy
   lu.assertNil(disk(times(0, 0, nil), times(3, 0, nil), nil).op_ms)
   -- What may have wrapped leaves no sum, a disk that was replaced only its own share away.
   local before, after = times(1, 1, 0), times(8, 1, 5 * 3600e3)
   for key, value in pairs(times(10, 10, 10, "sdb")) do
      before[key], after[key] = value, value + 5
   end
   lu.assertNil(disk(before, after, 30 * 3600).op_ms)
   lu.assertEquals(disk(before, after, 30 * 3600).busy_ms, 5 * 3600e3 + 5)
   for key, value in pairs(times(1000, 1000, 900000)) do
      before[key] = value
   end
   for key, value in pairs(times(3, 0, 5)) do
      after[key] = value
   end
   lu.assertEquals(disk(before, after, 3600), { op_ms = 10, busy_ms = 5 })
   before["busy_ms:sda"] = "x" -- a begin from a damaged file
   lu.assertEquals(disk(before, after, 3600), { op_ms = 10, busy_ms = 5 })
   -- It went back though the disk was not replaced: not known.
   before["busy_ms:sda"] = 0
   lu.assertNil(disk(before, after, 3600).op_ms)
   -- A device with a slash in its name.
   lu.assertEquals(disk(times(5, 0, 7, "cciss/c0d0"), times(12, 1, 9, "cciss/c0d0"), 60), { op_ms = 8, busy_ms = 2 })
end

-- ---- the worst unit ----

local function steal(before, after)
   return deltas.delta(snapshot("a", { cpu = before }), snapshot("a", { cpu = after })).cpu
end

function TestDelta:test_the_worst_unit_beside_the_sum()
   lu.assertEquals(steal({ ["steal_ms:0"] = 100, ["steal_ms:1"] = 5, ["steal_ms:2"] = 0, iowait_ms = 7 },
      { ["steal_ms:0"] = 120, ["steal_ms:1"] = 95, ["steal_ms:2"] = 0, iowait_ms = 9 }),
      { steal_ms = 110, steal_worst_ms = 90, iowait_ms = 2 })
   lu.assertEquals(steal({ ["steal_ms:0"] = 3 }, { ["steal_ms:0"] = 3 }), { steal_ms = 0, steal_worst_ms = 0 })
   -- Of a source without any, as before.
   lu.assertEquals(delta({ ["n:0"] = 5, ["n:1"] = 7 }, { ["n:0"] = 6, ["n:1"] = 9 }), { n = 3 })
end

function TestDelta:test_the_worst_unit_is_in_both_snapshots()
   -- One that came, and one that went.
   lu.assertEquals(steal({ ["steal_ms:0"] = 1, ["steal_ms:2"] = 0 }, { ["steal_ms:0"] = 4, ["steal_ms:1"] = 90000 }),
      { steal_ms = 3, steal_worst_ms = 3 })
   lu.assertNil(steal({ ["steal_ms:0"] = 1 }, { ["steal_ms:1"] = 90000 }))
   -- The begin of an older syscheck has no units.
   lu.assertEquals(steal({ steal_ms = 40, iowait_ms = 1 }, { ["steal_ms:0"] = 50, iowait_ms = 2 }), { iowait_ms = 1 })
   -- That went back, and damage.
   lu.assertEquals(steal({ ["steal_ms:0"] = 50, ["steal_ms:1"] = 2 }, { ["steal_ms:0"] = 1, ["steal_ms:1"] = 4 }),
      { steal_ms = 2, steal_worst_ms = 2 })
   lu.assertEquals(steal({ ["steal_ms:0"] = "x", ["steal_ms:1"] = 2 }, { ["steal_ms:0"] = 99, ["steal_ms:1"] = 4 }),
      { steal_ms = 2, steal_worst_ms = 2 })
   -- What no store takes.
   lu.assertNil(steal({ ["steal_ms:0"] = 0 }, { ["steal_ms:0"] = 2e18 }))
   lu.assertNil((deltas.delta(snapshot("a", { cpu = { ["steal_ms:0"] = 1 } }), snapshot("b",
      { cpu = { ["steal_ms:0"] = 5 } }))))
end

-- Of each source that has such names they are among its fields, and none is a counter's own.
function TestDelta:test_worst_names_are_fields()
   local found = 0
   for _, source in ipairs(sources) do
      local has = {}
      for _, field in ipairs(source.fields) do
         has[field[1] or ""] = true
      end
      for of, worst in pairs(source.worst or {}) do
         lu.assertTrue(has[of] and has[worst], source.name .. " " .. worst)
         found = found + 1
      end
   end
   lu.assertEquals(found, 4)
end

function TestDelta:test_elapsed_is_the_boot_clocks()
   local from, to = snapshot("a", {}), snapshot("a", {})
   from.time, to.time = 1000000, 1000000 - 3599 -- the wall clock was set back
   from.uptime_s, to.uptime_s = 512.0004, 513.2359
   lu.assertEquals(deltas.seconds(from, to), 1.236)
   to.time = 1000000 + 2 * 86400
   lu.assertEquals(deltas.seconds(from, to), 1.236)
   -- Not known: another boot's clock; one that began anew (a container that was restored).
   to.boot_id = "b"
   lu.assertNil(deltas.seconds(from, to))
   to.boot_id, to.uptime_s = "a", 7
   lu.assertNil(deltas.seconds(from, to))
   from.uptime_s = "x"
   lu.assertNil(deltas.seconds(from, to))
end

-- 2^53 bytes come by in 8 hours at 300 GB/s.
function TestDelta:test_large_counts_have_differences()
   local key, week = "bytes:mon_L3_00", 7 * 86400 * 1e12
   local function traffic(before, after)
      local d = deltas.delta(snapshot("a", { memory_traffic = { [key] = before } }),
         snapshot("a", { memory_traffic = { [key] = after } }))
      return (d.memory_traffic or {}).bytes
   end
   lu.assertAlmostEquals(traffic(2.0 ^ 60, 2 ^ 60 + 3e14), 3e14, 1e6)
   lu.assertAlmostEquals(traffic(2.0 ^ 62, 2.0 ^ 62 + week), week, 1e6)
   lu.assertEquals(traffic(1.2345678901236e18, 1234567890123550000), 0) -- as JSON rounds it
   lu.assertNil(traffic(2.0 ^ 62, 5e9)) -- another group of that name
   lu.assertEquals(deltas.total({ ["bytes:a"] = 2.0 ^ 62, ["bytes:b"] = 2.0 ^ 62 }), { bytes = 2.0 ^ 63 })
   -- What no store takes makes its record no bad line.
   lu.assertEquals(delta({ ["n:a"] = 0, ["n:b"] = 0, m = 1 }, { ["n:a"] = 6e17, ["n:b"] = 6e17, m = 2 }), { m = 1 })
end

-- What each L3 cache moved, for verdict/saturation.lua.
function TestDelta:test_memory_traffic_by_cache()
   local before = { ["bytes:mon_L3_00"] = 100, ["local_bytes:mon_L3_00"] = 80, ["bytes:batch/mon_L3_00"] = 5,
      ["bytes:mon_L3_01"] = 2 ^ 60 }
   local function after(changes)
      local out = { ["bytes:mon_L3_00"] = 1100, ["local_bytes:mon_L3_00"] = 780, ["bytes:batch/mon_L3_00"] = 25,
         ["bytes:mon_L3_01"] = 2 ^ 60 + 4096 }
      for key, value in pairs(changes or {}) do
         out[key] = value or nil
      end
      return out
   end
   -- Not of all groups: how much was local is not known.
   lu.assertEquals(memory_traffic.by_cache(before, after()), { ["0"] = { bytes = 1020 }, ["1"] = { bytes = 4096 } })
   before["local_bytes:batch/mon_L3_00"] = 5
   lu.assertEquals(memory_traffic.by_cache(before, after({ ["local_bytes:batch/mon_L3_00"] = 15 }))["0"],
      { bytes = 1020, local_bytes = 710 })
   local function why(changes, from)
      local found, reason = memory_traffic.by_cache(from or before, after(changes))
      lu.assertNil(found)
      return reason
   end
   lu.assertStrContains(why({ ["bytes:new/mon_L3_00"] = 1 }), "came meanwhile")
   lu.assertStrContains(why({ ["bytes:mon_L3_01"] = false }), "went meanwhile")
   lu.assertStrContains(why({ ["bytes:mon_L3_01"] = 5 }), "went back")
   lu.assertStrContains(why(nil, {}), "could not be read at first")
   local found, reason = memory_traffic.by_cache({}, {})
   lu.assertNil(found)
   lu.assertStrContains(reason, "no counter")
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
