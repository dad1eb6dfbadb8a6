-- run.elapsed_s is what its job records say, in whatever order they come and go.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local clusters = require("syscheck.store.clusters")
local elapsed = require("syscheck.store.elapsed")
local own_store = require("own_store")
local prune = require("syscheck.store.prune")
local runs = require("syscheck.store.runs")
local uv = require("luv")
local why_times = require("syscheck.questions.why.times")
local writer = require("syscheck.store.writer")

TestElapsed = {}

local T = 1795161600 -- 2026-11-20T08:00:00Z
local db

function TestElapsed:setUp()
   own_store.setUp()
   db = own_store.db
end

TestElapsed.tearDown = own_store.tearDown

-- A node's record of a job.
local function job(node, job_id, end_s, seconds, more)
   local r = { kind = "job", node = "n" .. node, time = T + end_s, elapsed_s = seconds,
      job = { id = job_id, user = "alice", name = "x", nodes = 2 } }
   for name, value in pairs(more or {}) do
      r[name] = value
   end
   return own_store.record(r)
end

-- Writes a batch; it asks once for each run at most.
local function write(work, list)
   local read, asked = elapsed.read, {}
   function elapsed.read(from, run, seen)
      lu.assertNil(asked[run])
      asked[run] = true
      return read(from, run, seen)
   end
   work:write({ rows = list, files = {} })
   elapsed.read = read
end

-- Each run's time as it is stored, and as its records have it; asserts that they are one.
local function check(what)
   local times = {}
   for t in db:rows("SELECT r.id, r.elapsed_s FROM run r") do
      local rows = {}
      for j in db:rows("SELECT j.elapsed_s FROM job_node j WHERE j.run = ?", t[1]) do
         rows[#rows + 1] = { elapsed_s = j[1] }
      end
      lu.assertEquals(t[2], why_times.elapsed(rows), what)
      times[#times + 1] = t[2]
   end
   return times
end

function TestElapsed:test_median_without_what_is_not_known()
   lu.assertNil(runs.elapsed({}))
   lu.assertNil(runs.elapsed({ 0 }))
   lu.assertEquals(runs.elapsed({ 30, 0, 10 }), 20)
   write(writer.new(db), { job(1, 1, 100, 100), job(2, 1, 100, 98), job(3, 1, 300, nil), job(4, 1, 900, 0) })
   lu.assertEquals(check(), { 99 })
end

function TestElapsed:test_time_that_it_was_suspended_is_left_out()
   write(writer.new(db), { job(1, 1, 100, 100, { cgroup = { suspended_ms = 40000 } }) })
   lu.assertEquals(check(), { 60 })
end

function TestElapsed:test_in_any_order_and_batch()
   math.randomseed(12)
   for round = 1, 20 do
      local list = {}
      for id = 1, 8 do
         local nodes = math.random(1, elapsed.ALL // 2)
         for node = 1, nodes do
            local seconds = math.random(50, 150)
            -- A part of the nodes is far away in time until one spans all: then two runs are joined.
            local late = id % 3 == 0 and node > nodes // 2 and 4000 or 0
            table.insert(list, math.random(#list + 1), job(node, round * 100 + id, seconds + late, seconds))
         end
         if id % 3 == 0 then
            table.insert(list, job(99, round * 100 + id, 4200, 4150))
         end
      end
      local work, at = nil, 1
      while at <= #list do
         if not work or math.random() < 0.3 then
            work = writer.new(db) -- as another process
         end
         local to = math.min(#list, at + math.random(1, 40))
         write(work, { table.unpack(list, at, to) })
         at = to + 1
      end
      check(round)
   end
   -- What is read again changes nothing.
   local before = check()
   local again = job(1, 7, 100, 100)
   write(writer.new(db), { again })
   write(writer.new(db), { again, again })
   lu.assertEquals(#check(), #before + 1)
end

function TestElapsed:test_prune_leaves_the_time_of_what_is_left()
   local work = writer.new(db)
   write(work, { job(1, 1, 100, 100), job(2, 1, 100, 100), job(3, 1, 205, 200), job(1, 2, 90, 80), job(1, 3, 300, 7) })
   lu.assertEquals(#check(), 3)
   local sleep = uv.sleep
   uv.sleep = function() end
   lu.assertEquals(prune.before(db, T + 200).jobs, 3)
   uv.sleep = sleep
   local left = check()
   table.sort(left)
   lu.assertEquals(left, { 7, 200 })
   -- The ingest that ran meanwhile knows of what is left, and of no more.
   write(work, { job(4, 1, 210, 230) })
   lu.assertItemsEquals(check(), { 7, 215 })
end

function TestElapsed:test_a_move_to_another_cluster()
   write(writer.new(db), { job(1, 1, 100, 100), job(5, 2, 100, 60, { cluster = "" }), job(5, 3, 900, 70) })
   clusters.unite(db)
   lu.assertEquals(db:row("SELECT COUNT(*) FROM run r JOIN word w ON w.id = r.cluster WHERE w.text = ''")[1], 0)
   lu.assertEquals(#check(), 3)
   write(writer.new(db), { job(6, 2, 100, 80) })
   lu.assertItemsEquals(check(), { 100, 70, 70 })
end

-- A share of the nodes stands for all, and few batches of many read it.
function TestElapsed:test_large_runs()
   math.randomseed(5)
   local work, values = writer.new(db), {}
   for node = 1, 3000, 100 do
      local list = {}
      for i = node, node + 99 do
         local seconds = 1000 + math.random(-50, 50)
         list[#list + 1] = job(i, 1, 1000, seconds, { job = { id = 1, nodes = 3000 } })
         values[i] = seconds
      end
      write(work, list)
   end
   local t = db:row("SELECT r.elapsed_s, r.seen FROM run r")
   lu.assertEquals(t[2], 3000)
   lu.assertAlmostEquals(t[1], runs.elapsed(values), 25)
   local count = #elapsed.read(db, 1, 3000)
   lu.assertTrue(count > elapsed.ALL // 2 and count < elapsed.ALL * 2, count)
   local reads = 0
   for seen = 2, 10000 do
      reads = reads + (elapsed.is_due(seen - 1, seen, 10000) and seen > elapsed.ALL and 1 or 0)
   end
   lu.assertTrue(reads < 50, reads)
   lu.assertTrue(elapsed.is_due(9999, 10000, 10000))
end

-- Times of the runs that are like the first.
local function like_times()
   local out = {}
   for _, run in ipairs(why_times.new(db):of(1).like) do
      out[#out + 1] = run.elapsed_s
   end
   return out
end

-- Runs of an older ingest have none: questions read their records as before.
function TestElapsed:test_questions_of_old_runs()
   local list = {}
   for id = 1, 5 do
      for node = 1, id == 5 and 40 or 2 do
         list[#list + 1] = job(node, id, id * 1000, 100 * id)
      end
   end
   write(writer.new(db), list)
   local new = like_times()
   lu.assertItemsEquals(new, { 200, 300, 400, 500 })
   db:exec("UPDATE run SET elapsed_s = NULL")
   lu.assertItemsEquals(like_times(), new)
   -- One that gets another record has it from then on.
   write(writer.new(db), { job(3, 2, 2000, 230) })
   local known = db:row("SELECT COUNT(*), MAX(r.elapsed_s) FROM run r WHERE r.elapsed_s IS NOT NULL")
   lu.assertEquals(known, { 1, 200 })
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
