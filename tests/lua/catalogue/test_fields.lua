-- A job's record holds every field where the catalogue says.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local fields = require("syscheck.catalogue.fields")
local files = require("syscheck.lib.files")
local json = require("cjson")
local prepared = require("prepared")
local tree = require("tree")

TestRecord = { setUp = prepared.setUp, tearDown = prepared.tearDown }

local function put(path, text)
   prepared.put(path, text .. "\n")
end

-- Prolog and epilog of a job, as the agent runs them. @return the job's record
local function job(during)
   local dir = tree.new()
   tree.put(dir, "/policy.lua", ('return { spool = "%s/spool", state = "%s/state", run = "%s/run" }\n'):format(dir, dir,
      dir))
   local env = { SLURM_JOB_ID = "1", SLURM_JOB_PARTITION = "main", SLURM_NODELIST = "b", SLURMD_NODENAME = "b",
      SPANK_SYSCHECK = "passive", SLURM_JOB_CPUS_PER_NODE = "8" }
   local function get(name)
      return env[name]
   end
   local options = { root = prepared.root, policy = dir .. "/policy.lua", copy = dir .. "/policy.good" }
   lu.assertEquals(dofile("prolog/prolog.lua").main(get, options), 0)
   during()
   dofile("epilog/epilog.lua").main(get, options)
   local record
   for line in io.lines(dir .. "/spool/records.jsonl") do
      local one = json.decode(line)
      record = one.kind == "job" and one or record
   end
   tree.remove(dir)
   return record
end

function TestRecord:test_holds_every_field_where_the_list_says()
   for _, name in ipairs({ "intel", "infiniband", "edac", "nfs", "lustre-2.15" }) do
      prepared.use(name)
   end
   local record = job(function()
      put("/sys/class/infiniband/mlx5_0/ports/1/counters/link_downed", "2")
      put("/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error", "5")
      put("/sys/devices/system/edac/mc/mc3/ce_count", "46")
      put("/sys/devices/system/edac/mc/mc3/dimm2/dimm_ce_count", "4")
      put("/sys/class/powercap/intel-rapl:1/energy_uj", "8000000")
      put("/sys/fs/resctrl/mon_data/mon_L3_01/mbm_total_bytes", "500000004096")
      local interrupts = files.read(prepared.root .. "/proc/interrupts")
      prepared.put("/proc/interrupts", (interrupts:gsub("THR:          3", "THR:          9")))
      local function change(path, ...)
         local text, n = files.read(prepared.root .. path):gsub(...)
         lu.assertEquals(n, 1)
         prepared.put(path, text)
      end
      change("/proc/schedstat", " 512345678 ", " 2512345678 ")
      change("/proc/schedstat", " 98412345678 ", " 105412345678 ")
      change("/proc/stat", "(cpu7 [%d ]+) 965 2 ", "%1 965 42 ")
      change("/proc/stat", "(cpu0 [%d ]+) 1190 3 ", "%1 1190 8 ")
      change("/proc/diskstats", "nvme0c0n1 96314 1203 8123412 93112 412931 98122 91238123 1293112 ",
         "nvme0c0n1 96324 1203 8123412 93152 412936 98122 91238123 1293412 ")
      local throttle = "/sys/devices/system/cpu/cpu%d/thermal_throttle/core_throttle_%s"
      put(throttle:format(0, "count"), "5000")
      put(throttle:format(0, "total_time_ms"), "100000")
   end)
   local value = {}
   for _, field in ipairs(fields.JOB) do
      value[field.name] = fields.of(record, field)
      lu.assertTrue(value[field.name] ~= nil or field.from:find("^cgroup") ~= nil
         or field.from:find("^saturation") ~= nil, field.name)
   end
   lu.assertEquals(value.machine_checks, 6)
   lu.assertEquals(value.link_errors, 5)
   lu.assertEquals(value.link_downed, 2)
   lu.assertEquals(value.memory_corrected, 1)
   lu.assertEquals(value.energy_j, 7)
   lu.assertEquals(value.traffic_bytes, 4096)
   lu.assertEquals(value.clock_limit_mhz, 2000)
   lu.assertEquals(value.power_limit_w, 225)
   lu.assertEquals({ value.sched_wait_ms, value.sched_wait_worst_ms }, { 9000, 7000 })
   lu.assertEquals({ value.steal_ms, value.steal_worst_ms }, { 450, 400 })
   lu.assertEquals({ value.disk_ops, value.disk_op_ms }, { 15, 340 })
   lu.assertEquals({ value.link_rate_gbps, value.link_ports }, { 50, 2 })
   lu.assertEquals(value.throttle_core_worst_ms, value.throttle_core_ms) -- one core alone
   lu.assertEquals(value.throttle_package_worst_ms, 0)
   lu.assertEquals(value.temperature_c, 88)
   lu.assertEquals(record.errors, {
      { kind = "link", unit = "mlx5_0/1", errors = 5, downed = 2 },
      { kind = "dimm", unit = "mc3 CPU0_DIMM_H1", corrected = 1 },
   })
   lu.assertEquals(record["end"].cooling, { active = 1 })
   lu.assertEquals(record["end"].link, { errors = 4279, downed = 5, active_ports = 2, rate_gbps = 50 })
end

function TestRecord:test_after_a_reboot_only_gauges()
   prepared.use("intel")
   local record = job(function()
      put("/proc/sys/kernel/random/boot_id", "another")
   end)
   lu.assertNil(record.delta)
   lu.assertNil(record.errors)
   lu.assertEquals(record["end"].temperature, { max_c = 88 })
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
