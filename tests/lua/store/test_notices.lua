-- What an admin is told, and what is no news.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local notices = require("syscheck.store.notices")
local own_store = require("own_store")
local proposed = require("syscheck.cmd.common.proposed")

local T = 1795161600 -- 2026-11-20T08:00:00Z
local LIMITS = { unknown_nodes = 3, unknown_share = 0.02 }
local REASON = "syscheck: triad 61.2 < 94.1 GB/s (class a)"

TestNotices = {}

function TestNotices:setUp()
   own_store.setUp()
   notices.open(own_store.db, true, T)
end

TestNotices.tearDown = own_store.tearDown

local function check(node, time, action, more)
   local r = { kind = "check", node = node, time = T + time, trigger = "prolog", level = "quick", action = action,
      status = action == "resume" and "pass" or "fail", text = action ~= "resume" and "triad 61.2 < 94.1 GB/s" or nil,
      drain = action == "drain" and { done = true, reason = REASON } or nil }
   for k, v in pairs(more or {}) do
      r[k] = v
   end
   return own_store.record(r)
end

-- One ingest at `time` of these records. @return what waits then, as text
local function ingest(time, list)
   local open = notices.open(own_store.db, true, T + time)
   own_store.write(list or {}, open)
   open:look(LIMITS)
   open:sweep()
   local out = {}
   for i, one in ipairs(open:waiting()) do
      local e = one.event
      out[i] = ("%s %s %d"):format(e.event, e.node or "-", e.time - T)
   end
   return out, open
end

-- The same, and what waited is told.
local function told(time, list)
   local out, open = ingest(time, list)
   open:settle(open:waiting())
   return out
end

function TestNotices:test_each_once()
   local list = { check("n1", 10, "drain", { job = { id = 7 } }), check("n2", 11, "observed"), check("n3", 12, "storm"),
      check("n4", 13, "undecided"), check("n5", 14, "resume"), check("n6", 15, "none"),
      check("n7", 16, "drain", { drain = { done = false, kept = "fan, Bob", reason = REASON } }) }
   lu.assertEquals(told(60, list),
      { "drain n1 10", "observed n2 11", "storm n3 12", "undecided n4 13", "resume n5 14" })
   lu.assertEquals(told(120, list), {})
end

function TestNotices:test_what_waits_is_not_lost()
   lu.assertEquals(ingest(60, { check("n1", 10, "drain") }), { "drain n1 10" })
   -- Nobody was told; another of the same node meanwhile.
   lu.assertEquals(ingest(600, { check("n1", 500, "drain", { drain = { done = true, reason = REASON .. "x" } }) }),
      { "drain n1 10", "drain n1 500" })
   lu.assertEquals(told(700), { "drain n1 10", "drain n1 500" })
   lu.assertEquals(told(800), {})
end

function TestNotices:test_no_endless_repeat()
   ingest(60, { check("n1", 10, "drain") })
   local open = notices.open(own_store.db, true, T + 3 * 86400)
   lu.assertEquals(open:sweep(), 1)
   lu.assertEquals(open:waiting(), {})
end

function TestNotices:test_a_state_is_told_once()
   lu.assertEquals(told(60, { check("n2", 10, "observed") }), { "observed n2 10" })
   -- By another number, with others' names behind it, and days later while it goes on.
   for day = 1, 20 do
      lu.assertEquals(told(day * 86400, { check("n2", day * 86400 - 9, "observed",
         { text = ("triad %d < 94.1 GB/s; others used %d %%"):format(60 - day, day) }) }), {})
   end
   -- Something else of the same node; and the same again after it had been in order for long.
   lu.assertEquals(told(20 * 86400 + 60, { check("n2", 20 * 86400, "observed", { text = "dgemm 1 < 2 GFLOP/s" }) }),
      { "observed n2 1728000" })
   lu.assertEquals(told(40 * 86400, { check("n2", 40 * 86400 - 9, "observed") }), { "observed n2 3455991" })
end

