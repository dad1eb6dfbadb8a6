--- Processes that the kernel killed for memory (/proc/vmstat, since 4.13).
local oom = {}

oom.fields = {
   { "kills", name = "oom_kills", unit = "count", label = "processes killed for memory", cause = "shortage",
      each_s = 60, rare = true },
}

--- @return { kills }
function oom.read(machine)
   local kills = (machine:read("/proc/vmstat") or ""):match("\noom_kill (%d+)")
   return kills and { kills = tonumber(kills) } or nil
end

return oom
