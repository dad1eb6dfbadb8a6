-- What `syscheck fabric` recorded, asked of the store: a node's story, the fleet, a slow job, suspects.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local data = require("syscheck.questions.why.read")
local fleet_files = require("syscheck.questions.fleet.files")
local fleet = require("syscheck.questions.fleet.logic")
local fleet_read = require("syscheck.questions.fleet.read")
local fleet_show = require("syscheck.questions.fleet.show")
local jobid = require("syscheck.questions.jobid")
local json = require("cjson")
local node_read = require("syscheck.questions.node.read")
local node_show = require("syscheck.questions.node.show")
local own_store = require("own_store")
local prune = require("syscheck.store.prune")
local suspects_data = require("syscheck.questions.suspects.read")
local why = require("syscheck.questions.why.logic")

local T, DAY = 1795161600, 86400 -- 2026-11-20T08:00:00Z
local CLASS = "epyc-9654-2s192c-768g"

TestFabric = { setUp = own_store.setUp, tearDown = own_store.tearDown }

local NIC = { kind = "nic", direction = "in", share = 0.62, own = true, text = "n5 receives at 0.62 of its peers" }
local UPLINK = { kind = "uplink_lost", leaf = "leaf2", direction = "up", text = "leaf2's uplink, up, carries 0.50" }

-- A run over n1 to n9, a day each.
-- @param found function(node, day) -> findings, share that it receives
local function runs(days, found, more)
   local rows = {}
   for day = 1, days do
      for n = 1, 9 do
         local findings, share = found(n, day)
         rows[#rows + 1] = own_store.record({ kind = "fabric", node = "n" .. n, class = "fabric-200g-1hop",
            time = T + day * DAY + n, status = findings == false and "unknown" or findings and "warn" or "pass",
            text = findings and findings[1].text or nil, action = "none", findings = findings or nil,
            uplinks = not (more and more.uplinks == false), partners = more and more.partners(day) or { "n1", "n2" },
            boot_id = "b", metrics = findings ~= false and {
               { name = "fabric_in_ratio", value = share or 1, status = share and "warn" or "pass" },
               { name = "fabric_out_ratio", value = 1, status = "pass" },
               { name = "fabric_in_gbs", value = 24 * (share or 1), status = "unrated" },
               { name = "fabric_lat_us", value = 1.5, status = "unrated" } } or nil })
      end
   end
   own_store.write(rows)
end

-- n5 is slow on days 3 to 5, silent on day 6, slow again, repaired on day 8; leaf2's uplink has been bad since day 7.
local function history(n, day)
   if n == 5 and day == 6 then
      return false
   elseif n == 5 and day >= 3 and day < 8 then
      return day == 7 and { NIC, UPLINK } or { NIC }, 0.62
   elseif n >= 4 and n <= 6 and day >= 7 then
      return { UPLINK }
   end
end

local function story(name)
   return node_read.story(own_store.db, node_read.find(own_store.db, name)[1], 0, 100)
end

