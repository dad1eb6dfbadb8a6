-- Sources of counters below a prepared root.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local cost = require("cost")
local deltas = require("syscheck.counters.deltas")
local machine = require("syscheck.hardware.machine")
local prepared = require("prepared")
local sources = require("syscheck.counters.sources")
local throttle = require("syscheck.counters.throttle")

-- Two packages, two cores each, two threads a core; the counts in every CPU's folder.
local function intel(package_counts)
   for cpu = 0, 7 do
      local package, core = cpu // 2 % 2, cpu % 2
      local dir = ("/sys/devices/system/cpu/cpu%d/"):format(cpu)
      prepared.put(dir .. "topology/physical_package_id", package .. "\n")
      prepared.put(dir .. "topology/core_id", core .. "\n")
      prepared.put(dir .. "thermal_throttle/package_throttle_count", package_counts[package + 1] .. "\n")
      prepared.put(dir .. "thermal_throttle/package_throttle_total_time_ms", package_counts[package + 1] * 3 .. "\n")
      prepared.put(dir .. "thermal_throttle/core_throttle_count", "5\n")
   end
end

TestSources = { setUp = prepared.setUp, tearDown = prepared.tearDown }

local function read(source)
   local values = sources[source].read(machine.at(prepared.root))
   return values and next(values) and deltas.total(values) -- an empty table: no such source, as in a snapshot
end

function TestSources:test_a_packages_count_is_counted_once()
   intel({ 100, 7 })
   lu.assertEquals(read("throttle"), { package_count = 107, package_ms = 321, core_count = 20 })
end

function TestSources:test_absent_is_not_zero()
   for _, source in ipairs(sources) do
      lu.assertNil(read(source.name), source.name)
   end
   prepared.put("/sys/devices/system/cpu/cpu0/topology/core_id", "0\n") -- AMD: no thermal_throttle
   lu.assertNil(read("throttle"))
   lu.assertNil(throttle.events(nil))
end

function TestSources:test_pressure()
   prepared.put("/proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=123\n"
      .. "full avg10=0.00 avg60=0.00 avg300=0.00 total=45\n")
   lu.assertEquals(read("pressure"), { io_some_us = 123, io_full_us = 45 })
end

function TestSources:test_cpu()
   prepared.put("/proc/stat", "cpu  1 2 3 4 55 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 3 9 10\n"
      .. "cpu17 1 2 3 4 5 6 7 5 9 10\nintr 8\n")
   lu.assertEquals(read("cpu"), { iowait_ms = 550, steal_ms = 80 })
   lu.assertEquals(sources.cpu.read(machine.at(prepared.root)), { iowait_ms = 550, ["steal_ms:0"] = 30,
      ["steal_ms:17"] = 50 })
   prepared.put("/proc/stat", "cpu  1 2 3 4 55 6 7 8 9 10\n")
   lu.assertEquals(read("cpu"), { iowait_ms = 550 })
end

-- The lines of a CPU are the same in all versions, those of domains are not.
function TestSources:test_sched()
   local function domains(before)
      return ("domain0 %sff 1 2 3 4 5 6 7 8 9\ndomain1 %s00000000,000000ff 8 8 8 8 8 8 8 8\n"):format(before, before)
   end
   for version, name in pairs({ [15] = "", [16] = "", [17] = "SMT " }) do
      prepared.put("/proc/schedstat", ("version %d\ntimestamp 4294786116\n"):format(version)
         .. "cpu0 0 0 65279 8841 37792 37792 80015632879 18335798709 56073\n" .. domains(name)
         .. "cpu128 7 0 1 1 1 1 5 999999 5\n" .. domains(name) .. "cpu129 7 0 1 1 1 1 5 1000000 5 4 3 2 1\n")
      lu.assertEquals(sources.sched.read(machine.at(prepared.root)),
         { ["wait_ms:0"] = 18335, ["wait_ms:128"] = 0, ["wait_ms:129"] = 1 })
   end
   -- One CPU: no domains.
   prepared.put("/proc/schedstat", "version 15\ntimestamp 1\ncpu0 0 0 6 8 3 3 80015632879 18335798709 56073\n")
   lu.assertEquals(read("sched"), { wait_ms = 18335 })
end

function TestSources:test_sched_that_counts_nothing_is_absent()
   prepared.put("/proc/schedstat", "version 15\ntimestamp 1\ncpu0 0 0 6 8 3 3 0 0 0\ncpu1 0 0 6 8 3 3 0 0 00\n")
   lu.assertNil(read("sched"))
   for _, text in ipairs({ "", "version 15\n", "version 15\ntimestamp 1\ncpu0\n", "version 15\ncpu0 1 2 3 4 5 6 7 8\n",
      "version 14\ncpu0 a b c d e f g h i\n", "\ncpu0 1 2 3 4 5 6 7 -8 9\n", "\ncpu 1 2 3 4 5 6 7 8 9\n",
      "\ncpu123456 1 2 3 4 5 6 7 8 9\n", "xcpu0 1 2 3 4 5 6 7 8 9\n", ("\ncpu"):rep(1000), ("\ncpu1 "):rep(1000),
      "\ncpu0 1 2 3 4 5 6 7 " .. ("9"):rep(400) .. " 9" }) do
      prepared.put("/proc/schedstat", text)
      local values = sources.sched.read(machine.at(prepared.root))
      -- What no count can be a snapshot drops.
      lu.assertTrue(next(values) == nil or values["wait_ms:0"] == math.huge, text:sub(1, 40))
   end
end

