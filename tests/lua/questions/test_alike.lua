-- Before there is a baseline: a job's nodes against each other and their class.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local alike = require("syscheck.questions.job.alike")
local export = require("syscheck.questions.job.export")
local job_store = require("syscheck.questions.job.read")
local jobid = require("syscheck.questions.jobid")
local own = require("own_store")
local show = require("syscheck.questions.job.show")

local CLASS = "epyc-9654-2s192c-768g"
local ALL, SOME = { left_out = "" }, { left_out = "4-191", list = "0-3" }

local function row(node, triad, more)
   local one = { node = node, class = CLASS, metrics = { triad_gbs = triad }, unrated = true,
      alike = alike.keys(CLASS, ALL, { triad_gbs = 2 }) }
   for k, v in pairs(more or {}) do
      one[k] = v
   end
   return one
end

local function job(n, more)
   local rows = {}
   for i = 1, n do
      rows[i] = row("n" .. i, 400 + i % 5, more)
   end
   return rows
end

local function said(rows, class)
   local out = {}
   for i, one in ipairs(alike.of_run(rows, class)) do
      out[i] = one.node .. ": " .. one.text
   end
   return out
end

TestAlike = {}

function TestAlike:test_one_of_sixteen()
   local rows = job(16)
   lu.assertEquals(said(rows), {})
   rows[7].metrics.triad_gbs = 276
   lu.assertEquals(said(rows), { "n7: triad 31 % below the 15 others of this job" })
   local one = alike.of_run(rows)[1]
   lu.assertEquals({ one.row, one.name, one.others, one.of, one.value, one.median }, { 7, "triad_gbs", 15, "job", 276,
      402 })
   lu.assertEquals(alike.sentence(one),
      "triad 31 % below the 15 others of this job (276.0 GB/s, their median 402.0 GB/s)")
   -- Better than the others is no warning, nor what a baseline has rated; latency is the other way round.
   rows[7].metrics.triad_gbs = 800
   lu.assertEquals(said(rows), {})
   rows[7].metrics.triad_gbs, rows[7].unrated = 276, false
   lu.assertEquals(said(rows), {})
   for _, r in ipairs(rows) do
      r.metrics, r.alike = { latency_ns = r.node == "n3" and 160 or 100 }, alike.keys(CLASS, ALL, { latency_ns = 5 })
   end
   lu.assertEquals(said(rows), { "n3: latency 60 % above the 15 others of this job" })
end

-- Two say nothing about who is bad, and few say little.
function TestAlike:test_few()
   lu.assertEquals(said({ row("n1", 400), row("n2", 276) }),
      { "n2: triad 31 % below the other node of this job: two do not say which is right" })
   lu.assertEquals(said({ row("n1", 400), row("n2", 350) }), {})
   lu.assertEquals(said({ row("n1", 400), row("n2", 400), row("n3", 352) }), {})
   lu.assertEquals(said({ row("n1", 400), row("n2", 400), row("n3", 280) }),
      { "n3: triad 30 % below the 2 others of this job" })
   lu.assertEquals(said({ row("n1", 400) }), {})
   lu.assertEquals(said({}), {})
end

