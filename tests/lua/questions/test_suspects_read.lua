-- Suspects from a store: what `why` sees in their slow runs.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local own_store = require("own_store")
local show = require("syscheck.questions.suspects.show")
local suspects_data = require("syscheck.questions.suspects.read")

TestSuspectsRead = { setUp = own_store.setUp, tearDown = own_store.tearDown }

local T = 1795161600 -- 2026-11-20T08:00:00Z

-- Runs of one kind, an hour apart, on n1 to n4 and n5 to n8 in turn; from the 20th on some nodes throttle, and slow
-- their runs.
-- @param hot node -> whether it throttles
local function write(hot)
   local rows = {}
   for i = 1, 60 do
      local first = i % 2 == 0 and 1 or 5
      local slow = false
      for node = first, first + 3 do
         slow = slow or i > 20 and hot[node]
      end
      local seconds = (slow and 1.4 or 1) * (1000 + 3 * (i * 7 % 11))
      for node = first, first + 3 do
         local ms = i > 20 and hot[node] and 300 * seconds or 0
         rows[#rows + 1] = own_store.record({ kind = "job", node = "n" .. node, class = "epyc-9654-2s192c-768g",
            time = T + 3600 * i, elapsed_s = seconds,
            delta = { throttle = { events = ms > 0 and 9 or 0, package_worst_ms = ms, core_worst_ms = ms } },
            job = { id = i, user = "alice", name = "x", nodes = 4 } })
      end
   end
   own_store.write(rows)
end

local function found()
   return (suspects_data.find(own_store.db, 0))
end

function TestSuspectsRead:test_one()
   write({ [2] = true })
   local list = found()
   lu.assertEquals(own_store.names(list), { "n2" })
   lu.assertEquals(list[1].condition.group, "clock")
end

-- `why` names both at once: each is a suspect, and of what it says each run counts once.
function TestSuspectsRead:test_two_that_always_run_together()
   write({ [2] = true, [3] = true })
   local list = found()
   lu.assertEquals(own_store.names(list), { "n2", "n3" })
   for _, one in ipairs(list) do
      lu.assertEquals(one.condition.group, "clock")
      lu.assertEquals({ one.condition.runs, one.looked }, { 5, 5 })
   end
   list.since, list.totals = T, { slow = 0, compared = 0, kinds = 1, complete = true }
   lu.assertStrContains(show.table(list), "throttled")
   lu.assertNotStrContains(show.table(list), "not all nodes")
end

-- Where a whole fleet is suspect the likeliest are looked at, and that is said.
function TestSuspectsRead:test_most_looked_at()
   write({ [2] = true, [3] = true })
   local list, totals = suspects_data.find(own_store.db, 0)
   lu.assertEquals(own_store.names(list), { "n2", "n3" })
   lu.assertTrue(totals.complete)
   list, totals = suspects_data.find(own_store.db, 0, 5)
   lu.assertEquals(#list, 1)
   lu.assertFalse(totals.complete)
   list.since, list.totals = T, totals
   lu.assertStrContains(show.table(list), "not all nodes that may be suspects")
   lu.assertStrContains(show.json(list), '"complete":false')
end

-- Where all nodes of a job throttle `why` names all: each is none the less a suspect.
function TestSuspectsRead:test_all_nodes_of_their_jobs()
   write({ [1] = true, [2] = true, [3] = true, [4] = true })
   lu.assertEquals(own_store.names(found()), { "n1", "n2", "n3", "n4" })
   local list, totals = suspects_data.find(own_store.db, 0)
   list.since, list.totals = T, totals
   local text = show.table(list)
   lu.assertStrContains(text, "as on all nodes of job ")
   lu.assertNotStrContains(text, "nil")
end

-- Nodes that count no throttling: how hot they were.
-- @param hot node -> degrees above what its job makes others
-- @param slower how much longer a job takes there
local function write_heat(hot, slower)
   local rows = {}
   for i = 1, 120 do
      local name, degrees = "burn", 84
      if i % 3 == 0 then
         name, degrees = "idle", 60
      end
      local first = i % 2 == 0 and 1 or 5
      local heat = 0
      for node = first, first + 3 do
         heat = math.max(heat, name == "burn" and hot[node] or 0)
      end
      local seconds = (heat > 0 and slower or 1) * (1000 + 3 * (i * 7 % 11))
      for node = first, first + 3 do
         rows[#rows + 1] = own_store.record({ kind = "job", node = "n" .. node, class = "epyc-9654-2s192c-768g",
            time = T + 3600 * i, elapsed_s = seconds,
            ["end"] = { temperature = { max_c = degrees + (name == "burn" and hot[node] or 0) + i * 5 % 3 } },
            job = { id = i, user = "alice", name = name, nodes = 4 } })
      end
   end
   own_store.write(rows)
