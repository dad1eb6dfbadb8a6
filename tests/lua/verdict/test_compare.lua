-- Two sets of checks against each other.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local compare = require("syscheck.verdict.compare")
local noise = require("syscheck.verdict.compare.noise")

local null = require("cjson").null

local function none() end

-- A check: triad_gbs, and more keys of stream's object.
local function check(triad, more, record)
   local r = { triad_gbs = triad, version = "1" }
   for key, value in pairs(more or {}) do
      r[key] = value
   end
   local out = { kind = "check", node = "n1", class = "c1", level = "quick", boot_id = tostring(triad),
      metrics = { { name = "triad_gbs", status = "pass", value = triad } },
      runs = { { kernel = "stream", state = "ok", box_s = 2, result = r } } }
   for key, value in pairs(record or {}) do
      out[key] = value
   end
   return out
end

local function checks(...)
   local out = {}
   for i, value in ipairs({ ... }) do
      out[i] = check(value)
   end
   return out
end

local function verdict(a, b, run_pct)
   local row = compare.of(a, b, run_pct or none).rows[1]
   return row.verdict, row.noise_from, row
end

TestVerdict = {}

function TestVerdict:test_runs_that_agree_show_a_small_difference()
   lu.assertEquals((verdict(checks(100, 101, 99), checks(108, 109, 108))), "better")
   lu.assertEquals((verdict(checks(100, 101, 99), checks(92, 91, 93))), "worse")
   local what, from, row = verdict(checks(100, 101, 99), checks(101, 100, 100))
   lu.assertEquals({ what, from, row.runs_a, row.runs_b }, { "same", "runs", 3, 3 })
end

function TestVerdict:test_runs_that_differ_show_none()
   lu.assertEquals((verdict(checks(100, 60, 130), checks(80, 110, 50))), "cannot tell")
end

function TestVerdict:test_one_run_each_is_an_assumption()
   local what, from, row = verdict(checks(100), checks(95))
   lu.assertEquals({ what, from }, { "same", "assumed" })
   lu.assertAlmostEquals(row.noise_pct, 10, 0.01)
   lu.assertEquals((verdict(checks(100), checks(85))), "worse")
   -- Its own moments differ by more.
   lu.assertEquals((verdict({ check(100, { triad_spread_pct = 60 }) }, checks(85))), "cannot tell")
end

function TestVerdict:test_a_baseline_knows_how_runs_differ()
   local what, from = verdict(checks(100), checks(95), function(key)
      return key == "triad_gbs" and 0.5
   end)
   lu.assertEquals({ what, from }, { "worse", "baseline" })
end

function TestVerdict:test_a_disturbed_run_counts_only_where_there_is_no_other()
   local bad = check(50, { lost_pct = 50 })
   local what, _, row = verdict({ check(100), check(101), bad }, checks(100, 101, 99))
   lu.assertEquals({ what, row.runs_a, row.disturbed_a, row.why }, { "same", 2, 1 })
   what, _, row = verdict({ bad }, checks(100))
   lu.assertEquals({ what, row.runs_a, row.why }, { "cannot tell", 1, "others used the node" })
   what, _, row = verdict({ check(50, {}, { runs = { { kernel = "stream", state = "ok", result = {},
      others = { loss_pct = 50, cpus = 1 } } } }) }, checks(100))
   lu.assertEquals({ what, row.disturbed_a }, { "cannot tell", 1 })
end

function TestVerdict:test_of_a_latency_more_is_worse()
   local function numa(ns)
      return { { class = "c1", metrics = { { name = "latency_ns", status = "unrated", value = ns } },
         runs = { { kernel = "numa", state = "ok",
            result = { cache_latency = { { level = 2, kib = 512, ns = ns / 10 } } } } } } }
   end
   local rows = compare.of(numa(100), numa(150), none).rows
   lu.assertEquals({ rows[1].name, rows[1].verdict, rows[2].name, rows[2].label, rows[2].verdict },
      { "latency_ns", "worse", "l2_ns", "L2 latency", "worse" })
end

function TestVerdict:test_noise_of_the_system_in_points()
   local function of(pct)
      return { { metrics = { { name = "noise_pct", status = "unrated", value = pct } },
         runs = { { kernel = "noise", state = "ok", box_s = pct, result = {} } } } }
   end
   lu.assertEquals((verdict(of(0.1), of(0.4))), "same")
   lu.assertEquals((verdict(of(0.1), of(3))), "worse")
   lu.assertEquals((verdict(of(3), of(2))), "cannot tell") -- 50 % are assumed
end

function TestVerdict:test_other_time_boxes_are_another_quantity()
   local long = check(100)
   long.runs[1].box_s = 6
   local what, _, row = verdict({ long }, checks(50))
   lu.assertEquals({ what, row.why }, { "cannot tell", "time boxes of 6 and 2 s" })
   lu.assertEquals(compare.of({ long }, checks(50), none).remarks,
      { "stream: time boxes of 6 and 2 s, which is another quantity" })
end

