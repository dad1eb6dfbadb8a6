-- Who left service, why, and when it came back: pure, and from a store.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local json = require("cjson")
local lu = require("luaunit")
local drains = require("syscheck.questions.drains.logic")
local drains_data = require("syscheck.questions.drains.read")
local drains_show = require("syscheck.questions.drains.show")
local own_store = require("own_store")

local T = 1795161600 -- 2026-11-20T08:00:00Z
local REASON = "syscheck: triad 61.2 < 94.1 GB/s (class a)"

local function done(time, more)
   local e = { time = T + time, node = "n1", action = "drain", trigger = "prolog", level = "quick", run = 7,
      drain = { done = true, reason = REASON } }
   for k, v in pairs(more or {}) do
      e[k] = v
   end
   return e
end

-- What of each entry: "drain 0 resume 60".
local function told(events)
   local out = {}
   for i, one in ipairs(drains.entries(events)) do
      out[i] = ("%s %d x%d%s"):format(one.what, one.time - T, one.times,
         one.back and (" %s %d"):format(one.how, one.back - T) or "")
   end
   return out
end

TestDrains = {}

function TestDrains:test_a_drain_ends_by_its_resume()
   lu.assertEquals(told({ done(0), { time = T + 60, node = "n1", action = "resume" }, done(120) }),
      { "drain 0 x1 resume 60", "drain 120 x1" })
   -- Of the drain before what was asked for; another node's.
   lu.assertEquals(told({ done(0), { time = T + 60, node = "n2", action = "resume" } }),
      { "drain 0 x1", "resume 60 x1" })
   -- The health program sees no network.
   lu.assertEquals(told({ done(0, { fabric = true }), { time = T + 60, node = "n1", action = "resume" } }),
      { "drain 0 x1", "resume 60 x1" })
end

function TestDrains:test_found_again_is_no_other_drain()
   lu.assertEquals(told({ done(0), done(900, { trigger = "health" }), done(1000, { trigger = "health" }) }),
      { "drain 0 x3" })
   -- Prologs of two jobs; but a job that starts there later says that the node was back.
   lu.assertEquals(told({ done(0), done(5) }), { "drain 0 x2" })
   lu.assertEquals(told({ done(0), done(900) }), { "drain 0 x1", "drain 900 x1" })
   lu.assertEquals(drains.entries({ done(0), done(900) })[1].to, T + 900)
end

function TestDrains:test_what_a_drain_was_not()
   local function what(drain)
      return told({ done(0, { drain = drain }) })[1]
   end
   lu.assertEquals(what({ kept = "fan, Bob", reason = REASON }), "kept 0 x1")
   lu.assertEquals(what({ reason = REASON, error = "no answer" }), "undecided 0 x1")
   lu.assertEquals(told({ { time = T, node = "n1", action = "drain" } }), { "undecided 0 x1" })
end

-- Somebody puts his reason in the place of ours: the node is out still, and not back as of then.
function TestDrains:test_anothers_reason_instead_of_ours()
   local events = { done(0), done(900, { trigger = "health", drain = { kept = "fan, Bob", reason = REASON } }),
      { time = T + 1800, node = "n1", action = "resume" } }
   lu.assertEquals(told(events), { "drain 0 x2 resume 1800" })
   events[3] = nil
   local list = drains.entries(events)
   lu.assertEquals({ list[1].more, list[1].to }, { "out of service already: fan, Bob" })
   lu.assertEquals(drains.count(list).out, 1)
end

function TestDrains:test_withheld()
   local function bad(time, action, text)
      return { time = T + time, node = "n1", action = action, text = text or "triad 60 < 94 GB/s", level = "quick" }
   end
   lu.assertEquals(told({ bad(0, "observed"), bad(60, "observed", "triad 59.3 < 94 GB/s; others used 9 %"),
      bad(120, "observed", "dgemm 9 < 20 GFLOP/s") }), { "observed 0 x2 observed 120", "observed 120 x1" })
   lu.assertEquals(told({ bad(0, "undecided"), done(60) }), { "undecided 0 x1 drain 60", "drain 60 x1" })
   lu.assertEquals(told({ bad(0, "storm"), bad(8 * 86400, "storm") }), { "storm 0 x1 storm 691200", "storm 691200 x1" })
   local list = drains.entries({ bad(0, "storm"), bad(60, "observed"), done(90), done(95, { node = "n2" }) })
   lu.assertEquals(drains.count(list), { drained = 2, out = 2, withheld = 1 })
