-- node/steps: what the plugin left of a job's steps. spank/totals.c reads the same file, and the same inputs.
local oracle = require("oracle")
local steps = require("syscheck.node.steps")

local SIZE, TAIL = 4096, "\nend\n"

local function seeds()
   return { "syscheck-steps 1\nversion 2\nsteps 3\nsure 1\narray 5 6\nrestart 0\nname 6a6f62ff\nstep cpu_us 5\ntasks read_bytes 6\n"
      .. "job cpu_us 7 123 4\njob memory_peak_bytes 9 123 0\njob cpu_throttled_us 1 2 3\nouter 10 2 3 4\n",
      "syscheck-steps 1\nsteps 18446744073709551615\njob cpu_us 9223372036854775807 1 9223372036854775807\nname abc\n" }
end

local function run(input)
   -- A whole file has one length, which no mutation keeps.
   local text = #input >= SIZE and input:sub(1, SIZE) or input .. ("\n"):rep(SIZE - #input - #TAIL) .. TAIL
   local left = steps.parse(#text == SIZE and text or input)
   if not left then
      return
   end
   local record = { delta = {}, job = { id = 5, het_job_id = 4 } }
   steps.join(record, left)
   assert(record.job.name == nil or utf8.len(record.job.name), "a name that is no UTF-8")
   assert(record.job.name == nil or #record.job.name <= 1024, "a long name")
   for _, name in ipairs({ "array_job_id", "array_task_id", "restart" }) do
      oracle.number(record.job[name], name, 0, math.maxinteger)
   end
   for key, value in pairs(record.cgroup or {}) do
      if key ~= "by_tasks" then
         oracle.number(value, key, 0, math.maxinteger)
      end
   end
end

return { run = run, seeds = seeds, max = 4096, grows = false }
