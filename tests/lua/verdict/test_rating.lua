-- Measured values against limits.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local baseline = require("syscheck.verdict.baseline")
local cpus = require("syscheck.verdict.cpus")
local metrics = require("syscheck.catalogue.metrics")
local policy = require("syscheck.policy.policy")
local verdict = require("syscheck.verdict.rating")

local function learned(triad, mad)
   local class = { triad_gbs = { median = triad, mad_pct = mad }, noise_pct = { median = 1, mad_pct = 1 } }
   return { classes = { c1 = { metrics = class, expect = {}, config = {} } } }
end

local function limits(text, base)
   return verdict.limits(assert(policy.parse("return {" .. text .. "}", "p")), "c1", base)
end

local function by_name(rated, name)
   for _, m in ipairs(rated.metrics) do
      if m.name == name then
         return m
      end
   end
end

TestVerdict = {}

function TestVerdict:test_without_limits_nothing_passes()
   local rated = verdict.rate({ triad_gbs = { value = 10 } }, limits(""))
   lu.assertEquals(rated.status, "unrated")
   lu.assertEquals(by_name(rated, "triad_gbs").status, "unrated")
end

function TestVerdict:test_static_floor()
   local l = limits("limits = { triad_gbs = { min = 80 } }")
   lu.assertEquals(verdict.rate({ triad_gbs = { value = 80 } }, l).status, "pass")
   local rated = verdict.rate({ triad_gbs = { value = 79.9 } }, l)
   lu.assertEquals(rated.status, "fail")
   lu.assertEquals(verdict.reason(rated), "triad 79.9 < 80.0 GB/s (policy)")
end

function TestVerdict:test_baseline_floor_and_its_reason()
   local l = limits("", learned(86, 1))
   lu.assertEquals(verdict.rate({ triad_gbs = { value = 77.5 } }, l).status, "pass")
   local rated = verdict.rate({ triad_gbs = { value = 61.3 } }, l)
   lu.assertEquals(verdict.reason(rated), "triad 61.3 < 77.4 GB/s (class c1, median 86.0)")
end

-- A time box too short for a measurement: what is known is the best that the value can be.
function TestVerdict:test_a_bound_fails_below_the_limit_and_is_unknown_above()
   local l = limits("limits = { gflops = { min = 100 }, latency_ns = { max = 200, action = 'fail' } }")
   local rated = verdict.rate({ gflops = { unknown = "dgemm: too slow for its time box", bound = 30 } }, l)
   lu.assertEquals({ rated.status, verdict.reason(rated) }, { "fail", "dgemm at most 30.0 < 100 GFLOP/s (policy)" })
   lu.assertEquals({ by_name(rated, "gflops").value, by_name(rated, "gflops").bound }, { 30, true })
   rated = verdict.rate({ gflops = { unknown = "dgemm: too slow for its time box", bound = 130 } }, l)
   lu.assertEquals({ rated.status, rated.text }, { "unknown", "dgemm: not measured: dgemm: too slow for its time box" })
   lu.assertNil(by_name(rated, "gflops").value)
   rated = verdict.rate({ latency_ns = { unknown = "numa: too slow for its time box", bound = 300 } }, l)
   lu.assertEquals(verdict.reason(rated), "latency at least 300 > 200 ns (policy)")
   lu.assertEquals(verdict.rate({ latency_ns = { unknown = "x", bound = 100 } }, l).status, "unknown")
   -- At most 30 is not above 1.
   for _, other in ipairs({ "", "limits = { gflops = { max = 1 } }" }) do
      lu.assertEquals(verdict.rate({ gflops = { unknown = "x", bound = 30 } }, limits(other)).status, "unknown")
   end
end

