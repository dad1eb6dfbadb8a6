-- hardware/*: cpuinfo, topology, clocks, DIMMs by EDAC and by the firmware's table, below a hostile machine's /proc
-- and /sys ("@@ PATH" begins a file).
local memory = require("tree_in_memory")
local oracle = require("oracle")
local inventory = require("syscheck.hardware.inventory")
local topology = require("syscheck.hardware.topology")
local tree = require("tree")
local baseline = require("syscheck.verdict.baseline")

local MACHINES = { "intel", "amd", "aarch64", "offline", "edac", "csrow" }
local PREFIXES = { "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu", "/sys/devices/system/edac",
   "/sys/devices/system/node", "/sys/class/dmi", "/sys/firmware/dmi", "/sys/kernel/mm" }

local function seeds()
   local out = memory.pieces(MACHINES, PREFIXES)
   out[#out + 1] = "@@ /sys/firmware/dmi/tables/DMI\n" .. tree.memory_device(32768) .. tree.memory_device(nil, 9) .. tree.END_OF_TABLE
   out[#out + 1] = "@@ /sys/firmware/dmi/entries/17-0/raw\n" .. tree.memory_device(16384)
   out[#out + 1] = "@@ /proc/cpuinfo\nmodel name\t: AMD EPYC 9654 96-Core Processor\nmicrocode\t: 0xa\n@@ /proc/meminfo\n"
      .. "MemTotal:  791234567 kB\n@@ /sys/devices/system/cpu/online\n0-3,8\n@@ /sys/devices/system/cpu/present\n0-9\n"
      .. "@@ /sys/devices/system/cpu/cpu0/topology/core_cpus_list\n0,8\n"
   return out
end

memory.install()

local function run(input)
   -- The topology of one machine is read once: this is the next.
   topology.read("/none")
   memory.use(input)
   local node = inventory.read("")
   oracle.is("string", node.class, "class")
   assert(node.class:find("%-%d+s%d+c%-[%d?]+g$") , "a class' form: " .. node.class)
   baseline.parse_class(node.class)
   for _, name in ipairs({ "packages", "cores", "threads", "memory_gib", "dimms", "numa_nodes" }) do
      oracle.number(node[name], name, 0, 1e9)
   end
   for key, value in pairs(node.config) do
      assert(type(value) == "string" or math.type(value) == "integer", "config." .. key)
   end
   local cpus = topology.parse_list(input)
   assert(#cpus <= 65536 + 1, "more CPUs than there are numbers")
end

return { run = run, seeds = seeds, max = 3000, kept_bytes = 16000 }
