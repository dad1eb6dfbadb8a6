--- Processes that the kernel killed for memory (/proc/vmstat, since 4.13).
local files = require("syscheck.lib.files")

local oom = {}

--- @return { kills }
function oom.read(root)
   local kills = (files.read(root .. "/proc/vmstat") or ""):match("\noom_kill (%d+)")
   return kills and { kills = tonumber(kills) } or nil
end

return oom