function TestNotices:test_drains()
   lu.assertEquals(told(60, { check("n1", 10, "drain"), check("n1", 15, "drain") }), { "drain n1 10" })
   -- Found again while it is drained; then a job had started there.
   lu.assertEquals(told(900, { check("n1", 800, "drain", { trigger = "health" }) }), {})
   lu.assertEquals(told(2000, { check("n1", 1900, "drain") }), { "drain n1 1900" })
   lu.assertEquals(told(3000, { check("n1", 2500, "resume") }), { "resume n1 2500" })
   lu.assertEquals(told(3100, { check("n1", 3050, "drain", { trigger = "health" }) }), { "drain n1 3050" })
   lu.assertEquals(told(3200, { check("n1", 3150, "resume") }), { "resume n1 3150" })
end

function TestNotices:test_history_is_not_told()
   local old = {}
   for day = 1, 365 do
      old[day] = check("n" .. day, -day * 86400, "drain")
   end
   old[366] = check("n1", -1, "drain") -- before the program was named
   old[367] = check("n2", 7200, "drain") -- by a clock that is ahead
   lu.assertEquals(told(60, old), {})
   lu.assertEquals(told(2 * 86400, { check("n3", 10, "drain") }), {})
end

function TestNotices:test_named_later_and_anew()
   told(60, { check("n1", 10, "drain") })
   lu.assertNil(notices.open(own_store.db, false, T + 100))
   lu.assertEquals(told(300, { check("n2", 200, "drain") }), {})
   lu.assertEquals(told(400, { check("n3", 350, "drain") }), { "drain n3 350" })
end

-- The clock of the store's host was a month ahead when the program was named.
function TestNotices:test_named_by_a_clock_that_was_ahead()
   lu.assertNil(notices.open(own_store.db, false, T))
   notices.open(own_store.db, true, T + 30 * 86400)
   lu.assertEquals(told(60, {}), {})
   lu.assertEquals(told(120, { check("n1", 100, "drain") }), { "drain n1 100" })
end

