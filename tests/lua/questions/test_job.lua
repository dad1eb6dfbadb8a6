-- A job from its records: runs, table, JSON, CSV.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local detail = require("syscheck.verdict.detail")
local job_export = require("syscheck.questions.job.export")
local job_records = require("syscheck.questions.job.records")
local job_show = require("syscheck.questions.job.show")
local json = require("cjson")

-- What a terminal, a spreadsheet, a shell, a database and a browser would take for orders.
local NASTY = 'a\27[31m\7"b\'; DROP TABLE run;--<script>\r\nx,\xC3\xA9\xFF\xC2\x9B2J'

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
   lu.assertStrContains(text, "n2: throttled 1204 times during the job (3.61 s); 3 peers: median 0, worst 0")
   lu.assertStrContains(text, "n1: shared with jobs 4712, 4713 and 3 more")
   lu.assertStrContains(text, ": corrected 12")
end

-- A full check's kernels, as a record has them.
local function measured(list)
   for i, r in ipairs(list) do
      if r.kind == "check" then
         r.metrics[2] = { name = "latency_ns", value = 99.5, status = "pass" }
         r.runs = { { kernel = "dgemm", state = "ok", result = { clock_mhz = 3000 + i, clock_mhz_min = 2900 } },
            { kernel = "noise", state = "ok", result = { noise_pct = 3, components = {
               { text = "4 ms every 8 ms " .. NASTY, lost_pct = 2.5 } } } },
            { kernel = "io", state = "ok", path = "/scratch", result = { filesystem = "lustre", write_gbs = 1.5,
               read_gbs = 2.25, fsync_us = 125, creates_per_s = 3352 } } }
      end
   end
   return list
end

function TestJob:test_a_table_shows_what_was_measured()
   local text = job_show.table(job_records.answer(measured(records_of(10, {}))), false)
   lu.assertNotNil(text:find("CLOCK_MHz  LATENCY_ns  ELAPSED_s", 1, true), text)
   lu.assertNotNil(text:find("3001        99.5       3600", 1, true), text)
   lu.assertNil(text:find("SCALING", 1, true))
   lu.assertNotNil(text:find("n1 +/scratch +lustre +1%.5 +2%.25 +125 +3352"), text)
   lu.assertStrContains(text, "n1: noise before the job: 4 ms every 8 ms a\\x1b[31m")
   lu.assertStrContains(text, "noise of 2 more nodes: --json has it")
   lu.assertStrMatches(text:gsub("\n", ""), "[ -~]+")
   local row = json.decode(job_export.json(job_records.answer(measured(records_of(1, {}))))).runs[1].rows[1]
   lu.assertEquals(row.check.metrics.clock_mhz, 3001)
   lu.assertEquals(row.check.io[1].write_gbs, 1.5)
   lu.assertEquals(row.check.noise.lost_pct, 2.5)
end

function TestJob:test_a_full_check_has_its_knee_and_the_curve_in_json()
   local list = records_of(1, {})
   list[1].runs = { { kernel = "scaling", state = "ok", result = { knee_threads = 12, best_gbs = 90, compact = {
      { threads = 1, triad_gbs = 12 }, { threads = 48, triad_gbs = 90 } } } }, { kernel = "numa", state = "ok",
      result = { numa_factor = 1.77, latency = { { from = 0, to = 0, ns = 69.7 },
         { from = 0, to = 1, ns = 123.7 } } } } }
   local answer = job_records.answer(list)
   local text = job_show.table(answer, false)
   lu.assertNotNil(text:find("KNEE  NUMA_FACTOR", 1, true), text)
   lu.assertNotNil(text:find("12 +1%.77 +3600"), text)
   local check = json.decode(job_export.json(answer)).runs[1].rows[1].check
   lu.assertEquals(check.scaling.compact[2], { threads = 48, triad_gbs = 90 })
   lu.assertEquals(check.numa.latency[2], { from = 0, to = 1, ns = 123.7 })
   lu.assertEquals(check.metrics.knee_threads, 12)
   local sections = detail.of_kept(answer[1].rows[1].check)
   lu.assertEquals({ sections[1].title, sections[2].title }, { "Memory bandwidth over threads (scaling)",
      "NUMA (cores of the row's node, memory of the column's)" })
end

function TestJob:test_a_narrow_terminal_loses_nothing_that_says_something()
   local answer = job_records.answer(measured(records_of(4, { name = ("x"):rep(10240) })))
   for _, width in ipairs({ 40, 80, 120 }) do
      local text = job_show.table(answer, false, false, width)
      for line in text:gmatch("[^\n]+") do
         lu.assertTrue(#line <= width or not line:sub(3):find(" "), line)
      end
      lu.assertStrContains(text, "1204*")
      lu.assertStrContains(text, "3001")
   end
   lu.assertStrContains(job_show.table(answer, false, false, 80), "only - or 0: DGEMM_GF/s, NOISE_%, IO_STALL_s")
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

-- Where Slurm's first run has no count, the batch step's node alone knows that it is the first.
function TestJob:test_one_node_knows_which_run_it_was()
   local list = {}
   local function add(node, hour, restart)
      list[#list + 1] = { kind = "job", id = node .. hour, node = node, time = ("2026-11-21T0%d:00:00Z"):format(hour),
         job = { id = 5, nodelist = "n[1-3]", restart = restart } }
   end
   add("n2", 6) add("n1", 6, 0) add("n3", 6)
   local answer = job_records.answer(list)
   lu.assertEquals({ #answer, #answer[1].rows, answer[1].restart }, { 1, 3, 0 })
   add("n1", 7, 1) add("n2", 7, 1) add("n3", 7)
   answer = job_records.answer(list)
   lu.assertEquals({ #answer, #answer[1].rows, #answer[2].rows, answer[2].restart }, { 2, 3, 3, 1 })
end

function TestJob:test_the_batch_steps_identity_wins()
   for _, order in ipairs({ { "n1", "n2" }, { "n2", "n1" } }) do
      local list = {}
      for i, node in ipairs(order) do
         local mine = node == "n1"
         local job = { id = 5, nodelist = "n[1-2]", batch = mine or nil, name = mine and "honest" or "forged",
            array_job_id = not mine and 66 or nil, array_task_id = not mine and 6 or nil }
         list[2 * i - 1] = { kind = "check", id = "c" .. i, node = node, time = "2026-11-21T05:36:3" .. i .. "Z",
            job = { id = 5, nodelist = "n[1-2]" } }
         list[2 * i] = { kind = "job", id = "j" .. i, node = node, time = "2026-11-21T06:36:3" .. i .. "Z", job = job,
            check = { id = "c" .. i } }
      end
      local answer = job_records.answer(list)
      lu.assertEquals(#answer, 1)
      lu.assertEquals(answer[1].name, "honest")
      lu.assertNil(answer[1].array_job_id)
   end
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

os.exit(lu.LuaUnit.run("-o", "TAP"))
