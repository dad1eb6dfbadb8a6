-- Counters and gauges of whole machines: tests/fixtures/machines.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local counters = require("syscheck.hardware.snapshot")
local deltas = require("syscheck.counters.deltas")
local prepared = require("prepared")
local throttle = require("syscheck.counters.throttle")

TestMachines = { setUp = prepared.setUp, tearDown = prepared.tearDown }

function TestMachines:test_intel_two_sockets()
   prepared.use("intel")
   local t = prepared.totals()
   lu.assertEquals(t.throttle, { package_count = 1211, package_ms = 3831, package_power_count = 2, core_count = 930,
      core_ms = 2788, core_power_count = 0 })
   lu.assertEquals(throttle.events(t.throttle), 1213)
   lu.assertEquals(t.machine_checks, { events = 4 }) -- 3 corrected, 1 not; no poll, no device of that name
   lu.assertAlmostEquals(t.energy.package_j, 233113.828733 + 1, 1e-6) -- no part, no psys, no mmio
   lu.assertEquals(t.memory_traffic, { bytes = 912341234000 + 500000000000 + 7000, -- probe is in its parent's
      local_bytes = 812341234000 })
   lu.assertEquals(t.pressure, { cpu_some_us = 2025488201, io_some_us = 98123412, io_full_us = 91234123,
      memory_some_us = 1203, memory_full_us = 1190 })
   lu.assertEquals(t.cpu, { iowait_ms = 551230, steal_ms = 170 })
   lu.assertEquals(t.oom, { kills = 4 })
   lu.assertEquals(t.reclaim, { stalls = 511, swapped_in = 311 }) -- of all zones
   -- nvme0n1 by its path alone; no loop, mapper or md device.
   lu.assertEquals(t.disk, { busy_ms = 412391 + 4294967290, read_bytes = (8123412 + 8) * 512,
      written_bytes = (91238123 + 16) * 512, ops = 96314 + 412931 + 1 + 2, op_ms = 93112 + 1293112 + 1 + 1 })
   -- Milliseconds of each CPU, cut.
   lu.assertEquals(t.sched, { wait_ms = 2312345 + 512 + 98412 + 0 + 1412345 + 412 + 0 + 1 })
   lu.assertNil(t.nfs)
   lu.assertNil(t.lustre)
   lu.assertNil(t.memory_errors)
   lu.assertNil(t.link)
   lu.assertEquals(prepared.gauges(), { limits = { clock_mhz = 2000, power_w = 225 }, temperature = { max_c = 88 },
      cooling = { active = 1 } })
end

-- 8 to 25 hours after boot.
function TestMachines:test_memory_traffic_beyond_2_to_53_bytes()
   prepared.use("intel")
   local path = "/sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes"
   prepared.put(path, "9007199254740000\n")
   local from = prepared.take(0)
   prepared.put(path, "9037199254740000\n")
   lu.assertAlmostEquals(deltas.delta(from, prepared.take(100)).memory_traffic.bytes, 3e13, 1000)
   prepared.put(path, "9223372036854775807\n")
   lu.assertTrue(prepared.totals().memory_traffic.bytes >= 2 ^ 63)
end

function TestMachines:test_amd_has_no_throttle_counters()
   prepared.use("amd")
   local t = prepared.totals()
   lu.assertEquals(t, { machine_checks = { events = 19 }, energy = { package_j = 51234 },
      memory_errors = { corrected = 19, uncorrected = 0 }, memory_traffic = { bytes = 731283712 },
      pressure = { io_some_us = 123, io_full_us = 45 }, cpu = { iowait_ms = 550, steal_ms = 80 },
      sched = { wait_ms = 812345 + 12 + 1 } })
   lu.assertNil(throttle.events(t.throttle))
   lu.assertEquals(prepared.gauges(), { limits = { clock_mhz = 3709 }, temperature = { max_c = 66.75 } })
end

