--- iowait and steal of /proc/stat. A tick is 10 ms: USER_HZ is 100 on every
-- architecture that Slurm runs on, whatever the kernel's own HZ.
local cpu = {}

cpu.fields = {
   { "iowait_ms", name = "iowait_ms", unit = "ms", label = "iowait", cause = "storage" },
   { "steal_ms", name = "steal_ms", unit = "ms", label = "stolen by the hypervisor", cause = "daemon" },
}

local MS_PER_TICK = 10

--- @return { iowait_ms, steal_ms }, summed over CPUs
function cpu.read(machine)
   local line = machine:line("/proc/stat")
   local iowait, steal = (line or ""):match("^cpu%s+%d+ %d+ %d+ %d+ (%d+) %d+ %d+ (%d+)")
   if not iowait then
      return nil
   end
   return { iowait_ms = iowait * MS_PER_TICK, steal_ms = steal * MS_PER_TICK }
end

return cpu