end

TestDrainsStored = { setUp = own_store.setUp, tearDown = own_store.tearDown }

local function check(node, time, more)
   local r = { kind = "check", node = node, time = T + time, trigger = "health", level = "quick", status = "pass",
      action = "none", class = "a" }
   for k, v in pairs(more) do
      r[k] = v
   end
   return own_store.record(r)
end

local FAIL = { status = "fail", text = "triad 61.2 < 94.1 GB/s (class a)", trigger = "prolog" }

local function failed(node, time, job, action, drain)
   local more = { action = action, drain = drain, job = { id = job, restart = 0, user = "alice", name = "x" } }
   for k, v in pairs(FAIL) do
      more[k] = v
   end
   return check(node, time, more)
end

local function answer()
   local list = drains_data.read(own_store.db, T - 10)
   list.since, list.to = T - 10, T + 86400
   return list
end

function TestDrainsStored:test_how_they_came_back()
   local out = { done = true, reason = REASON }
   own_store.write({
      failed("n1", 0, 7, "drain", out), check("n1", 600, { action = "resume", text = "back" }),
      -- The drained job's own record, a check of the drained node, and later somebody's job.
      failed("n2", 0, 8, "drain", out), check("n2", 300, {}),
      own_store.record({ kind = "job", node = "n2", time = T + 5, elapsed_s = 1,
         begin = { time = "2026-11-20T08:00:01Z" }, job = { id = 8, restart = 0 } }),
      check("n2", 900, { trigger = "prolog", job = { id = 9 } }),
      failed("n3", 0, 10, "drain", out), check("n3", 300, { status = "unknown" }),
      check("n4", 0, { action = "observed", status = "fail", text = "dgemm 1 < 2 GFLOP/s" }),
      check("n4", 60, { level = "passive" }), check("n4", 120, {}),
   })
   local list = {}
   for i, one in ipairs(answer()) do
      list[i] = ("%s %s %s %s %s"):format(one.node.name, one.what, one.how or "-", one.back and one.back - T or "-",
         one.job and one.job.job_id or "-")
   end
   table.sort(list)
   lu.assertEquals(list,
      { "n1 drain resume 600 7", "n2 drain used 900 8", "n3 drain - - 10", "n4 observed well 120 -" })
end

function TestDrainsStored:test_fabric()
   own_store.write({ own_store.record({ kind = "fabric", node = "n1", time = T, status = "fail", action = "drain",
      text = "sends half", class = "fabric-200g-1hop",
      drain = { done = true, reason = "syscheck: fabric: sends half" } }),
      check("n1", 60, { action = "resume" }), check("n1", 600, { trigger = "prolog", job = { id = 9 } }) })
   local list = answer()
   lu.assertEquals({ list[1].what, list[1].fabric, list[1].how, list[1].back - T }, { "drain", true, "used", 600 })
end

function TestDrainsStored:test_shown()
   lu.assertStrContains(drains_show.table(answer(), false, false), "the store has no check")
   lu.assertFalse(json.decode(drains_show.json(answer())).checked)
   own_store.write({ check("n3", 60, {}) })
   lu.assertStrContains(drains_show.table(answer(), false, false), "no node left service")
   own_store.write({ failed("n1", 0, 7, "drain", { done = true, reason = REASON .. "\27[2J" }),
      failed("n2", 5, 7, "storm", { done = false, reason = REASON, error = "=1+1" }) })
   local list = answer()
   lu.assertStrContains(drains_show.table(list, false, false),
      "1 drain, 1 of them out still; 1 node found bad and left in service")
   lu.assertNotStrContains(drains_show.table(list, false, false), "\27")
   local object = json.decode(drains_show.json(list))
   lu.assertEquals({ object.v, object.kind, object.drained, object.out, object.withheld, #object.drains },
      { 1, "drains", 1, 1, 1, 2 })
   lu.assertEquals({ object.drains[1].what, object.drains[1].job.id, object.drains[2].what }, { "drain", "7", "storm" })
   lu.assertStrContains(drains_show.csv(list), "n1,c,drain,false,2026-11-20T08:00:00Z")
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
