-- What kernels measured, as sections.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local detail = require("syscheck.verdict.detail")
local page = require("syscheck.cmd.common.page")

local null = require("cjson").null

local function run(kernel, result, more)
   local one = { kernel = kernel, state = "ok", result = result }
   for key, value in pairs(more or {}) do
      one[key] = value
   end
   return one
end

local function text(runs, width)
   return page.sections(detail.sections(runs), { width = width or 80, as_utf8 = true })
end

local function fits(shown, width)
   for line in shown:gmatch("[^\n]+") do
      lu.assertTrue(utf8.len(line) <= width, line)
   end
end

-- n NUMA nodes; `far` is the one whose own memory is far.
local function numa(n, far)
   local r = { latency = {}, bandwidth = {}, numa_factor = 2.31, left_out = {} }
   for from = 0, n - 1 do
      for to = 0, n - 1 do
         table.insert(r.latency, { from = from, to = to, ns = from ~= to and 210.4 or from == far and 120.2 or 91.3 })
         table.insert(r.bandwidth, { from = from, to = to, gbs = from == to and 87.1 or 31.4 })
      end
   end
   return r
end

TestTraffic = {}

function TestTraffic:test_what_the_machine_counts_of_triads()
   local r = { triad_gbs = 75, traffic_source = "resctrl", traffic_gbs = 100, traffic_ratio = 4 / 3 }
   lu.assertStrContains(text({ run("stream", r) }, 200), "counter (resctrl) says 100 GB/s of triads, 1.33 times what")
   r = { triad_gbs = 75, traffic_error = "L3 cache 0: \27[31mUnavailable" }
   lu.assertStrContains(text({ run("stream", r) }, 200), "memory traffic: L3 cache 0: \\x1b[31mUnavailable.")
   r = { triad_gbs = 75, traffic_gbs = null, traffic_ratio = "x", traffic_error = {} }
   lu.assertNil(text({ run("stream", r) }, 200):find("counter", 1, true))
end

TestNuma = {}

function TestNuma:test_8_nodes_are_a_matrix_of_80_columns()
   local shown = text({ run("numa", numa(8, 5)) })
   fits(shown, 80)
   lu.assertStrContains(shown, "LATENCY_ns     0     1     2")
   lu.assertStrContains(shown, "node 5       210   210   210   210   210  120   210   210")
   lu.assertStrContains(shown, "NUMA node 5 to its own memory: 32 % more than the median.")
   lu.assertStrContains(shown, "up to 2.31 times as long")
end

function TestNuma:test_more_nodes_are_a_row_each()
   for _, n in ipairs({ 16, 64 }) do
      local shown = text({ run("numa", numa(n)) })
      fits(shown, 80)
      lu.assertStrContains(shown, "OWN  BEST_OTHER  WORST_OTHER  OF_NODE")
   end
   -- All of 16 are seen where there is room.
   lu.assertStrContains(text({ run("numa", numa(16)) }, 200), " 15\n")
   fits(text({ run("numa", numa(8)) }, 40), 40)
end

function TestNuma:test_one_node_is_a_sentence()
   lu.assertEquals(text({ run("numa", numa(1)) }), "NUMA\n  One node: memory latency 91.3 ns, bandwidth 87.1 GB/s.")
end

function TestNuma:test_a_node_of_memory_only_and_one_left_out()
   local r = { latency = { { from = 0, to = 0, ns = 90 }, { from = 0, to = 2, ns = 250 } }, left_out = { 1 } }
   local shown = text({ run("numa", r) })
   lu.assertStrContains(shown, "node 0      90.0  250")
   lu.assertStrContains(shown, "less than 128 MiB is free there: node 1.")
end

function TestNuma:test_latency_by_working_set()
   local r = numa(1)
   r.cache_latency = { { level = 1, kib = 16, ns = 1.1 }, { level = 2, kib = 512, ns = 4 },
      { level = 3, kib = 16384, ns = 20 } }
   local shown = text({ run("numa", r) })
   lu.assertStrContains(shown, "L1      16 KiB          1.10  ▌\n")
   lu.assertStrContains(shown, "L3      16.0 MiB")
   lu.assertStrContains(shown, "memory  -               91.3  " .. ("█"):rep(40) .. "\n")
end

TestCores = {}

