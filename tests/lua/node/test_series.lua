-- A node's metrics: what is kept of checks, what a reboot and damage do to it, units and names.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local prometheus = require("syscheck.lib.prometheus")
local series = require("syscheck.node.series")

local CALM = { sources = {} }
local INFO = { version = "1.2", class = "epyc-9654-2s192c-768g", mode = "enforce" }

local function text(state, snapshot)
   return "\n" .. prometheus.text(series.families(state, snapshot or CALM, INFO))
end

-- The value of one series, as written.
local function value(t, name)
   return t:match("\n" .. name:gsub("%p", "%%%0") .. " (%S+)\n")
end

local function check(fields)
   local record = { kind = "check", level = "quick", status = "pass", class = INFO.class, duration_s = 4.5, metrics = {
      { name = "triad_gbs", status = "pass", value = 360.5, limit = 324 },
      { name = "gflops", status = "pass", value = 5000 },
      { name = "noise_pct", status = "unrated", value = 0.5 },
      { name = "throttle_events", status = "pass", value = 0 } } }
   for k, v in pairs(fields or {}) do
      record[k] = v
   end
   return record
end

local LEARNED = { classes = { [INFO.class] = { metrics = { triad_gbs = { median = 371 } } } } }

TestSeries = {}

function TestSeries:test_base_units_limit_and_median()
   local state = series.open(nil, "b")
   series.add(state, check(), 1795161600, LEARNED)
   series.add(state, check({ level = "full", metrics = { { name = "latency_ns", status = "pass", value = 131 } } }),
      1795161700)
   local t = text(state)
   for name, want in pairs({ memory_bandwidth_bytes_per_second = "360500000000",
      memory_bandwidth_bytes_per_second_limit = "324000000000",
      memory_bandwidth_bytes_per_second_class_median = "371000000000",
      dgemm_flops = "5000000000000", noise_ratio = "0.005", memory_latency_seconds = "1.31e-07",
      ['last_check_timestamp_seconds{level="quick"}'] = "1795161600",
      ['last_check_timestamp_seconds{level="full"}'] = "1795161700", check_seconds_total = "9",
      ['checks_total{level="quick",status="pass"}'] = "1", ['checks_total{level="passive",status="fail"}'] = "0",
      ['node_status{status="pass"}'] = "1", ['node_status{status="fail"}'] = "0",
      ['info{class="epyc-9654-2s192c-768g",mode="enforce",version="1.2"}'] = "1" }) do
      lu.assertEquals(value(t, "syscheck_" .. name), want, name)
   end
   for _, absent in ipairs({ "dgemm_flops_limit", "dgemm_flops_class_median", "noise_ratio_limit", "throttled",
      "link_errors", "memory_errors", 'timestamp_seconds{level="passive"}' }) do
      lu.assertNil(t:find("syscheck_" .. absent, 1, true), absent)
   end
end

function TestSeries:test_a_passive_check_keeps_what_was_measured()
   local state = series.open(nil, "b")
   series.add(state, check({ status = "fail" }), 100)
   series.add(state, check({ level = "passive", metrics = {
      { name = "throttle_events", status = "pass", value = 0 } } }), 200)
   local t = text(state)
   lu.assertEquals(value(t, "syscheck_dgemm_flops"), "5000000000000")
   lu.assertEquals(value(t, 'syscheck_last_check_timestamp_seconds{level="quick"}'), "100")
   lu.assertEquals(value(t, 'syscheck_last_check_timestamp_seconds{level="passive"}'), "200")
   lu.assertEquals(value(t, 'syscheck_node_status{status="fail"}'), "1")
end

-- Neither the best that a value can be, nor one while others used the node.
function TestSeries:test_what_was_not_measured_is_absent()
   for _, r in ipairs({ { status = "unknown" }, { status = "unknown", value = 5, busy = true },
      { status = "fail", value = 5, bound = true } }) do
      local state = series.open(nil, "b")
      series.add(state, check(), 100)
      r.name = "gflops"
      series.add(state, check({ metrics = { r } }), 100)
      lu.assertNil(value(text(state), "syscheck_dgemm_flops"))
      lu.assertNotNil(value(text(state), "syscheck_memory_bandwidth_bytes_per_second"))
   end
end

function TestSeries:test_counts_are_of_a_boot()
   local state = series.open(nil, "b")
   local drain = { done = true, reason = "syscheck: triad 1.0 < 2.0 GB/s (policy)" }
   series.add(state, check({ action = "drain", drain = drain }), 100)
   state = series.open(state, "b")
   lu.assertEquals(value(text(state), 'syscheck_drains_total{metric="triad_gbs"}'), "1")
   state = series.open(state, "c")
   -- One that comes again after the reboot would else not be seen.
   lu.assertEquals(value(text(state), 'syscheck_drains_total{metric="triad_gbs"}'), "1")
   lu.assertEquals(value(text(state), 'syscheck_checks_total{level="quick",status="pass"}'), "0")
   lu.assertEquals(value(text(state), "syscheck_dgemm_flops"), "5000000000000")
