-- The fleet as metrics: what is counted, what is 0 and there, and what the store gives of it.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local data = require("syscheck.questions.prometheus.read")
local logic = require("syscheck.questions.prometheus.logic")
local lost = require("syscheck.store.lost")
local own_store = require("own_store")
local prometheus = require("syscheck.lib.prometheus")
local prune = require("syscheck.store.prune")

local T = 1795161600 -- 2026-11-20T08:00:00Z
local DAY = 86400

local function text(answer)
   return "\n" .. prometheus.text(logic.families(answer))
end

local function value(t, name)
   return t:match("\nsyscheck_" .. name:gsub("%p", "%%%0") .. " (%S+)\n")
end

TestFamilies = {}

function TestFamilies:test_all()
   local t = text({ now = T, since = T - DAY, lag = { c = 30, d = 5 }, lost = { c = 4 }, compared = { c = 10 },
      nodes = { { cluster = "c", class = "x", status = "pass" }, { cluster = "c", class = "x", status = "pass" },
      { cluster = "c", class = "y", status = "fail" }, { cluster = "", class = "", status = "warn" } },
      slow = { { cluster = "c", lost_s = 100, cause = "clock" }, { cluster = "c", lost_s = 50, cause = "clock" },
      { cluster = "c", lost_s = 7 }, { cluster = "d", lost_s = 3, cause = "unexplained" } } })
   for name, want in pairs({ ['fleet_nodes{class="x",cluster="c",status="pass"}'] = "2",
      ['fleet_nodes{class="x",cluster="c",status="fail"}'] = "0",
      ['fleet_nodes{class="y",cluster="c",status="fail"}'] = "1",
      ['fleet_nodes{status="warn"}'] = "1", ['slow_jobs{cause="clock",cluster="c"}'] = "2",
      ['lost_node_seconds{cause="clock",cluster="c"}'] = "150", ['slow_jobs{cause="unexamined",cluster="c"}'] = "1",
      ['slow_jobs{cause="storage",cluster="c"}'] = "0", ['slow_jobs{cause="unexplained",cluster="d"}'] = "1",
      ['compared_jobs{cluster="c"}'] = "10", ['compared_jobs{cluster="d"}'] = "0",
      ['ingest_lag_seconds{cluster="d"}'] = "5",
      ['records_lost_total{cluster="c"}'] = "4", jobs_window_seconds = "86400" }) do
      lu.assertEquals(value(t, name), want, name)
   end
end

function TestFamilies:test_an_empty_store()
   local t = text({ now = T, since = T, lag = {}, lost = {}, compared = {}, nodes = {}, slow = {} })
   lu.assertEquals(t:gsub("\n#[^\n]*", ""), "\nsyscheck_jobs_window_seconds 0\n")
end

TestRead = { setUp = own_store.setUp, tearDown = own_store.tearDown }

local function check(node, at, level, status)
   return own_store.record({ kind = "check", node = node, time = at, class = "epyc-9654-2s192c-768g",
      trigger = "health", level = level, status = status, action = "none", metrics = {} })
end

local function read(limits)
   return data.read(own_store.db, T, T - DAY, limits)
end

function TestRead:test_nodes_by_what_they_are_called_now()
   own_store.write({ check("n1", T - 100, "quick", "fail"), check("n1", T - 50, "passive", "pass"),
      check("n2", T - 100, "quick", "fail"), check("n2", T - 50, "full", "pass"),
      check("n3", T - 100, "passive", "warn"), check("n4", T - 31 * DAY, "quick", "fail") })
   local got = {}
   for _, node in ipairs(read().nodes) do
      got[#got + 1] = node.status
   end
   lu.assertEquals(got, { "fail", "pass", "warn" })
   lu.assertEquals(read().lag, { c = 50 })
   lu.assertEquals(read().lost, { c = 0 })
end

-- Ten runs on n1 and n2, the last two slow; n2 throttles in the last.
local function jobs()
   local rows = {}
   for i = 1, 10 do
      local slow = i > 8
      for node = 1, 2 do
         local ms = i == 10 and node == 2 and 400000 or 0
         rows[#rows + 1] = own_store.record({ kind = "job", node = "n" .. node, class = "epyc-9654-2s192c-768g",
            time = T - 3600 * (11 - i), elapsed_s = slow and 1500 or 1000 + i,
            delta = { throttle = { package_worst_ms = ms, core_worst_ms = ms } },
            job = { id = i, user = "alice", name = "x", nodes = 2 } })
      end
   end
   own_store.write(rows)
end

function TestRead:test_slow_jobs_and_what_they_lost()
   jobs()
   local out = read()
   lu.assertEquals(out.compared.c, 10)
   lu.assertEquals(#out.slow, 2)
   for _, run in ipairs(out.slow) do
      lu.assertAlmostEquals(run.lost_s, 2 * 495, 20)
      lu.assertNotNil(run.cause)
   end
   -- Beyond what is examined they count all the same.
   out = read({ runs = 100, examined = 1 })
   lu.assertEquals(#out.slow, 2)
   lu.assertNil(out.slow[2].cause)
   lu.assertEquals(#read({ runs = 1, examined = 0 }).slow, 1)
   lu.assertEquals(#data.read(own_store.db, T, T, nil).slow, 0)
end

-- What prune removes stays counted.
function TestRead:test_lost_records_never_get_fewer()
   local function loss(at, count)
      return own_store.record({ kind = "loss", node = "n1", time = at, lost_records = count, lost_bytes = 1,
         reason = "disk full" })
   end
   own_store.write({ loss(T - 9 * DAY, 5), loss(T - 8 * DAY, 6), loss(T - DAY, 7) })
   lu.assertEquals(read().lost, { c = 18 })
   for _, days in ipairs({ 8.5, 7, 7, 0.5 }) do
      prune.before(own_store.db, math.floor(T - days * DAY))
      local sum = 0
      for _, count in pairs(lost.totals(own_store.db)) do
         sum = sum + count
      end
      lu.assertEquals(sum, 18)
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
