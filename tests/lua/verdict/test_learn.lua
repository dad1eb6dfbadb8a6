-- Learning a baseline: spread and tolerance, what teaches, what may be used.
package.path = "lua/?.lua;" .. package.path
local json = require("cjson")
local lu = require("luaunit")
local baseline = require("syscheck.verdict.baseline")
local choose = require("syscheck.verdict.adoption")
local learn = require("syscheck.verdict.learning")
local policy = require("syscheck.policy.policy")
local rating = require("syscheck.verdict.rating")
local spread = require("syscheck.verdict.spread")

local CLASS = "epyc-9654-2s192c-768g"
local serial = 0

local function check(node, triad, extra)
   serial = serial + 1
   local record = { v = 1, kind = "check", id = ("%032x"):format(serial << 8), node = node, class = CLASS,
      runs = { { kernel = "stream", state = "ok", result = { triad_gbs = triad } } } }
   for k, v in pairs(extra or {}) do
      record[k] = v
   end
   return record
end

local function each(list)
   local i = 0
   return function()
      i = i + 1
      return list[i]
   end
end

-- `nodes` nodes with `checks` checks each, around `triad`, by 1 %.
local function fleet(nodes, checks, triad, extra, prefix)
   local list = {}
   for i = 1, nodes do
      for j = 1, checks do
         local off = ((i * 7 + j * 3) % 5 - 2) / 2
         list[#list + 1] = check((prefix or "n") .. i, triad * (1 + off / 100), extra)
      end
   end
   return list
end

local function append(list, more)
   return table.move(more, 1, #more, #list + 1, list)
end

local function triad_of(list)
   local c = learn.from(each(list)).classes[CLASS]
   return c and c.metrics.triad_gbs
end

TestSpread = {}

function TestSpread:test_statistics()
   -- Evenly spaced 90..110: MAD 5 (median distance), scaled by 1.4826.
   local values = {}
   for v = 90, 110 do
      values[#values + 1] = v
   end
   local m, mad = spread.statistics(values)
   lu.assertEquals(m, 100)
   lu.assertAlmostEquals(mad, 7.413, 1e-9)
   lu.assertEquals({ spread.statistics({ 4 }) }, { 4, 0 })
   lu.assertEquals((spread.statistics({ 4, 1, 3, 2 })), 2.5)
end

function TestSpread:test_both_below_against_closed_forms()
   -- No run noise: both runs are the node's offset. No offset: two independent runs.
   lu.assertAlmostEquals(spread.both_below(3, 1, 0), 1.349898e-3, 1e-8)
   lu.assertAlmostEquals(spread.both_below(3, 0, 1), 1.349898e-3 ^ 2, 1e-11)
   lu.assertAlmostEquals(spread.both_below(0, 1, 1), 1 / 3, 1e-5) -- correlation 1/2: 1/4 + asin(1/2)/2pi
   lu.assertEquals(spread.both_below(-5, 0, 0), 1)
   lu.assertEquals(spread.both_below(5, 0, 0), 0)
end

function TestSpread:test_tolerance_holds_the_rate()
   for _, c in ipairs({ { 1, 1 }, { 1.76, 3 }, { 5, 3 }, { 0, 2 }, { 3, 0 } }) do
      local t = spread.tolerance(c[1], c[2])
      lu.assertTrue(spread.both_below(t, c[1], math.max(c[2], c[1] / 100)) <= spread.FALSE_DRAINS)
      lu.assertTrue(spread.both_below(t - 0.05, c[1], c[2]) > spread.FALSE_DRAINS)
   end
   lu.assertTrue(spread.tolerance(2, 1, 5) > spread.tolerance(2, 1, 100))
   lu.assertEquals(spread.tolerance(1e6, 1e6), 100)
   lu.assertTrue(spread.tolerance(0, 0) < 0.001)
end

function TestSpread:test_one_population_is_not_two()
   math.randomseed(1)
   for _, n in ipairs({ 5, 8, 12, 20, 60, 300 }) do
      local seen = 0
      for _ = 1, 400 do
         local values = {}
         for i = 1, n do
            values[i] = 100 + 5 * math.sqrt(-2 * math.log(1 - math.random())) * math.cos(2 * math.pi * math.random())
         end
         seen = seen + (spread.split(values) and 1 or 0)
      end
      lu.assertTrue(seen <= 3, n)
   end
   local low, apart = spread.split({ 100, 101, 99, 100, 90, 91, 89, 90, 90 })
   lu.assertEquals(low, 5)
   lu.assertAlmostEquals(apart, 100 * 10 / 91, 1e-9)
   lu.assertNil(spread.split({ 1, 1, 1, 1, 1, 1, 1, 1 }))
   lu.assertNil(spread.split({ 1e-300, 1e15, 1, 1, 1, 1, 1, 1 }))
   lu.assertNil(spread.split({ 100 }))
end

-- Right after its installation a site has two checks of a node: the tolerance is not the tighter for it.
function TestSpread:test_few_checks_of_many_nodes()
   math.randomseed(1)
   local function normal()
      return math.sqrt(-2 * math.log(1 - math.random())) * math.cos(2 * math.pi * math.random())
   end
   for n, want in ipairs({ 1, 0.5, 0.4487, 0.2982, 0.2868 }) do
      lu.assertAlmostEquals(spread.of_median(n) / want, 1, 0.04)
   end
   for _, checks in ipairs({ 2, 3, 4 }) do
      local list = {}
      for i = 1, 300 do
         local node = 100 + 2.5 * normal()
         for _ = 1, checks do
            list[#list + 1] = check("n" .. i, node + 5 * normal())
         end
      end
      lu.assertTrue(triad_of(list).tolerance_pct > 0.97 * spread.tolerance(2.5, 5), checks)
   end
end

-- Other guests of a host take a fifth of any node in one check of twenty, in both of its measurements.
function TestSpread:test_dips_of_all_nodes_are_in_the_tolerance()
   local function tolerance(nodes, checks, slow, dip)
      local list = {}
      for i = 1, nodes do
         for j = 1, checks do
            local off = ((i * 7 + j * 3) % 5 - 2) / 100
            list[#list + 1] = check("n" .. i, 100 * (1 + off) * (i <= slow and (i + j) % 20 == 0 and dip or 1))
         end
      end
      return triad_of(list).tolerance_pct
   end
   local calm = tolerance(20, 64, 0)
   lu.assertTrue(calm < 10)
   local noisy = tolerance(20, 64, 20, 0.8)
   lu.assertTrue(noisy > 20 and noisy < 25)
   -- A few nodes' own trouble, and what few checks show, widen nothing.
   lu.assertEquals(tolerance(20, 64, 4, 0.8), calm)
   lu.assertTrue(tolerance(20, 10, 20, 0.8) < 15)
   -- A node that is 30 % slow has to be found, whatever others do.
   lu.assertEquals(tolerance(20, 64, 20, 0.4), 30)
   lu.assertTrue(baseline.limit({ median = 100, tolerance_pct = 30, mad_pct = 1 }, { better = "higher" }, 0.1) >= 70)
   lu.assertEquals(spread.dips({ { 100, 100 } }, 100, "higher"), 0)
   local latency = {}
   for i = 1, 16 do
      latency[i] = i == 9 and 125 or 90
   end
   lu.assertAlmostEquals(spread.dips({ latency }, 100, "lower"), 25, 1e-9)
end

function TestSpread:test_run_noise_is_told_from_offset_and_drift()
   local rising = {}
   for i = 1, 64 do
      rising[i] = 100 + i * 0.01
   end
   lu.assertTrue(spread.of_measurements({ rising }) < 0.02)
   lu.assertAlmostEquals(spread.of_measurements({ { 100, 101 }, { 200, 202 } }), 1.4826 / math.sqrt(2), 0.02)
   lu.assertNil(spread.of_measurements({ { 100 }, { 120 } }))
end

TestLearn = {}

function TestLearn:test_every_node_has_one_voice()
   local list = { check("a", 100), check("b", 102), check("c", 98) }
   for _ = 1, 50 do
      list[#list + 1] = check("c", 98)
   end
   local c = triad_of(list)
   lu.assertEquals({ c.median, c.nodes, c.n }, { 100, 3, 53 })
end

function TestLearn:test_what_teaches_nothing()
   local list = {
      check("a", 100),
      check("a", 1, { kind = "job" }),
      check("a", 0), check("a", -5), check("a", 0 / 0), check("a", 1 / 0), check("a", 1e308), check("a", "100"),
      check("a", 7, { runs = { { kernel = "stream", state = "unknown" } } }),
      check("a", 7, { runs = { 7, { kernel = "stream", state = "ok", result = 7 } } }),
      check("a", 7, { runs = "x" }),
      check("a", 7, { class = 5 }), check("a", 7, { class = "no class" }), check("a", 7, { class = ("x"):rep(1e4) }),
      check("a", 7, { runs = { { kernel = "dgemm", state = "ok", result = { triad_gbs = 7 } } } }),
      -- In the caches only.
      check("a", 7, { runs = { { kernel = "stream", state = "ok",
         result = { triad_gbs = 7, array_limit = "memory", array_mb = 1, llc_mb = 500 } } } }),
      -- A directory's run of a kernel.
      check("a", 7, { runs = { { kernel = "stream", path = "/x", state = "ok", result = { triad_gbs = 7 } } } }),
      check("a", 7, { node = 5 }), check("a", 7, { id = 5 }),
   }
   list[#list + 1] = list[1] -- the same record read twice
   local c = triad_of(list)
   lu.assertEquals({ c.median, c.n }, { 100, 1 })
end

-- Matrices for which memory was short are no node's rate.
function TestLearn:test_small_matrices_teach_nothing()
   local function gflops_of(size_limit)
      local runs = { { kernel = "stream", state = "ok", result = { triad_gbs = 100 } },
         { kernel = "dgemm", state = "ok", result = { gflops = 7, n = 384, size_limit = size_limit } } }
      return learn.from(each(fleet(3, 3, 100, { runs = runs }))).classes[CLASS].metrics.gflops
   end
   lu.assertEquals(gflops_of(nil).median, 7)
   lu.assertNil(gflops_of("memory"))
end

function TestLearn:test_the_second_run_of_a_failed_one_is_not_taken()
   local c = triad_of({ check("a", 0, { runs = {
      { kernel = "stream", attempt = 1, state = "ok", result = { triad_gbs = 70 } },
      { kernel = "stream", attempt = 2, state = "ok", result = { triad_gbs = 100 } } } }) })
   lu.assertEquals({ c.median, c.n }, { 70, 1 })
end

-- Others used the node: by the measurement's own evidence, or, where a record is older than
-- that, by its noise.
function TestLearn:test_disturbed_checks_teach_nothing()
   local function run(triad, others, noise, lost)
      return check("a", 0, { runs = {
         { kernel = "stream", state = "ok", result = { triad_gbs = triad, lost_pct = lost }, others = others },
         { kernel = "noise", state = "ok", result = { noise_pct = noise } } } })
   end
   local list = { run(100, nil, 0.1, 0.2), run(50, { loss_pct = 50, cpus = 1 }, 45, 50), run(50, nil, 70),
      run(98, { loss_pct = 0, cpus = 1 }, 0.1, 0.2), run(102, nil, 3), run(100, nil, 45, 0.2) }
   local learned, left = learn.from(each(list))
   local c = learned.classes[CLASS].metrics.triad_gbs
   lu.assertEquals({ c.median, c.n }, { 100, 4 })
   lu.assertEquals(left[CLASS], { checks = 6, busy = 2 })
end

function TestLearn:test_slow_nodes_are_dropped()
   local list = append(fleet(12, 5, 100), fleet(2, 5, 70, nil, "slow"))
   local c = triad_of(list)
   lu.assertEquals({ c.nodes, c.dropped, c.n }, { 12, 2, 60 })
   lu.assertAlmostEquals(c.median, 100, 0.6)
   lu.assertTrue(c.tolerance_pct < 10)
   -- A slow one that hides behind a slower one is found in the second round.
   local odd = append(fleet(9, 5, 100), append(fleet(1, 5, 93, nil, "a"), fleet(1, 5, 40, nil, "b")))
   lu.assertEquals(triad_of(odd).dropped, 2)
end

function TestLearn:test_a_record_read_twice_and_times_that_go_backwards()
   local list = fleet(5, 10, 100)
   for i, record in ipairs(list) do
      record.time = ("20%02d-01-01T00:00:00Z"):format(99 - i)
   end
   local once = triad_of(list)
   append(list, table.move(list, 1, #list, 1, {}))
   lu.assertEquals(triad_of(list), once)
end

function TestLearn:test_only_the_last_checks_of_a_node_count()
   local list = append(fleet(5, 200, 50), fleet(5, 64, 100))
   local c = triad_of(list)
   lu.assertEquals(c.n, 5 * 64)
   lu.assertAlmostEquals(c.median, 100, 0.6)
end

function TestLearn:test_a_metric_that_few_checks_have()
   local list = fleet(5, 10, 100)
   list[7].runs[2] = { kernel = "numa", state = "ok", result = { latency_ns = 90 } }
   list[3].runs[2] = { kernel = "numa", state = "ok", result = { latency_ns = 92 } }
   local c = learn.from(each(list)).classes[CLASS].metrics
   lu.assertEquals({ c.latency_ns.median, c.latency_ns.n, c.latency_ns.nodes }, { 91, 2, 1 })
   lu.assertEquals(c.triad_gbs.n, 50)
end

function TestLearn:test_majorities()
   local old = { parts = { dimms = 24, memory_gib = 768 }, config = { kernel = "6.1", thp = "always" } }
   local new = { parts = { dimms = 23, cores = -1 }, config = { kernel = "6.2", bios = 7 } }
   local list = append(fleet(6, 4, 100, old), fleet(3, 4, 100, new, "m"))
   local c = learn.from(each(list)).classes[CLASS]
   lu.assertEquals(c.expect, { dimms = 24, memory_gib = 768 })
   lu.assertEquals(c.config, { kernel = "6.1", thp = "always", bios = 7 })
   lu.assertEquals(c.nodes, 9)
   -- Three kernels, none on more than half of the nodes: nobody drifts.
   append(list, fleet(3, 4, 100, { config = { kernel = "6.3" } }, "o"))
   lu.assertNil(learn.from(each(list)).classes[CLASS].config.kernel)
end

function TestLearn:test_ten_thousand_nodes()
   local i = 0
   local learned = learn.from(function()
      i = i + 1
      return i <= 30000 and check("n" .. i % 10000, 100 + i % 7 / 10) or nil
   end)
   local c = learned.classes[CLASS].metrics.triad_gbs
   lu.assertEquals({ c.nodes, c.n }, { 10000, 30000 })
end

TestChoose = {}

-- Of links, by their rate and hops: from records of `syscheck fabric`.
function TestLearn:test_links()
   local list = {}
   for n = 1, 9 do
      for k = 1, 5 do
         list[#list + 1] = check("n" .. n, 0, { kind = "fabric", class = "fabric-200g-1hop", runs = {
            { kernel = "fabric", attempt = 1, state = "ok",
               result = { fabric_out_gbs = 24 + k / 100, fabric_lat_us = 1.5 } },
            { kernel = "fabric", attempt = 2, state = "ok", result = { fabric_out_gbs = 12 } } } })
      end
   end
   list[#list + 1] = check("n9", 0, { kind = "fabric", class = "epyc-1s2c-24g" })
   list[#list + 1] = check("n9", 0, { kind = "fabric", class = 7 })
   local classes = learn.from(each(list)).classes
   local c = classes["fabric-200g-1hop"]
   lu.assertAlmostEquals(c.metrics.fabric_out_gbs.median, 24.03, 0.01)
   lu.assertEquals({ c.metrics.fabric_lat_us.n, c.nodes, next(c.expect) }, { 45, 9 })
   lu.assertNil(classes[CLASS])
   local b = assert(choose.from({ v = 2, classes = classes }))
   local limits = rating.limits(policy.default(), "fabric-200g-1hop", b)
   lu.assertAlmostEquals(limits.fabric_out_gbs[1].bound, 0.9 * 24.03, 0.01)
end

local function chosen(list, old, force)
   local b, remarks = choose.from(learn.from(each(list)), old, force)
   return b, table.concat(remarks, "\n")
end

local function remarks(list)
   return select(2, chosen(list))
end

function TestChoose:test_minima()
   local cases = {
      -- nodes, checks of each, learned
      { 5, 4, true }, { 4, 5, true }, { 5, 3, false }, { 1, 64, true }, { 1, 19, false }, { 20, 1, true },
   }
   for i, c in ipairs(cases) do
      local b, text = chosen(fleet(c[1], c[2], 100))
      lu.assertEquals(b ~= nil, c[3], "case " .. i)
      if not c[3] then
         lu.assertStrContains(text, ("%s, %d checks; want 20 checks (or --force)"):format(choose.nodes(c[1]),
            c[1] * c[2]))
         b = chosen(fleet(c[1], c[2], 100), nil, true)
         lu.assertTrue(b.classes[CLASS].forced)
      end
      lu.assertNotNil(baseline.accept(json.decode(json.encode(b))), "case " .. i)
   end
end

function TestChoose:test_nodes_that_were_dropped_are_told()
   local b, text = chosen(append(fleet(4, 10, 100), fleet(1, 10, 50, nil, "bad")))
   lu.assertNil(b)
   lu.assertStrContains(text, "4 nodes without 1 unlike the others; want 5 (or --force)")
end

-- A class of few nodes has a wider tolerance, and none of its nodes is left out.
function TestChoose:test_few_nodes()
   local last = 100
   for nodes = 1, 4 do
      local m = chosen(fleet(nodes, 20 // nodes + 1, 100)).classes[CLASS].metrics.triad_gbs
      lu.assertEquals({ m.nodes, m.dropped }, { nodes, 0 })
      lu.assertTrue(m.tolerance_pct < last and m.tolerance_pct >= baseline.FEW_TOLERANCE_PCT, nodes)
      last = m.tolerance_pct
   end
   lu.assertTrue(last > triad_of(fleet(5, 5, 100)).tolerance_pct)
   local b = chosen(fleet(2, 10, 100))
   b.classes[CLASS].metrics.triad_gbs.tolerance_pct = 5
   local _, err = baseline.accept(b)
   lu.assertStrContains(err, "of 2 nodes and not forced")
   -- One of three is bad, or two are: no statistic can tell.
   local none, text = chosen(append(fleet(2, 10, 100), fleet(1, 10, 80, nil, "bad")))
   lu.assertNil(none)
   lu.assertStrMatches(text, ".*3 nodes differ by 2%d %%: which of them is healthy, so few do not say %(or %-%-force.*")
   lu.assertTrue(chosen(append(fleet(2, 10, 100), fleet(1, 10, 80, nil, "bad")), nil, true).classes[CLASS].forced)
end

-- Healthy nodes as fleets have them, each class learned from 20 checks: drains of one metric, of these nodes and of
-- one that comes later.
function TestSpread:test_few_nodes_hold_the_rate()
   math.randomseed(1)
   local function normal()
      return math.sqrt(-2 * math.log(1 - math.random())) * math.cos(2 * math.pi * math.random())
   end
   for nodes = 1, 4 do
      local wrong, found, times = 0, 0, 20
      for _ = 1, times do
         local list = {}
         for i = 1, nodes do
            local node = 100 + 1.76 * normal()
            for _ = 1, 20 // nodes do
               list[#list + 1] = check("n" .. i, node + 2 * normal())
            end
         end
         local m = triad_of(append(list, { check("n1", 100), check("n1", 100) }))
         local room = 100 - m.median * (1 - math.max(10, m.tolerance_pct) / 100)
         wrong = wrong + spread.both_below(room, 1.76, 2) / times
         found = found + spread.both_below(room, 1.76, 2, -25) / times
      end
      lu.assertTrue(wrong < spread.FALSE_DRAINS, nodes)
      lu.assertTrue(found > 0.9, nodes)
   end
end

-- Two nodes of the whole and one that lost a DIMM: neither is a class of 5, and the one is still no class.
function TestChoose:test_a_node_that_lost_a_dimm_is_no_class_among_few()
   local lost, more = "epyc-9654-2s192c-736g", "epyc-9654-2s192c-1152g"
   local list = append(fleet(2, 10, 100), fleet(1, 30, 80, { class = lost }, "bad"))
   local b, text = chosen(append(list, fleet(1, 30, 120, { class = more }, "more")))
   lu.assertEquals(require("syscheck.lib.sorted")(b.classes), { more, CLASS })
   lu.assertStrContains(text, ("class %s: 1 node that may have lost parts of %s (or --force)"):format(lost, CLASS))
   -- The whole class was learned before.
   local later
   later, text = chosen(fleet(1, 30, 80, { class = lost }, "bad"), b)
   lu.assertNil(later)
   lu.assertStrContains(text, "may have lost parts of " .. CLASS)
   lu.assertTrue(chosen(fleet(1, 30, 80, { class = lost }, "bad"), b, true).classes[lost].forced)
end

function TestChoose:test_a_node_that_lost_a_dimm_is_no_class()
   local list = append(fleet(8, 5, 100), fleet(1, 30, 80, { class = "epyc-9654-2s192c-736g" }, "bad"))
   local b, text = chosen(list)
   lu.assertEquals(require("syscheck.lib.sorted")(b.classes), { CLASS })
   lu.assertStrContains(text, "left out: its nodes are rated as " .. CLASS)
end

function TestChoose:test_a_spread_that_supports_no_limit()
   local list = {}
   for i = 1, 40 do
      list[i] = check("n" .. i % 8, i * 37 % 97 + 20)
   end
   local b, text = chosen(list)
   lu.assertNil(b)
   lu.assertStrContains(text, "was something else running?")
   lu.assertNotNil(chosen(list, nil, true))
end

function TestChoose:test_two_populations()
   local list = append(fleet(7, 5, 100), fleet(4, 5, 80, nil, "m"))
   local b, text = chosen(list)
   lu.assertNil(b)
   lu.assertStrContains(text, "4 of 11 nodes are not like the others: m1, m2, m3, m4 (or --force")
   lu.assertNotNil(chosen(list, nil, true))
end

function TestChoose:test_two_populations_of_equal_size()
   local list = append(fleet(10, 5, 100), fleet(10, 5, 90, nil, "m"))
   local b, text = chosen(list)
   lu.assertNil(b)
   lu.assertStrContains(text, "two populations: 10 of 20 nodes are 11 % below the others; the smaller one: "
      .. "m1, m10, m2, m3, m4, m5, m6, m7, m8, m9 (or --force; above 30 % it rates nothing)")
   b = chosen(list, nil, true)
   lu.assertEquals(b.classes[CLASS].metrics.triad_gbs.split.nodes, 10)
   lu.assertNotNil(baseline.accept(json.decode(json.encode(b))))
   -- Two that are as far apart as healthy nodes are, and too few nodes to tell.
   lu.assertNotNil(chosen(append(fleet(10, 5, 100), fleet(10, 5, 96, nil, "m"))))
   lu.assertNotNil(chosen(append(fleet(3, 5, 100), fleet(3, 5, 95, nil, "m"))))
end

function TestChoose:test_a_minority_that_is_alike_is_not_dropped()
   -- 3 of 40 nodes, 20 % slower, all by the same: what they are no statistic can tell.
   local list = append(fleet(37, 5, 100), fleet(3, 5, 80, nil, "slow"))
   local b, text = chosen(list)
   lu.assertNil(b)
   lu.assertStrContains(text, "3 of 40 nodes are alike, 20 % below the others: other hardware, or one fault? "
      .. "slow1, slow2, slow3 (or --force)")
   lu.assertNotNil(chosen(list, nil, true))
   -- Faster ones, too; two of few nodes; one far off hides nothing.
   text = remarks(append(fleet(30, 5, 100), fleet(3, 5, 125, nil, "fast")))
   lu.assertStrContains(text, "25 % above the others: other hardware, or one fault? fast1, fast2, fast3")
   text = remarks(append(fleet(12, 5, 100), fleet(2, 5, 80, nil, "slow")))
   lu.assertStrContains(text, "2 of 14 nodes are alike")
   text = remarks(append(append(fleet(37, 5, 100), fleet(3, 5, 80, nil, "slow")), fleet(1, 5, 30, nil, "bad")))
   lu.assertStrContains(text, "3 of 41 nodes are alike")
   -- Bad nodes, each in its own way, are dropped.
   list = fleet(60, 5, 100)
   for i, triad in ipairs({ 90, 80, 65, 40 }) do
      append(list, fleet(1, 5, triad, nil, "bad" .. i))
   end
   b = chosen(list)
   lu.assertEquals(b.classes[CLASS].metrics.triad_gbs.dropped, 4)
   -- Of a thousand nodes some are alike by chance.
   lu.assertNotNil(chosen(append(fleet(1000, 1, 100), fleet(10, 1, 80, nil, "bad"))))
   lu.assertNil(chosen(append(fleet(1000, 1, 100), fleet(30, 1, 80, nil, "slow"))))
end

local function on(list, count, left_out, jobs)
   return { cpus = { list = list, count = count, of = 192, left_out = left_out, jobs = jobs } }
end

function TestChoose:test_sets_of_cpus_are_never_mixed()
   local jobs, reserved = on("2-191", 190, "0-1", true), on("0-1", 2, "2-191", false)
   local b, text = chosen(append(fleet(6, 5, 100, jobs), fleet(9, 5, 10, reserved, "m")))
   lu.assertAlmostEquals(b.classes[CLASS].metrics.triad_gbs.median, 100, 1)
   lu.assertEquals(b.classes[CLASS].cpus, { list = "2-191", count = 190, of = 192, left_out = "0-1" })
   lu.assertStrContains(text, "45 checks of 9 nodes left out: measured on CPUs 0-1 (2 of 192 cores), "
      .. "learned on CPUs 2-191 (190 of 192 cores)")
   lu.assertNotNil(baseline.accept(json.decode(json.encode(b))))
   -- One node with both: the newer do not become the older's.
   b = chosen(append(fleet(6, 5, 10, reserved), fleet(6, 5, 100, jobs)))
   lu.assertAlmostEquals(b.classes[CLASS].metrics.triad_gbs.median, 100, 1)
   lu.assertEquals(b.classes[CLASS].metrics.triad_gbs.n, 30)
   -- Only on CPUs that no job gets: refused, forced where it is meant (a container).
   b, text = chosen(fleet(6, 5, 10, reserved))
   lu.assertNil(b)
   lu.assertStrContains(text, "measured on CPUs 0-1 (2 of 192 cores), which are not those that jobs get (or --force)")
   lu.assertEquals(chosen(fleet(6, 5, 10, reserved), nil, true).classes[CLASS].cpus.left_out, "2-191")
end

function TestChoose:test_records_from_before_have_their_cpus_in_the_kernels_objects()
   local function old(nodes, triad, list, threads, prefix)
      local records = fleet(nodes, 5, triad, nil, prefix)
      for _, r in ipairs(records) do
         r.runs[1].result.cpus, r.runs[1].result.threads = list, threads
      end
      return records
   end
   local b, text = chosen(append(old(6, 100, "0-191", 192), old(9, 10, "0-1", 2, "m")))
   lu.assertAlmostEquals(b.classes[CLASS].metrics.triad_gbs.median, 100, 1)
   lu.assertStrContains(text, "45 checks of 9 nodes left out: measured on CPUs 0-1 (2 of 192 cores)")
   lu.assertNil((chosen(old(6, 10, "0-1", 2))))
   -- Beside new ones of the whole node they are the same; beside nothing at all, too.
   b = chosen(append(append(old(3, 100, "0-191", 192), fleet(3, 5, 100, on("0-191", 192, "", true), "b")),
      fleet(3, 5, 100, nil, "c")))
   lu.assertEquals(b.classes[CLASS].metrics.triad_gbs.nodes, 9)
end

function TestChoose:test_a_baseline_of_other_cpus_is_not_compared_with()
   local old = chosen(fleet(6, 5, 100))
   local b, text = chosen(fleet(6, 5, 60, on("2-191", 190, "0-1", true)), old)
   lu.assertNotNil(b)
   lu.assertNil(b.classes[CLASS].metrics.triad_gbs.reference)
   lu.assertStrContains(text, "learned on CPUs 2-191 (190 of 192 cores), the baseline before was of all cores")
end

function TestChoose:test_a_wide_tolerance_is_refused_and_forced_it_is_none()
   local list = {}
   for i = 1, 60 do
      list[i] = check("n" .. i % 12, 100 + (i * 37 % 97 - 48) / 3)
   end
   local b, text = chosen(list)
   lu.assertNil(b)
   lu.assertStrContains(text, "(or --force; above 30 % it rates nothing)")
   b, text = chosen(list, nil, true)
   lu.assertStrContains(text, "(forced; above 30 % it rates nothing)")
   lu.assertNil((baseline.limit(b.classes[CLASS].metrics.triad_gbs, { better = "higher" }, 0.1)))
end

-- dgemm of 5 s is not dgemm of 1 s: other matrices, another clock.
function TestChoose:test_one_time_box_is_learned_and_rates_no_other()
   local function of(box_s, value)
      return { runs = { { kernel = "stream", state = "ok", box_s = box_s, result = { triad_gbs = value } } } }
   end
   local list = append(append(fleet(6, 5, 0, of(1, 100)), fleet(6, 2, 0, of(5, 80))), fleet(6, 1, 0, of(nil, 70)))
   local b, text = chosen(list)
   local m = b.classes[CLASS].metrics.triad_gbs
   lu.assertEquals({ m.median, m.box_s, m.n }, { 100, 1, 30 })
   lu.assertStrContains(text, "12 checks left out: measured in a time box of 5 s, learned in a time box of 1 s")
   lu.assertStrContains(text, "6 checks left out: measured in a time box that the record does not say")
   lu.assertNotNil(baseline.accept(json.decode(json.encode(b))))
   local metric = { better = "higher" }
   lu.assertAlmostEquals(baseline.limit(m, metric, 0.1, 1), 90, 1e-9)
   lu.assertAlmostEquals(baseline.limit(m, metric, 0.1), 90, 1e-9)
   local limit, why = baseline.limit(m, metric, 0.1, 5)
   lu.assertNil(limit)
   lu.assertEquals(why, "its class was measured in a time box of 1 s, this in 5 s")
   -- The policy's boxes have changed: nothing to compare with, and no dip.
   local longer, said = chosen(fleet(6, 5, 0, of(5, 80)), b)
   lu.assertEquals({ longer.classes[CLASS].metrics.triad_gbs.box_s, said }, { 5, "" })
   -- What older versions learned says no box, and rates all.
   m.box_s = nil
   lu.assertAlmostEquals(baseline.limit(m, metric, 0.1, 5), 90, 1e-9)
   m.box_s = -1
   lu.assertNil(baseline.accept(b))
end

function TestChoose:test_a_fleet_does_not_teach_itself_to_be_slow()
   local old = chosen(fleet(6, 5, 100))
   lu.assertNotNil(chosen(fleet(6, 5, 96), old))
   lu.assertNotNil(chosen(fleet(6, 5, 130), old))
   local b, text = chosen(fleet(6, 5, 94), old)
   lu.assertNil(b)
   lu.assertStrContains(text, "triad_gbs: median 94.0, was 100.0 GB/s: 6.0 % worse (or --force)")
   b = chosen(fleet(6, 5, 94), old, true)
   lu.assertTrue(b.classes[CLASS].forced)
   -- By steps of 4 %: the third one is 11 % below the first.
   local one = chosen(fleet(6, 5, 96), old)
   lu.assertAlmostEquals(one.classes[CLASS].metrics.triad_gbs.reference, 100, 1)
   lu.assertNil(chosen(fleet(6, 5, 92.5), one))
   -- Forced once, the new value is the reference.
   lu.assertNotNil(chosen(fleet(6, 5, 91), b))
end

function TestChoose:test_latency_is_mirrored()
   local function numa(ns)
      local list = fleet(6, 5, 100)
      for _, r in ipairs(list) do
         r.runs[1] = { kernel = "numa", state = "ok", result = { latency_ns = ns } }
      end
      return list
   end
   local old = chosen(numa(100))
   lu.assertNil(chosen(numa(106), old))
   lu.assertNotNil(chosen(numa(104), old))
   lu.assertNotNil(chosen(numa(80), old))
end

function TestChoose:test_what_the_records_do_not_show_is_kept()
   local old = chosen(append(fleet(6, 5, 100), fleet(6, 5, 50, { class = "xeon-1s8c-64g" }, "x")))
   local b, text = chosen(fleet(6, 5, 101), old)
   lu.assertAlmostEquals(b.classes["xeon-1s8c-64g"].metrics.triad_gbs.median, 50, 1)
   lu.assertStrContains(text, "class xeon-1s8c-64g: no checks now, kept")
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