-- Arrays in the caches are fast and no memory bandwidth: no pass, but slow memory is slower still.
function TestVerdict:test_what_is_a_bound()
   local m, g = metrics.BY_NAME.triad_gbs, metrics.BY_NAME.gflops
   lu.assertEquals({ metrics.measured(m, { triad_gbs = 20, array_mb = 10, llc_mb = 32, array_limit = "time" }) },
      { nil, "stream: time for 30 MB of arrays only, caches hold 32 MB", 20 })
   lu.assertEquals({ metrics.measured(g, { gflops = 20, unfinished = "calls" }) },
      { nil, "dgemm: too slow for its time box", 20 })
   lu.assertEquals({ metrics.measured(g, { gflops = 0, unfinished = "calls" }) },
      { nil, "dgemm: too slow for its time box" })
   lu.assertEquals({ metrics.measured(g, { gflops = 20, unfinished = false }) }, { 20 })
   -- Small matrices are a few % slower only: no bound either.
   for _, unfinished in ipairs({ false, "calls" }) do
      lu.assertEquals({ metrics.measured(g, { gflops = 20, n = 384, size_limit = "memory", unfinished = unfinished }) },
         { nil, "dgemm: memory for n = 384 only" })
   end
   lu.assertEquals({ metrics.measured(g, { gflops = 20, n = {}, size_limit = "memory" }) },
      { nil, "dgemm: memory for n = ? only" })
   lu.assertEquals({ metrics.measured(g, { gflops = 20, n = 384, size_limit = "time" }) }, { 20 })
end

function TestVerdict:test_tolerance_is_never_tighter_than_the_spread()
   local m = metrics.BY_NAME.triad_gbs
   lu.assertAlmostEquals(baseline.limit({ median = 100, mad_pct = 1, tolerance_pct = 15 }, m, 0.10), 85, 1e-9)
   lu.assertAlmostEquals(baseline.limit({ median = 100, mad_pct = 9, tolerance_pct = 5 }, m, 0.10), 90, 1e-9)
   -- v 1: from the spread.
   lu.assertAlmostEquals(baseline.limit({ median = 100, mad_pct = 1 }, m, 0.10), 90, 1e-9)
   lu.assertAlmostEquals(baseline.limit({ median = 100, mad_pct = 5 }, m, 0.10), 80, 1e-9)
end

function TestVerdict:test_a_tolerance_above_30_percent_is_no_limit()
   local m = metrics.BY_NAME.triad_gbs
   lu.assertAlmostEquals(baseline.limit({ median = 100, mad_pct = 1, tolerance_pct = 30 }, m, 0.10), 70, 1e-9)
   for _, b in ipairs({ { median = 100, mad_pct = 1, tolerance_pct = 31 }, { median = 100, mad_pct = 50 } }) do
      local bound, why = baseline.limit(b, m, 0.10)
      lu.assertNil(bound)
      lu.assertStrContains(why, "above 30 % a limit finds nothing")
   end
   -- As a baseline or the policy says it: the same, and no pass.
   local wide = learned(86, 1)
   wide.classes.c1.metrics.triad_gbs.tolerance_pct = 100
   local tight = learned(86, 1)
   for _, l in ipairs({ limits("", wide), limits("tolerance = 0.31", tight),
      limits("limits = { triad_gbs = { tolerance = 1 } }", tight), limits("limits = { triad_gbs = { min = 0 } }") }) do
      local rated = verdict.rate({ triad_gbs = { value = 1 } }, l)
      lu.assertEquals({ rated.status, rated.metrics[1].status, rated.metrics[1].limit }, { "unrated", "unrated" })
   end
   lu.assertStrContains(verdict.rate({ triad_gbs = { value = 1 } }, limits("", wide)).metrics[1].text,
      "triad 1.00 GB/s: not rated: its class' spread supports a tolerance of 100 %")
   -- A floor of the policy's rates beside it.
   lu.assertEquals(verdict.rate({ triad_gbs = { value = 1 } },
      limits("limits = { triad_gbs = { min = 50 } }", wide)).status, "fail")
end

-- What was measured: on CPUs `list`, `count` of 64 cores.
local function on(list, count, left_out, jobs)
   return { list = list, count = count, of = 64, left_out = left_out, jobs = jobs }
end

TestCpus = {}