function TestCores:test_of_192_cores_the_slowest_and_the_median()
   local r = { gflops_core_median = 50.95, gflops_core_min = 30, slowest_cpu = 17, clock_mhz = 3400,
      clock_mhz_min = 2100, lowest_clock_cpu = 17, clock_limit_mhz = 3700, cores = {} }
   for cpu = 0, 191 do
      r.cores[cpu + 1] = { cpu = cpu, gflops = cpu == 17 and 30 or 50 + cpu / 100,
         clock_mhz = cpu == 17 and 2100 or 3400 }
   end
   local shown = text({ run("dgemm", r) })
   local _, lines = shown:gsub("\n", "")
   lu.assertTrue(lines < 12, shown)
   lu.assertStrContains(shown, "17         30.0           59       2100")
   lu.assertStrContains(shown, "median     51.0          100       3400")
   lu.assertStrContains(shown, "Slowest core: CPU 17, 30.0 GFLOP/s, 59 % of the median 51.0.")
   lu.assertStrContains(shown, "Clock under load: median 3400 MHz, lowest 2100 on CPU 17; limit 3700.")
end

function TestCores:test_two_even_cores_without_cpufreq()
   local r = { gflops_core_median = 50, gflops_core_min = 49, slowest_cpu = 1, clock_mhz = 3400, clock_mhz_min = 3390,
      lowest_clock_cpu = 0, clock_limit_mhz = null, cores = { { cpu = 0, gflops = 51 }, { cpu = 1, gflops = 49 } } }
   lu.assertEquals(text({ run("dgemm", r) }, 200), "Cores under load (dgemm)\n"
      .. "  Slowest core: CPU 1, 49.0 GFLOP/s, 98 % of the median 50.0: even.\n"
      .. "  Clock under load: median 3400 MHz, lowest 3390 on CPU 0; limit not known (no cpufreq).")
end

function TestCores:test_a_knee()
   local r = { best_gbs = 211, knee_threads = 12, compact = {} }
   for i, threads in ipairs({ 1, 2, 4, 8, 12, 48 }) do
      r.compact[i] = { threads = threads, triad_gbs = math.min(211, 20 * threads) }
   end
   local shown = text({ run("scaling", r) })
   lu.assertStrContains(shown, "Knee at 12 of 48 threads: 90 % of the best, 211 GB/s.")
   lu.assertStrContains(shown, "█ knee\n")
   r.knee_threads = 48
   lu.assertStrContains(text({ run("scaling", r) }), "No knee: 90 % of the best takes 48 of 48 threads")
end

function TestCores:test_spread_over_the_nodes()
   local r = { best_gbs = 100, knee_threads = 4, knee_spread_threads = 2, node_saturated_threads = 2,
      node_best_gbs = 50, compact = { { threads = 1, triad_gbs = 25 }, { threads = 4, triad_gbs = 100 } },
      spread = { { threads = 1, triad_gbs = 25 }, { threads = 4, triad_gbs = 99 } } }
   local shown = text({ run("scaling", r) })
   lu.assertStrContains(shown, "THREADS  FILLED_GB/s  SPREAD_GB/s")
   lu.assertStrContains(shown, "4          100         99.0")
   lu.assertStrContains(shown, "2 threads saturate the first NUMA node (95 % of 50.0 GB/s).")
end

TestNoise = {}

function TestNoise:test_names_are_shown_and_obeyed_by_no_terminal()
   local r = { noise_pct = 1.2, noise_pct_max = 2, worst_cpu = 5, longest_us = 7100, p99_us = 30, seconds = 2,
      components = { { duration_us = 7100, period_ms = 1000, lost_pct = 0.7, cpus = "0-191", source = "kipmi0\27[31m",
         source_pid = 77 }, { duration_us = 5, period_ms = 4, lost_pct = 0.1, cpus = "3", source = null },
         { duration_us = 1, period_ms = 100, lost_pct = 0.001, cpus = "0" } },
      processes = { { comm = "evil\27]0;x\7\n", pid = 1, cpu_ms = 3 } },
      interrupts = { { name = "LOC", count = 500 } } }
   local shown = text({ run("noise", r) })
   lu.assertNotStrContains(shown, "\27")
   lu.assertNotStrContains(shown, "\7")
   lu.assertStrContains(shown, "kipmi0\\x1b[31m (77)  7.10 ms  1.00 s      0.7  0-191")
   lu.assertStrContains(shown, "not known            5.00 us  4.00 ms     0.1  3")
   lu.assertStrContains(shown, "evil\\x1b]0;x\\x07\\x0a 3.00 ms")
   lu.assertNotStrContains(shown, "0.001")
   lu.assertStrContains(shown, "Interrupts: LOC 500.")
   fits(text({ run("noise", r) }, 40), 40)