-- What is written while an ingest runs for long.
function TestNotices:test_a_long_ingest()
   local open = notices.open(own_store.db, true, T)
   open:at(T + 900)
   own_store.write({ check("n1", 890, "drain") }, open)
   lu.assertEquals(#open:waiting(), 1)
end

-- PostgreSQL takes valid UTF-8 only: a row that it refuses would stop each ingest from then on.
function TestNotices:test_what_users_write_is_cut_anywhere()
   for pad = 0, 3 do
      told(60 + pad, { check("n" .. pad, 10, "observed", { text = ("x"):rep(pad) .. ("\u{20AC}"):rep(400) }) })
   end
   local n = 0
   for t in own_store.db:rows("SELECT subject FROM notice") do
      lu.assertNotNil(utf8.len(t[1]))
      lu.assertTrue(#t[1] <= 1024)
      n = n + 1
   end
   lu.assertEquals(n, 4)
end

-- What says two things at once stops no ingest, nor do two kinds of records of one id.
function TestNotices:test_one_record_twice()
   local odd, other = check("n1", 10, "observed", { status = "unknown" }), check("n2", 11, "drain")
   other.id = odd.id
   lu.assertEquals(told(60, { odd }), { "observed n1 10" })
   lu.assertEquals(told(120, { other }), { "drain n2 11" })
end

function TestNotices:test_many_unknown()
   local function unknown(node, time)
      return check(node, time, "none", { status = "unknown", text = "stream: no such file" })
   end
   lu.assertEquals(told(60, { unknown("n1", 10), unknown("n2", 11), unknown("n2", 12) }), {})
   local out, open = ingest(120, { unknown("n3", 100) })
   lu.assertEquals(out, { "unknown - 120" })
   lu.assertEquals(open:waiting()[1].event.text,
      "3 of 3 nodes: their newest check is unknown: n1, n2, n3 (stream: no such file)")
   open:settle(open:waiting())
   -- It goes on; one less is no end of it; then it is over, and may be told again.
   lu.assertEquals(told(180, { unknown("n4", 170) }), {})
   lu.assertEquals(told(240, { check("n4", 230, "none", { status = "pass" }), check("n3", 231, "none") }), {})
   lu.assertEquals(told(300, { unknown("n3", 290) }), {})
   lu.assertEquals(told(360, { check("n1", 350, "none"), check("n2", 351, "none"), check("n3", 352, "none") }), {})
   lu.assertEquals(told(420, { unknown("n1", 410), unknown("n2", 411), unknown("n3", 412) }), { "unknown - 420" })
end

function TestNotices:test_a_share_of_a_large_fleet()
   local list = {}
   for i = 1, 400 do
      list[i] = check("n" .. i, 10, "none", { status = i <= 7 and "unknown" or "pass", text = "x" })
   end
   lu.assertEquals(told(60, list), {})
   lu.assertEquals(told(120, { check("n8", 100, "none", { status = "unknown", text = "x" }) }), { "unknown - 120" })
end

function TestNotices:test_turns()
   local open = notices.open(own_store.db, true, T + 1000)
   lu.assertTrue(open:claim(60, 30))
   lu.assertFalse(open:claim(60, 30)) -- another ingest right now
   open:settle(nil) -- it did not work
   lu.assertTrue(open:claim(60, 30))
   lu.assertFalse(notices.open(own_store.db, true, T + 1059):claim(60, 30))
   lu.assertTrue(notices.open(own_store.db, true, T + 1060):claim(60, 30))
   -- A clock that was set back does not silence it.
   lu.assertTrue(notices.open(own_store.db, true, T + 10):claim(60, 30))
end

-- A program may take longer than what is to be between two calls.
function TestNotices:test_nobody_tells_meanwhile()
   local open = notices.open(own_store.db, true, T)
   lu.assertTrue(open:claim(0, 300))
   lu.assertFalse(notices.open(own_store.db, true, T + 299):claim(0, 300))
   open:settle({})
   lu.assertTrue(notices.open(own_store.db, true, T + 299):claim(0, 300))
   -- Killed while it told: not for ever.
   lu.assertTrue(notices.open(own_store.db, true, T + 700):claim(0, 300))
end

function TestNotices:test_others_events()
   local open = notices.open(own_store.db, true, T + 10)
   open:add("class a", { event = "proposal", time = T + 10, text = "a baseline\27[2J for class a" })
   open:add("class a", { event = "proposal", time = T + 20, text = "once more" })
   local list = open:waiting()
   lu.assertEquals({ #list, list[1].event.event, list[1].event.text }, { 1, "proposal", "a baseline?[2J for class a" })
end

-- A baseline that ingest proposes: of the same classes once, by however many checks.
function TestNotices:test_a_proposal()
   local function propose(time, checks, ...)
      local proposal = { file = "/s/baseline.proposed.json", classes = {}, text = ("%d checks: apply"):format(checks) }
      for i, class in ipairs({ ... }) do
         proposal.classes[i] = { class = class, nodes = 3, checks = checks }
      end
      local open = notices.open(own_store.db, true, T + time)
      open:add(proposed.event(proposal, T + time))
      local list = open:waiting()
      open:settle(list)
      return list
   end
   lu.assertEquals(propose(10, 30, "a", "b")[1].event, { event = "proposal", time = T + 10, text = "30 checks: apply",
      file = "/s/baseline.proposed.json" })
   lu.assertEquals(propose(20, 40, "a", "b"), {})
   lu.assertEquals(#propose(30, 40, "a", "b", "c"), 1)
   local many = {}
   for i = 1, 200 do
      many[i] = ("class-%d-"):format(i) .. ("x"):rep(100)
   end
   lu.assertEquals(#propose(40, 40, table.unpack(many)), 1)
end

-- A batch that fails leaves nothing, and is told when it is written.
function TestNotices:test_with_the_records_or_not_at_all()
   local open = notices.open(own_store.db, true, T + 60)
   local broken = check("n2", 11, "drain")
   broken.values = nil
   lu.assertFalse((pcall(own_store.write, { check("n1", 10, "drain"), broken }, open)))
   lu.assertEquals(#open:waiting(), 0)
   lu.assertEquals(ingest(60, { check("n1", 10, "drain") }), { "drain n1 10" })
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
