-- Counters and gauges of whole machines (tests/fixtures/machines) whose files hold garbage:
-- a snapshot is made whatever they say, and holds only what can be.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local counters = require("syscheck.hardware.snapshot")
local deltas = require("syscheck.counters.deltas")
local files = require("syscheck.lib.files")
local json = require("cjson")
local log = require("syscheck.lib.log")
local prepared = require("prepared")
local tree = require("tree")

TestGarbage = { setUp = prepared.setUp, tearDown = prepared.tearDown }

local MACHINES = { "intel", "amd", "aarch64", "offline", "infiniband", "edac", "csrow", "nfs", "lustre-2.12",
   "lustre-2.15" }

local GARBAGE = { "", "\n", "\0\0\0", "text", "-1", "-9223372036854775808", "99999999999999999999999",
   ("9"):rep(400), "1e308", "nan", "0x10", "18446744073709551615",
   "9223372036854775807", "\255\254 12", ("x"):rep(5000) }

-- Every file below the root.
local function all_files(dir, found)
   for _, name in ipairs(files.list(dir)) do
      local path = dir .. "/" .. name
      if #files.list(path) > 0 then
         all_files(path, found)
      else
         found[#found + 1] = path
      end
   end
   return found
end

-- What a snapshot may hold whatever the files say.
local function assert_sound(what)
   local to = counters.snapshot(prepared.root)
   for source, values in pairs(to.sources) do
      lu.assertNotNil(next(values), what .. source)
      for key, value in pairs(values) do
         local where = ("%s%s %s is %s"):format(what, source, key, value)
         lu.assertTrue(value >= 0, where)
         lu.assertTrue(value <= 2 ^ 63, where)
      end
   end
   json.encode(to)
   json.encode(prepared.gauges())
   return to
end

local function assert_deltas_sound(what, from, to)
   for source, values in pairs(deltas.delta(from, to) or {}) do
      for name, value in pairs(values) do
         local where = ("%s%s.%s is %s"):format(what, source, name, value)
         lu.assertTrue(value >= 0, where)
         lu.assertTrue(value <= 1e18, where)
      end
   end
   counters.errors(from, to, prepared.root)
end

function TestGarbage:test_in_every_file_at_once()
   for _, name in ipairs(MACHINES) do
      prepared.use(name)
      local from = prepared.take(0)
      local list = all_files(prepared.root, {})
      lu.assertTrue(#list > 1)
      for _, text in ipairs(GARBAGE) do
         for _, path in ipairs(list) do
            if not path:find("boot_id", 1, true) then
               tree.put("", path, text)
            end
         end
         local what = ("%s, %q: "):format(name, text:sub(1, 20))
         local to = assert_sound(what)
         assert_deltas_sound(what, from, to)
         assert_deltas_sound(what, json.decode(json.encode(to)), from)
      end
      prepared.tearDown()
      prepared.setUp()
   end
end

-- The right form, and numbers that none of them can be.
function TestGarbage:test_numbers_in_the_right_form()
   for _, name in ipairs(MACHINES) do
      for _, number in ipairs({ ("9"):rep(400), ("9"):rep(30), "-5", "", "0", "18446744073709551615",
         "9223372036854775807" }) do
         prepared.use(name)
         local from = prepared.take(0)
         for _, path in ipairs(all_files(prepared.root, {})) do
            local text = files.read(path) or ""
            if not path:find("boot_id", 1, true) then
               tree.put("", path, (text:gsub("([%s:])%d+", "%1" .. number):gsub("^%d+\n", number .. "\n")))
            end
         end
         local what = ("%s, %s: "):format(name, number:sub(1, 20))
         local to = assert_sound(what)
         assert_deltas_sound(what, from, to)
         assert_deltas_sound(what, json.decode(json.encode(to)), from)
      end
   end
end

-- One file at a time: the others' numbers stay.
function TestGarbage:test_in_one_file()
   for _, text in ipairs({ "", "-1", ("9"):rep(400), "text" }) do
      prepared.use("intel")
      prepared.put("/sys/class/powercap/intel-rapl:0/energy_uj", text)
      prepared.put("/sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes", text)
      prepared.put("/sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", text)
      local t = prepared.totals()
      lu.assertEquals(t.energy, { package_j = 1 })
      lu.assertEquals(t.memory_traffic, { bytes = 500000000000 + 7000, local_bytes = 812341234000 })
      lu.assertEquals(t.throttle.package_count, 7)
      prepared.use("edac")
      prepared.put("/sys/devices/system/edac/mc/mc3/ce_count", text)
      lu.assertEquals(prepared.totals().memory_errors, { corrected = 0, uncorrected = 1 })
      prepared.use("infiniband")
      prepared.put("/sys/class/infiniband/mlx5_1/ports/1/counters/symbol_error", text)
      prepared.put("/sys/class/infiniband/mlx5_1/ports/1/rate", text)
      lu.assertEquals(prepared.totals().link, { errors = 274, downed = 3 })
      lu.assertEquals(prepared.gauges().link, { active_ports = 2, rate_gbps = 200 })
   end
end

function TestGarbage:test_directories_where_files_belong()
   prepared.use("intel")
   for _, path in ipairs({ "/proc/interrupts", "/proc/stat", "/proc/vmstat", "/proc/pressure/io",
      "/sys/class/powercap/intel-rapl:0/energy_uj", "/sys/class/hwmon/hwmon2/temp1_input" }) do
      os.remove(prepared.root .. path)
      assert(files.mkdir(prepared.root .. path))
   end
   local t = prepared.totals()
   lu.assertNil(t.machine_checks)
   lu.assertNil(t.cpu)
   lu.assertNil(t.oom)
   lu.assertNil(t.reclaim)
   lu.assertEquals(t.energy, { package_j = 1 })
   lu.assertEquals(prepared.gauges().temperature, { max_c = 71 })
end

function TestGarbage:test_what_cannot_be_heat_or_a_limit()
   prepared.use("intel")
   prepared.put("/sys/class/hwmon/hwmon2/temp1_input", "-128000\n")
   prepared.put("/sys/class/powercap/intel-rapl:1/constraint_0_power_limit_uw", "0\n")
   prepared.put("/sys/class/powercap/intel-rapl:0/enabled", "0\n")
   lu.assertEquals(prepared.gauges().temperature, { max_c = 71 })
   lu.assertNil(prepared.gauges().limits.power_w)
end

-- A source that fails takes itself away and nothing else.
function TestGarbage:test_a_source_that_fails()
   prepared.use("amd")
   local module = require("syscheck.counters.energy")
   local real, write, told = module.read, log.write, nil
   module.read = function()
      error("broken")
   end
   log.write = function(_, format, ...)
      told = format:format(...)
   end
   local t = prepared.totals()
   module.read, log.write = real, write
   lu.assertNil(t.energy)
   lu.assertEquals(t.cpu, { iowait_ms = 550, steal_ms = 80 })
   lu.assertStrContains(told, "counters: energy: ")
end

-- More interrupts times CPUs than reading may cost: absent, which is not zero.
function TestGarbage:test_machine_checks_are_left_where_reading_them_is_dear()
   prepared.use("intel")
   prepared.put("/sys/devices/system/cpu/online", "0-9999\n")
   for irq = 1, 20 do
      assert(files.mkdir(("%s/sys/kernel/irq/%d"):format(prepared.root, irq)))
   end
   if require("luv").fs_stat(prepared.root .. "/sys/kernel/irq").nlink == 22 then
      lu.assertNil(prepared.totals().machine_checks)
   else
      lu.assertEquals(prepared.totals().machine_checks.events, 4) -- this file system does not count folders
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
