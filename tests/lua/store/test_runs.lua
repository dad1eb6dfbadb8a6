-- Which run a record belongs to.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local runs = require("syscheck.store.runs")

TestRuns = {}

local function run(restart, begin_s, end_s)
   return { restart = restart, begin_s = begin_s, end_s = end_s }
end

function TestRuns:test_find()
   local first, second = run(0, 0, 100), run(1, 200, 300)
   local list = { first, second }
   lu.assertIs(runs.find(list, run(1, 0, 100)), second)
   lu.assertIs(runs.find(list, run(nil, 90, 95)), first)
   lu.assertIs(runs.find(list, run(nil, 250, 900)), second)
   lu.assertIs(runs.find(list, run(nil, 50, 900)), second)
   lu.assertNil(runs.find(list, run(2, 0, 900)))
   lu.assertNil(runs.find(list, run(nil, 400, 500)))
   lu.assertIs(runs.find(list, run(nil, 115, 115)), first)
end

-- Slurm's numbers began anew: another user's job is no run of this one, nor is one of last year.
function TestRuns:test_numbers_that_come_again()
   local old = run(0, 0, 100)
   old.user = 7
   local job = run(0, 50, 120)
   job.user, job.user_id = "bob", 8
   lu.assertNil(runs.find({ old }, job))
   job.user, job.user_id = "alice", 7
   lu.assertIs(runs.find({ old }, job), old)
   lu.assertIs(runs.find({ old }, run(0, 40 * 86400, 40 * 86400)), old)
   lu.assertNil(runs.find({ old }, run(0, 300 * 86400, 301 * 86400)))
end

-- A node's reboot in a prolog leaves an epilog that knows no run of its job, seconds before the next run begins.
function TestRuns:test_a_run_has_one_record_of_a_node()
   local lost, second = run(nil, 100, 100), run(1, 105, 110)
   local function has(one)
      return one == lost
   end
   lu.assertIs(runs.find({ lost }, run(nil, 100, 100)), lost)
   lu.assertNil(runs.find({ lost }, run(1, 105, 110), has))
   lu.assertNil(runs.find({ lost }, run(nil, 105, 110), has))
   local found, parts = runs.find({ lost, second }, run(1, 106, 111), has)
   lu.assertIs(found, second)
   lu.assertNil(parts)
   -- Another node's record of the second run: that is the one that is surely its run.
   found, parts = runs.find({ lost, second }, run(1, 106, 111))
   lu.assertIs(found, second)
   lu.assertEquals(parts, { lost })
end

-- An epilog whose prolog left nothing knows no count and no begin, and may come while the next run is on.
function TestRuns:test_other_nodes_are_another_run()
   local first, second = run(nil, 120, 120), run(1, 70, 900)
   first.nodelist, second.nodelist = 5, 6
   local late = run(nil, 125, 125)
   late.nodelist = 5
   lu.assertNil(runs.find({ second }, late))
   lu.assertIs(runs.find({ second, first }, late), first)
   late = run(1, 70, 800)
   late.nodelist = 6
   lu.assertIs(runs.find({ first, second }, late), second)
   lu.assertNil(runs.find({ first }, late))
   -- A job that shrinks: the count says that it is one run.
   late.nodelist = 7
   local found, parts = runs.find({ second }, late)
   lu.assertIs(found, second)
   lu.assertNil(parts)
   -- Of an older store.
   second.nodelist = nil
   lu.assertIs(runs.find({ second }, run(nil, 125, 125)), second)
end

function TestRuns:test_join()
   local a, b, c = run(nil, 0, 0), run(nil, 600, 600), run(nil, 5000, 5000)
   local found, parts = runs.find({ a, b, c }, run(nil, 0, 3600))
   lu.assertIs(found, a)
   lu.assertEquals(parts, { b })
   lu.assertTrue(runs.widen(a, { begin_s = -5, end_s = 10, restart = 3 }, { "restart" }))
   lu.assertEquals(a, run(3, -5, 10))
   lu.assertFalse(runs.widen(a, { begin_s = 0, end_s = 1, restart = 4 }, { "restart" }))
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
