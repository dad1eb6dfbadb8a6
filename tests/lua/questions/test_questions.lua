-- What people type and how answers are printed; who stands out; a node's story; a fleet.
package.path = "lua/?.lua;" .. package.path
local json = require("cjson")
local lu = require("luaunit")
local deltas = require("syscheck.counters.deltas")
local jobid = require("syscheck.questions.jobid")
local output = require("syscheck.lib.output")
local asker = require("syscheck.questions.asker")
local fleet = require("syscheck.questions.fleet.logic")
local job_export = require("syscheck.questions.job.export")
local job_records = require("syscheck.questions.job.records")
local job_show = require("syscheck.questions.job.show")
local node_show = require("syscheck.questions.node.show")
local peers = require("syscheck.questions.job.peers")
local spark = require("syscheck.questions.node.spark")
local story = require("syscheck.questions.node.story")

-- What a terminal, a spreadsheet, a shell, a database and a browser would take for orders.
local NASTY = 'a\27[31m\7"b\'; DROP TABLE run;--<script>\r\nx,\xC3\xA9\xFF\xC2\x9B2J'

local NOW = 1795000000 -- 2026-11-18T11:06:40Z

TestJobId = {}

function TestJobId:test_forms()
   lu.assertEquals(jobid.parse("4711"), { kind = "job", id = 4711, text = "4711" })
   lu.assertEquals(jobid.parse("0123_04"), { kind = "array", id = 123, part = 4, text = "123_4" })
   lu.assertEquals(jobid.parse("123+1"), { kind = "het", id = 123, part = 1, text = "123+1" })
end

function TestJobId:test_anything_else()
   for _, text in ipairs({ "", "x", "12x", "-5", "1.5", "4711.batch", "123_", "_4", "123_4_5", "123+", "123_4+1",
      "0x10", "1e3", "4294967296", "99999999999999", "1_99999999999", " 1", "1 ", "1\n", "1 OR 1=1", NASTY }) do
      local id, err = jobid.parse(text)
      lu.assertNil(id, text)
      lu.assertStrMatches(err, "job ID must be one like 4711, [ -~]+")
   end
end

function TestJobId:test_labels_and_matches()
   lu.assertEquals(jobid.label({ job_id = 4711.0 }), "4711")
   lu.assertEquals(jobid.label({ job_id = 130, array_job_id = 123, array_task_id = 4 }), "123_4 (job 130)")
   lu.assertEquals(jobid.label({ id = 124, het_job_id = 123, het_offset = 1 }), "123+1 (job 124)")
   lu.assertTrue(jobid.matches(jobid.parse("123_4"), { id = 130, array_job_id = 123, array_task_id = 4 }))
   lu.assertFalse(jobid.matches(jobid.parse("123"), { id = 130, array_job_id = 123, array_task_id = 4 }))
   lu.assertTrue(jobid.matches(jobid.parse("123+0"), { id = 123, het_job_id = 123, het_offset = 0 }))
end

TestOutput = {}

function TestOutput:test_json_is_ascii_and_exact()
   local text = output.json({ b = NASTY, a = output.list(), n = 3.0, big = 1 << 40, x = 0.1, bad = 0 / 0, t = true,
      l = { 1, false }, emoji = "\u{1F600}" })
   lu.assertStrMatches(text, "[ -~]+")
   local back = json.decode(text)
   lu.assertEquals(back.b, (NASTY:gsub("\xFF", "\u{FFFD}")))
   lu.assertEquals(back.emoji, "\u{1F600}")
   lu.assertEquals(text:match('"a":(%[%])'), "[]")
   lu.assertEquals(text:match('"n":(%d+)'), "3")
   lu.assertEquals(back.big, 1 << 40)
   lu.assertEquals(back.bad, json.null)
   lu.assertEquals(back.l, { 1, false })
end

function TestOutput:test_csv()
   local titles = { "a", "b", "c", "d", "e", "f", "g" }
   lu.assertEquals(output.csv(titles, { { "a,b", 'c"d', nil, 5.0, -1.5, true } }),
      'a,b,c,d,e,f,g\r\n"a,b","c""d",,5,-1.5,true,\r\n')
   -- A spreadsheet would run these; a number is a number.
   lu.assertEquals(output.csv({ "=1+1", "+x", "-y", "@z", -3 }, {}), "'=1+1,'+x,'-y,'@z,-3\r\n")
   local row = output.csv({ NASTY }, {})
   lu.assertEquals(select(2, row:gsub("[%c\127]", "")), 2) -- the line end's own
   lu.assertStrContains(row, "\\x1b[31m")
   lu.assertStrContains(row, "\xC3\xA9")
   lu.assertNil(row:find("\xC2\x9B", 1, true))
