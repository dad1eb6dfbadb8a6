--- How long tasks that could run waited for a CPU: run_delay in /proc/schedstat, where the kernel has
-- that file (CONFIG_SCHEDSTATS; what sysctl kernel.sched_schedstats switches are other numbers in it).
-- Field 8 of a CPU's line in versions 15, 16 and 17 alike, which differ in domains' lines only; in
-- nanoseconds, though older texts of Documentation/scheduler/sched-stats.rst say jiffies.
--
-- Each waiting task counts, so that one CPU may wait for longer than time goes by. The job's own
-- tasks count, too, and what a CPU quota holds.
local cpu_lines = require("syscheck.counters.cpu_lines")

local sched = {}

-- The sum is no time that a job can have lost: what it could is the worst CPU's.
sched.fields = {
   { "wait_ms", name = "sched_wait_ms", unit = "ms", label = "tasks waiting for CPUs, in sum", kind = "cause" },
   { "wait_worst_ms", name = "sched_wait_worst_ms", unit = "ms", label = "tasks waiting for one CPU",
      cause = "daemon" },
}

sched.worst = { wait_ms = "wait_worst_ms" }

-- The kernel writes all of it for each reader, 190 numbers a CPU with four domains, 350 kB on 256 CPUs: a
-- few milliseconds, and no more than four times that.
local MAX_CPUS = 1024
local MAX_TEXT = 4194304
local NS_PER_MS = 1000000

--- @return { wait_ms:CPU }, of the online ones
function sched.read(machine)
   local text = #machine:topology().online <= MAX_CPUS and machine:read("/proc/schedstat", MAX_TEXT) or ""
   local out = {}
   -- Of a text that is cut the sum would be of some CPUs.
   for n, at in cpu_lines.of(#text < MAX_TEXT and text or "") do
      local delay, ran = text:match("^%d+ %d+ %d+ %d+ %d+ %d+ %d+ (%d+) (%d+)", at)
      -- No task ever ran: nothing is counted (each CPU has threads of the kernel's own).
      if delay and ran:find("[1-9]") then
         out["wait_ms:" .. n] = tonumber(delay) // NS_PER_MS
      end
   end
   return out
end

return sched