function TestVerdict:test_what_is_no_measurement_is_not_compared()
   for _, metric in ipairs({ { bound = true }, { status = "unknown" }, { corrupt = true }, { value = null } }) do
      local one = check(100)
      for key, value in pairs(metric) do
         one.metrics[1][key] = value
      end
      lu.assertEquals(compare.of({ one }, checks(100), none).rows, {})
      lu.assertFalse(compare.has_values(one))
   end
   local one = check(100, { unfinished = "too slow", copy_gbs = 5 })
   lu.assertFalse(compare.has_values(one))
end

-- 20 values of two equal nodes, three runs each: a difference is none.
function TestVerdict:test_equal_nodes_hardly_ever_differ()
   local seed = 11
   local function uniform()
      seed = seed * 48271 % 2147483647
      return seed / 2147483647
   end
   local function normal()
      return math.sqrt(-2 * math.log(uniform())) * math.cos(2 * math.pi * uniform())
   end
   for _, deviation in ipairs({ 1, 2, 5 }) do
      local named, found = 0, 0
      for _ = 1, 400 do
         local sets, all = {}, {}
         for i = 1, 20 do
            local a, b = {}, {}
            for j = 1, 3 do
               a[j], b[j] = 100 + deviation * normal(), 100 + deviation * normal()
            end
            sets[i], all[i] = { a, b }, noise.deviation_pct(a, b)
         end
         table.sort(all)
         local any = false
         for _, set in ipairs(sets) do
            local limit, _, at, bt = noise.of(set[1], set[2], { usual_pct = all[10] })
            any = any or math.abs(at - bt) > limit
         end
         named = named + (any and 1 or 0)
         local slow = { sets[1][2][1] - 10, sets[1][2][2] - 10, sets[1][2][3] - 10 }
         local limit, _, at, bt = noise.of(sets[1][1], slow, { usual_pct = all[10] })
         found = found + (at - bt > limit and 1 or 0)
      end
      lu.assertTrue(named <= 20, ("deviation %d: %d of 400 comparisons name a value"):format(deviation, named))
      lu.assertTrue(deviation > 2 or found >= 360, ("deviation %d: 10 %% found in %d of 400"):format(deviation, found))
   end
end

TestRest = {}

function TestRest:test_what_differs_in_the_machine()
   local a = check(100, {}, { config = { governor = "powersave", kernel = "6.1", thp = null }, parts = { cores = 48 } })
   local b = check(101, {}, { config = { governor = "performance", kernel = "6.1" }, parts = { cores = 47 } })
   lu.assertEquals(compare.of({ a }, { b }, none).changed, { { what = "config.governor", a = "powersave",
      b = "performance" }, { what = "parts.cores", a = "48", b = "47" } })
end

function TestRest:test_remarks()
   local function remarks(more_a, more_b)
      return table.concat(compare.of({ check(100, {}, more_a) }, { check(101, {}, more_b) }, none).remarks, "\n")
   end
   lu.assertEquals(remarks({}, {}), "")
   lu.assertStrContains(remarks({ class = "c2", node = "n2" }, {}), "two hardware classes")
   lu.assertStrContains(remarks({ node = "n2" }, {}), "two nodes")
   lu.assertStrContains(remarks({ boot_id = "b" }, { boot_id = "b" }), "same boot")
   lu.assertStrContains(remarks({ cpus = { list = "0-3" } }, { cpus = { list = "0-7" } }), "different CPUs")
   local two = compare.of({ check(1), check(1, {}, { node = "n2" }) }, checks(1), none).remarks
   lu.assertStrContains(table.concat(two, "\n"), "A has runs of 2 nodes")
end

function TestRest:test_values_that_only_one_side_has()
   local b = check(100, { copy_gbs = 90 })
   local answer = compare.of(checks(100), { b }, none)
   lu.assertEquals({ #answer.rows, answer.only_a, answer.only_b }, { 1, {}, { "copy_gbs" } })
end

function TestRest:test_a_wrong_result()
   local b = check(100)
   table.insert(b.runs, { kernel = "dgemm", state = "corrupt" })
   lu.assertEquals(compare.of(checks(100), { b }, none).wrong, { { side = "b", kernel = "dgemm" } })
end

function TestRest:test_directories_by_path()
   local function io(gbs)
      local one = check(100)
      table.insert(one.runs, { kernel = "io", path = "/scratch", state = "ok", result = { write_gbs = gbs } })
      return { one }
   end
   local rows = compare.of(io(2), io(0.5), none).rows
   lu.assertEquals({ rows[2].label, rows[2].verdict }, { "io /scratch write", "worse" })
end

function TestRest:test_garbage()
   for _, part in ipairs({ null, 5, "x", { 1, "x", {} }, { { name = {}, kernel = {}, state = "ok", result = {
      cache_latency = { {}, 5 }, version = {} } } } }) do
      local one = check(100, {}, { config = part, parts = part, cpus = part, node = part })
      table.insert(one.runs, part)
      lu.assertEquals(#compare.of({ one }, { one }, none).rows, 1)
      one = check(100, {}, { runs = part, metrics = part })
      lu.assertEquals(compare.of({ one }, { one }, none).rows, {})
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
