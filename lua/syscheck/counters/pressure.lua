--- Pressure stall information: microseconds in which some (or all) tasks of the
-- node waited. Documentation/accounting/psi.rst
local pressure = {}

pressure.fields = {
   { name = "cpu_some_us", from = "delta.pressure.cpu_some_us", unit = "us", label = "waiting for a CPU",
      cause = "daemon" },
   { name = "io_some_us", from = "delta.pressure.io_some_us", unit = "us", label = "some task waiting for I/O",
      cause = "storage" },
   { name = "io_full_us", from = "delta.pressure.io_full_us", unit = "us", label = "all tasks waiting for I/O",
      cause = "storage" },
   { name = "memory_some_us", from = "delta.pressure.memory_some_us", unit = "us", label = "waiting for memory",
      cause = "shortage" },
   { name = "memory_full_us", from = "delta.pressure.memory_full_us", unit = "us", label = "all waiting for memory",
      cause = "shortage" },
}

--- @return { io_some_us, io_full_us, memory_some_us, memory_full_us, cpu_some_us }
function pressure.read(machine)
   local out
   for _, resource in ipairs({ "cpu", "io", "memory" }) do
      for kind, total in (machine:read("/proc/pressure/" .. resource) or ""):gmatch("(%a+) [^\n]-total=(%d+)") do
         out = out or {}
         -- cpu "full" is always 0 for a whole node (since 5.13, for completeness).
         if resource ~= "cpu" or kind == "some" then
            out[("%s_%s_us"):format(resource, kind)] = tonumber(total)
         end
      end
   end
   return out
end

return pressure