end

function TestSuspectsRead:test_hot()
   write_heat({ [2] = 11 }, 1.25)
   local list = found()
   lu.assertEquals(own_store.names(list), { "n2" })
   lu.assertEquals(list[1].group, "clock")
end

-- Hot, and no slower for it; a kind of job that makes all nodes as hot is no node's trouble.
function TestSuspectsRead:test_heat_without_harm()
   write_heat({ [2] = 11 }, 1)
   lu.assertEquals(found(), {})
end

-- A rack's nodes that are hot on some days and slow their jobs then: no more than other nodes are for ever, and less
-- than a CPU at its limit has, as it is read when a job has ended.
local function write_rack(slower)
   math.randomseed(1)
   local rows = {}
   for i = 1, 2400 do
      local node, spread = math.random(24), math.random(3)
      local hot = node <= 6 and i % 60 < 6
      local own = node * 7 % 10
      rows[#rows + 1] = own_store.record({ kind = "job", node = ("n%02d"):format(node), class = "epyc-9654-2s192c-768g",
         time = T + 3600 * i, elapsed_s = (hot and slower or 1) * (1000 + 3 * math.random(10)),
         ["end"] = { temperature = { max_c = 58 + spread + own + (hot and 9 or 0) } },
         job = { id = i, user = "alice", name = "burn" .. i % 8, nodes = 1 } })
   end
   own_store.write(rows)
end

function TestSuspectsRead:test_a_rack_that_is_hot_on_some_days()
   write_rack(1.25)
   local list = found()
   lu.assertEquals(own_store.names(list), { "n01", "n02", "n03", "n04", "n05", "n06" })
   for _, one in ipairs(list) do
      lu.assertEquals(one.condition.group, "clock")
   end
end

function TestSuspectsRead:test_a_hot_rack_without_harm()
   write_rack(1)
   lu.assertEquals(found(), {})
end

-- Larger inputs, a tenth of a kind's runs, take longer and make all of their nodes throttle, or wait for a CPU: that is
-- no node's.
function TestSuspectsRead:test_larger_inputs()
   for _, of in ipairs({ "throttle", "sched" }) do
      math.randomseed(2)
      local rows = {}
      for i = 1, 240 do
         local heavy, first = math.random() < 0.1, math.random(12)
         local seconds = (heavy and 1.3 or 1) * (1000 + 3 * (i * 7 % 11))
         for k = 0, 3 do
            local ms = heavy and 250 * seconds * (0.9 + 0.2 * math.random()) or 0
            rows[#rows + 1] = own_store.record({ kind = "job", node = "n" .. (first + 3 * k) % 12 + 1,
               class = "epyc-9654-2s192c-768g", time = T + 3600 * i, elapsed_s = seconds,
               delta = { [of] = { events = ms > 0 and 9 or 0, package_worst_ms = ms, wait_worst_ms = ms } },
               job = { id = i, user = "alice", name = "x", nodes = 4 } })
         end
      end
      own_store.write(rows)
      lu.assertEquals(own_store.names(found()), {})
      self:tearDown()
      self:setUp()
   end
end

-- Jobs with more tasks than CPUs beside others: on all of their nodes tasks wait, on some for longer than on others.
-- That is the job's; what makes them wait longer still on n2, from the 100th run on, is that node's.
function TestSuspectsRead:test_more_tasks_than_cpus()
   math.randomseed(3)
   local rows, more = {}, 0.4
   for i = 1, 400 do
      local many, first = i % 4 == 0, i % 8 < 4 and 1 or 13
      local bad = many and first == 1 and i > 100
      local seconds = (bad and 1 + more or 1) * (1000 + 3 * (i * 7 % 11))
      for node = first, first + 11 do
         local share = many and 0.65 + 0.25 * math.random() + (bad and node == 2 and more or 0) or 0.001
         rows[#rows + 1] = own_store.record({ kind = "job", node = "n" .. node, class = "epyc-9654-2s192c-768g",
            time = T + 3600 * i, elapsed_s = seconds, delta = { sched = { wait_worst_ms = 1000 * share * seconds } },
            job = { id = i, user = "alice", name = many and "many" or "few", nodes = 12 } })
      end
   end
   own_store.write(rows)
   local list = found()
   lu.assertEquals(own_store.names(list), { "n2" })
   lu.assertEquals(list[1].group, "daemon")
end

function TestSuspectsRead:test_none()
   write({})
   lu.assertEquals(found(), {})
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