end

function TestNoise:test_without_attribution()
   local shown = text({ run("noise", { noise_pct = 0.1, seconds = 0.5, components = {} }) }, 200)
   lu.assertStrContains(shown, "No periodic source of 0.01 % or more; 0.5 s show those with a period below 0.071 s.")
   lu.assertNotStrContains(shown, "Processes")
end

TestAll = {}

function TestAll:test_the_last_measurement_that_is_good_counts()
   local function stream(gbs)
      return { triad_gbs = gbs, copy_gbs = 1, scale_gbs = 1, add_gbs = 1, array_mb = 1, llc_mb = 1 }
   end
   local shown = text({ run("stream", stream(10)), run("stream", stream(20)),
      run("stream", {}, { state = "unknown" }) })
   lu.assertStrContains(shown, "triad 20.0 GB/s")
   lu.assertNotStrContains(shown, "10.0")
end

function TestAll:test_a_slow_numa_node_and_a_rate_that_is_not_steady()
   local r = { triad_gbs = 300, triad_spread_pct = 22, numa = {} }
   for node = 0, 3 do
      r.numa[node + 1] = { node = node, cores = 8, triad_gbs = node == 2 and 40 or 80 + node }
   end
   local shown = text({ run("stream", r) })
   lu.assertStrContains(shown, "Not steady: moments of 20 ms differ by 22 %")
   lu.assertStrContains(shown, "NUMA node 2 has 50 % of the median")
end

function TestAll:test_who_disturbed()
   local shown = text({ run("stream", { lost_pct = 12 }, { others = { most = { comm = "cc1\27", pid = 9 } } }),
      run("noise", { lost_pct = 50 }) }, 300)
   lu.assertEquals(shown, "Disturbed\n  Cores were not ours for a part of the time: stream 12 %. "
      .. "Rates may be so much lower than what the node can do. Most of it had cc1\\x1b (process 9).")
end

function TestAll:test_directories()
   local function io(path, direct)
      return run("io", { filesystem = "xfs", direct = direct, write_gbs = 1.234, read_gbs = 2.5, fsync_us = 812.4,
         fsync_p99_us = 2100, creates_per_s = 5300, stats_per_s = 400000, unlinks_per_s = 6100 }, { path = path })
   end
   local shown = text({ io("/scratch\27", true), io("/home", false),
      run("io", {}, { path = "/x", state = "unknown" }) })
   lu.assertStrContains(shown, "/scratch\\x1b  xfs    1.23  2.50  812 us  2.10 ms    5300  400000    6100")
   lu.assertStrContains(shown, "xfs*")
   lu.assertStrContains(shown, "*: through the page cache")
   fits(text({ io("/" .. ("x"):rep(200), true) }), 80)
end

-- A kernel says what it likes.
function TestAll:test_garbage_is_left_out()
   local values = { null, "text", -1, 0 / 0, math.huge, {}, { {} }, true,
      { null, 5, { from = "a", to = {}, ns = true } } }
   local keys = { "triad_gbs", "copy_gbs", "numa", "gflops_core_median", "gflops_core_min", "cores", "clock_mhz",
      "noise_pct", "components", "processes", "interrupts", "latency", "bandwidth", "cache_latency", "left_out",
      "compact", "spread", "knee_threads", "best_gbs", "lost_pct", "seconds", "longest_us", "worst_cpu" }
   for _, kernel in ipairs({ "stream", "dgemm", "noise", "numa", "scaling", "other" }) do
      for _, value in ipairs(values) do
         local r = {}
         for _, key in ipairs(keys) do
            r[key] = value
         end
         lu.assertEquals(type(text({ run(kernel, r) })), "string")
         for _, key in ipairs(keys) do
            r[key] = 1
            text({ run(kernel, r) })
            r[key] = value
         end
      end
   end
   lu.assertEquals(detail.sections({ { kernel = "stream", state = "ok", result = null }, { state = "unknown" } }), {})
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
