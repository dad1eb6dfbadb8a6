-- Counters and gauges of whole machines (tests/fixtures/machines) whose files hold garbage:
-- a snapshot is made whatever they say, and holds only what can be.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local counters = require("syscheck.hardware.snapshot")
local deltas = require("syscheck.counters.deltas")
local files = require("syscheck.lib.files")
local machine = require("syscheck.hardware.machine")
local gauges = require("syscheck.counters.gauges")
local inventory = require("syscheck.hardware.inventory")
local json = require("cjson")
local log = require("syscheck.lib.log")
local tree = require("tree")

local root

local function use(name)
   tree.machine(root, name)
end

-- Totals of a snapshot that went through JSON, as a begin snapshot does.
local function totals()
   local out = {}
   for name, source in pairs(json.decode(json.encode(counters.snapshot(root))).sources) do
      out[name] = deltas.total(source)
   end
   return out
end

local function take(seconds)
   local snapshot = json.decode(json.encode(counters.snapshot(root)))
   snapshot.uptime_s = seconds
   return snapshot
end

local function read_gauges()
   return gauges.read(machine.at(root), inventory.read(root))
end

local function setUp()
   root = tree.new()
end

local function tearDown()
   tree.remove(root)
end

TestGarbage = { setUp = setUp, tearDown = tearDown }

local MACHINES = { "intel", "amd", "aarch64", "offline", "infiniband", "edac", "csrow", "nfs", "lustre-2.12",
   "lustre-2.15" }

local GARBAGE = { "", "\n", "\0\0\0", "text", "-1", "-9223372036854775808", "99999999999999999999999",
   ("9"):rep(400), "1e308", "nan", "0x10", "18446744073709551615", "\255\254 12", ("x"):rep(5000) }

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
   local to = counters.snapshot(root)
   for source, values in pairs(to.sources) do
      lu.assertNotNil(next(values), what .. source)
      for key, value in pairs(values) do
         lu.assertTrue(value >= 0 and value <= 2 ^ 53, ("%s%s %s is %s"):format(what, source, key, value))
      end
   end
   json.encode(to)
   json.encode(gauges.read(machine.at(root), inventory.read(root)))
   return to
end

local function assert_deltas_sound(what, from, to)
   for source, values in pairs(deltas.delta(from, to) or {}) do
      for name, value in pairs(values) do
         lu.assertTrue(value >= 0 and value < 2 ^ 60, ("%s%s.%s is %s"):format(what, source, name, value))
      end
   end
   counters.errors(from, to, root)
end

function TestGarbage:test_in_every_file_at_once()
   for _, name in ipairs(MACHINES) do
      use(name)
      local from = take(0)
      local list = all_files(root, {})
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
      tree.remove(root)
      root = tree.new()
   end
end

-- The right form, and numbers that none of them can be.
function TestGarbage:test_numbers_in_the_right_form()
   for _, name in ipairs(MACHINES) do
      for _, number in ipairs({ ("9"):rep(400), ("9"):rep(30), "-5", "", "0", "18446744073709551615" }) do
         use(name)
         local from = take(0)
         for _, path in ipairs(all_files(root, {})) do
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
      use("intel")
      tree.put(root, "/sys/class/powercap/intel-rapl:0/energy_uj", text)
      tree.put(root, "/sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes", text)
      tree.put(root, "/sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", text)
      local t = totals()
      lu.assertEquals(t.energy, { package_j = 1 })
      lu.assertEquals(t.memory_traffic, { bytes = 500000000000 + 7000 })
      lu.assertEquals(t.throttle.package_count, 7)
      use("edac")
      tree.put(root, "/sys/devices/system/edac/mc/mc3/ce_count", text)
      lu.assertEquals(totals().memory_errors, { corrected = 0, uncorrected = 1 })
      use("infiniband")
      tree.put(root, "/sys/class/infiniband/mlx5_1/ports/1/counters/symbol_error", text)
      tree.put(root, "/sys/class/infiniband/mlx5_1/ports/1/rate", text)
      lu.assertEquals(totals().link, { errors = 274, downed = 3 })
      lu.assertEquals(read_gauges().link, { active_ports = 2, rate_gbps = 200 })
   end
end

function TestGarbage:test_directories_where_files_belong()
   use("intel")
   for _, path in ipairs({ "/proc/interrupts", "/proc/stat", "/proc/vmstat", "/proc/pressure/io",
      "/sys/class/powercap/intel-rapl:0/energy_uj", "/sys/class/hwmon/hwmon2/temp1_input" }) do
      os.remove(root .. path)
      assert(files.mkdir(root .. path))
   end
   local t = totals()
   lu.assertNil(t.machine_checks or t.cpu or t.oom)
   lu.assertEquals(t.energy, { package_j = 1 })
   lu.assertEquals(read_gauges().temperature, { max_c = 71 })
end

function TestGarbage:test_what_cannot_be_heat_or_a_limit()
   use("intel")
   tree.put(root, "/sys/class/hwmon/hwmon2/temp1_input", "-128000\n")
   tree.put(root, "/sys/class/powercap/intel-rapl:1/constraint_0_power_limit_uw", "0\n")
   tree.put(root, "/sys/class/powercap/intel-rapl:0/enabled", "0\n")
   lu.assertEquals(read_gauges().temperature, { max_c = 71 })
   lu.assertNil(read_gauges().limits.power_w)
end

-- A source that fails takes itself away and nothing else.
function TestGarbage:test_a_source_that_fails()
   use("amd")
   local module = require("syscheck.counters.energy")
   local real, write, told = module.read, log.write, nil
   module.read = function()
      error("broken")
   end
   log.write = function(_, format, ...)
      told = format:format(...)
   end
   local t = totals()
   module.read, log.write = real, write
   lu.assertNil(t.energy)
   lu.assertEquals(t.cpu, { iowait_ms = 550, steal_ms = 80 })
   lu.assertStrContains(told, "counters: energy: ")
end

-- More interrupts times CPUs than reading may cost: absent, which is not zero.
function TestGarbage:test_machine_checks_are_left_where_reading_them_is_dear()
   use("intel")
   tree.put(root, "/sys/devices/system/cpu/online", "0-9999\n")
   for irq = 1, 20 do
      assert(files.mkdir(("%s/sys/kernel/irq/%d"):format(root, irq)))
   end
   if require("luv").fs_stat(root .. "/sys/kernel/irq").nlink == 22 then
      lu.assertNil(totals().machine_checks)
   else
      lu.assertEquals(totals().machine_checks.events, 4) -- this file system does not count folders
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