end

function TestSeries:test_a_drain_counts_by_what_its_reason_names()
   for reason, name in pairs({ ["syscheck: triad 1.0 < 2.0 GB/s (policy)"] = "triad_gbs",
      ["syscheck: dgemm at most 5 < 6 GFLOP/s (policy)"] = "gflops",
      ["syscheck: stream: WRONG RESULT: x"] = "triad_gbs",
      ["syscheck: numa: WRONG RESULT: x"] = "latency_ns", ["syscheck: memory 504 < 512 GiB (expect)"] = "memory_gib",
      ["syscheck: NUMA nodes 1 < 2 (expect)"] = "numa_nodes", ["syscheck: tri"] = "other", [""] = "other" }) do
      lu.assertEquals(series.drained_for(reason), name)
   end
   lu.assertEquals(series.drained_for(nil), "other")
end

function TestSeries:test_only_a_drain_that_was_done_counts()
   for _, record in ipairs({ { action = "storm", drain = { done = false, reason = "syscheck: triad 1" } },
      { action = "drain", drain = { done = false, kept = "x", reason = "syscheck: triad 1" } }, { action = "observed" },
      { action = "undecided", drain = { done = true, reason = "syscheck: triad 1" } } }) do
      local state = series.open(nil, "b")
      series.add(state, check(record), 1)
      lu.assertNil(next(state.drains))
   end
end

function TestSeries:test_what_was_bad_and_not_drained_counts_by_why()
   local state = series.open(nil, "b")
   for _, action in ipairs({ "storm", "storm", "undecided", "observed", "drain", "none", "resume" }) do
      series.add(state, check({ action = action, drain = { done = false, reason = "syscheck: triad 1" } }), 1)
   end
   local t = text(series.open(state, "b"))
   for why, want in pairs({ cap = "2", undecided = "1", observe = "1" }) do
      lu.assertEquals(value(t, ('syscheck_drains_withheld_total{why="%s"}'):format(why)), want, why)
   end
   lu.assertEquals(value(text(series.open(state, "c")), 'syscheck_drains_withheld_total{why="cap"}'), "2")
end

function TestSeries:test_counters_of_the_kernel()
   local t = text(series.open(nil, "b"), { sources = {
      throttle = { ["package_ms:0"] = 1500, ["package_ms:32"] = 500, ["core_ms:0"] = 0 },
      memory_errors = { ["corrected:mc0"] = 4, ["corrected:mc1"] = 3 },
      link = { ["errors:mlx5_0/1/symbol_error"] = 2, ["errors:mlx5_0/1/port_rcv_errors"] = 3,
         ["downed:x/1/link_downed"] = 9 } } })
   for name, want in pairs({ ['throttled_seconds_total{scope="package"}'] = "2",
      ['throttled_seconds_total{scope="core"}'] = "0",
      ['memory_errors_total{severity="corrected"}'] = "7", link_errors_total = "5" }) do
      lu.assertEquals(value(t, "syscheck_" .. name), want, name)
   end
   lu.assertNil(t:find("uncorrected"))
end

-- A level that nobody knows, and still something to see.
function TestSeries:test_an_agent_that_was_killed()
   local state = series.open(nil, "b")
   series.add(state, { kind = "check", level = "none", status = "unknown" }, 5)
   series.add(state, { kind = "check", level = "none", status = "unrated" }, 6)
   lu.assertEquals(state.checks, { ["passive unknown"] = 1 })
   lu.assertEquals(value(text(state), 'syscheck_node_status{status="unknown"}'), "1")
end

function TestSeries:test_damage()
   local values = { gflops = 5, triad_gbs = { value = "x" }, noise_pct = { value = 1, limit = {} },
      bad = { value = 1 } }
   for _, kept in ipairs({ { boot_id = "b", checks = { ["quick pass"] = -5, x = "y", [5] = 6 }, check_s = 0 / 0,
      drains = 7, times = { quick = "now", full = 1e300 }, values = values, newest = {}, measured = "fine" },
      { values = 5, times = true, boot_id = {} }, 5 }) do
      local state = series.open(kept, "b")
      local t = text(state)
      lu.assertEquals(value(t, "syscheck_check_seconds_total"), "0")
      lu.assertNil(t:find("nan"))
      lu.assertNil(t:find("timestamp"))
      lu.assertNil(t:find("dgemm_flops"))
      lu.assertNil(t:find("node_status"))
      series.add(state, check(), 7)
      lu.assertEquals(value(text(state), 'syscheck_checks_total{level="quick",status="pass"}'), "1")
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
