-- A node's story.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local deltas = require("syscheck.counters.deltas")
local json = require("cjson")
local node_page = require("syscheck.questions.node.page")
local node_show = require("syscheck.questions.node.show")
local spark = require("syscheck.questions.node.spark")
local story = require("syscheck.questions.node.story")

-- What a terminal, a spreadsheet, a shell, a database and a browser would take for orders.
local NASTY = 'a\27[31m\7"b\'; DROP TABLE run;--<script>\r\nx,\xC3\xA9\xFF\xC2\x9B2J'

local NOW = 1795000000 -- 2026-11-18T11:06:40Z

TestNode = {}

function TestNode:test_spark()
   local points = { { 0, 5 }, { 10, 9 }, { 10, 7 }, { 99, 1 } }
   lu.assertEquals(spark.buckets(points, 0, 100, 4, true), { 5, false, false, 1 })
   lu.assertEquals(spark.buckets(points, 0, 100, 4, false), { 9, false, false, 1 })
   lu.assertEquals(spark.line({ 1, false, 8, 4 }, false), "_ #~")
   lu.assertEquals(utf8.len(spark.line({ 1, false, 8, 4 }, true)), 4)
   -- 1 % of scatter is flat, in the middle of the scale.
   lu.assertEquals(spark.line({ 100, 101, 100.5 }, false):match("[_#]"), nil)
   lu.assertEquals(spark.line({ 0, 0 }, false), "__")
   lu.assertEquals(spark.line({ false }, true), "")
end

local function tale_of(limit)
   local tale = story.new(limit)
   for i = 1, 10 do
      tale:check({ time = NOW + i, status = i == 6 and "fail" or "pass", text = i == 6 and NASTY or nil,
         action = i == 6 and "drain" or i == 8 and "resume" or "none",
         drain = i == 6 and { reason = "syscheck: triad 61.3 < 77.4" } or nil,
         class = "a", config = "c1", metrics = { triad_gbs = i == 6 and 61.3 or 87 } })
      tale:job({ time = NOW + i + 0.5, elapsed_s = 5, class = i > 8 and "b" or "a", config = "c1", run = { job_id = i },
         values = { throttle_events = i == 3 and 1204 or 0, memory_corrected = i == 4 and 12 or 0 },
         errors = i == 4 and { { kind = "dimm", unit = "mc0 A1", corrected = 12 }, { kind = "link", errors = 1 } } })
   end
   tale:loss({ time = NOW + 20, records = 4, reason = "disk full" })
   return tale:answer()
end

