--- iowait and steal of /proc/stat. A tick is 10 ms: USER_HZ is 100 on every
-- architecture that Slurm runs on, whatever the kernel's own HZ.
local cpu_lines = require("syscheck.counters.cpu_lines")

local cpu = {}

cpu.fields = {
   { "iowait_ms", name = "iowait_ms", unit = "ms", label = "iowait", cause = "storage" },
   { "steal_ms", name = "steal_ms", unit = "ms", label = "stolen by the hypervisor", cause = "daemon",
      unless = { "steal_worst_ms" } },
   { "steal_worst_ms", name = "steal_worst_ms", unit = "ms", label = "stolen from the worst CPU", cause = "daemon" },
}

cpu.worst = { steal_ms = "steal_worst_ms" }

local MS_PER_TICK = 10

local function ms(ticks)
   return ticks and ticks * MS_PER_TICK
end

--- @return { iowait_ms, steal_ms:CPU }. iowait is the sum over CPUs alone: a task that waits for I/O
--   is on no CPU, and which one's idle time counts as iowait is chance (Documentation/filesystems/proc.rst)
function cpu.read(machine)
   local text = machine:read("/proc/stat") or ""
   local out = { iowait_ms = ms(text:match("^cpu%s+%d+ %d+ %d+ %d+ (%d+) ")) }
   for n, at in cpu_lines.of(text) do
      out["steal_ms:" .. n] = ms(text:match("^%d+ %d+ %d+ %d+ %d+ %d+ %d+ (%d+)", at))
   end
   return out
end

return cpu