function TestFabric:test_a_nodes_story()
   runs(9, history)
   local told, events = story("n5"), {}
   for i, e in ipairs(told.events) do
      events[i] = ("%d %s: %s"):format((e.time - T) // DAY, e.event, e.text)
   end
   -- Who is silent is neither repaired nor bad anew.
   lu.assertEquals(events, { "3 fabric: " .. NIC.text, "7 fabric: " .. UPLINK.text,
      "8 fabric: no longer: " .. NIC.text })
   lu.assertEquals({ told.fabric_runs, told.checks }, { 9, 0 })
   local values = {}
   for _, m in ipairs(told.metrics) do
      values[m.field.name] = { m.min, m.last, m.n }
   end
   lu.assertEquals(values.fabric_in_ratio, { 0.62, 1, 8 })
   lu.assertStrContains(node_show.table(told, false, false), "fabric runs 9")
   lu.assertEquals(json.decode(node_show.json(told)).fabric_runs, 9)
end

local function compared()
   local nodes, unknown, between, _, files = fleet_read.newest(own_store.db, 0, {})
   local answer = fleet.compare(nodes)
   answer.since, answer.unknown, answer.fabric, answer.files = 0, unknown, between, fleet_files.of(files)
   return answer
end

function TestFabric:test_the_fleet()
   runs(7, history)
   local answer = compared()
   lu.assertEquals(#answer, 1)
   lu.assertEquals({ answer[1].class, answer[1].nodes }, { "fabric-200g-1hop", 9 })
   local by = {}
   for _, m in ipairs(answer[1].metrics) do
      by[m.field.name] = m
   end
   lu.assertNil(by.fabric_in_ratio)
   lu.assertEquals({ #by.fabric_in_gbs.out, by.fabric_in_gbs.out[1].node, by.fabric_in_gbs.out[1].worse },
      { 1, "n5", true })
   -- The node's own first; the leaf's once, though three nodes have it.
   local f = answer.fabric
   lu.assertEquals(#f, 2)
   lu.assertEquals({ f[1].nodes, f[1].since, f[1].runs, f[1].last },
      { { "n5" }, T + 3 * DAY + 5, 4, T + 7 * DAY + 5 })
   lu.assertEquals({ f[2].leaf, #f[2].nodes, f[2].since, f[2].runs }, { "leaf2", 3, T + 7 * DAY + 4, 1 })
   local text = fleet_show.table(answer)
   lu.assertStrContains(text, "n5 receives at 0.62 of its peers")
   lu.assertStrContains(text, "2026-11-23T08:00:05Z")
   lu.assertEquals(#json.decode(fleet_show.json(answer)).fabric, 2)
   lu.assertStrContains(fleet_show.csv(answer), "fabric,,,,4,,n5")
end

function TestFabric:test_what_was_repaired_stands_no_more()
   runs(8, history)
   local f = compared().fabric
   lu.assertEquals({ #f, f[1].leaf }, { 1, "leaf2" })
end

-- A run over some nodes compares no uplinks, and a pair that did not meet is not known to be well.
function TestFabric:test_what_was_not_looked_at_still_stands()
   local route = { kind = "route", from = "n5", to = "n9", direction = "out", text = "n5 to n9: 0.30" }
   runs(3, function(n, day)
      return day == 1 and n == 5 and { UPLINK, route } or day == 1 and n == 9 and {
         { kind = "route", from = "n9", to = "n5", direction = "out", text = "n9 to n5: 0.30" } } or nil
   end, { uplinks = false, partners = function(day)
      return day < 3 and { "n1", "n4" } or { "n5", "n9" }
   end })
   local told = story("n5")
   lu.assertEquals({ #told.events, told.events[3].text }, { 3, "no longer: n5 to n9: 0.30" })
   lu.assertEquals((told.events[3].time - T) // DAY, 3)
   local f = compared().fabric
   lu.assertEquals({ #f, f[1].leaf }, { 1, "leaf2" })
end

-- Each day's runs within shards say nothing of what is between them; one that has all leaves at once does.
function TestFabric:test_between_shards()
   local link = { kind = "uplink_link", leaf = "leaf2", direction = "up", text = "leaf2, a link" }
   local function run(day, more, finding)
      own_store.write({ own_store.record({ kind = "fabric", node = "n5", class = "fabric-200g-1hop", shard = more.shard,
         between = more.between, uplinks = not more.between or nil, time = T + day * DAY + (more.between and 9 or 0),
         status = finding and "warn" or more.between and "unknown" or "pass", action = "none",
         text = finding and finding.text, findings = finding and { finding } or nil }) })
   end
   for day = 1, 3 do
      run(day, { shard = 1 })
      run(day, { between = true }, link)
   end
   local f = compared().fabric
   lu.assertEquals({ #f, f[1].runs, f[1].since }, { 1, 3, T + DAY + 9 })
   run(4, { shard = 1 })
   lu.assertEquals(#compared().fabric, 1)
   run(4, { between = true })
   lu.assertEquals(#compared().fabric, 0)
   run(5, { between = true }, link)
   lu.assertEquals(#compared().fabric, 1)
   run(6, {})
   lu.assertEquals(#compared().fabric, 0)
end

-- Of two leaves no uplink is compared, and a leaf's switch is.
function TestFabric:test_a_leaf_switch_of_two()
   local switch = { kind = "leaf_switch", leaf = "leaf2", text = "leaf2, its switch" }
   local function run(day, looked, finding)
      own_store.write({ own_store.record({ kind = "fabric", node = "n5", class = "fabric-200g-1hop",
         switch = looked or nil, time = T + day * DAY, status = finding and "warn" or "pass",
         text = finding and finding.text, action = "none", findings = finding and { finding } or nil }) })
   end
   run(1, true, switch)
   run(2, false)
   lu.assertEquals(#compared().fabric, 1)
   run(3, true)
   lu.assertEquals(#compared().fabric, 0)
end

-- What one rail shows another one does not end, nor does a run in which MPI chose.
function TestFabric:test_rails_are_apart()
   local function run(day, rail, finding, status)
      own_store.write({ own_store.record({ kind = "fabric", node = "n5", class = "fabric-200g-1hop", rail = rail,
         time = T + day * DAY, status = status or finding and "warn" or "pass", text = finding and finding.text
         or status and "beyond a limit", action = "none", findings = finding and { finding } or nil,
         metrics = { { name = "fabric_in_ratio", value = 1, status = "pass" } } }) })
   end
   run(1, 2, NIC)
   run(2, 1)
   run(3)
   lu.assertEquals({ #story("n5").events, #compared().fabric }, { 1, 1 })
   run(4, 2)
   lu.assertEquals({ #compared().fabric, story("n5").events[2].text }, { 0, "no longer: " .. NIC.text })
   run(5, 1, nil, "warn")
   run(6, 2)
   lu.assertEquals({ #compared().fabric, compared().fabric[1].text }, { 1, "beyond a limit" })
   run(7, 1)
   lu.assertEquals(compared().fabric, {})
end

-- A leaf switch that all at work was too much for: nothing of it is known where they were not.
function TestFabric:test_an_overloaded_leaf_is_over_after_another_all_to_all()
   local overloaded = { kind = "leaf_overloaded", leaf = "leaf2", text = "in an all-to-all within leaf2 0.50" }
   local function run(day, alltoall, finding)
      own_store.write({ own_store.record({ kind = "fabric", node = "n5", class = "fabric-200g-1hop", uplinks = true,
         alltoall = alltoall, time = T + day * DAY, status = "pass", action = "none",
         findings = finding and { finding } or nil,
         metrics = { { name = "fabric_in_ratio", value = 1, status = "pass" } } }) })
   end
   run(1, true, overloaded)
   run(2)
   lu.assertEquals(#compared().fabric, 1)
   run(3, true)
   lu.assertEquals(compared().fabric, {})
end

-- Files of one directory are ended by files of that directory, and by nothing else.
function TestFabric:test_a_run_without_files_ends_nothing_of_theirs()
   local slow = { kind = "io", direction = "write", dir = "/scratch", own = true,
      text = "n5 writes to /scratch at 0.30" }
   local function run(day, io, finding)
      own_store.write({ own_store.record({ kind = "fabric", node = "n5", class = "fabric-200g-1hop",
         time = T + day * DAY, status = finding and "warn" or "pass",
         text = finding and finding.text, action = "none", io = io,
         findings = finding and { finding } or nil,
         metrics = { { name = "fabric_in_ratio", value = 1, status = "pass" } } }) })
   end
   run(1, "/scratch", slow)
   run(2)
   run(3, "/home")
   lu.assertEquals({ #story("n5").events, #compared().fabric, compared().fabric[1].text }, { 1, 1, slow.text })
   run(4, "/scratch")
   lu.assertEquals({ #compared().fabric, story("n5").events[2].text },
      { 0, "no longer: n5 writes to /scratch at 0.30" })
end

-- Nothing is wrong with any of them, but all are below what the site wants.
function TestFabric:test_what_is_beyond_a_limit()
   local rows = {}
   for day = 1, 2 do
      rows[day] = own_store.record({ kind = "fabric", node = "n1", class = "fabric-200g-1hop", time = T + day * DAY,
         status = day == 1 and "warn" or "pass", text = "sends 12 < 20 GB/s (policy)", action = "none",
         metrics = { { name = "fabric_out_gbs", value = 12 * day, status = day == 1 and "warn" or "pass" } } })
   end
   own_store.write({ rows[1] })
   local f = compared().fabric
   lu.assertEquals({ #f, f[1].text, f[1].nodes }, { 1, "sends 12 < 20 GB/s (policy)", { "n1" } })
   own_store.write({ rows[2] })
   lu.assertEquals(#compared().fabric, 0)
   lu.assertEquals(story("n1").events[2].text, "no longer: sends 12 < 20 GB/s (policy)")
end

-- Of each value the newest: a paced run has no rates.
function TestFabric:test_the_newest_of_each_value()
   local function row(day, metrics)
      return own_store.record({ kind = "fabric", node = "n1", class = "fabric-200g-1hop", time = T + day * DAY,
         status = "pass", action = "none", metrics = metrics })
   end
   own_store.write({ row(1, { { name = "fabric_out_gbs", value = 12, status = "pass" } }),
      row(2, { { name = "fabric_lat_us", value = 1.5, status = "pass" } }) })
   local metrics = compared()[1].metrics
   lu.assertEquals({ metrics[1].median, metrics[1].slowest.time, metrics[2].median }, { 12, T + DAY, 1.5 })
end

-- The same pair, whichever end is named first.
function TestFabric:test_a_pair_is_one()
   runs(1, function(n)
      return n == 5 and { { kind = "corrupt", from = "n5", to = "n9", text = "a" } }
         or n == 9 and { { kind = "corrupt", from = "n9", to = "n5", text = "a" } } or nil
   end)
   local f = compared().fabric
   lu.assertEquals({ #f, f[1].nodes }, { 1, { "n5", "n9" } })
end

-- Like runs of a job on four nodes that n5 is one of now and then; those with it are slow.
local function jobs(n5_from)
   local rows = {}
   for i = 1, 60 do
      local slow = i % 3 == 0
      local seconds = (slow and i * 3600 * 3 > n5_from and 1.5 or 1) * (1000 + 3 * (i * 7 % 11))
      for k = 1, 4 do
         local node = slow and k == 4 and 5 or (k + i) % 4 + 1
         rows[#rows + 1] = own_store.record({ kind = "job", node = "n" .. node, class = CLASS,
            time = T + 3 * 3600 * i, elapsed_s = seconds, delta = { throttle = { events = 0, package_worst_ms = 0 } },
            job = { id = i, user = "alice", name = "x", nodes = 4, batch = true } })
      end
   end
   own_store.write(rows)
end

local function slow_from_day_three()
   jobs(2 * DAY)
   runs(8, function(n, day)
      if n == 5 and day >= 3 then
         return { NIC }, 0.5
      end
   end)
end

local function explained(job)
   local input, name = data.read(own_store.db, jobid.runs(own_store.db, { kind = "job", id = job })[1])
   return why.analyse(input), name
end

function TestFabric:test_a_slow_job()
   slow_from_day_three()
   local out, name = explained(48)
   lu.assertEquals(out.slow.verdict, "slow")
   local first = out.explanations[1]
   lu.assertEquals({ first.group, name(first.node) }, { "link", "n5" })
   -- Before it was bad it explains nothing.
   lu.assertNil((explained(9)).named)
end

function TestFabric:test_a_suspect()
   slow_from_day_three()
   local list = suspects_data.find(own_store.db, 0)
   lu.assertEquals(list[1].name, "n5")
   lu.assertEquals(list[1].condition.group, "link")
end

-- What syscheck's own jobs take is how much they had to measure.
function TestFabric:test_its_own_jobs_are_no_kind()
   local rows = {}
   for i = 1, 20 do
      for n = 1, 3 do
         rows[#rows + 1] = own_store.record({ kind = "job", node = "n" .. n, class = CLASS, time = T + 3600 * i,
            elapsed_s = i > 14 and 30 or 15, job = { id = i, user = "root", name = "syscheck-fabric", nodes = 3 } })
      end
   end
   own_store.write(rows)
   lu.assertEquals(suspects_data.find(own_store.db, 0), {})
   lu.assertNotEquals((explained(20)).slow.verdict, "slow")
end

-- Links are no hardware class of the node's.
function TestFabric:test_the_nodes_class_stays()
   own_store.write({ own_store.record({ kind = "check", node = "n5", class = CLASS, time = T, level = "quick",
      status = "pass", action = "none", metrics = { { name = "triad_gbs", value = 100, status = "pass" } } }) })
   runs(1, history)
   lu.assertEquals(node_read.find(own_store.db, "n5")[1].class, CLASS)
   lu.assertEquals(story("n5").events, {})
end

function TestFabric:test_twice_and_pruned()
   local one = { kind = "fabric", node = "n1", class = "fabric-?g-1hop", time = T, status = "pass", action = "none" }
   local row = own_store.record(one)
   own_store.write({ row })
   row.values[1], row.values[2] = nil, nil
   own_store.write({ row })
   lu.assertEquals(own_store.db:row("SELECT count(*) FROM fabric_node")[1], 1)
   lu.assertEquals(prune.before(own_store.db, T + 1).fabric, 1)
   lu.assertEquals(own_store.db:row("SELECT count(*) FROM fabric_node")[1], 0)
end

-- What is damaged is nothing, and stops nobody.
function TestFabric:test_damage()
   runs(1, function(n)
      return n == 1 and { { text = "x" }, { kind = 3, text = {} }, { kind = "nic", leaf = {}, text = "\27[1m" } } or nil
   end)
   own_store.db:exec("UPDATE fabric_node SET detail = '{\"findings\": 7}' WHERE node = 2")
   own_store.db:exec("UPDATE fabric_node SET detail = 'x' WHERE node = 3")
   local text = fleet_show.table(compared())
   lu.assertNil(text:find("\27", 1, true))
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
