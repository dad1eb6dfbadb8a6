-- counters/*: each source below /proc and /sys of a hostile machine ("@@ PATH" begins a file), what grew since an
-- ordinary one, and the gauges.
local memory = require("tree_in_memory")
local counters = require("syscheck.hardware.snapshot")
local deltas = require("syscheck.counters.deltas")
local gauges = require("syscheck.counters.gauges")
local log = require("syscheck.lib.log")
local machine = require("syscheck.hardware.machine")
local topology = require("syscheck.hardware.topology")

local MACHINES = { "intel", "amd", "aarch64", "offline", "infiniband", "edac", "csrow", "nfs", "lustre-2.12", "lustre-2.15" }
local PREFIXES = { "/proc/stat", "/proc/schedstat", "/proc/pressure", "/proc/diskstats", "/sys/block", "/proc/self", "/proc/vmstat",
   "/proc/interrupts", "/sys/class/infiniband", "/sys/class/powercap", "/sys/class/hwmon", "/sys/class/thermal",
   "/sys/devices/system/edac", "/sys/fs/resctrl", "/sys/kernel/debug/lustre", "/proc/fs/lustre",
   "/sys/devices/system/cpu" }

log.write = function(_, format, ...)
   error("logged: " .. format:format(...))
end

local function seeds()
   return memory.pieces(MACHINES, PREFIXES)
end

memory.install()
local before

local function sound(values, most, what)
   for key, value in pairs(values) do
      if type(value) ~= "number" or value ~= value or value < 0 or value > most then
         error(("%s: %s is %s"):format(what, key, tostring(value)))
      end
   end
end

local function run(input)
   -- The topology of one machine is read once: this is the next.
   topology.read("/none")
   memory.use(input)
   local now = counters.snapshot("")
   for name, values in pairs(now.sources) do
      assert(next(values), "an empty source")
      sound(values, 2 ^ 63, name) -- memory traffic passes 2^53 bytes within a day
   end
   before = before or now
   now.boot_id, now.uptime_s = before.boot_id, before.uptime_s + 60
   for name, values in pairs(deltas.delta(before, now)) do
      sound(values, 2 ^ 62, "delta " .. name)
   end
   for _, one in ipairs(deltas.errors(before, now) or {}) do
      assert(one.unit and one.kind, "an error's unit")
   end
   counters.errors(before, now, "")
   for name, values in pairs(gauges.read(machine.at(""), {})) do
      sound(values, 2 ^ 53, "gauge " .. name)
   end
   -- Mostly the one before is of the same machine.
   before = math.random(4) > 1 and now or before
end

return { run = run, seeds = seeds, max = 3000, kept_bytes = 24000 }
