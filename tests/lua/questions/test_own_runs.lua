-- A node that slowed most like runs of a job is not hidden by them: `why` and `suspects` judge it by the others.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local data = require("syscheck.questions.why.read")
local jobid = require("syscheck.questions.jobid")
local own_store = require("own_store")
local suspects_data = require("syscheck.questions.suspects.read")
local why = require("syscheck.questions.why.logic")
local words = require("syscheck.questions.why.words")

TestOwnRuns = {}

local T = 1795161600 -- 2026-11-20T08:00:00Z
local db

function TestOwnRuns:setUp()
   own_store.setUp()
   db = own_store.db
end

TestOwnRuns.tearDown = own_store.tearDown

-- Runs of one kind on two nodes each, an hour apart; n1 is in two of three.
-- @param slow how much longer they are with n1
-- @param more how much more they read and write there; of both, or function(i) -> the same of run i
-- @param rare true: n1 is in every eighth, of twice as many
local function write(slow, more, rare)
   local rows = {}
   local function of_run(much, i)
      return type(much) == "function" and much(i) or much
   end
   for i = 1, rare and 64 or 30 do
      local other = rare and i % 8 > 0 or not rare and i % 3 == 0
      local first = other and 2 + i % 4 or 1
      local seconds = (first == 1 and of_run(slow, i) or 1) * (1000 + 3 * (i % 5))
      local work = (first == 1 and of_run(more, i) or 1) * (1 + i % 4 / 100)
      for _, node in ipairs({ first, 10 + i % 7 }) do
         rows[#rows + 1] = own_store.record({ kind = "job", node = "n" .. node, class = "epyc-9654-2s192c-768g",
            time = T + 3600 * i, elapsed_s = seconds,
            cgroup = { read_bytes = 1e11 * work, written_bytes = 4e10 * work },
            job = { id = i, user = "alice", name = "x", nodes = 2 } })
      end
   end
   own_store.write(rows)
end

local function ask(job)
   local runs = jobid.runs(db, { kind = "job", id = job })
   local input, name = data.read(db, runs[1])
   local answer = why.analyse(input)
   return answer, words.conclusion(answer, { label = tostring(job), nodes = 2 }, name), name
end

function TestOwnRuns:test_most_like_runs_were_on_the_bad_node()
   write(1.5)
   local answer, text, name = ask(16)
   lu.assertEquals(name(answer.named.node), "n1")
   lu.assertEquals(answer.slow.verdict, "slow")
   lu.assertAlmostEquals(answer.slow.ratio, 1.5, 0.01)
   lu.assertStrContains(text, "job 16 took 1.50x what 10 like runs that were not on n1 (19 were) took")
   -- A job that was not on it is as it always was.
   answer = ask(15)
   lu.assertNil(answer.named)
   lu.assertEquals(answer.slow.verdict, "no")
end

-- One of many may do more by chance: what the others on the node did says whether it gets the larger inputs.
function TestOwnRuns:test_one_run_that_did_more()
   write(1.5, function(i)
      return i == 16 and 1.25 or 1
   end)
   local answer, _, name = ask(16)
   lu.assertEquals(name(answer.named.node), "n1")
   lu.assertEquals(answer.slow.without, answer.named.node)
end

-- Nor do its runs of the usual input say that the larger ones were no larger.
function TestOwnRuns:test_a_node_that_gets_some_larger_inputs()
   local function larger(i)
      return i % 3 > 0 and i % 5 < 2
   end
   write(function(i)
      return larger(i) and 1.5 or 1.04
   end, function(i)
      return larger(i) and 1.5 or 1
   end)
   for i = 1, 30 do
      if larger(i) then
         lu.assertTrue((ask(i)).named == nil, i)
      end
   end
end

function TestOwnRuns:test_a_node_that_most_runs_like()
   write(1)
   local answer = ask(16)
   lu.assertNil(answer.named)
   lu.assertEquals({ answer.slow.verdict, answer.slow.count, answer.slow.without }, { "no", 29, nil })
end