-- A third of them is no single node's matter.
function TestAlike:test_a_group()
   local rows = job(9)
   for i = 1, 3 do
      rows[i].metrics.triad_gbs = 250
   end
   local out = said(rows)
   lu.assertEquals(#out, 3)
   lu.assertStrContains(out[1], "others of this job, as are 3 of its 9 nodes (n[1-3]): other hardware, or one fault?")
end

-- Half of them, of few and of many.
function TestAlike:test_two_halves()
   for _, n in ipairs({ 4, 16, 18, 64 }) do
      local values = {}
      for i = 1, n do
         values[i] = i <= n / 2 and 280 or 400 + i % 3
      end
      lu.assertEquals(#alike.out("triad_gbs", values), n / 2)
   end
end

-- Another class, other CPUs, another time box, no word on them: another quantity.
function TestAlike:test_only_what_is_alike()
   local rows = job(12)
   local unlike = { alike.keys("epyc-9654-2s192c-736g", ALL, { triad_gbs = 2 }),
      alike.keys(CLASS, SOME, { triad_gbs = 2 }), alike.keys(CLASS, ALL, { triad_gbs = 10 }),
      alike.keys(CLASS, nil, {}), alike.keys(CLASS, ALL, {}) }
   for i, keys in ipairs(unlike) do
      rows[i].metrics.triad_gbs, rows[i].alike = 200, keys
   end
   lu.assertEquals(said(rows), {})
   rows[12].metrics.triad_gbs = 200
   lu.assertEquals(said(rows), { "n12: triad 50 % below the 6 others of this job" })
   -- A value of nothing is none.
   rows[12].metrics.triad_gbs = 0
   lu.assertEquals(said(rows), {})
end

function TestAlike:test_the_class()
   local function class(values)
      return function()
         return values
      end
   end
   local rows = { row("n1", 276), row("n2", 278) }
   lu.assertEquals(said(rows, class({ 400, 401, 402, 399, 403 })), { "n1: triad 31 % below 5 other nodes of its class",
      "n2: triad 31 % below 5 other nodes of its class" })
   lu.assertEquals(said(rows, class({ 400, 401 })), {})
   lu.assertEquals(said(rows, class({})), {})
   -- Which of two is right their class says; where it does not, they are told.
   rows = { row("n1", 400), row("n2", 276) }
   lu.assertEquals(said(rows, class({ 400, 401, 402 })), { "n2: triad 31 % below 3 other nodes of its class" })
   for _, values in ipairs({ { 400, 401 }, { 200, 300, 400, 500 } }) do
      lu.assertEquals(said(rows, class(values)),
         { "n2: triad 31 % below the other node of this job: two do not say which is right" })
   end
   -- What its own job said already is not said again.
   rows = job(8)
   rows[1].metrics.triad_gbs = 200
   lu.assertEquals(said(rows, class({ 400, 401, 402 })), { "n1: triad 50 % below the 7 others of this job" })
end

-- Healthy jobs of noisy nodes are told in less than one of 50, a node that is 30 % slow is found.
function TestAlike:test_rates()
   math.randomseed(1)
   local function normal()
      return math.sqrt(-2 * math.log(1 - math.random())) * math.cos(2 * math.pi * math.random())
   end
   for _, n in ipairs({ 3, 4, 8, 16, 64 }) do
      local wrong, hits, times = 0, 0, 200
      for _ = 1, times do
         local values = {}
         for i = 1, n do
            values[i] = 100 + 3 * normal()
         end
         wrong = wrong + #alike.out("triad_gbs", values)
         values[1] = 0.7 * values[1]
         local out = alike.out("triad_gbs", values)
         hits = hits + (out[1] and out[1].index == 1 and 1 or 0)
      end
      lu.assertTrue(wrong <= 4, n)
      lu.assertTrue(hits > 0.9 * times, n)
   end
end

TestStore = { setUp = own.setUp, tearDown = own.tearDown }

local NOW = 1790000000

local function record(node, triad, id, more)
   local r = { kind = "check", node = node, time = NOW + id, class = CLASS, level = "quick", status = "unrated",
      cpus = { list = "0-191", count = 192, of = 192, left_out = "", jobs = true }, job = { id = id, nodes = 4 },
      runs = { { kernel = "stream", state = "ok", box_s = 2, result = { triad_gbs = triad } } },
      metrics = { { name = "triad_gbs", value = triad, status = "unrated" } } }
   for k, v in pairs(more or {}) do
      r[k] = v
   end
   return own.record(r)
end

local function answer(id)
   local list = job_store.answer(own.db, jobid.runs(own.db, (jobid.parse(tostring(id)))))
   list.id = tostring(id)
   return list
end

function TestStore:test_job_and_class()
   local list = {}
   for i = 1, 20 do
      list[i] = record("n" .. i, 400 + i % 5, 1)
   end
   -- A job of two nodes that are both slow; one of a node that a baseline rated; a warning for another reason.
   for i = 1, 2 do
      list[#list + 1] = record("s" .. i, 280, 2)
   end
   list[#list + 1] = record("s3", 280, 3, { status = "pass", baseline = { hash = "0123abcd" } })
   list[#list + 1] = record("s4", 280, 4, { status = "warn", baseline = { hash = "none" } })
   own.write(list)
   lu.assertEquals(answer(1)[1].warnings, {})
   local two = answer(2)
   lu.assertEquals({ #two[1].warnings, two[1].warnings[1].of, two[1].warnings[1].others }, { 2, "class", 22 })
   lu.assertStrContains(show.table(two, false, true, 200), "s1: warn: triad 30 % below 22 other nodes of its class")
   lu.assertStrContains(export.json(two), '"status":"warn"')
   lu.assertEquals(answer(3)[1].warnings, {})
   lu.assertEquals(#answer(4)[1].warnings, 1)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