end

function TestOutput:test_table()
   local rows = { { "NODE", "X", "TEXT" }, { "n1", "5", "a" }, { "n100", output.cell("1204*", "bad"), "" } }
   lu.assertEquals(output.table(rows), "NODE      X  TEXT\nn1        5  a\nn100  1204*")
   local colored = output.table(rows, true)
   lu.assertStrContains(colored, "\27[31m1204*\27[0m")
   lu.assertEquals((colored:gsub("\27%[%d+m", "")), output.table(rows))
end

TestPeers = {}

-- Rows of n nodes with values of one job field around a healthy one, and some that are not.
local function rows(n, name, healthy, sick)
   local list = {}
   for i = 1, n do
      list[i] = { metrics = {}, elapsed_s = 1000, values = { [name] = healthy(i) } }
   end
   for i, value in pairs(sick) do
      list[i].values[name] = value
   end
   return list
end

local function out_of(list)
   local names = {}
   for _, found in ipairs((peers.of_run(list))) do
      names[#names + 1] = ("%d %s"):format(found.row, found.name)
   end
   return names
end

local function zero()
   return 0
end

function TestPeers:test_events_need_one_peer()
   lu.assertEquals(out_of(rows(2, "throttle_events", zero, { [2] = 1204 })), { "2 throttle_events" })
   lu.assertEquals(out_of(rows(1, "throttle_events", zero, { 1204 })), {})
   lu.assertEquals(out_of(rows(64, "throttle_events", zero, { [17] = 3 })), { "17 throttle_events" })
   -- All of them throttle: it is the room, or the job.
   lu.assertEquals(out_of(rows(8, "throttle_events", function(i) return 1000 + 10 * i end, {})), {})
end

function TestPeers:test_time_counts_from_a_share_of_the_run()
   local function few(i)
      return 1e5 * (i % 5)
   end
   lu.assertEquals(out_of(rows(8, "io_some_us", few, { [3] = 9e6 })), {}) -- 0.9 % of 1000 s
   lu.assertEquals(out_of(rows(8, "io_some_us", few, { [3] = 3e8 })), { "3 io_some_us" })
   lu.assertEquals(out_of(rows(64, "io_some_us", few, { [3] = 3e8, [9] = 2e8 })), { "3 io_some_us", "9 io_some_us" })
   lu.assertEquals(out_of(rows(3, "io_some_us", zero, { 3e8 })), {}) -- two peers show no spread
   lu.assertEquals(out_of(rows(4, "io_some_us", zero, { 3e8 })), { "1 io_some_us" })
end

function TestPeers:test_a_few_peers_show_little_of_their_spread()
   -- Seen on four healthy nodes: two of the peers are alike by chance.
   local seen = { 0.90e6, 0.73e6, 0.45e6, 0.41e6 }
   local list = rows(4, "io_some_us", function(i) return seen[i] end, {})
   for i = 1, 4 do
      list[i].elapsed_s = 15
      list[i].metrics.gflops = ({ 118, 38.8, 33.9, 38.9 })[i]
   end
   lu.assertEquals(out_of(list), {})
   list[2].values.io_some_us = 9e6
   lu.assertEquals(out_of(list), { "2 io_some_us" })
end

function TestPeers:test_only_the_bad_direction_and_no_load()
   local function clock(i)
      return 3000 + i % 3
   end
   lu.assertEquals(out_of(rows(8, "clock_limit_mhz", clock, { [5] = 1500 })), { "5 clock_limit_mhz" })
   lu.assertEquals(out_of(rows(8, "clock_limit_mhz", clock, { [5] = 4500 })), {})
   lu.assertEquals(out_of(rows(8, "cg_read_bytes", zero, { [5] = 1e12 })), {})
end

function TestPeers:test_checks_and_words()
   local list = rows(8, "throttle_events", zero, {})
   for i = 1, 8 do
      list[i].metrics = { triad_gbs = 86 + i % 3, noise_pct = 0.1 * i }
   end
   list[4].metrics = { triad_gbs = 61.3, noise_pct = 9 }
   local found, marks = peers.of_run(list)
   lu.assertEquals(#found, 2)
   lu.assertEquals(marks[4], { ["check.triad_gbs"] = true, ["check.noise_pct"] = true })
   lu.assertEquals(peers.text(found[2]), "triad 61.3 GB/s; 7 peers: median 87 GB/s, worst 86 GB/s")
end

function TestPeers:test_absent_is_not_zero()
   local list = rows(8, "throttle_events", zero, { [2] = 5 })
   for i = 3, 8 do
      list[i].values = {}
   end
   lu.assertEquals(peers.of_run(list)[1].peers, 1)
   lu.assertEquals(out_of({ { metrics = {} }, { metrics = {}, values = {} } }), {})
end

TestJob = {}

local function records_of(n, options)
   local list = {}
   for i = 1, n do
      local job = { id = 4711, user = "alice", name = options.name, nodelist = options.nodelist or "n[1-9]", nodes = n }
      local id = ("%s%d"):format(options.nodelist or "", i)
      list[#list + 1] = { kind = "check", id = id, node = "n" .. i, time = "2026-11-21T05:36:3" .. i .. "Z", job = job,
         level = "quick", status = "pass", metrics = { { name = "triad_gbs", value = 87.5, status = "pass" } } }
      list[#list + 1] = { kind = "job", id = "j" .. id, node = "n" .. i, time = "2026-11-21T06:36:3" .. i .. "Z",
         job = job, check = { id = id }, elapsed_s = 3600, throttle_events = i == 2 and 1204 or 0,
         delta = { throttle = { package_ms = i == 2 and 3612 or 0 } }, others = i == 1 and { 4712, 4713 } or nil,
         others_more = i == 1 and 3 or nil,
         errors = i == 3 and { { kind = "dimm", unit = "mc0 " .. NASTY, corrected = 12 } } or nil }
   end
   return list
end

function TestJob:test_a_table_marks_who_is_out()
   local text = job_show.table(job_records.answer(records_of(4, { name = NASTY })), false)
   lu.assertStrMatches(text:gsub("\n", ""), "[ -~]+")
   lu.assertStrContains(text, "name a\\x1b[31m\\x07\\x22b'; DROP TABLE run;")
   lu.assertNotNil(text:find("\nn2 +%S+ +quick +pass +87%.5 .-1204%* +3612%*"))
   lu.assertStrContains(text, "n2: throttled 1204 times during the job (3612 ms); 3 peers: median 0, worst 0")
   lu.assertStrContains(text, "n1: shared with jobs 4712, 4713 and 3 more")
   lu.assertStrContains(text, ": corrected 12")
end

function TestJob:test_a_requeued_job_has_runs()
   local list = records_of(2, { nodelist = "n[1-2]" })
   table.move(records_of(2, { nodelist = "n[1,3]" }), 1, 4, #list + 1, list)
   local answer = job_records.answer(list)
   lu.assertEquals(#answer, 2)
   lu.assertEquals(#answer[1].rows, 2)
   lu.assertStrContains(job_show.table(answer, false), "run 2, n2: throttled 1204 times")
   -- The same nodes again, without a count of restarts.
   table.move(records_of(2, { nodelist = "n[1-2]" }), 1, 4, 1, list)
   for i = 5, 8 do
      list[i].job.nodelist = "n[1-2]"
      list[i].time = list[i].time:gsub("T0", "T1")
   end
   lu.assertEquals(#job_records.answer(list), 2)
end

function TestJob:test_json_and_csv_have_everything()
   local answer = job_records.answer(records_of(4, { name = NASTY }))
   local back = json.decode(job_export.json(answer))
   lu.assertEquals(back.runs[1].name, (NASTY:gsub("\xFF", "\u{FFFD}")))
   lu.assertEquals(back.runs[1].rows[2].values.throttle_package_ms, 3612)
   lu.assertEquals(back.runs[1].rows[2].out[1].name, "throttle_events")
   lu.assertEquals(back.runs[1].rows[1].others, { 4712, 4713 })
   local lines = {}
   for line in job_export.csv(answer):gmatch("(.-)\r\n") do
      lines[#lines + 1] = line
   end
   lu.assertEquals(#lines, 5)
   lu.assertStrContains(lines[3], ",throttle_events throttle_package_ms,")
   lu.assertStrContains(lines[2], ",4712 4713")
   -- Damage where a table is expected: what is there is shown.
   for _, wrong in ipairs({ 5, "x", true }) do
      local damaged = records_of(2, {})
      for _, r in ipairs(damaged) do
         for _, name in ipairs({ "metrics", "problems", "errors", "others", "drain", "delta", "check", "note", "begin",
            "time", "elapsed_s", "level", "status", "action" }) do
            r[name] = wrong
         end
      end
      answer = job_records.answer(damaged)
      lu.assertStrContains(job_show.table(answer, false), "n2")
      lu.assertStrContains(job_export.json(answer), "n2")
      lu.assertStrContains(job_export.csv(answer), "n2")
   end
end

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

TestFleet = {}

local function nodes(n, sick, class)
   local list = {}
   for i = 1, n do
      list[i] = { node = "n" .. i, class = class or "epyc", values = {
         triad_gbs = { value = sick[i] or 100 + i % 5, time = NOW, status = sick[i] and "fail" or "pass" } } }
   end
   return list
end

function TestFleet:test_who_is_out()
   local m = fleet.compare(nodes(40, { [7] = 61, [9] = 140 }))[1].metrics[1]
   lu.assertEquals({ m.slowest.node, m.fastest.node, m.nodes, m.median }, { "n7", "n9", 40, 102 })
   lu.assertEquals({ m.out[1].node, m.out[1].worse, m.out[2].node, m.out[2].worse }, { "n7", true, "n9", false })
   lu.assertAlmostEquals(m.spread_pct, 100 * 79 / 140, 1e-9)
   lu.assertAlmostEquals(m.rest_pct, 100 * 4 / 104, 1e-9)
   lu.assertEquals(#fleet.compare(nodes(40, {}))[1].metrics[1].out, 0)
   -- Two or three per cent are no outlier, however alike the others are.
   local alike = nodes(40, {})
   for i, node in ipairs(alike) do
      node.values.triad_gbs.value = i == 3 and 97.5 or 100
   end
   lu.assertEquals(#fleet.compare(alike)[1].metrics[1].out, 0)
end

function TestFleet:test_few_nodes_and_classes()
   lu.assertEquals(#fleet.compare(nodes(4, { 10 }))[1].metrics[1].out, 0)
   local list = nodes(6, { [2] = 50 })
   table.move(nodes(1, { 10 }, "xeon"), 1, 1, 7, list)
   local answer = fleet.compare(list)
   lu.assertEquals({ answer[1].class, answer[2].class, answer[2].nodes }, { "epyc", "xeon", 1 })
   lu.assertEquals(#answer[1].metrics[1].out, 1)
end

TestAsk = {}

function TestAsk:test_what_is_let_through()
   lu.assertEquals(asker.parse({ "job", "123_4", "--json" }), { command = "job", spool = {}, json = true,
      id = { kind = "array", id = 123, part = 4, text = "123_4" } })
   lu.assertEquals(asker.parse({ "why", "4711" }).command, "why")
   for _, words in ipairs({ {}, { "job" }, { "4711" }, { "node", "n1" }, { "job", "x" },
      { "job", "4711", "--store=/x" }, { "job", "4711", "--store" }, { "job", "--store", "/x" },
      { "job", "4711", "--json", "--policy=/x" },
      { "job", "4711", "--spool" }, { "--policy", "/x", "job" }, { "../cmd/ingest", "1" }, { "job", "4711\n" },
      { "job", "4711", "" }, { "", "4711" } }) do
      local args, err = asker.parse(words)
      lu.assertNil(args, table.concat(words, " "))
      lu.assertStrMatches(err, "[ -~]+")
   end
end

function TestAsk:test_who_asks()
   local function with(value)
      return asker.uid(function() return value end)
   end
   lu.assertEquals(with("1000"), "1000")
   for _, wrong in ipairs({ "", "root", "-1", "0x0", "1 0", "99999999999" }) do
      lu.assertNil((with(wrong)))
   end
   lu.assertNil((with(nil)))
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
