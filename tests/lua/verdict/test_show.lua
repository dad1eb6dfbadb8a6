-- A verdict in one line, and a directory's row.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local policy = require("syscheck.policy.policy")
local show = require("syscheck.verdict.show")
local verdict = require("syscheck.verdict.rating")

local function limits(text, base)
   return verdict.limits(assert(policy.parse("return {" .. text .. "}", "p")), "c1", base)
end

TestRender = {}

function TestRender:test_line()
   local rated = verdict.rate({ triad_gbs = { value = 41.24 }, gflops = { value = 105.2 }, noise_pct = { value = 1.23 },
      throttle_events = { value = 0 } }, limits("limits = { triad_gbs = { min = 1 } }"))
   local result = { level = "full", status = rated.status, metrics = rated.metrics }
   lu.assertEquals(show.line("n1", result),
      "syscheck: n1 full pass  triad 41.2 GB/s  dgemm 105 GFLOP/s  noise 1.2 %  throttle 0")
   lu.assertEquals(show.line("n1", { level = "passive", status = "unrated", metrics = {} }, "why"),
      "syscheck: n1 passive unrated  (why)")
end

-- For who knows no benchmarks.
function TestRender:test_brief()
   local base = { classes = { c1 = { expect = {}, config = {}, metrics = {
      triad_gbs = { median = 40, mad_pct = 1, n = 50, nodes = 10 },
      latency_ns = { median = 100, mad_pct = 1, n = 50, nodes = 10 } } } } }
   local function brief(results, text)
      local rated = verdict.rate(results, limits(text or "", base))
      return show.brief({ level = "full", status = rated.status, metrics = rated.metrics })
   end
   local text, off = brief({ triad_gbs = { value = 38.4 }, latency_ns = { value = 101 } })
   lu.assertEquals(text, "memory 4 % below its class")
   lu.assertAlmostEquals(off, 4, 1e-9)
   text, off = brief({ triad_gbs = { value = 41 }, latency_ns = { value = 103 } })
   lu.assertEquals(text, "memory latency 3 % worse than its class")
   lu.assertAlmostEquals(off, 3, 1e-9)
   -- Less than 1 % is not worth a word.
   lu.assertEquals(brief({ triad_gbs = { value = 39.9 } }), "")
   lu.assertEquals(brief({ triad_gbs = { value = 42 } }), "")
   lu.assertEquals(brief({ triad_gbs = { value = 20 } }), "memory 50 % below its class (limit 10 %)")
   lu.assertEquals(brief({ noise_pct = { value = 78 }, triad_gbs = { value = 20 } },
      "limits = { noise_pct = { max = 5 }, triad_gbs = { action = 'warn' } }"),
      "memory 50 % below its class (limit 10 %) and 1 more")
   lu.assertEquals(brief({ noise_pct = { value = 78 } }, "limits = { noise_pct = { max = 5 } }"),
      "noise of the system 78.0 %, limit 5.0 %")
   lu.assertEquals(brief({ triad_gbs = { unknown = "stream: killed" } }), "memory not measured")
   lu.assertEquals(brief({ gflops = { corrupt = "n = 7" }, triad_gbs = { value = 20 } }),
      "computing gives wrong results and 1 more")
   lu.assertEquals(brief({ throttle_events = { value = 12 } }), "throttled 12 times since its last job or check")
   lu.assertEquals(brief({ throttle_events = { value = 0 } }), "")
   lu.assertEquals(show.brief({ status = "unknown", metrics = {} }), "")
end

-- No more than what has a limit is fine.
function TestRender:test_partly()
   local function partly(results, text)
      return show.is_partly(verdict.rate(results, limits(text)))
   end
   local all = { triad_gbs = { value = 41 }, gflops = { value = 50 } }
   lu.assertTrue(partly(all, "limits = { triad_gbs = { min = 1 } }"))
   lu.assertFalse(partly(all, "limits = { triad_gbs = { min = 1 }, gflops = { min = 1 } }"))
   -- What only a site's own limit rates, and what is off as shipped.
   lu.assertFalse(partly({ noise_pct = { value = 1 }, best_gbs = { value = 40 }, throttle_events = { value = 0 } }, ""))
end

-- "n/a" alone leaves its reader where he was.
function TestRender:test_why_something_was_not_measured()
   local rated = verdict.rate({ triad_gbs = { unknown = "stream: killed after 4.5 s" }, gflops = { value = 50 },
      noise_pct = { unknown = "noise: not started" } }, limits("limits = { triad_gbs = { min = 1 } }"))
   local function line(note)
      return show.line("n1", { level = "quick", status = rated.status, metrics = rated.metrics }, note)
   end
   lu.assertEquals(line(), "syscheck: n1 quick unknown  triad n/a  dgemm 50.0 GFLOP/s  noise n/a  "
      .. "(stream: killed after 4.5 s; noise: not started)")
   rated = verdict.rate({ triad_gbs = { unknown = "another check\27" }, gflops = { unknown = "another check\27" } },
      limits(""))
   lu.assertEquals(line("why"), "syscheck: n1 quick unknown  triad n/a  dgemm n/a  (another check\\x1b; why)")
end

function TestRender:test_directories()
   local run = { kernel = "io", path = "/scratch\27", state = "ok", result = { filesystem = "xfs", direct = true,
      write_gbs = 1.234, read_gbs = 2.5, fsync_us = 812.4, fsync_p99_us = 2100, creates_per_s = 5300,
      stats_per_s = 400000, unlinks_per_s = 6100 } }
   local row, text = show.path(run)
   lu.assertEquals(row, { "io /scratch\\x1b", "1.23/2.5", "GB/s w/r", "-", "unrated" })
   lu.assertEquals(text, "io /scratch\\x1b: xfs, fsync 812 us (99 %: 2100), per second 5.3e+03 creates, "
      .. "4e+05 stats, 6.1e+03 unlinks")
   local result = { level = "full", status = "unknown", metrics = {}, runs = { run,
      { path = "/scratch", state = "unknown", reason = "io: /scratch: hangs" },
      { path = "/" .. ("x"):rep(1000), state = "corrupt", reason = "byte 5" } } }
   local line = show.line("n1", result)
   lu.assertStrContains(line, "syscheck: n1 full unknown  io /scratch n/a  io /xxx")
   lu.assertStrContains(line, " WRONG DATA")
   lu.assertTrue(#line < 120)
   row, text = show.path(result.runs[2])
   lu.assertEquals({ row[2], row[5], text }, { "-", "unknown", "unknown: io: /scratch: hangs" })
   row, text = show.path(result.runs[3])
   lu.assertEquals({ row[5], text }, { "warn", "warn: WRONG DATA: byte 5" })
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
