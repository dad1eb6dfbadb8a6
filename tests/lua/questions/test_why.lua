-- Why a job was slow: answers on hand-made jobs.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local causes = require("syscheck.questions.why.causes")
local fields = require("syscheck.catalogue.fields")
local words = require("syscheck.questions.why.words")
local why = require("syscheck.questions.why.logic")

local function near(got, want, relative)
   lu.assertAlmostEquals(got, want, math.abs(want) * (relative or 1e-9))
end

TestSlow = {}

local TWELVE = { 100, 101, 99, 102, 98, 100, 103, 97, 100, 101, 99, 100 }

function TestSlow:test_against_twelve()
   local slow = why.slow(161, TWELVE)
   lu.assertEquals(slow.verdict, "slow")
   near(slow.ratio, 1.61, 1e-9)
   near(slow.p_rank, 1 / 13)
   near(slow.lost_s, 61, 1e-9)
   lu.assertTrue(slow.p < 1e-4)
   lu.assertEquals(why.slow(101, TWELVE).verdict, "no")
   lu.assertEquals(why.slow(60, TWELVE).verdict, "no")
end

function TestSlow:test_too_few_cannot_tell()
   for _, like in ipairs({ {}, { 100 }, { 100, 101 } }) do
      local slow = why.slow(200, like)
      lu.assertEquals(slow.verdict, "unknown")
      lu.assertNil(slow.p)
      lu.assertEquals(slow.count, #like)
   end
   lu.assertEquals(why.slow(nil, TWELVE).verdict, "unknown")
   -- Three that agree carry little.
   lu.assertTrue(why.slow(200, { 100, 100, 100 }).p > 1e-4)
end

-- A job whose runs differ by a factor of three is not slow at one and a half times their median.
function TestSlow:test_runs_that_differ()
   lu.assertEquals(why.slow(160, { 60, 180, 100, 70, 150, 90, 120, 200, 65, 110 }).verdict, "no")
   -- A minority of slow or aborted runs moves neither centre nor spread much.
   lu.assertEquals(why.slow(161, { 100, 101, 99, 102, 98, 100, 160, 97, 5, 101 }).verdict, "slow")
   -- 4 % is not called slow, however even the others are.
   lu.assertEquals(why.slow(104, TWELVE).verdict, "no")
end

-- Rows of healthy nodes; a fixed, small variety of everything.
local serial = 0
local function vary()
   serial = (serial * 1103515245 + 12345) % 2147483648
   return 0.8 + 0.4 * serial / 2147483648
end

-- In a fixed order: what varies comes from one sequence.
local CHECK = { { "triad_gbs", 400 }, { "gflops", 5000 }, { "noise_pct", 0.3 } }

local function row(node, elapsed, extra)
   local r = { node = node, class = 1, elapsed_s = elapsed, throttle_events = 0, throttle_package_ms = 0,
      throttle_core_ms = 0, cpu_some_us = 0.01 * elapsed * 1e6 * vary(), io_some_us = 0.01 * elapsed * 1e6 * vary(),
      io_full_us = 0.005 * elapsed * 1e6 * vary(), iowait_ms = 10 * elapsed * vary(), nfs_op_ms = 20 * elapsed * vary(),
      memory_corrected = 0, link_errors = 0, cg_cpu_us = elapsed * 64e6, cg_read_bytes = 1e9 * vary(), checks = {} }
   for k, v in pairs(extra or {}) do
      r[k] = v
   end
   return r
end

local function run(nodes, elapsed, extra, from)
   local rows = {}
   for i = 1, nodes do
      rows[i] = row((from or 0) + i, elapsed, extra and extra[i])
   end
   return { rows = rows }
end

local function input(nodes, elapsed, extra, likes, like_extra)
   serial = 1
   local like, others = {}, {}
   for i = 1, likes or 12 do
      like[i] = run(nodes, 1000 + 10 * (i % 5), like_extra, 100 * i)
   end
   for i = 1, 60 do
      others[i] = run(8, 500 + 100 * i, nil, 10 * i)
   end
   local checks = { [1] = {} }
   for _, one in ipairs(CHECK) do
      checks[1][one[1]] = {}
      for i = 1, 200 do
         checks[1][one[1]][i] = { node = 1000 + i, value = one[2] * (1 + (vary() - 1) / 10) }
      end
   end
   return { rows = run(nodes, elapsed, extra).rows, like = like, others = others, checks = checks }
end

local function say(answer, nodes)
   return words.conclusion(answer, { label = "4711", nodes = nodes }, function(node)
      return ("n%03d"):format(node)
   end)
end

-- No number that could be printed is NaN or infinite.
local function sound(value, seen)
   seen = seen or {}
   for k, v in pairs(value) do
      if type(v) == "number" then
         lu.assertTrue(math.abs(v) < math.huge, tostring(k)) -- nor is NaN less
      elseif type(v) == "table" and not seen[v] then
         seen[v] = true
         sound(v, seen)
      end
   end
end

TestAnswer = {}

local THROTTLED = { throttle_events = 1204, throttle_package_ms = 600000, throttle_core_ms = 300000 }

function TestAnswer:test_a_throttling_node()
   local answer = why.analyse(input(8, 1610, { [3] = THROTTLED }))
   sound(answer)
   local c = answer.blamed[1]
   lu.assertEquals({ c.node, c.group, c.where, #answer.blamed }, { 3, "clock", "node", 1 })
   lu.assertTrue(c.p_corrected < 0.01)
   lu.assertTrue(c.accounts > 0.8)
   lu.assertTrue(c.accounts < 1.2)
   lu.assertStrContains(say(answer, 8), "job 4711 took 1.58x the median of its 12 like runs")
   lu.assertStrContains(say(answer, 8), "n003: throttled 1,204 times (600 s) during it, its peers never")
end

-- 5 s of throttling do not make a job 10 minutes longer, however rare they are.
function TestAnswer:test_too_small_to_be_the_cause()
   local answer = why.analyse(input(8, 1610, { [3] = { throttle_events = 90, throttle_package_ms = 100000 } }))
   lu.assertEquals(#answer.blamed, 0)
   lu.assertEquals(answer.conditions[1].node, 3)
   lu.assertStrContains(say(answer, 8), "nothing that was recorded explains it")
   lu.assertStrContains(say(answer, 8), "too small to be the cause: n003")
end

function TestAnswer:test_nothing_explains_it()
   local answer = why.analyse(input(8, 1610))
   sound(answer)
   lu.assertEquals(answer.slow.verdict, "slow")
   lu.assertEquals(#answer.blamed, 0)
   lu.assertStrContains(say(answer, 8), "nothing that was recorded explains it (")
   lu.assertNotStrContains(say(answer, 8), "out of line")
end

function TestAnswer:test_the_job_did_more()
   local extra = {}
   for i = 1, 8 do
      extra[i] = { cg_read_bytes = 1.6e9 }
   end
   local answer = why.analyse(input(8, 1610, extra))
   lu.assertEquals(#answer.blamed, 0)
   lu.assertStrContains(say(answer, 8), "the job did more: ")
   lu.assertStrContains(say(answer, 8), "read by the job 1.")
end

function TestAnswer:test_two_bad_nodes()
   local answer = why.analyse(input(8, 1610, { [3] = THROTTLED,
      [6] = { nfs_op_ms = 900e3, io_some_us = 600e6, io_full_us = 500e6, iowait_ms = 800e3 } }))
   local named = {}
   for _, c in ipairs(answer.blamed) do
      named[c.node] = c.group
   end
   lu.assertEquals(named, { [3] = "clock", [6] = "storage" })
   -- The same trouble twice.
   answer = why.analyse(input(8, 1610, { [3] = THROTTLED, [5] = THROTTLED }))
   lu.assertEquals(#answer.blamed, 2)
   lu.assertEquals(answer.blamed[1].group .. answer.blamed[2].group, "clockclock")
end

function TestAnswer:test_all_nodes_are_not_one_node()
   local extra = {}
   for i = 1, 8 do
      extra[i] = { nfs_op_ms = 900e3 * vary(), io_some_us = 600e6 * vary(), io_full_us = 500e6 * vary(),
         iowait_ms = 800e3 * vary() }
   end
   local answer = why.analyse(input(8, 1610, extra))
   lu.assertEquals(#answer.blamed, 1)
   lu.assertEquals({ answer.blamed[1].where, answer.blamed[1].group }, { "all", "storage" })
   lu.assertStrContains(say(answer, 8), "all 8 nodes: ")
   lu.assertStrContains(say(answer, 8), "that is not one node")
end

-- Node 1 writes for all of them in every run: that is the job, not the node.
function TestAnswer:test_a_rank_that_does_more_io_always_does()
   local first = { [1] = { io_some_us = 300e6, io_full_us = 200e6, iowait_ms = 500e3, nfs_op_ms = 900e3 } }
   local answer = why.analyse(input(8, 1610, first, 12, first))
   lu.assertEquals(#answer.blamed, 0)
end

function TestAnswer:test_a_slow_dimm()
   local bad = { checks = { { when = "before", triad_gbs = 240, gflops = 5000 }, { when = "after", triad_gbs = 238 } } }
   local fine = { checks = { { when = "before", triad_gbs = 401, gflops = 5000 },
      { when = "after", triad_gbs = 399 } } }
   local answer = why.analyse(input(4, 1610, { fine, bad, fine, fine }))
   local c = answer.blamed[1]
   lu.assertEquals({ c and c.node, c and c.group }, { 2, "memory" })
   lu.assertStrContains(say(answer, 4), "n002: triad 240.0 GB/s before it, its class ")
   -- One check that was disturbed, and three that were not.
   local once = { checks = { { when = "before", triad_gbs = 240 }, { when = "before", triad_gbs = 400 },
      { when = "after", triad_gbs = 401 }, { when = "after", triad_gbs = 400 } } }
   lu.assertEquals(#why.analyse(input(4, 1610, { fine, once, fine, fine })).blamed, 0)
end

function TestAnswer:test_a_job_of_one_node()
   local answer = why.analyse(input(1, 1610, { THROTTLED }, 20))
   lu.assertEquals({ answer.blamed[1].where, answer.blamed[1].node, answer.blamed[1].group }, { "only", 1, "clock" })
   answer = why.analyse(input(1, 1610, { { nfs_op_ms = 900e3, io_some_us = 600e6, io_full_us = 500e6 } }, 20))
   lu.assertStrContains(say(answer, 1), "whether that node is slow or what it shares, this job cannot tell")
   lu.assertEquals(#why.analyse(input(1, 1610, nil, 20)).blamed, 0)
end

function TestAnswer:test_one_like_run_or_none()
   for likes = 0, 2 do
      local answer = why.analyse(input(8, 1610, nil, likes))
      sound(answer)
      lu.assertEquals(answer.slow.verdict, "unknown")
      lu.assertEquals(#answer.blamed, 0)
      lu.assertStrContains(say(answer, 8), ("cannot tell whether job 4711 was slow: %d like run"):format(likes))
      lu.assertStrContains(say(answer, 8), "3 are wanted")
   end
   -- So many it says, so many it takes.
   local three = why.analyse(input(8, 1610, nil, 3))
   lu.assertEquals(three.slow.verdict, "slow")
   lu.assertNotStrContains(say(three, 8), "wanted")
   -- A node far out of line is told all the same.
   local answer = why.analyse(input(8, 1610, { [3] = THROTTLED }, 0))
   lu.assertEquals(answer.blamed[1].node, 3)
end

function TestAnswer:test_not_slow_blames_nobody()
   local answer = why.analyse(input(8, 1010, { [3] = THROTTLED }))
   lu.assertEquals(answer.slow.verdict, "no")
   lu.assertEquals(#answer.blamed, 0)
   lu.assertStrContains(say(answer, 8), "not slow; out of line all the same: n003")
end

-- A node that was as bad in the like runs is compared with other nodes, not with itself.
function TestAnswer:test_a_node_that_is_bad_for_weeks()
   local i = input(8, 1610, { [3] = THROTTLED })
   for k = 1, 4 do
      i.like[k].rows[3] = row(3, 1610, THROTTLED)
      for _, r in ipairs(i.like[k].rows) do
         r.elapsed_s = 1610
      end
   end
   local answer = why.analyse(i)
   lu.assertEquals(answer.blamed[1].node, 3)
   lu.assertEquals(answer.slow.normal, 8)
end

-- A condition that the job bore without getting slower is no cause.
function TestAnswer:test_like_runs_that_were_fast_with_it()
   local extra = { [5] = { cpu_some_us = 500e6 } }
   lu.assertEquals(#why.analyse(input(8, 1610, { [3] = { cpu_some_us = 600e6 } }, 12, extra)).blamed, 0)
end

function TestAnswer:test_missing_values_and_nonsense()
   local i = input(4, 1610)
   for _, r in ipairs(i.rows) do
      for _, item in ipairs(causes.JOB) do
         r[item.name] = nil
      end
   end
   local answer = why.analyse(i)
   sound(answer)
   lu.assertEquals(#answer.conditions, 0)
   lu.assertStrContains(say(answer, 4), "(0 values looked at)")
   for _, bad in ipairs({ 0 / 0, -1, math.huge, "x", false }) do
      answer = why.analyse(input(4, 1610, { { throttle_package_ms = bad, cpu_some_us = bad, memory_corrected = bad,
         checks = { { when = "before", triad_gbs = bad } } } }))
      sound(answer)
      lu.assertEquals(#answer.blamed, 0)
   end
   -- No time at all; no row at all; a node without a class; an elapsed time of 0.
   sound(why.analyse({ rows = {} }))
   sound(why.analyse({ rows = { { node = 1 } }, like = { { rows = {} } } }))
   -- Like runs have times, the job has none: its prolog did not run.
   i = input(4, 1610)
   for _, r in ipairs(i.rows) do
      r.elapsed_s = nil
   end
   answer = why.analyse(i)
   sound(answer)
   lu.assertStrContains(say(answer, 4), "cannot tell whether job 4711 was slow: 12 like runs")
   i = input(4, 1610)
   i.rows[2].class, i.rows[2].elapsed_s = nil, 0
   sound(why.analyse(i))
   lu.assertStrContains(say(why.analyse({ rows = {} }), 0), "cannot tell")
end

-- Bursts on 3 % of nodes in each metric, nobody's fault: what did not happen in this job was
-- looked at all the same, or the one that did would be judged alone.
function TestAnswer:test_rare_bursts_are_judged_as_one_of_all()
   local TIMES = { "throttle_core_ms", "steal_ms", "iowait_ms", "nfs_op_ms", "cpu_some_us", "io_some_us",
      "memory_some_us", "cg_throttled_us" }
   local state = 1
   local function uniform()
      state = (state * 6364136223846793005 + 1442695040888963407) & 0x7fffffffffffffff
      return (state >> 11) / 2 ^ 52
   end
   local function nodes(n, elapsed)
      local rows = {}
      for k = 1, n do
         rows[k] = { node = math.floor(uniform() * 500) * 10 + k, class = 1, elapsed_s = elapsed, checks = {} }
         for _, name in ipairs(TIMES) do
            rows[k][name] = uniform() < 0.03 and 0.5 * uniform() * elapsed * (name:find("_us$") and 1e6 or 1e3) or 0
         end
      end
      return { rows = rows }
   end
   local jobs, wrong = 100, 0
   for _ = 1, jobs do
      local like, others = {}, {}
      for k = 1, 60 do
         others[k] = nodes(4, 1000)
         like[k] = k <= 4 and nodes(4, 1000) or nil
      end
      local sure = false
      for _, c in ipairs(why.analyse({ rows = nodes(4, 1300).rows, like = like, others = others }).conditions) do
         sure = sure or c.p_corrected <= why.ALPHA
      end
      wrong = wrong + (sure and 1 or 0)
   end
   lu.assertTrue(wrong <= 0.1 * jobs, ("%d of %d"):format(wrong, jobs))
end

-- Ties: everything is the same everywhere.
function TestAnswer:test_ties()
   local function same(n, elapsed)
      local rows = {}
      for k = 1, n do
         rows[k] = { node = k, class = 1, elapsed_s = elapsed, cpu_some_us = 5e6, throttle_package_ms = 0,
            checks = { { when = "before", triad_gbs = 400 } } }
      end
      return { rows = rows }
   end
   local like, checks = {}, {}
   for k = 1, 10 do
      like[k], checks[k] = same(4, 1000), { node = 50 + k, value = 400 }
   end
   local answer = why.analyse({ rows = same(4, 1000).rows, like = like, others = like,
      checks = { { triad_gbs = checks } } })
   sound(answer)
   lu.assertEquals(answer.slow.verdict, "no")
   lu.assertEquals(#answer.conditions, 0)
end

-- Throttle counts without durations; with them, the durations speak.
function TestAnswer:test_counts_without_durations()
   local answer = why.analyse(input(8, 1610, { [3] = { throttle_events = 1204 } }))
   lu.assertEquals(#answer.blamed, 0)
   local i = input(8, 1610, { [3] = { throttle_events = 1204 } })
   local function strip(rows)
      for _, r in ipairs(rows) do
         r.throttle_package_ms, r.throttle_core_ms = nil, nil
      end
   end
   strip(i.rows)
   for _, list in ipairs({ i.like, i.others }) do
      for _, one in ipairs(list) do
         strip(one.rows)
      end
   end
   answer = why.analyse(i)
   lu.assertEquals({ answer.blamed[1].node, answer.blamed[1].group }, { 3, "clock" })
   lu.assertStrContains(say(answer, 8), "n003: throttled 1,204 times during it, its peers never")
end

-- Whoever adds a cause to fields.lua decides here whether `why` looks at it. It does not at sums over CPUs as a
-- time, nor at single units of what it sees as a sum.
local RECORDED = { sched_wait_ms = 1, steal_worst_ms = 1, throttle_package_worst_ms = 1, throttle_core_worst_ms = 1 }

function TestAnswer:test_every_cause_is_known()
   local known = {}
   for _, item in ipairs(causes.JOB) do
      known[item.name] = true
      lu.assertNotNil(causes.GROUPS[item.group], item.name)
      lu.assertNotNil(item.each_s or item.kind == "rate" or nil, item.name)
   end
   for _, field in ipairs(fields.JOB) do
      local wanted = field.kind == "cause" and not RECORDED[field.name] or field.name == "clock_limit_mhz"
      lu.assertEquals(known[field.name] or false, wanted, field.name)
   end
end

TestText = {}

function TestText:test_numbers()
   lu.assertEquals(words.count(1204), "1,204")
   lu.assertEquals(words.count(204), "204")
   lu.assertEquals(words.count(1234567.4), "1,234,567")
   lu.assertEquals(words.p(0.0769), "0.077")
   lu.assertEquals(words.p(1e-9), "<1e-6")
   lu.assertEquals(words.p(0.00042), "4e-4")
   lu.assertEquals(words.p(1), "1.00")
   lu.assertEquals(words.times(1.614), "1.61x")
   lu.assertEquals(words.times(120), "120x")
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