function TestMachines:test_aarch64()
   prepared.use("aarch64")
   lu.assertEquals(prepared.totals(), { cpu = { iowait_ms = 170, steal_ms = 0 },
      pressure = { memory_some_us = 17, memory_full_us = 9 }, sched = { wait_ms = 31234 + 41234 + 1234 + 234 } })
   lu.assertEquals(prepared.gauges(), { limits = { clock_mhz = 3447 }, temperature = { max_c = 52.3 },
      cooling = { active = 0 } })
end

function TestMachines:test_offline_cpus()
   prepared.use("offline")
   local from = prepared.take(0)
   lu.assertEquals(prepared.totals(), { throttle = { package_count = 15, package_ms = 55, core_count = 4, core_ms = 8 },
      machine_checks = { events = 1 }, cpu = { iowait_ms = 600, steal_ms = 900 }, sched = { wait_ms = 27000 } })
   -- CPU 6 goes, too: its core is lost, its package speaks through CPU 3 as before.
   for cpu, packages in pairs({ [3] = "3,7", [7] = "3,7" }) do
      for _, name in ipairs({ "package_cpus_list", "die_cpus_list" }) do
         prepared.put(("/sys/devices/system/cpu/cpu%d/topology/%s"):format(cpu, name), packages .. "\n")
      end
   end
   prepared.put("/sys/devices/system/cpu/online", "0-1,3-4,7\n")
   prepared.put("/sys/devices/system/cpu/cpu3/thermal_throttle/package_throttle_count", "8\n")
   -- Its lines go; what it had stays with it, though it was the most. CPU 5 comes with a past.
   prepared.put("/proc/stat", "cpu  8000 0 900 70000 61 0 5 210 0 0\ncpu0 0 0 0 0 0 0 0 13 0 0\n"
      .. "cpu1 0 0 0 0 0 0 0 27 0 0\ncpu5 0 0 0 0 0 0 0 900 0 0\nintr 8123 0\n")
   prepared.put("/proc/schedstat", "version 15\ntimestamp 1\ncpu0 0 0 0 0 0 0 1 1500000000 1001\n"
      .. "domain0 000000bb 0 0\ncpu5 0 0 0 0 0 0 1 99000000000 1\ncpu7 0 0 0 0 0 0 1 8000000000 1007\n")
   local delta = deltas.delta(from, prepared.take(60))
   lu.assertEquals(delta.throttle, { package_count = 3, package_ms = 0, package_worst_ms = 0, core_count = 0,
      core_ms = 0, core_worst_ms = 0 })
   lu.assertNil(delta.machine_checks) -- the columns of other CPUs
   lu.assertEquals(delta.cpu, { iowait_ms = 10, steal_ms = 100, steal_worst_ms = 70 })
   lu.assertEquals(delta.sched, { wait_ms = 500, wait_worst_ms = 500 })
end

function TestMachines:test_two_infiniband_ports()
   prepared.use("infiniband")
   local from = prepared.take(0)
   lu.assertEquals(prepared.totals(), { link = { errors = 4000 + 255 + 17 + 2, downed = 3 } })
   lu.assertEquals(prepared.gauges().link, { active_ports = 2, rate_gbps = 50 })
   local function count(port, name, value)
      prepared.put(("/sys/class/infiniband/%s/ports/1/counters/%s"):format(port, name), value .. "\n")
   end
   lu.assertEquals(deltas.delta(from, prepared.take(60)).link, { errors = 0, downed = 0 })
   lu.assertNil(counters.errors(from, prepared.take(60), prepared.root))
   count("mlx5_0", "link_downed", 1)
   count("mlx5_1", "symbol_error", 65535) -- stuck: at least so many
   count("mlx5_1", "port_rcv_errors", 3) -- cleared, and counted anew
   lu.assertEquals(deltas.delta(from, prepared.take(60)).link, { errors = 65535 - 4000 + 3, downed = 1 })
   lu.assertEquals(counters.errors(from, prepared.take(60), prepared.root), {
      { kind = "link", unit = "mlx5_1/1", errors = 61538 },
      { kind = "link", unit = "mlx5_0/1", downed = 1 },
   })
   -- Stuck from begin to end: what they say is nothing, and no zero.
   for _, name in ipairs({ "symbol_error", "link_error_recovery", "port_rcv_errors", "local_link_integrity_errors",
      "excessive_buffer_overrun_errors", "link_downed" }) do
      for port = 0, 2 do
         count("mlx5_" .. port, name, 65535)
      end
   end
   count("mlx5_0", "link_downed", 255)
   count("mlx5_1", "link_downed", 255)
   count("mlx5_2", "link_downed", 255)
   from = prepared.take(100)
   lu.assertNil(deltas.delta(from, prepared.take(160)).link.downed)
   count("mlx5_0", "link_downed", 2)
   lu.assertEquals(deltas.delta(from, prepared.take(160)).link.downed, 2)
