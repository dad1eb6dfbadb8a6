-- Which of a job's like runs lost nothing to trouble of their nodes.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local data = require("syscheck.questions.why.read")
local jobid = require("syscheck.questions.jobid")
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
   lu.assertNil(which(like_runs(30, function(i)
      return 0, i % 5 == 0 and QUIET or BAD
   end)))
   lu.assertNil(which(like_runs(30, function(i)
      return i % 5 == 0 and 0 or 150, QUIET
   end)))
   lu.assertNil(which(like_runs(30, function(i)
      return i % 5 == 0 and 0 or 150, i % 5 == 0 and QUIET or 10 * QUIET
   end)))
   -- The shorter ones had it.
   lu.assertNil(which(like_runs(30, function(i)
      return i % 5 == 0 and 0 or 150, i % 5 == 0 and BAD or QUIET
   end)))
end

-- What nodes are set to is their class's: an older one has a lower clock.
function TestUntroubled:test_a_class()
   local function at(limit)
      local list = like_runs(30, function(i)
         return i % 5 == 0 and 0 or 150, QUIET
      end)
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

-- Who reads a third more takes longer for that.
function TestUntroubled:test_those_in_trouble_did_more()
   local list = like_runs(30, function(i)
      return i % 5 == 0 and 0 or 330, i % 5 == 0 and QUIET or BAD
   end)
   for i, run in ipairs(list) do
      for _, row in ipairs(run.rows) do
         row.cg_read_bytes = (i % 5 == 0 and 1 or 1.33) * 1e11 * (1 + i % 7 / 500)
      end
   end
   lu.assertNil(which(list))
end

function TestUntroubled:test_values_that_are_none()
   local list = like_runs(30, function(i)
      return i % 5 == 0 and 0 or 150, i % 5 == 0 and QUIET or BAD
   end)
   for _, run in ipairs(list) do
      for k, value in ipairs({ -1, 0 / 0, math.huge }) do
         run.rows[(run.key + k) % 16 + 1].steal_worst_ms = value
      end
      run.rows[(run.key + 4) % 16 + 1].elapsed_s = 0
   end
   list[1].elapsed_s, list[2].rows = nil, {}
   lu.assertEquals(#which(list), 6, "of one without rows nothing is known")
end

-- Read from a store: most of a kind's runs were slowed, and one that lost a fifth is slow.
function TestUntroubled:test_an_answer()
   local rows = {}
   for i = 1, 24 do
      local clean = i % 6 == 0
      local elapsed_s = (clean and 1000 or 1150 + 15 * (i % 9)) + i % 4
      local from_s = T + 7200 * i
      for k = 1, 16 do
         rows[#rows + 1] = own_store.record({ kind = "job", node = ("n%02d"):format(k), class = CLASS,
            time = from_s + elapsed_s, elapsed_s = elapsed_s, begin = os.date("!%Y-%m-%dT%H:%M:%SZ", from_s),
            delta = { cpu = { steal_worst_ms = not clean and k == i % 16 + 1 and BAD or QUIET } },
            job = { id = i, user = "alice", name = "wave", nodes = 16 } })
      end
   end
   own_store.write(rows)
   local function ask(id)
      local input = data.read(own_store.db, jobid.runs(own_store.db, { kind = "job", id = id })[1])
      return why.analyse(input).slow
   end
   local slow = ask(14)
   lu.assertEquals({ slow.verdict, slow.count, slow.troubled }, { "slow", 4, 19 })
   lu.assertAlmostEquals(slow.ratio, 1.2, 0.05)
   lu.assertStrContains(words.slow("14", slow, tostring),
      "what 4 like runs with no trouble seen on a node (19 more had some) took (these 1.00x to 1.00x; ")
   lu.assertEquals(ask(12).verdict, "no")
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
