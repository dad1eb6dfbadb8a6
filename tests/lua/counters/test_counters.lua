-- Counters: sources below a prepared root, and deltas.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local deltas = require("syscheck.counters.deltas")
local files = require("syscheck.lib.files")
local sources = require("syscheck.counters.sources")
local throttle = require("syscheck.counters.throttle")
local machine = require("syscheck.hardware.machine")

local root

local function put(path, text)
   assert(files.mkdir((root .. path):match("^(.*)/")))
   local f = assert(io.open(root .. path, "w"))
   f:write(text)
   f:close()
end

-- Two packages, two cores each, two threads a core; the counts in every CPU's folder.
local function intel(package_counts)
   for cpu = 0, 7 do
      local package, core = cpu // 2 % 2, cpu % 2
      local dir = ("/sys/devices/system/cpu/cpu%d/"):format(cpu)
      put(dir .. "topology/physical_package_id", package .. "\n")
      put(dir .. "topology/core_id", core .. "\n")
      put(dir .. "thermal_throttle/package_throttle_count", package_counts[package + 1] .. "\n")
      put(dir .. "thermal_throttle/package_throttle_total_time_ms", package_counts[package + 1] * 3 .. "\n")
      put(dir .. "thermal_throttle/core_throttle_count", "5\n")
   end
end

TestSources = {}

function TestSources:setUp()
   root = os.tmpname()
   os.remove(root)
   assert(files.mkdir(root))
end

function TestSources:tearDown()
   local uv = require("luv")
   local function remove(path)
      for _, name in ipairs(files.list(path)) do
         remove(path .. "/" .. name)
      end
      if not uv.fs_rmdir(path) then
         uv.fs_unlink(path)
      end
   end
   remove(root)
end

local function read(source)
   local values = sources[source].read(machine.at(root))
   return values and deltas.total(values)
end

function TestSources:test_a_packages_count_is_counted_once()
   intel({ 100, 7 })
   lu.assertEquals(read("throttle"), { package_count = 107, package_ms = 321, core_count = 20 })
end

function TestSources:test_absent_is_not_zero()
   for _, source in ipairs(sources) do
      lu.assertNil(read(source.name), source.name)
   end
   put("/sys/devices/system/cpu/cpu0/topology/core_id", "0\n") -- AMD: no thermal_throttle
   lu.assertNil(read("throttle"))
   lu.assertNil(throttle.events(nil))
end

function TestSources:test_pressure()
   put("/proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=123\n"
      .. "full avg10=0.00 avg60=0.00 avg300=0.00 total=45\n")
   lu.assertEquals(read("pressure"), { io_some_us = 123, io_full_us = 45 })
end

function TestSources:test_cpu()
   put("/proc/stat", "cpu  1 2 3 4 55 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n")
   lu.assertEquals(read("cpu"), { iowait_ms = 550, steal_ms = 80 })
end

function TestSources:test_disk_whole_devices_only()
   for _, name in ipairs({ "nvme0n1", "sda", "dm-0", "md0", "loop0" }) do
      put("/sys/block/" .. name .. "/stat", "x\n")
   end
   put("/proc/diskstats", "   8 0 sda 10 0 100 0 20 0 200 0 0 777 0 0 0 0 0\n"
      .. "   8 1 sda1 10 0 100 0 20 0 200 0 0 777 0 0 0 0 0\n"
      .. " 259 0 nvme0n1 1 0 2 0 3 0 4 0 0 5 0\n"
      .. " 253 0 dm-0 10 0 100 0 20 0 200 0 0 777 0\n   7 0 loop0 1 1 1 1 1 1 1 1 1 1 1\nshort line\n")
   lu.assertEquals(read("disk"), { busy_ms = 782, read_bytes = 102 * 512, written_bytes = 204 * 512 })
end

function TestSources:test_nfs()
   put("/proc/self/mountstats", "device proc mounted on /proc with fstype proc\n"
      .. "device srv:/home mounted on /home with fstype nfs4 statvers=1.1\n\tper-op statistics\n"
      .. "\t        READ: 10 10 0 100 2000 5 40 50 0\n\t       WRITE: 4 4 0 300 40 1 2 9 0\n"
      .. "device none mounted on /sys with fstype sysfs\n\t READ: 99 9 9 9 9 9 9 9 9\n")
   lu.assertEquals(read("nfs"), { ops = 14, op_ms = 59, bytes = 2440 })
end

function TestSources:test_lustre()
   put("/proc/fs/lustre/llite/scratch-ffff/stats", "snapshot_time 1 secs.nsecs\n"
      .. "read_bytes 3 samples [bytes] 1 2 4096 9\nwrite_bytes 3 samples [bytes] 1 2 8192 9\n"
      .. "open 5 samples [usec] 1 9 50 99\nread 2 samples [usec] 1 9 30 99\n")
   lu.assertEquals(read("lustre"), { ops = 7, op_us = 80, read_bytes = 4096, written_bytes = 8192 })
end

function TestSources:test_memory_errors_and_oom()
   put("/sys/devices/system/edac/mc/mc0/ce_count", "3\n")
   put("/sys/devices/system/edac/mc/mc0/ue_count", "0\n")
   put("/sys/devices/system/edac/mc/mc1/ce_count", "4\n")
   put("/proc/vmstat", "nr_free_pages 1\noom_kill 2\n")
   lu.assertEquals(read("memory_errors"), { corrected = 7, uncorrected = 0 })
   lu.assertEquals(read("oom"), { kills = 2 })
end

function TestSources:test_garbage_is_absent()
   put("/proc/stat", "cpu  x y\n")
   put("/proc/pressure/io", "nonsense\n")
   put("/proc/diskstats", "\0\0\n")
   for _, source in ipairs({ "cpu", "pressure", "disk" }) do
      lu.assertNil(read(source), source)
   end
end

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

function TestDelta:test_throttle_events_count_heat_once()
   lu.assertEquals(throttle.events({ package_count = 10, core_count = 8 }), 10)
   lu.assertEquals(throttle.events({ core_count = 8, core_power_count = 2 }), 10)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