end

function TestMachines:test_16_dimms()
   prepared.use("edac")
   local t = prepared.totals()
   lu.assertEquals(t, { memory_errors = { corrected = 45, uncorrected = 1 } })
   local from = prepared.take(0)
   lu.assertEquals(from.blamed, { ["corrected:mc3/dimm0"] = 40, ["corrected:mc3/dimm2"] = 3,
      ["uncorrected:mc6/dimm2"] = 1 })
   local function count(path, value)
      prepared.put("/sys/devices/system/edac/mc/" .. path, value .. "\n")
   end
   lu.assertNil(counters.errors(from, prepared.take(60), prepared.root))
   count("mc3/ce_count", 52)
   count("mc3/dimm0/dimm_ce_count", 44)
   count("mc3/dimm2/dimm_ce_count", 5)
   count("mc7/ce_count", 9) -- was calm before: its modules were not read
   count("mc7/ue_count", 1)
   count("mc7/dimm0/dimm_ce_count", 9)
   count("mc7/dimm0/dimm_ue_count", 1)
   count("mc7/dimm0/dimm_label", "P1-DIMMG1 \27[31m\200" .. ("x"):rep(100))
   local to = prepared.take(60)
   lu.assertEquals(deltas.delta(from, to).memory_errors, { corrected = 7 + 9, uncorrected = 1 })
   lu.assertEquals(counters.errors(from, to, prepared.root), {
      { kind = "dimm", unit = "mc7 P1-DIMMG1 ?[31m?" .. ("x"):rep(48), corrected = 9, uncorrected = 1 },
      { kind = "dimm", unit = "mc3 CPU0_DIMM_G1", corrected = 4 },
      { kind = "dimm", unit = "mc3 CPU0_DIMM_H1", corrected = 2 },
      { kind = "controller", unit = "mc3", corrected = 1 },
   })
   -- An earlier snapshot by a syscheck that knew no modules: the controller alone.
   from.blamed = nil
   lu.assertEquals(counters.errors(from, to, prepared.root), {
      { kind = "controller", unit = "mc7", corrected = 9, uncorrected = 1 },
      { kind = "controller", unit = "mc3", corrected = 7 },
   })
   -- Somebody reset the counts.
   from = prepared.take(100)
   count("mc3/ce_count", 2)
   count("mc3/dimm0/dimm_ce_count", 2)
   count("mc3/dimm2/dimm_ce_count", 0)
   lu.assertEquals(deltas.delta(from, prepared.take(160)).memory_errors.corrected, 2)
   lu.assertEquals(counters.errors(from, prepared.take(160), prepared.root),
      { { kind = "dimm", unit = "mc3 CPU0_DIMM_G1", corrected = 2 } })
end

function TestMachines:test_edac_of_ranks_and_of_chip_select_rows()
   prepared.use("amd")
   lu.assertEquals(prepared.take(0).blamed, { ["corrected:mc0/rank0"] = 19 })
   prepared.tearDown()
   prepared.setUp()
   prepared.use("csrow")
   local from = prepared.take(0)
   lu.assertEquals(prepared.totals().memory_errors, { corrected = 12, uncorrected = 1 })
   lu.assertEquals(from.blamed, { ["corrected:mc0/csrow0/ch1"] = 9, ["uncorrected:mc0/csrow0"] = 1,
      ["corrected:mc0/csrow1/ch0"] = 3 })
   prepared.put("/sys/devices/system/edac/mc/mc0/ce_count", "14\n")
   prepared.put("/sys/devices/system/edac/mc/mc0/csrow0/ch1_ce_count", "10\n")
   prepared.put("/sys/devices/system/edac/mc/mc0/csrow1/ch0_ce_count", "4\n")
   lu.assertEquals(counters.errors(from, prepared.take(9), prepared.root), {
      { kind = "dimm", unit = "mc0 CPU_SrcID#0_Channel#1_DIMM#0", corrected = 1 },
      { kind = "dimm", unit = "mc0 csrow1/ch0", corrected = 1 },
   })
