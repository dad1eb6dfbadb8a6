-- Fixed work on all nodes, Slurm's step played by one process (ranks.lua): what is made of what they say, and what goes
-- wrong.
package.path = "lua/?.lua;" .. package.path
local json = require("cjson")
local lu = require("luaunit")
local uv = require("luv")
local work = require("syscheck.fabric.work")

-- @param world node's name -> what is unlike the others
local function measure(world, srun)
   local names = {}
   for k = 1, 3 do
      names[k] = "n" .. k
      world[names[k]] = world[names[k]] or { rails = 1 }
   end
   uv.os_setenv("RANKS", json.encode(world))
   return work.run(names, { srun = srun or "tests/lua/fabric/ranks.lua", kernel = "fabric", job = 1,
      interrupted = function() return world.interrupted end }, function() end)
end

TestWork = {}

function TestWork:test_all_columns_and_the_slowest_node()
   local columns = measure({ n2 = { work = { slow = 1.25, threads = 4 } } })
   lu.assertEquals(#columns, 4)
   for k, us in ipairs({ 100, 1000, 10000, 100000 }) do
      local one = columns[k]
      lu.assertEquals({ one.work_us, one.steps, one.call_us, one.call_mean_us, one.se_us }, { us, 100, 10, 12, 1 })
      lu.assertAlmostEquals(one.base_us, 1.25 * us + 10, 1e-9)
      lu.assertAlmostEquals(one.step_us, 1.5 * us, 1e-9)
      lu.assertEquals(one.cores, { n1 = 8, n2 = 4, n3 = 8 })
   end
end

function TestWork:test_a_node_that_fails_is_named()
   lu.assertEquals({ measure({ n2 = { work = { error = "no answer" } } }) }, { nil,
      "n2: no answer in time, from it or to it; does another step, or something else, use the job's cores?" })
   lu.assertEquals({ measure({ n2 = { work = { error = "out of memory" } } }) }, { nil, "n2: out of memory" })
   for _, says in ipairs({ {}, { plan = 1, round = 0 }, { plan = 1, round = 7, step_us = 1 },
      { plan = 1, round = 0, step_us = "x", work_us = {}, steps = -1 } }) do
      lu.assertEquals({ measure({ n3 = { work = { says = says } } }) }, { nil, "n3: it measured nothing" })
   end
end

function TestWork:test_a_step_that_does_not_start()
   local columns, why = measure({ srun = { errors = { "srun: error: Unable to create step for job 7: Invalid job id" },
      code = 1 } })
   lu.assertNil(columns)
   lu.assertStrContains(why, "Invalid job id")
   columns, why = measure({}, "/nonexistent/srun")
   lu.assertNil(columns)
   lu.assertStrContains(why, "/nonexistent/srun")
end

function TestWork:test_who_dies_is_named()
   local columns, why = measure({ n2 = { ends = { at = "go", errors = { "srun: error: n2: task 1: Killed" }, code = 1,
      others_done = true } } })
   lu.assertNil(columns)
   lu.assertStrContains(why, "n2: ")
end

function TestWork:test_interrupted()
   lu.assertEquals({ measure({ interrupted = true }) }, { nil, "interrupted" })
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