-- Runs on three of twelve nodes in turn; those with a node whose link has a quarter of its rate (a third of the nodes:
-- none is in most runs) are slower.
local function write_links(slow, more)
   local rows = {}
   for i = 1, 48 do
      local bad = i % 4 > 0
      local work = (bad and more or 1) * (1 + i % 5 / 100)
      for k = 0, 2 do
         local node = k == 0 and bad and 1 + i % 4 or 5 + (i + k) % 8
         rows[#rows + 1] = own_store.record({ kind = "job", node = "n" .. node, class = "epyc-9654-2s192c-768g",
            time = T + 3600 * i, elapsed_s = (bad and slow or 1) * (1000 + 3 * (i * 7 % 11)),
            cgroup = { read_bytes = work * 1e11, written_bytes = work * 4e10 },
            ["end"] = { link = { active_ports = 1, rate_gbps = node <= 4 and 25 or 100 } },
            job = { id = i, user = "alice", name = "x", nodes = 3 } })
      end
   end
   own_store.write(rows)
end

-- No job sets a link to a lower rate: that those with one are slower says what it costs.
function TestOwnRuns:test_most_like_runs_had_a_slow_link()
   write_links(1.3)
   local answer, text = ask(23)
   lu.assertEquals(answer.named.group, "link")
   lu.assertTrue(answer.named.harm > 10) -- by the other runs under it
   lu.assertEquals(answer.slow.verdict, "slow")
   lu.assertAlmostEquals(answer.slow.ratio, 1.3, 0.03)
   lu.assertStrContains(text, "whose nodes all had a higher slowest InfiniBand port's rate (")
   answer = ask(24)
   lu.assertNil(answer.named)
   self:tearDown()
   self:setUp()
   write_links(1)
   lu.assertNil((ask(23)).named)
   self:tearDown()
   self:setUp()
   write_links(1.3, 1.3)
   lu.assertNil((ask(23)).named)
end

-- Every third run on nodes of an older class, whose clock limit is what that class has by design.
function TestOwnRuns:test_a_class_is_set_as_it_is_by_design()
   local rows = {}
   for i = 1, 60 do
      local old = i % 3 == 0
      rows[#rows + 1] = own_store.record({ kind = "job", node = (old and "o" or "n") .. 1 + i % 10,
         class = old and "epyc-7452-2s64c-256g" or "epyc-9654-2s192c-768g", time = T + 3600 * i,
         elapsed_s = (old and 1.4 or 1) * (1000 + 3 * (i * 7 % 11)),
         ["end"] = { limits = { clock_mhz = old and 2600 or 3700 } },
         job = { id = i, user = "alice", name = "x", nodes = 1 } })
   end
   own_store.write(rows)
   lu.assertNil((ask(30)).named)
   lu.assertEquals(suspects_data.find(db, 0), {})
end

-- Nodes of which every third run's say what their power limit is; they are slower for another reason, and two of them
-- have a lower limit.
function TestOwnRuns:test_what_was_not_recorded_is_not_full()
   local rows = {}
   for i = 1, 48 do
      local new = i % 3 == 0
      for k = 0, 2 do
         local node = not new and 9 + (i + k) % 10 or k == 0 and 1 + i // 3 % 2 or 3 + (i // 3 + k) % 6
         rows[#rows + 1] = own_store.record({ kind = "job", node = "n" .. node, class = "epyc-9654-2s192c-768g",
            time = T + 3600 * i, elapsed_s = (new and 1.3 or 1) * (1000 + 3 * (i * 7 % 11)),
            ["end"] = new and { limits = { power_w = node <= 2 and 280 or 360 } } or nil,
            job = { id = i, user = "alice", name = "x", nodes = 3 } })
      end
   end
   own_store.write(rows)
   lu.assertNil((ask(21)).named)
   lu.assertNil((ask(24)).named)
end

-- One with much memory that gets the large inputs slows nobody.
function TestOwnRuns:test_a_node_that_gets_the_larger_inputs()
   for _, rare in ipairs({ false, true }) do
      write(1.5, 1.5, rare)
      lu.assertNil((ask(16)).named)
      lu.assertEquals(suspects_data.find(db, 0), {})
      self:tearDown()
      self:setUp()
   end
   write(1.5, 1, true)
   lu.assertEquals(#suspects_data.find(db, 0), 1)
end

function TestOwnRuns:test_suspects()
   write(1.5)
   local found = suspects_data.find(db, 0)
   lu.assertEquals(#found, 1)
   lu.assertEquals(found[1].name, "n1")
   lu.assertAlmostEquals(found[1].cost, 1.5, 0.01)
   self:tearDown()
   self:setUp()
   write(1)
   lu.assertEquals(suspects_data.find(db, 0), {})
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