function TestCpus:test_rated_only_by_a_baseline_of_the_same_cpus()
   local whole = on("0-63", 64, "", true)
   local reserved = on("2-63", 62, "0-1", true)
   local confined = on("0-1", 2, "2-63", false)
   local of_reserved = { list = "2-63", count = 62, of = 64, left_out = "0-1" }
   local cases = {
      -- measured, the baseline's, status of a value below its limit
      { whole, nil, "fail" }, { nil, nil, "fail" },
      { whole, { list = "0-63", count = 64, of = 64, left_out = "" }, "fail" },
      { reserved, of_reserved, "fail" },
      { confined, nil, "unknown" }, { reserved, nil, "unknown" }, { whole, of_reserved, "unknown" },
      { nil, of_reserved, "unknown" },
      -- As many, and others.
      { on("0-61", 62, "62-63", true), of_reserved, "unknown" },
      -- A forced baseline of a container's CPUs.
      { confined, { list = "0-1", count = 2, of = 64, left_out = "2-63" }, "fail" },
      { confined, { list = "0-1", count = 2, of = 64 }, "fail" }, -- learned from records of before
      -- A core is lost: the same are left out.
      { on("2-4,6-63", 61, "0-1", true), of_reserved, "fail" },
      -- Memory of one node only.
      { on("0-63", 64, "memory 1", false), nil, "unknown" },
   }
   for i, c in ipairs(cases) do
      local b = learned(86, 1)
      b.classes.c1.cpus = c[2]
      local rated = verdict.rate({ triad_gbs = { value = 20, cpus = c[1] } }, limits("", b))
      lu.assertEquals(rated.status, c[3], "case " .. i)
   end
   local b = learned(86, 1)
   b.classes.c1.cpus = { list = "0-63", count = 64, of = 64, left_out = "" }
   local rated = verdict.rate({ triad_gbs = { value = 20, cpus = on("0-3", 4, "4-63", false) } }, limits("", b))
   lu.assertEquals(rated.text, "triad 20.0 GB/s not rated: measured on CPUs 0-3 (4 of 64 cores), "
      .. "the baseline is of CPUs 0-63")
   -- A number that nobody should compare is not passed on.
   lu.assertNil(rated.metrics[1].value)
   lu.assertStrContains(cpus.words(on("0-63", 64, "memory 1", false)), "without the memory of node 1")
end

function TestCpus:test_the_best_that_a_value_can_be_has_its_cpus_too()
   local function rated(measured)
      return verdict.rate({ triad_gbs = { unknown = "late", bound = 5, cpus = measured } }, limits("", learned(86, 1)))
   end
   lu.assertEquals(rated(on("0-63", 64, "", true)).status, "fail")
   lu.assertEquals(rated(on("0-1", 2, "2-63", false)).status, "unknown")
end

function TestCpus:test_a_floor_means_the_cpus_that_jobs_get()
   local floor = limits("limits = { triad_gbs = { min = 50 } }")
   local function status(measured, l)
      return verdict.rate({ triad_gbs = { value = 20, cpus = measured } }, l or floor).status
   end
   lu.assertEquals(status(nil), "fail")
   lu.assertEquals(status(on("2-63", 62, "0-1", true)), "fail")
   lu.assertEquals(status(on("0-1", 2, "2-63", false)), "unknown")
   -- A baseline of other CPUs excuses nothing that is below the floor, and passes nothing.
   local b = learned(86, 1)
   local both = limits("limits = { triad_gbs = { min = 50 } }", b)
   lu.assertEquals(status(on("2-63", 62, "0-1", true), both), "fail")
   local rated = verdict.rate({ triad_gbs = { value = 90, cpus = on("2-63", 62, "0-1", true) } }, both)
   lu.assertEquals({ rated.status, rated.metrics[1].value }, { "unknown", 90 })
   -- No limit at all, on CPUs of nobody's.
   lu.assertEquals(status(on("0-1", 2, "2-63", false), limits("")), "unknown")
   lu.assertEquals(status(on("2-63", 62, "0-1", true), limits("")), "unrated")
end

function TestVerdict:test_the_tighter_of_two_floors_holds()
   local l = limits("limits = { triad_gbs = { min = 84 } }", learned(86, 1))
   lu.assertEquals(verdict.reason(verdict.rate({ triad_gbs = { value = 80 } }, l)), "triad 80.0 < 84.0 GB/s (policy)")
   lu.assertEquals(by_name(verdict.rate({ triad_gbs = { value = 85 } }, l), "triad_gbs").limit, 84)
