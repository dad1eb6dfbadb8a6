--- Machine checks: the interrupts by which x86 hardware reports its errors, of
-- /proc/interrupts: MCE (uncorrected, and survived), THR (corrected: Intel's CMCI, AMD's
-- thresholds), DFR (AMD: deferred). Polling (MCP) is no event.
--
-- Nothing else counts them: /sys/devices/system/machinecheck holds settings, and AMD's
-- error_count there interrupts each CPU. An event that the hardware reports to every CPU of
-- a package counts once for each: too many, but none is missed.
local machine_checks = {}

-- each_s: as of corrected memory errors.
machine_checks.fields = {
   { "events", name = "machine_checks", unit = "count", label = "machine checks", cause = "memory", each_s = 0.2,
      rare = true },
}

local LINES = { "MCE", "THR", "DFR" }

-- They stand last in the file, behind a line for each interrupt and a column for each
-- CPU, which the kernel has to gather and write first, at some 10 ns each: no more than a
-- few milliseconds. 390 interrupts on 256 CPUs.
local MAX_NUMBERS = 100000
local MAX_TEXT = 4194304

-- Only x86 has these folders.
local function is_cheap(machine, cpus)
   return machine:folders("/sys/devices/system/machinecheck/machinecheck0") ~= nil
      and (machine:folders("/sys/kernel/irq") or 0) * cpus <= MAX_NUMBERS
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
function machine_checks.read(machine)
   local topo = machine:topology()
   if not is_cheap(machine, #topo.online) then
      return nil
   end
   local text = machine:read("/proc/interrupts", MAX_TEXT)
   local events
   for _, name in ipairs(LINES) do
      local sum = text and sum_of(text, name)
      events = sum and (events or 0) + sum or events
   end
   return events and { ["events:" .. topo.online_list] = events } or nil
end

return machine_checks
