--- Machine checks: the interrupts by which x86 hardware tells of its errors, of
-- /proc/interrupts: MCE (uncorrected, and survived), THR (corrected: Intel's CMCI, AMD's
-- thresholds), DFR (AMD: deferred). Polling (MCP) is no event.
--
-- Nothing else counts them: /sys/devices/system/machinecheck holds settings, and AMD's
-- error_count there interrupts each CPU. An event that the hardware tells to every CPU of
-- a package counts once for each: too many, but none is missed.
local uv = require("luv")
local files = require("syscheck.lib.files")
local topology = require("syscheck.hardware.topology")

local machine_checks = {}

local LINES = { "MCE", "THR", "DFR" }

-- They stand last in the file, behind a line for each interrupt and a column for each
-- CPU, which the kernel has to gather and write first, at some 10 ns each: no more than a
-- few milliseconds. 390 interrupts on 256 CPUs.
local MAX_NUMBERS = 100000
local MAX_TEXT = 4194304

-- Only x86 has these folders; a folder's links tell how many folders are in it (where
-- the file system counts them).
local function is_cheap(root, cpus)
   if not uv.fs_stat(root .. "/sys/devices/system/machinecheck/machinecheck0") then
      return false
   end
   local irqs = uv.fs_stat(root .. "/sys/kernel/irq")
   return not irqs or (irqs.nlink - 2) * cpus <= MAX_NUMBERS
end

-- Sum of a line's columns. Plain finds: a pattern over a megabyte is slow.
local function sum_of(text, name)
   local at = 1
   while true do
      local from, to = text:find(name .. ":", at, true)
      if not from then
         return nil
      end
      -- Where a line begins, and not in the name of a device.
      if text:sub(math.max(1, from - 8), from - 1):find("\n *$") then
         local columns, sum = text:match("^[ %d]*", to + 1), 0
         if not columns:find("%d") then
            return nil
         end
         if columns:find("[1-9]") then
            for n in columns:gmatch("%d+") do
               sum = sum + tonumber(n)
            end
         end
         return sum
      end
      at = to
   end
end

--- @return { events:CPUS }, CPUS the list of the online ones: an offline CPU's column is
--   not shown, so sums over different CPUs have no difference
function machine_checks.read(root)
   local topo = topology.read(root)
   if not is_cheap(root, #topo.online) then
      return nil
   end
   local text = files.read(root .. "/proc/interrupts", MAX_TEXT)
   local events
   for _, name in ipairs(LINES) do
      local sum = text and sum_of(text, name)
      events = sum and (events or 0) + sum or events
   end
   return events and { ["events:" .. topology.format_list(topo.online)] = events } or nil
end

return machine_checks
