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
