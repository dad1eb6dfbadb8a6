--- Pressure stall information: microseconds in which some (or all) tasks of the
-- node waited. Documentation/accounting/psi.rst
local files = require("syscheck.lib.files")

local pressure = {}

--- @return { io_some_us, io_full_us, memory_some_us, memory_full_us, cpu_some_us }
function pressure.read(root)
   local out
   for _, resource in ipairs({ "cpu", "io", "memory" }) do
      for kind, total in (files.read(root .. "/proc/pressure/" .. resource) or ""):gmatch("(%a+) [^\n]-total=(%d+)") do
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
