-- Which of a job's like runs lost nothing to trouble of their nodes.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local data = require("syscheck.questions.why.read")
local jobid = require("syscheck.questions.jobid")
local odds = require("syscheck.questions.why.odds")
local own_store = require("own_store")
local untroubled = require("syscheck.questions.why.untroubled")
local why = require("syscheck.questions.why.logic")
local words = require("syscheck.questions.why.words")

TestUntroubled = { setUp = own_store.setUp, tearDown = own_store.tearDown }

local T = 1795161600 -- 2026-11-20T08:00:00Z
local CLASS = "epyc-9654-2s192c-768g"
local QUIET, BAD = 2000, 200e3 -- of a core, taken by the hypervisor

-- So many like runs of 16 nodes, 1,000 s each, of which some had a node that waited and took longer.
-- @param trouble function(i) -> seconds more, worst core's steal in ms of one of the nodes
local function like_runs(count, trouble)
   local list = {}
   for i = 1, count do
      local more, steal = trouble(i)
      local run = { key = i, begin_s = T + 7200 * i, elapsed_s = 1000 + more + i % 4, rows = {} }
      for k = 1, 16 do
         run.rows[k] = { run = i, node = k, class = 1, elapsed_s = run.elapsed_s, cores = 192,
            steal_worst_ms = k == i % 16 + 1 and steal or QUIET + 20 * (i * k % 7) }
      end
      list[i] = run
   end
   return list
end

-- Four of five runs took longer, and had so much steal; the fifth as much as it is told.
local function four_of_five(more, steal, other)
   return function(i)
      if i % 5 == 0 then
         return 0, other or QUIET
      end
      return more, steal
   end
end

