-- What the plugin left of a job's steps, and how it joins the job's record.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local steps_of = require("syscheck.node.steps")

-- A file of the plugin's, from its lines.
local function file(...)
   local text = table.concat({ "syscheck-steps 1", ... }, "\n") .. "\n"
   return text .. ("\n"):rep(4096 - #text - 4) .. "end\n"
end

local function hex(text)
   return (text:gsub(".", function(c)
      return ("%02x"):format(c:byte())
   end))
end

local function join(text, job)
   local record = { job = job or { id = 17 } }
   steps_of.join(record, text and steps_of.parse(text))
   return record
end

TestParse = {}

function TestParse:testWhole()
   local steps = steps_of.parse(file("version 2", "steps 3", "sure 1", "array 12 4", "restart 2",
      "name " .. hex('a"\n\27'), "step cpu_us 100",
      "tasks read_bytes 4096", "job cpu_us 50 4410 7", "job memory_peak_bytes 9 1 5",
      "outer 1300 77 5 1000"))
   lu.assertEquals(steps, { version = 2, steps = 3, sure = 1, array = { 12, 4 }, restart = 2, name = 'a"\n\27',
      step = { cpu_us = 100 }, tasks = { read_bytes = 4096 }, job = { cpu_us = 57, memory_peak_bytes = 9 },
      outer_us = 305 })
end

function TestParse:testRefuses()
   local good = file("version 2", "steps 3")
   lu.assertNotNil(steps_of.parse(good))
   for _, bad in ipairs({ "", "end\n", good:sub(1, -2), good:sub(2), good .. "\n", ("\0"):rep(4096), ("x"):rep(4096),
      (good:gsub("end\n$", "enx\n")), (good:gsub("steps 1", "steps 2", 1)) }) do
      lu.assertNil(steps_of.parse(bad))
   end
end

-- The plugin never writes them; a value that is none is not known.
function TestParse:testValuesThatAreNone()
   local steps = steps_of.parse(file("version x", "steps -1", "array 1", "restart 1 2", "name 6", "name xy",
      "step cpu_us 1e3",
      "step read_bytes 99999999999999999999", "job cpu_us 1 2", "outer 1 2", "nonsense", "step", "step cpu_us"))
   lu.assertEquals(steps, { step = {}, tasks = {}, job = {} })
end

-- Sums of what a damaged file holds wrapped around, below zero.
function TestParse:testNumbersThatNoCounterReaches()
   local most = "9223372036854775807"
   local steps = steps_of.parse(file("job cpu_us " .. most .. " 1 " .. most, "outer " .. most .. " 1 " .. most .. " 0",
      "step cpu_us " .. most, "step read_bytes 9007199254740993", "step written_bytes 9007199254740992"))
   lu.assertEquals(steps.job, {})
   lu.assertNil(steps.outer_us)
   lu.assertEquals(steps.step, { written_bytes = 9007199254740992 })
end

TestCgroup = {}

function TestCgroup:testTheJobsOwnGroupKnowsMost()
   local record = join(file("version 2", "steps 2", "step cpu_us 100", "step memory_peak_bytes 5", "step io_some_us 9",
      "tasks cpu_us 90", "tasks read_bytes 4096", "job cpu_us 120 1 0", "job memory_peak_bytes 8 1 0"))
   lu.assertEquals(record.cgroup, { v = 2, steps = 2, cpu_us = 120, memory_peak_bytes = 8, io_some_us = 9,
      read_bytes = 4096, by_tasks = { "read_bytes" } })
end

function TestCgroup:testEveryLevelsQuotaCounts()
   local record = join(file("version 1", "steps 1", "step cpu_throttled_us 10", "job cpu_throttled_us 100 1 0",
      "outer 2000 7 0 1000"))
   lu.assertEquals(record.cgroup.cpu_throttled_us, 1110)
end

function TestCgroup:testNoGroupAtAll()
   lu.assertEquals(join(file("version 0", "steps 1", "tasks cpu_us 5")).cgroup, { steps = 1, cpu_us = 5,
      by_tasks = { "cpu_us" } })
   lu.assertNil(join(nil).cgroup)
end

TestIdentity = {}

function TestIdentity:testArrayAndRestart()
   local text = file("steps 1", "array 12 4", "restart 2", "name " .. hex("x"))
   -- A count that a step's user may have made up is none.
   lu.assertEquals(join(text).job, { id = 17, name = "x", array_job_id = 12, array_task_id = 4 })
   local batch = file("steps 1", "sure 1", "array 12 4", "restart 2", "name " .. hex("x"))
   lu.assertEquals(join(batch).job, { id = 17, name = "x", array_job_id = 12, array_task_id = 4, restart = 2,
      batch = true })
   -- The batch step has none where it is the first run.
   lu.assertEquals(join(file("steps 1", "sure 1")).job.restart, 0)
   lu.assertNil(join(file("steps 1", "sure 0")).job.restart)
   -- What Slurm passes to prolog and epilog cannot be forged.
   lu.assertEquals(join(text, { id = 17, restart = 0 }).job.restart, 0)
end

function TestIdentity:testHeterogeneous()
   lu.assertEquals(join(nil, { id = 19, het_job_id = 17 }).job.het_offset, 2)
   lu.assertEquals(join(nil, { id = 17, het_job_id = 17 }).job.het_offset, 0)
   -- The IDs began anew between the components.
   lu.assertNil(join(nil, { id = 1, het_job_id = 67000000 }).job.het_offset)
   lu.assertNil(join(nil, { id = 17 }).job.het_offset)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
