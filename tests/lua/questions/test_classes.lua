-- A node that has lost a DIMM has a class of its own; `why` and `suspects` compare it with what it was.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local classes = require("syscheck.questions.why.classes")
local data = require("syscheck.questions.why.read")
local fleet = require("syscheck.questions.fleet.logic")
local fleet_data = require("syscheck.questions.fleet.read")
local jobid = require("syscheck.questions.jobid")
local own_store = require("own_store")
local suspects_data = require("syscheck.questions.suspects.read")
local why = require("syscheck.questions.why.logic")
local words = require("syscheck.questions.why.words")

TestClasses = {}

local T, HOUR = 1795161600, 3600 -- 2026-11-20T08:00:00Z
local THIN, LOST, FAT, OTHER = "epyc-9654-2s192c-768g", "epyc-9654-2s192c-736g", "epyc-9654-2s192c-1536g",
   "epyc-9754-2s256c-768g"
local db

function TestClasses:setUp()
   own_store.setUp()
   db = own_store.db
end

TestClasses.tearDown = own_store.tearDown

-- Five days of jobs on two of 12 nodes, one an hour, and a check of each node a day; n1 is bad from hour 60 to 100.
-- @param class of n1 meanwhile
-- @param unseen true: its checks measured nothing then
-- @param slow how much longer its jobs took then
local function write(class, unseen, slow)
   local rows = {}
   for i = 1, 120 do
      for _, n in ipairs({ 1 + i % 6, 7 + i % 5 }) do
         local bad = i >= 60 and i <= 100 and (n == 1 or i % 6 == 0)
         rows[#rows + 1] = own_store.record({ kind = "job", node = "n" .. n, class = bad and n == 1 and class or THIN,
            time = T + i * HOUR, elapsed_s = (1000 + 7 * (i % 5)) * (bad and slow or 1),
            job = { id = i, user = "alice", name = "x", nodes = 2 } })
      end
      for n = 1, i % 20 == 0 and 12 or 0 do
         local bad = n == 1 and i >= 60 and i <= 100
         rows[#rows + 1] = own_store.record({ kind = "check", node = "n" .. n, class = bad and class or THIN,
            time = T + i * HOUR + 60, level = "quick", status = "pass", action = "none",
            metrics = { not (bad and unseen) and { name = "triad_gbs", value = (600 + n + i % 7) * (bad and 0.7 or 1),
               status = "pass" } or nil } })
      end
   end
   own_store.write(rows)
end

local function class_of(name)
   local t = db:row("SELECT w.id FROM word w WHERE w.text = ?", name)
   return t and t[1]
end

-- Checks of nodes, each of the classes that it had in order of time.
local function history(of)
   local rows = {}
   for n, list in ipairs(of) do
      for i, class in ipairs(list) do
         rows[#rows + 1] = own_store.record({ kind = "check", node = "n" .. n, class = class, time = T + i * HOUR,
            level = "quick", status = "pass", action = "none", metrics = {} })
      end
   end
   own_store.write(rows)
end

-- @return the name of the class that a node of a class is compared with
local function rated_as(n, class)
   local node = db:row("SELECT n.id FROM node n WHERE n.name = ?", "n" .. n)[1]
   local out = classes.rated_as(db)(node, class_of(class))
   return db:row("SELECT w.text FROM word w WHERE w.id = ?", out)[1]
end

function TestClasses:test_what_it_was()
   local much = "epyc-9654-2s192c-512g"
   history({ { THIN }, { THIN }, { THIN }, { THIN }, { THIN }, { FAT }, { THIN, LOST }, { LOST }, { LOST, THIN },
      { THIN, LOST, THIN }, { THIN, much }, { THIN, OTHER } })
   lu.assertEquals(rated_as(7, LOST), THIN)
   lu.assertEquals(rated_as(10, LOST), THIN)
   lu.assertEquals(rated_as(10, THIN), THIN)
   -- Bought so; got more later; more than any has; too little to be the same machine; another model.
   for n, class in pairs({ [8] = LOST, [9] = LOST, [6] = FAT, [11] = much, [12] = OTHER }) do
      lu.assertEquals(rated_as(n, class), class)
   end
   lu.assertNil(classes.rated_as(db)(1, nil))
   lu.assertEquals(classes.rated_as(db)(1, 4711), 4711)
end

-- A DIMM may have been lost before anybody looked.
function TestClasses:test_one_that_is_alone()
   local much, cores, quarter = "epyc-9654-2s192c-512g", "epyc-9654-2s160c-768g", "epyc-9654-2s192c-576g"
   local function ask(class, ...)
      self:tearDown()
      self:setUp()
      local of = { { THIN }, { THIN }, { THIN }, { THIN }, { THIN }, { class }, ... }
      history(of)
      return rated_as(6, class)
   end
   lu.assertEquals(ask(LOST), THIN)
   -- Another has it, or had when it was seen first.
   for _, other in ipairs({ { LOST }, { LOST, THIN } }) do
      lu.assertEquals(ask(LOST, other), LOST)
   end
   -- One that has lost it later is no company.
   lu.assertEquals(ask(LOST, { THIN, LOST, THIN }), THIN)
   for _, class in ipairs({ FAT, much, OTHER, cores, quarter }) do
      lu.assertEquals(ask(class), class)
   end
