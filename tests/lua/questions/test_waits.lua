-- What `job` and `why` say of a job's wait for memory, from records and from a store.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local answer = require("syscheck.questions.why.answer")
local job_export = require("syscheck.questions.job.export")
local job_page = require("syscheck.questions.job.page")
local job_records = require("syscheck.questions.job.records")
local job_show = require("syscheck.questions.job.show")
local job_store = require("syscheck.questions.job.read")
local jobid = require("syscheck.questions.jobid")
local json = require("cjson")
local own_store = require("own_store")
local stored_waits = require("syscheck.questions.why.waits")
local why_show = require("syscheck.questions.why.show")

TestWaits = { setUp = own_store.setUp, tearDown = own_store.tearDown }

local T = 1795161600 -- 2026-11-20T08:00:00Z
local NASTY = "a\27[31m%s%d\r\n<script>"

local function saturated(cores)
   return { source = "resctrl", mem_gbs_mean = 184, peak_gbs = 200, used_pct = 92, worst_domain_pct = 93,
      domain_imbalance = 0.01, remote_pct = 4, cores = cores or 48, cores_needed = 14, gain_pct = 0, covered_pct = 100 }
end

local function job(i, waits, more)
   local r = { kind = "job", node = more and more.node or "n1", class = "epyc-9654-2s192c-768g", time = T + 3600 * i,
      elapsed_s = more and more.s or 1000, saturation = waits, job = { id = i, user = "alice", name = "x", nodes = 2 } }
   return r
end

local function written(list)
   local rows = {}
   for i, one in ipairs(list) do
      rows[i] = own_store.record(one)
   end
   own_store.write(rows)
end

local function ask(id)
   local runs = jobid.runs(own_store.db, { kind = "job", id = id })
   return runs, job_store.answer(own_store.db, runs)
end

function TestWaits:test_a_store_says_what_records_say()
   written({ job(1, saturated()), job(1, saturated(), { node = "n2" }) })
   local runs, found = ask(1)
   local text = job_show.table(found, false)
   lu.assertStrContains(text, "memory: this job used 92 % of its nodes' memory bandwidth on average; 14 of 48 cores, "
      .. "spread over its NUMA nodes, move as much, fewer do not: more cores per node will not help")
   lu.assertNotNil(text:find("MEM_GB/s  MEM_%", 1, true), text)
   lu.assertNotNil(text:find("184%.0 +92"), text)
   found.id = "1"
   local memory = json.decode(job_export.json(found)).runs[1].memory
   lu.assertEquals({ memory.state, memory.used_pct, memory.cores_needed, memory.nodes, memory.of },
      { "saturated", 92, 14, 2, 2 })
   -- In the CSV they stand last: scripts count columns.
   local head = job_export.csv(found):match("^[^\r\n]+")
   lu.assertStrContains(head, ",check.traffic_peak_gbs,traffic_local_bytes,mem_gbs_mean,")
   lu.assertStrContains(head, "mem_covered_pct")
   found.made = { version = "1", time = "now" }
   lu.assertStrContains(job_page(found), "14 of 48 cores, spread over its NUMA nodes, move as much")
   local why = answer.of(own_store.db, runs)
   lu.assertStrContains(why_show.table(why, false), "memory: this job used 92 % of its nodes' memory bandwidth")
   lu.assertEquals(json.decode(why_show.json(why)).memory.state, "saturated")
end

function TestWaits:test_what_is_not_known_has_its_reason()
   written({ job(1, { unknown = "the job ran for less than 10 s" }), job(2), job(3, { unknown = NASTY }) })
   local _, found = ask(1)
   local text = job_show.table(found, false)
   lu.assertStrContains(text, "this job used is not known: the job ran for less than 10 s")
   lu.assertNil(text:find("MEM_", 1, true))
   -- A machine that counts nothing.
   local runs
   runs, found = ask(2)
   lu.assertNil(job_show.table(found, false):find("memory:", 1, true))
   lu.assertNil(json.decode(job_export.json(found)).runs[1].memory)
   lu.assertNil(why_show.table(answer.of(own_store.db, runs), false):find("memory:", 1, true))
   runs, found = ask(3)
   lu.assertStrMatches(job_show.table(found, false):gsub("\n", ""), "[ -~]+")
   lu.assertStrMatches(why_show.table(answer.of(own_store.db, runs), false):gsub("\n", ""), "[ -~]+")
end

-- Anybody may have written a record.
function TestWaits:test_anything_may_stand_there()
   for _, junk in ipairs({ 1, "x", { 1 }, { unknown = {} }, { unknown = 5, source = {} } }) do
      local list = { { kind = "job", id = "j", node = "n1", time = "2026-11-21T06:36:31Z", job = { id = 1 },
         elapsed_s = 10, saturation = junk } }
      lu.assertNil(job_show.table(job_records.answer(list), false):find("memory:", 1, true))
   end
end

-- What like runs took with fewer cores replaces the curve.
function TestWaits:test_like_runs_with_other_core_counts()
   local list = {}
   for i = 1, 6 do
      list[i] = job(i, saturated(), { s = 1000 + i })
   end
   for i = 7, 9 do
      list[i] = job(i, saturated(24), { s = 1020 + i })
   end
   list[10] = job(10, saturated(12), { s = 1900 })
   list[11] = job(11, { unknown = "x" }, { s = 1 })
   written(list)
   local memory, like = stored_waits.of(own_store.db, ask(1)[1].key, tostring)
   lu.assertEquals(memory.state, "saturated")
   lu.assertEquals({ like.cores, like.runs }, { 24, 3 })
   lu.assertAlmostEquals(like.ratio, 1028 / 1003.5, 0.001)
   lu.assertStrContains(why_show.table(answer.of(own_store.db, (ask(1))), false),
      "3 like runs with 24 cores a node took 1.02 times as long")
   -- Those that know no cores are none.
   local _, none = stored_waits.of(own_store.db, ask(11)[1].key, tostring)
   lu.assertNil(none)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