end

function TestVerdict:test_class_that_the_baseline_does_not_know_is_unrated()
   local l = verdict.limits(policy.default(), "other", learned(86, 1))
   lu.assertEquals(verdict.rate({ triad_gbs = { value = 1 } }, l).status, "unrated")
end

function TestVerdict:test_actions()
   local l = limits('limits = { triad_gbs = { min = 80, action = "warn" }, gflops = { min = 5, action = "off" } }')
   local rated = verdict.rate({ triad_gbs = { value = 1 }, gflops = { value = 1 } }, l)
   lu.assertEquals(rated.status, "warn")
   lu.assertNil(verdict.reason(rated))
   lu.assertEquals(by_name(rated, "gflops").status, "unrated")
end

function TestVerdict:test_throttle_warns_and_never_fails()
   local l = limits("")
   lu.assertEquals(verdict.rate({ throttle_events = { value = 0 } }, l).status, "pass")
   local rated = verdict.rate({ throttle_events = { value = 1204 } }, l)
   lu.assertEquals(rated.status, "warn")
   lu.assertNil(verdict.reason(rated))
end

function TestVerdict:test_noise_is_rated_by_a_static_limit_only()
   lu.assertEquals(verdict.rate({ noise_pct = { value = 50 } }, limits("", learned(86, 1))).status, "unrated")
   local l = limits("limits = { noise_pct = { max = 2 } }")
   lu.assertEquals(verdict.rate({ noise_pct = { value = 50 } }, l).status, "warn")
end

function TestVerdict:test_a_reason_names_noise_beyond_its_limit()
   local l = limits("limits = { triad_gbs = { min = 80 }, noise_pct = { max = 2 } }")
   local slow, quiet, loud = { value = 61.3 }, { value = 1 }, { value = 50 }
   lu.assertEquals(verdict.reason(verdict.rate({ triad_gbs = slow, noise_pct = quiet }, l)),
      "triad 61.3 < 80.0 GB/s (policy)")
   lu.assertEquals(verdict.reason(verdict.rate({ triad_gbs = slow, noise_pct = loud }, l)),
      "triad 61.3 < 80.0 GB/s (policy); noise 50.0 %")
   lu.assertNil(verdict.reason(verdict.rate({ triad_gbs = { value = 90 }, noise_pct = loud }, l)))
end

function TestVerdict:test_order_of_badness()
   local l = limits("limits = { triad_gbs = { min = 80 } }")
   local bad, good, none = { value = 1 }, { value = 90 }, { unknown = "hung" }
   lu.assertEquals(verdict.rate({ triad_gbs = bad, gflops = none }, l).status, "fail")
   lu.assertEquals(verdict.rate({ triad_gbs = good, gflops = none }, l).status, "unknown")
   lu.assertEquals(verdict.rate({ triad_gbs = good, throttle_events = { value = 3 } }, l).status, "warn")
   lu.assertEquals(verdict.rate({ triad_gbs = good, gflops = { value = 1 } }, l).status, "pass")
end

function TestVerdict:test_calm_counters_are_no_pass_for_unrated_kernels()
   local calm = { value = 0 }
   lu.assertEquals(verdict.rate({ throttle_events = calm }, limits("")).status, "pass")
   lu.assertEquals(verdict.rate({ triad_gbs = { value = 9 }, throttle_events = calm }, limits("")).status, "unrated")
end

