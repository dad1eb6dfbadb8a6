-- The page of `syscheck run`: programs printed what it draws, so it may be anything.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local detours = require("syscheck.questions.run.detours")
local run_page = require("syscheck.questions.run.page")

local NASTY = '"><script>x</script>'

local function record(results)
   local runs = {}
   for kernel, result in pairs(results or {}) do
      runs[#runs + 1] = { kernel = kernel, state = "ok", result = result }
   end
   return { node = "n1", class = "epyc", level = "full", status = "fail", text = "triad 61 < 77 GB/s", time = "now",
      duration_s = 12.3, runs = runs, metrics = { { name = "triad_gbs", value = 61, limit = 77, op = "<",
         status = "fail",
      text = "triad 61 < 77 GB/s", source = "class epyc" }, { name = "dimms", value = 23, limit = 24, op = "=",
      status = "fail" }, { name = "gflops", status = "unknown", text = NASTY } } }
end

local function list(n, f)
   local out = {}
   for i = 1, n do
      out[i] = f(i)
   end
   return out
end

TestRunPage = {}

function TestRunPage:test_what_a_large_node_measured()
   local pairs_of = {}
   for i = 0, 7 do
      for k = 0, 7 do
         pairs_of[#pairs_of + 1] = { from = i, to = k, ns = i == k and 104 or 230, gbs = 30 }
      end
   end
   local text = run_page(record({
      numa = { latency = pairs_of, bandwidth = pairs_of, chase_mb = 1536, local_ns_median = 104, cache_latency = {
         { kib = 16, level = 1, ns = 1.1 }, { kib = 512, level = 2, ns = 4 }, { kib = 16384, level = 3, ns = 14 } } },
      scaling = { compact = list(8, function(i) return { threads = 2 ^ i, triad_gbs = 40 * i } end), knee_threads = 48,
         best_gbs = 320 },
      dgemm = { gflops_core_median = 28, cores = list(192, function(i)
         return { cpu = i - 1, gflops = i == 78 and 22 or 28, clock_mhz = 3690 }
      end) },
      noise = { noise_pct = 0.3, components = { { period_ms = 4, duration_us = 2, text = "2 us every 4 ms", count = 9,
         lost_pct = 0.05 } } } }))
   for _, what in ipairs({ "N1: fail", "n1: fail, triad 61 &lt; 77 GB/s.", "at least 77.0 GB/s", "<b>61.0 GB/s*</b>",
      "want 24",
      "<title>0 to 7: 230 ns</title>", "knee at 48 threads", "memory 104", "CPU 77: 22 GFLOP/s", "2 us every 4 ms" }) do
      lu.assertEquals(text:find(what, 1, true) ~= nil, what ~= "N1: fail", what)
   end
   lu.assertTrue(#text < 100000)
   lu.assertNil(text:find("<script", 1, true))
end

-- What is missing or not of its type is not drawn; nothing breaks.
function TestRunPage:test_garbage()
   local odd = { false, 7, NASTY, {}, { 1 }, { NASTY }, { { from = 0, to = "x", ns = 1 } }, { { from = 0.5, to = 1,
      ns = 1 } },
      { { from = 0, to = 1, ns = NASTY } }, { { kib = 0, ns = -1 }, { kib = 4, ns = NASTY } }, { { threads = 1,
         triad_gbs = 0 } },
      { { cpu = NASTY, gflops = 1 }, { cpu = 1.5, gflops = 2 }, { cpu = 3, gflops = 4 } },
      { { period_ms = 1, duration_us = 1, text = {} }, { period_ms = 1e9, duration_us = 1e-9, text = NASTY } } }
   for _, value in ipairs(odd) do
      local text = run_page(record({ numa = { latency = value, bandwidth = value, cache_latency = value,
         chase_mb = value },
         scaling = { compact = value, spread = value, knee_threads = value, best_gbs = value },
         dgemm = { cores = value, gflops_core_median = value }, noise = { components = value, noise_pct = value } }))
      lu.assertStrContains(text, "</html>")
      lu.assertNil(text:find("<script", 1, true))
   end
   for _, name in ipairs({ "numa", "noise" }) do
      run_page(record({ [name] = {} }))
   end
   lu.assertStrContains(run_page({ node = NASTY, status = "unknown" }), "&lt;script&gt;")
end

function TestRunPage:test_detours_are_thinned_and_the_longest_kept()
   local trace = detours.new(2)
   for i = 1, 100000 do
      lu.assertTrue(trace:line(("%d %.9f %.9f"):format(i % 4, 100 + i / 50000, i == 777 and 0.02 or 2e-6)))
   end
   for _, wrong in ipairs({ "", "x", "1 2", "1 2 -3", "1 2 0", "-1 2 3", "1 2 3 4", NASTY }) do
      lu.assertTrue(trace:line(wrong))
   end
   local answer = trace:answer()
   lu.assertEquals(answer.count, 100000)
   lu.assertTrue(#answer.points < 400, #answer.points)
   lu.assertEquals({ answer.longest[1].cpu, math.floor(answer.longest[1].us + 0.5), #answer.longest }, { 1, 20000, 5 })
   lu.assertAlmostEquals(answer.seconds, 2, 0.02)
   lu.assertNil(detours.new(1):answer())
   local text = run_page(record({ noise = { noise_pct = 1 } }), answer, { NASTY })
   lu.assertStrContains(text, "100,000 detours")
   lu.assertTrue(#text < 40000)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