end

-- All get more memory: what they were before is compared with nothing that they are now.
function TestClasses:test_more_memory_for_all()
   history({ { LOST, THIN }, { LOST, THIN }, { LOST, THIN }, { LOST, THIN }, { LOST, THIN }, { LOST }, { LOST, THIN } })
   lu.assertEquals(rated_as(1, LOST), LOST)
   lu.assertEquals(rated_as(6, LOST), LOST)
end

-- Of a chassis, or by the same firmware, several lose one at once: fewer than have kept it.
function TestClasses:test_several_that_have_lost_one()
   local quarter, fewer = "epyc-9654-2s192c-576g", "epyc-9654-2s160c-768g"
   local function ask(class)
      self:tearDown()
      self:setUp()
      history({ { THIN }, { THIN }, { THIN }, { THIN }, { THIN }, { THIN }, { THIN, class }, { THIN, class },
         { THIN, class }, { THIN, class }, { THIN, class } })
      return rated_as(7, class)
   end
   lu.assertEquals(ask(LOST), THIN)
   -- More than one DIMM of so many nodes, or cores: they were changed.
   for _, class in ipairs({ quarter, fewer, FAT, OTHER, "unknown" }) do
      lu.assertEquals(ask(class), class)
   end
   -- Nor are those that say nothing of what they are.
   local of = {}
   for n = 1, 13 do
      of[n] = { n <= 8 and "unknown" or LOST }
   end
   self:tearDown()
   self:setUp()
   history(of)
   lu.assertEquals(rated_as(9, LOST), LOST)
end

-- A class that as many nodes have now is one of its own, whatever they were.
function TestClasses:test_many_that_have_less_now()
   history({ { THIN }, { THIN }, { THIN }, { THIN }, { THIN }, { THIN, LOST }, { THIN, LOST }, { THIN, LOST },
      { THIN, LOST }, { THIN, LOST } })
   lu.assertEquals(rated_as(7, LOST), LOST)
end

local function ask(job)
   local input, name = data.read(db, jobid.runs(db, { kind = "job", id = job })[1])
   local answer = why.analyse(input)
   return answer, words.conclusion(answer, { label = tostring(job), nodes = 2 }, name), name
end

-- That a DIMM is missing is there, whatever a check has measured since; what its jobs bore is no cause.
function TestClasses:test_a_lost_dimm_that_no_check_saw()
   write(LOST, true, 1.3)
   local answer, text, name = ask(78)
   lu.assertEquals({ name(answer.named.node), answer.named.group }, { "n1", "memory" })
   lu.assertStrContains(text, "n1: memory 736 GiB, its class 768 GiB")
   self:tearDown()
   self:setUp()
   write(LOST, true, 1)
   lu.assertNil((ask(78)).named)
   self:tearDown()
   self:setUp()
   write(THIN, true, 1.3)
   answer = ask(78)
   lu.assertTrue(not answer.named or answer.named.group ~= "memory")
end

function TestClasses:test_why_and_suspects()
   for _, class in ipairs({ THIN, LOST }) do
      write(class, false, 1.3)
      local answer, _, name = ask(78)
      lu.assertEquals({ name(answer.named.node), answer.named.group }, { "n1", "memory" }, class)
      local found = suspects_data.find(db, 0)
      lu.assertEquals({ #found, found[1].name, found[1].condition.group }, { 1, "n1", "memory" }, class)
      self:tearDown()
      self:setUp()
   end
end

-- Alone in its class it would be compared with nobody.
function TestClasses:test_fleet()
   local rows = {}
   for n = 1, 12 do
      for i, class in ipairs({ THIN, n == 1 and LOST or THIN }) do
         rows[#rows + 1] = own_store.record({ kind = "check", node = "n" .. n, class = class, time = T + i * HOUR,
            level = "quick", status = "pass", action = "none",
            metrics = { { name = "triad_gbs", value = (600 + n) * (class == LOST and 0.7 or 1), status = "pass" } } })
      end
   end
   own_store.write(rows)
   local list = fleet_data.newest(db, T, {})
   local answer = fleet.compare(list)
   lu.assertEquals({ #answer, answer[1].class, answer[1].nodes }, { 1, THIN, 12 })
   lu.assertEquals(answer[1].metrics[1].out[1].node, "n1")
   lu.assertEquals(#fleet_data.newest(db, T, { class = LOST }), 1)
   lu.assertEquals(#fleet_data.newest(db, T, { class = THIN }), 12)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