end

function TestMachines:test_nfs()
   prepared.use("nfs")
   -- /apps, /home (its bind mount shows the same counts), /srv/two words.
   local ops, ms = 1 + 500 + 100 + 800 + 2, 250 + 50 + 4200 + 1
   local bytes = 44 + 24 + 60000 + 56000 + 14000 + 24000 + 112000 + 71331234 + 240 + 160
   ops, ms = ops + 1 + 10 + 4 + 20 + 5 + 2 + 1 + 3, ms + 2 + 50 + 9 + 35 + 8 + 3 + 1 + 3
   bytes = bytes + 68 + 2100 + 340 + 13000 + 3200 + 800 + 300 + 60
   ops, ms, bytes = ops + 7 + 1, ms + 77 + 6, bytes + 7700 + 30
   lu.assertEquals(prepared.totals(), { nfs = { ops = ops, op_ms = ms, bytes = bytes } })
end

function TestMachines:test_nfs_mounted_and_unmounted_during_the_job()
   prepared.use("nfs")
   local to = prepared.take(1000)
   lu.assertEquals(to.ages, { ["/apps"] = 912312, ["/home"] = 312, ["/srv/two\\040words"] = 5000 })
   local from = prepared.take(400) -- /home has been there for 312 s of these 600
   for key in pairs(from.sources.nfs) do
      from.sources.nfs[key] = not key:find("/home", 1, true) and 0 or nil
   end
   lu.assertEquals(deltas.delta(from, to).nfs.ops, 1403 + 46 + 8)
   from.sources.nfs = nil -- no mount at all before: the others are older than the job
   lu.assertEquals(deltas.delta(from, to).nfs, { ops = 46, op_ms = 111, bytes = 19868 })
   from.sources.nfs = { ["ops:/home"] = 40, ["ops:/apps"] = 1400 } -- /home went and came again
   lu.assertEquals(deltas.delta(from, to).nfs, { ops = 46 + 3, op_ms = 111, bytes = 19868 })
   from.uptime_s = 900 -- it came before: those are the same counts, grown
   lu.assertEquals(deltas.delta(from, to).nfs, { ops = 6 + 3 })
   from.uptime_s, from.time = nil, nil
   lu.assertEquals(deltas.delta(from, to).nfs, { ops = 6 + 3 })
end

function TestMachines:test_lustre_2_12_has_no_times()
   prepared.use("lustre-2.12")
   lu.assertEquals(prepared.totals(), { lustre = { read_bytes = 145121869, written_bytes = 468230469,
      ops = 25673 + 13641 + 812 + 4610 + 4610 + 120 + 9021 + 3 + 2 + 66 + 40213 + 10 } })
end

function TestMachines:test_lustre_2_15()
   prepared.use("lustre-2.15")
   local t = prepared.totals()
   lu.assertEquals(t, { lustre = { read_bytes = 12288000, written_bytes = 8192000,
      ops = 300 + 100 + 8 + 50 + 50 + 20 + 2 + 5, op_us = 33000 + 4000 + 1480 + 280 + 90 + 70 + 5 } })
   local from = prepared.take(0)
   prepared.put("/sys/kernel/debug/lustre/llite/scratch-ffff8a11c2b3d000/stats",
      "open 3 samples [usecs] 1 2 5 9\nread_bytes 1 samples [bytes] 7 7 7 49\n") -- stats=clear
   lu.assertEquals(deltas.delta(from, prepared.take(9)).lustre, { ops = 4, op_us = 5, read_bytes = 7 })
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