local function which(list)
   local has, out = untroubled.of(list), {}
   for _, run in ipairs(has and list or {}) do
      out[#out + 1] = has(run) == false and run.key or nil
   end
   return has and out
end

function TestUntroubled:test_most_had_trouble()
   local function trouble(i)
      return i % 5 == 0 and 0 or 150 + 10 * (i % 7), i % 5 == 0 and QUIET or BAD
   end
   local list = like_runs(30, trouble)
   lu.assertEquals(which(list), { 5, 10, 15, 20, 25, 30 })
   lu.assertNil(untroubled.of(list)({ key = 31 }), "whose conditions are not known")
   lu.assertNil(which(like_runs(9, trouble)), "too few")
   lu.assertNil(which(like_runs(10, trouble)), "two without trouble")
   lu.assertNil(which({}))
end

-- What is there and slows nobody is no trouble, nor what all nodes have, or hardly any of.
function TestUntroubled:test_none_was_slowed()
   lu.assertNil(which(like_runs(30, four_of_five(0, BAD))))
   lu.assertNil(which(like_runs(30, four_of_five(150, QUIET))))
   lu.assertNil(which(like_runs(30, four_of_five(150, 10 * QUIET))))
   -- The shorter ones had it.
   lu.assertNil(which(like_runs(30, four_of_five(150, QUIET, BAD))))
end

-- What nodes are set to is their class's: an older one has a lower clock.
function TestUntroubled:test_a_class()
   local function at(limit)
      local list = like_runs(30, four_of_five(150, QUIET))
      for i, run in ipairs(list) do
         for k, row in ipairs(run.rows) do
            row.class = k > 12 and 2 or 1
            row.clock_limit_mhz = k > 12 and i % 5 ~= 0 and k == 13 and limit or k > 12 and 2000 or 3000
         end
      end
      return which(list)
   end
   lu.assertEquals(at(1500), { 5, 10, 15, 20, 25, 30 })
   lu.assertNil(at(2000))
end

-- What most nodes of a run have is the job's doing: more tasks than CPUs, an input that throttles all. So is all that
-- one node has where the job has no other.
function TestUntroubled:test_what_the_job_does()
   local function ask(nodes, bad)
      local list = like_runs(30, four_of_five(250, QUIET))
      for i, run in ipairs(list) do
         run.rows = table.move(run.rows, 1, nodes, 1, {})
         for k = 1, i % 5 > 0 and bad or 0 do
            run.rows[k].steal_worst_ms = BAD
         end
      end
      return which(list)
   end
   lu.assertNil(ask(16, 16))
   lu.assertNil(ask(16, 8))
   lu.assertEquals(#ask(16, 7), 6)
   lu.assertNil(ask(1, 1))
end

-- A class that always throttles, and is slower.
function TestUntroubled:test_a_class_that_throttles()
   local list = like_runs(30, function(i)
      return i % 2 == 0 and 0 or 250, QUIET
   end)
   for i, run in ipairs(list) do
      for k, row in ipairs(run.rows) do
         local old = i % 2 == 1 and k <= 7
         row.class, row.throttle_package_worst_ms = old and 2 or 1, old and 200e3 or 0
      end
   end
   lu.assertNil(which(list))
end

-- Runs whose nodes do not count what is trouble to others may have had it.
function TestUntroubled:test_what_is_not_counted()
   local list = like_runs(30, four_of_five(250, BAD, BAD))
   for i, run in ipairs(list) do
      for _, row in ipairs(i % 5 == 0 and run.rows or {}) do
         row.steal_worst_ms = nil
      end
   end
   lu.assertNil(which(list))
end

-- Who reads a third more takes longer for that.
function TestUntroubled:test_those_in_trouble_did_more()
   local list = like_runs(30, four_of_five(330, BAD))
   for i, run in ipairs(list) do
      for _, row in ipairs(run.rows) do
         row.cg_read_bytes = (i % 5 == 0 and 1 or 1.33) * 1e11 * (1 + i % 7 / 500)
      end
   end
   lu.assertNil(which(list))
end

function TestUntroubled:test_values_that_are_none()
   local list = like_runs(30, four_of_five(150, BAD))
   for _, run in ipairs(list) do
      for k, value in ipairs({ -1, 0 / 0, math.huge }) do
         run.rows[(run.key + k) % 16 + 1].steal_worst_ms = value
      end
      run.rows[(run.key + 4) % 16 + 1].elapsed_s = 0
   end
   list[1].elapsed_s, list[2].rows = nil, {}
   lu.assertEquals(#which(list), 6, "of one without rows nothing is known")
end

-- So many runs of 16 nodes in the store, of which some had a bad node.
-- @param of function(i) -> its seconds, whether it had
-- @return function(ID) -> of why.slow
local function stored(count, of)
   local rows = {}
   for i = 1, count do
      local elapsed_s, bad = of(i)
      local from_s = T + 7200 * i
      for k = 1, 16 do
         rows[#rows + 1] = own_store.record({ kind = "job", node = ("n%02d"):format(k), class = CLASS,
            time = from_s + elapsed_s, elapsed_s = elapsed_s, begin = os.date("!%Y-%m-%dT%H:%M:%SZ", from_s),
            delta = { cpu = { steal_worst_ms = bad and k == i % 16 + 1 and BAD or QUIET } },
            job = { id = i, user = "alice", name = "wave", nodes = 16 } })
      end
   end
   own_store.write(rows)
   return function(id)
      return why.analyse((data.read(own_store.db, jobid.runs(own_store.db, { kind = "job", id = id })[1]))).slow
   end
end

-- Most of a kind's runs were slowed: one that lost a fifth is slow.
function TestUntroubled:test_an_answer()
   local ask = stored(24, function(i)
      local clean = i % 6 == 0
      return (clean and 1000 or 1150 + 15 * (i % 9)) + i % 4, not clean
   end)
   local slow = ask(14)
   lu.assertEquals({ slow.verdict, slow.count, slow.troubled }, { "slow", 4, 19 })
   lu.assertAlmostEquals(slow.ratio, 1.2, 0.05)
   lu.assertStrContains(words.slow("14", slow, tostring),
      "what 4 like runs with no trouble seen on a node (19 more had some) took (these 1.00x to 1.00x; ")
   lu.assertEquals(ask(12).verdict, "no")
end

-- One of two usual times is no trouble, whatever a node had then; nor does a trend count that only the others have.
function TestUntroubled:test_two_usual_times()
   local slow = stored(40, function(i)
      return (i % 5 < 2 and 1250 or 1000) + i % 7, i % 5 < 2
   end)(21)
   lu.assertEquals({ slow.verdict, slow.usual, slow.troubled }, { "no", true, nil })
end

function TestUntroubled:test_a_trend_of_the_others()
   local function ask(growing)
      return stored(40, function(i)
         local clean = i % 4 == 0
         return clean and 1000 + growing * i or 1060 + 40 * (i * 7 % 11), not clean
      end)(21)
   end
   lu.assertTrue(ask(0).troubled > 20)
   self:tearDown()
   self:setUp()
   local slow = ask(3)
   lu.assertEquals({ slow.troubled, slow.slope }, { nil, 0 })
end

-- Where most were slowed by this or that, a slow run says little of one node.
function TestUntroubled:test_how_often_others_slow_a_run()
   lu.assertAlmostEquals(odds.own_of(16, { count = 5, troubled = 15 }), 0.75, 1e-9)
   lu.assertTrue(odds.own_of(16, { count = 20 }) < 0.05)
   lu.assertTrue(odds.own_of(48, { count = 99, troubled = 1 }) > odds.own_of(16, { count = 99, troubled = 1 }))
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
