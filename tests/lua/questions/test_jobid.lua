-- Job IDs as people type them.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local cost = require("cost")
local lu = require("luaunit")
local jobid = require("syscheck.questions.jobid")

-- What a terminal, a spreadsheet, a shell, a database and a browser would take for orders.
local NASTY = 'a\27[31m\7"b\'; DROP TABLE run;--<script>\r\nx,\xC3\xA9\xFF\xC2\x9B2J'

TestJobId = {}

function TestJobId:test_forms()
   lu.assertEquals(jobid.parse("4711"), { kind = "job", id = 4711, text = "4711" })
   lu.assertEquals(jobid.parse("0123_04"), { kind = "array", id = 123, part = 4, text = "123_4" })
   lu.assertEquals(jobid.parse("123+1"), { kind = "het", id = 123, part = 1, text = "123+1" })
end

function TestJobId:test_anything_else()
   for _, text in ipairs({ "", "x", "12x", "-5", "1.5", "4711.batch", "123_", "_4", "123_4_5", "123+", "123_4+1",
      "0x10", "1e3", "4294967296", "99999999999999", "1_99999999999", " 1", "1 ", "1\n", "1 OR 1=1", NASTY }) do
      local id, err = jobid.parse(text)
      lu.assertNil(id, text)
      lu.assertStrMatches(err, "job ID must be one like 4711, [ -~]+")
   end
end

-- salloc and srun have the array that their user sets: no task of somebody else's.
function TestJobId:test_a_task_of_an_array_is_a_batch_job()
   local rows = {}
   local store = {}
   function store.rows()
      local i = 0
      return function()
         i = i + 1
         return rows[i]
      end
   end
   local function run(key, job_id, batch)
      rows[#rows + 1] = { key, job_id, nil, 123, 4, nil, nil, 1, 1, key, key, batch, "c", "u" }
   end
   local function found(text)
      local out = {}
      for i, one in ipairs(jobid.runs(store, jobid.parse(text))) do
         out[i] = one.key
      end
      return out
   end
   run(1, 130)
   run(2, 666)
   -- Before the batch step's node was read nobody knows.
   lu.assertEquals(found("123_4"), { 1, 2 })
   run(3, 130, 1)
   lu.assertEquals(found("123_4"), { 1, 3 })
   lu.assertEquals(found("123"), { 1, 2, 3 })
   lu.assertNil(jobid.believed(jobid.parse("123_4"), { { id = 5 } }))
   lu.assertEquals(jobid.believed(jobid.parse("123_4"), { { id = 5 }, { id = 6, batch = true } }), { [6] = true })
end

-- Through sudo any user types it: 100 kB took a minute.
function TestJobId:test_long_ones_cost_no_more_than_short_ones()
   lu.assertNil(jobid.parse(("0"):rep(40) .. "1"))
   local short, long = cost(jobid.parse, ("9"):rep(1000) .. "x"), cost(jobid.parse, ("9"):rep(64000) .. "x")
   lu.assertTrue(long < 100 * math.max(short, 1e-5), ("%g, %g s"):format(short, long))
end

function TestJobId:test_labels_and_matches()
   lu.assertEquals(jobid.label({ job_id = 4711.0 }), "4711")
   lu.assertEquals(jobid.label({ job_id = 130, array_job_id = 123, array_task_id = 4 }), "123_4 (job 130)")
   lu.assertEquals(jobid.label({ id = 124, het_job_id = 123, het_offset = 1 }), "123+1 (job 124)")
   lu.assertTrue(jobid.matches(jobid.parse("123_4"), { id = 130, array_job_id = 123, array_task_id = 4 }))
   lu.assertFalse(jobid.matches(jobid.parse("123"), { id = 130, array_job_id = 123, array_task_id = 4 }))
   lu.assertTrue(jobid.matches(jobid.parse("123+0"), { id = 123, het_job_id = 123, het_offset = 0 }))
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
