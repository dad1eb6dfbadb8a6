--- Pressure stall information: microseconds in which some (or all) tasks of the
-- node waited. Documentation/accounting/psi.rst
local pressure = {}

pressure.fields = {
   { "cpu_some_us", name = "cpu_some_us", unit = "us", label = "waiting for a CPU", cause = "daemon" },
   { "io_some_us", name = "io_some_us", unit = "us", label = "some task waiting for I/O", cause = "storage" },
   { "io_full_us", name = "io_full_us", unit = "us", label = "all tasks waiting for I/O", cause = "storage" },
   { "memory_some_us", name = "memory_some_us", unit = "us", label = "waiting for memory", cause = "shortage" },
   { "memory_full_us", name = "memory_full_us", unit = "us", label = "all waiting for memory", cause = "shortage" },
}

--- @return { io_some_us, io_full_us, memory_some_us, memory_full_us, cpu_some_us }
function pressure.read(machine)
   local out = {}
   for _, resource in ipairs({ "cpu", "io", "memory" }) do
      for kind, total in (machine:read("/proc/pressure/" .. resource) or ""):gmatch("(%a+) [^\n]-total=(%d+)") do
         -- cpu "full" is always 0 for a whole node (since 5.13, for completeness).
         if resource ~= "cpu" or kind == "some" then
            out[("%s_%s_us"):format(resource, kind)] = tonumber(total)
         end
      end
   end
   return out
end

return pressure