function TestNode:test_a_story()
   local told = tale_of(20)
   local events = {}
   for i, e in ipairs(told.events) do
      events[i] = e.event .. ": " .. e.text
   end
   lu.assertEquals(events, { "throttle: 1204 throttle events",
      "memory: 12 corrected memory errors (mc0 A1: corrected 12)",
      "drain: syscheck: triad 61.3 < 77.4", "check: fail -> pass", "resume: back in service after passing checks",
      "class: a -> b", "loss: 4 records lost: disk full" })
   lu.assertEquals({ told.checks, told.statuses }, { 10, { pass = 9, fail = 1 } })
   lu.assertEquals({ told.jobs_total, #told.jobs }, { 10, 10 })
   lu.assertEquals({ told.metrics[1].min, told.metrics[1].median, told.metrics[1].last }, { 61.3, 87, 87 })
end

-- Numbers differ at each check: they would leave no room for what happened before.
function TestNode:test_a_node_that_stays_busy_is_one_event()
   local tale = story.new(20)
   local function unknown(i, text)
      tale:check({ time = NOW + i, status = "unknown", text = text, metrics = {} })
   end
   tale:check({ time = NOW, status = "fail", text = "x", action = "drain", metrics = {} })
   for i = 1, 30 do
      unknown(i, ("busy, not rated: others used %d %% of CPU %d, most by sh (pid %d, uid 7); dgemm %.1f < 80.5"):format(
         50 + i, i % 4, 100 + i, 40 + i / 10))
   end
   unknown(40, "no kernels here")
   local told = tale:answer()
   lu.assertEquals({ #told.events, told.events_total }, { 3, 3 })
   lu.assertEquals(told.events[1].event, "drain")
   lu.assertStrContains(told.events[2].text, "CPU 1, most by sh (pid 101,")
   lu.assertEquals(told.events[3].text, "unknown: no kernels here")
end

-- As the epilog finds them: what EDAC could blame on no module is its controller's.
function TestNode:test_errors_of_a_controller()
   local before = { boot_id = "b", sources = { memory_errors = { ["corrected:mc0"] = 3 } }, blamed = {} }
   local after = { boot_id = "b", sources = { memory_errors = { ["corrected:mc0"] = 15 } },
      blamed = { ["corrected:mc0/dimm1"] = 5 } }
   local tale = story.new(9)
   tale:job({ time = NOW, class = "a", config = "c", values = { memory_corrected = 12 },
      errors = deltas.errors(before, after) })
   local text = tale:answer().events[1].text
   lu.assertEquals(text, "12 corrected memory errors (mc0: corrected 7; mc0/dimm1: corrected 5)")
end

function TestNode:test_what_became_of_a_bad_node()
   local tale = story.new(9)
   for i, action in ipairs({ "storm", "undecided" }) do
      tale:check({ time = NOW + i, status = "fail", text = "triad 1 < 2", action = action, metrics = {},
         drain = { reason = "syscheck: triad 1 < 2", error = "no answer within 15 s" } })
   end
   local events = tale:answer().events
   lu.assertEquals({ events[1].event, events[1].text }, { "storm", "triad 1 < 2" })
   lu.assertEquals({ events[2].event, events[2].text }, { "undecided", "triad 1 < 2 (no answer within 15 s)" })
end

function TestNode:test_no_news_of_good_checks()
   local tale = story.new(9)
   for i, status in ipairs({ "pass", "unrated", "pass", "warn", "fail", "unrated" }) do
      tale:check({ time = NOW + i, status = status, metrics = {} })
   end
   local told = tale:answer().events
   lu.assertEquals({ #told, told[1].text, told[2].text }, { 2, "pass -> warn", "fail -> unrated" })
end

function TestNode:test_limits_keep_the_last()
   local told = tale_of(2)
   lu.assertEquals({ #told.events, told.events_total, told.events[2].event }, { 2, 7, "loss" })
   lu.assertEquals({ #told.jobs, told.jobs_total, told.jobs[1].run.job_id }, { 2, 10, 9 })
end

function TestNode:test_shown()
   local node = { name = NASTY, cluster = "c", class = "a" }
   for _, told in ipairs({ tale_of(20), story.new(5):answer() }) do
      told.node, told.since, told.to = node, NOW, NOW + 100
      lu.assertStrMatches(node_show.table(told, false, false):gsub("\n", ""), "[ -~]+")
      lu.assertEquals(json.decode(node_show.json(told)).jobs_total, told.jobs_total)
      local _, lines = node_show.csv(told):gsub("\r\n", "")
      lu.assertEquals(lines, 1 + #told.events + #told.jobs + told.checks)
   end
end

function TestNode:test_the_newest_curve_and_matrix()
   local told = story.new(5):answer()
   told.node, told.since, told.to = { name = "n1" }, NOW, NOW + 100
   told.memory = { scaling = { knee_threads = 8, compact = { { threads = 1, triad_gbs = 20 },
      { threads = 16, triad_gbs = 90 } } }, scaling_time = NOW }
   local memory = json.decode(node_show.json(told)).memory
   lu.assertEquals(memory.scaling.time, "2026-11-18T11:06:40Z")
   lu.assertEquals(memory.scaling.compact[2].triad_gbs, 90)
   lu.assertNil(memory.numa)
   told.made = { version = "1", time = "now" }
   lu.assertStrContains(node_page(told), "Bandwidth against threads")
   told.memory = {}
   lu.assertNil(json.decode(node_show.json(told)).memory)
   lu.assertNil(node_page(told):find("Bandwidth against threads", 1, true))
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