function TestVerdict:test_directories_never_fail_a_check()
   local cases = {
      -- status of the metrics, states of the directories, status
      { "pass", {}, "pass" },
      { "pass", { "ok", "ok" }, "pass" },
      { "unrated", { "ok" }, "unrated" },
      { "pass", { "ok", "unknown" }, "unknown" },
      { "pass", { "corrupt" }, "warn" },
      { "warn", { "corrupt", "unknown" }, "unknown" },
      { "fail", { "unknown" }, "fail" },
   }
   for i, c in ipairs(cases) do
      -- A kernel without a path has been rated already.
      local runs = { { kernel = "stream", state = "unknown" } }
      for _, state in ipairs(c[2]) do
         runs[#runs + 1] = { kernel = "io", path = "/scratch", state = state }
      end
      lu.assertEquals(verdict.with_paths(c[1], runs), c[3], "case " .. i)
   end
end

function TestVerdict:test_corruption_beats_everything()
   local rated = verdict.rate({ triad_gbs = { value = 1 }, gflops = { corrupt = "core 3" } },
      limits("limits = { triad_gbs = { min = 80 } }"))
   lu.assertTrue(rated.corrupt)
   lu.assertEquals(verdict.reason(rated), "dgemm: WRONG RESULT: core 3")
end

-- What each metric's verdict consists of, and the node's.
function TestVerdict:test_table()
   local base = { classes = { c1 = { expect = {}, config = {}, metrics = {
      triad_gbs = { median = 100, mad_pct = 1, tolerance_pct = 12 },
      latency_ns = { median = 100, mad_pct = 1, tolerance_pct = 5 },
   } } } }
   local floor = "limits = { gflops = { min = 50 }, latency_ns = { action = 'fail' } }"
   local cases = {
      -- metric, result, status, limit, source, node's status, node's sentence
      { "triad_gbs", { value = 88.1 }, "pass", 88, "class c1, median 100.0", "pass", "1 value is within limits" },
      { "triad_gbs", { value = 87.9 }, "fail", 88, "class c1, median 100.0", "fail",
         "triad 87.9 < 88.0 GB/s (class c1, median 100.0)" },
      -- Lower is better: mirrored.
      { "latency_ns", { value = 109 }, "pass", 110, "class c1, median 100", "pass", "1 value is within limits" },
      { "latency_ns", { value = 111 }, "fail", 110, "class c1, median 100", "fail",
         "latency 111 > 110 ns (class c1, median 100)" },
      { "gflops", { value = 49 }, "fail", 50, "policy", "fail", "dgemm 49.0 < 50.0 GFLOP/s (policy)" },
      { "gflops", { unknown = "hung" }, "unknown", nil, nil, "unknown", "dgemm: not measured: hung" },
      { "gflops", { corrupt = "core 3" }, "fail", nil, "the kernel's verification", "fail",
         "dgemm: WRONG RESULT: core 3" },
      { "best_gbs", { value = 7 }, "unrated", nil, nil, "unrated", "there is no limit to compare with" },
      { "noise_pct", { value = 7 }, "unrated", nil, nil, "unrated", "there is no limit to compare with" },
      { "throttle_events", { value = 7 }, "warn", 0, "policy", "warn", "throttle 7 > 0 (policy)" },
      { "throttle_events", { value = 0 }, "pass", 0, "policy", "pass", "1 value is within limits" },
   }
   for i, c in ipairs(cases) do
      local rated = verdict.rate({ [c[1]] = c[2] }, limits(floor, base))
      local m = rated.metrics[1]
      lu.assertEquals({ m.status, m.source, rated.status, rated.text }, { c[3], c[5], c[6], c[7] }, "case " .. i)
      if c[4] then
         lu.assertAlmostEquals(m.limit, c[4], 1e-9, "case " .. i)
      end
      lu.assertEquals(m.value, c[2].value)
      lu.assertTrue(#m.text > 0)
   end
end

function TestVerdict:test_the_sentence_of_a_node_counts_what_is_as_bad()
   local l = limits("limits = { triad_gbs = { min = 80 }, gflops = { min = 80 } }")
   local rated = verdict.rate({ triad_gbs = { value = 1 }, gflops = { value = 1 } }, l)
   lu.assertEquals(rated.text, "triad 1.00 < 80.0 GB/s (policy); and 1 more")
   rated = verdict.rate({ triad_gbs = { value = 1 }, gflops = { corrupt = "x" } }, l)
   lu.assertEquals(rated.text, "dgemm: WRONG RESULT: x; and 1 more")
   lu.assertStrContains(verdict.sentence({ status = "unknown", metrics = rated.metrics }), "no value decided it")
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