-- The file of 2,000 CPUs takes the kernel longer than a prolog has.
function TestSources:test_sched_is_left_where_reading_it_is_dear()
   local line = "cpu0 0 0 6 8 3 3 80015632879 18335798709 56073\n"
   prepared.put("/proc/schedstat", "version 15\ntimestamp 1\n" .. line)
   prepared.put("/sys/devices/system/cpu/online", "0-1023\n")
   lu.assertEquals(read("sched"), { wait_ms = 18335 })
   prepared.put("/sys/devices/system/cpu/online", "0-1024\n")
   lu.assertNil(read("sched"))
   -- Cut, its sum would be of some CPUs.
   prepared.put("/sys/devices/system/cpu/online", "0-3\n")
   prepared.put("/proc/schedstat", "version 15\ntimestamp 1\n" .. line .. ("domain0 00000001 0\n"):rep(300000))
   lu.assertNil(read("sched"))
end

-- 256 CPUs of four domains each. The cost must grow as the file does, whatever is in it.
function TestSources:test_lines_of_cpus_are_found_at_a_linear_cost()
   local domain = "domain0 NUMA " .. ("ffffffff,"):rep(8) .. (" 12345"):rep(45) .. "\n"
   local function cost_of(cpus, piece)
      local text = "version 17\n" .. ("cpu1 0 0 0 0 0 0 1 2000000 3\n" .. piece:rep(4)):rep(cpus)
      local fake = { topology = function() return { online = {} } end, read = function() return text end }
      return cost(sources.sched.read, fake)
   end
   for _, piece in ipairs({ domain, ("\ncpu"):rep(100), ("9"):rep(300), (" cpu1"):rep(60),
      "\ncpu7 " .. ("9"):rep(300) }) do
      -- 8 times as much, with room for noise; quadratic would be 64.
      lu.assertTrue(cost_of(2048, piece) < 30 * cost_of(256, piece) + 0.005, piece:sub(1, 20))
   end
end

function TestSources:test_disk_whole_devices_only()
   for _, name in ipairs({ "nvme0n1", "sda", "dm-0", "md0", "loop0" }) do
      prepared.put("/sys/block/" .. name .. "/stat", "x\n")
   end
   prepared.put("/proc/diskstats", "   8 0 sda 10 0 100 0 20 0 200 0 0 777 0 0 0 0 0\n"
      .. "   8 1 sda1 10 0 100 0 20 0 200 0 0 777 0 0 0 0 0\n"
      .. " 259 0 nvme0n1 1 0 2 0 3 0 4 0 0 5 0\n"
      .. " 253 0 dm-0 10 0 100 0 20 0 200 0 0 777 0\n   7 0 loop0 1 1 1 1 1 1 1 1 1 1 1\nshort line\n")
   lu.assertEquals(read("disk"), { busy_ms = 782, read_bytes = 102 * 512, written_bytes = 204 * 512, ops = 34,
      op_ms = 0 })
   prepared.put("/proc/diskstats", "   8 0 sda 10 1 100 31 20 2 200 57 3 777 95 9 9 9 9 9 9\n")
   lu.assertEquals(sources.disk.read(machine.at(prepared.root)), { ["busy_ms:sda"] = 777, ["read_bytes:sda"] = 51200,
      ["written_bytes:sda"] = 102400, ["ops:sda"] = 30, ["op_ms:sda/read"] = 31, ["op_ms:sda/write"] = 57 })
end

function TestSources:test_nfs()
   prepared.put("/proc/self/mountstats", "device proc mounted on /proc with fstype proc\n"
      .. "device srv:/home mounted on /home with fstype nfs4 statvers=1.1\n\tper-op statistics\n"
      .. "\t        READ: 10 10 0 100 2000 5 40 50 0\n\t       WRITE: 4 4 0 300 40 1 2 9 0\n"
      .. "device none mounted on /sys with fstype sysfs\n\t READ: 99 9 9 9 9 9 9 9 9\n")
   lu.assertEquals(read("nfs"), { ops = 14, op_ms = 59, bytes = 2440 })
end

function TestSources:test_lustre()
   prepared.put("/proc/fs/lustre/llite/scratch-ffff/stats", "snapshot_time 1 secs.nsecs\n"
      .. "read_bytes 3 samples [bytes] 1 2 4096 9\nwrite_bytes 3 samples [bytes] 1 2 8192 9\n"
      .. "open 5 samples [usec] 1 9 50 99\nread 2 samples [usec] 1 9 30 99\n")
   lu.assertEquals(read("lustre"), { ops = 7, op_us = 80, read_bytes = 4096, written_bytes = 8192 })
end

function TestSources:test_memory_errors_and_oom()
   prepared.put("/sys/devices/system/edac/mc/mc0/ce_count", "3\n")
   prepared.put("/sys/devices/system/edac/mc/mc0/ue_count", "0\n")
   prepared.put("/sys/devices/system/edac/mc/mc1/ce_count", "4\n")
   prepared.put("/proc/vmstat", "nr_free_pages 1\nallocstall 9\noom_kill 2\n")
   lu.assertEquals(read("memory_errors"), { corrected = 7, uncorrected = 0 })
   lu.assertEquals(read("oom"), { kills = 2 })
   lu.assertEquals(read("reclaim"), { stalls = 9 }) -- before 4.8; built without swap
end

function TestSources:test_garbage_is_absent()
   prepared.put("/proc/stat", "cpu  x y\n")
   prepared.put("/proc/pressure/io", "nonsense\n")
   prepared.put("/proc/diskstats", "\0\0\n")
   prepared.put("/proc/schedstat", "\0cpu0 \n\ncpu\n")
   for _, source in ipairs({ "cpu", "pressure", "disk", "sched" }) do
      lu.assertNil(read(source), source)
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
