-- Why a job was slow: answers on hand-made jobs.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local causes = require("syscheck.questions.why.causes")
local expected = require("syscheck.questions.why.expected")
local fields = require("syscheck.catalogue.fields")
local words = require("syscheck.questions.why.words")
local why = require("syscheck.questions.why.logic")

local function near(got, want, relative)
   lu.assertAlmostEquals(got, want, math.abs(want) * (relative or 1e-9))
end

-- What like runs of such times, an hour apart, let expect.
local function of_times(times, nodes)
   local list = {}
   for i, t in ipairs(times) do
      list[i] = { begin_s = 3600 * i, elapsed_s = t }
   end
   return expected.of(list, 3600 * (#times + 1), nodes), #times
end

TestSlow = {}

local TWELVE = { 100, 101, 99, 102, 98, 100, 103, 97, 100, 101, 99, 100 }

function TestSlow:test_against_twelve()
   local slow = why.slow(161, of_times(TWELVE))
   lu.assertEquals(slow.verdict, "slow")
   near(slow.ratio, 1.61, 1e-9)
   near(slow.lost_s, 61, 1e-9)
   lu.assertTrue(slow.p < 1e-3)
   -- What it would have taken to be called slow: more than it was, and not all.
   lu.assertTrue(slow.seen_from > 1.04 and slow.seen_from < 1.15)
   lu.assertEquals(why.slow(101, of_times(TWELVE)).verdict, "no")
   lu.assertEquals(why.slow(60, of_times(TWELVE)).verdict, "no")
end

function TestSlow:test_too_few_cannot_tell()
   local slow = why.slow(200, nil, 2)
   lu.assertEquals({ slow.verdict, slow.count, slow.wanted }, { "unknown", 2, 3 })
   lu.assertNil(slow.p)
   lu.assertEquals(why.slow(nil, of_times(TWELVE)).verdict, "unknown")
   -- Three that agree carry little.
   lu.assertTrue(why.slow(200, of_times({ 100, 100, 100 })).p > 1e-4)
end

-- A job whose runs differ by a factor of three is not slow at one and a half times their median.
function TestSlow:test_runs_that_differ()
   lu.assertNotEquals(why.slow(160, of_times({ 60, 180, 100, 70, 150, 90, 120, 200, 65, 110 })).verdict, "slow")
   -- A minority of slow or aborted runs moves neither centre nor spread much.
   lu.assertEquals(why.slow(161, of_times({ 100, 101, 99, 102, 98, 100, 160, 97, 5, 101 })).verdict, "slow")
   -- 4 % is not called slow, however even the others are.
   lu.assertEquals(why.slow(104, of_times(TWELVE)).verdict, "no")
end

-- A kind that starts anew or from a checkpoint has two usual times.
function TestSlow:test_one_of_two_usual_times()
   local list = {}
   for i = 1, 30 do
      list[i] = (i % 3 == 0 and 160 or 100) * (1 + (i % 7 - 3) / 200)
   end
   local slow = why.slow(161, of_times(list))
   lu.assertEquals({ slow.verdict, slow.usual, slow.modes }, { "no", true, 2 })
   lu.assertStrContains(words.slow("1", slow), ": not slow, one of its two usual times (from 1.")
   for time, verdict in pairs({ [100] = "no", [130] = "no", [190] = "slow" }) do
      slow = why.slow(time, of_times(list))
      lu.assertEquals({ slow.verdict, slow.usual }, { verdict, false })
   end
end

-- Of most like runs made slower the others are what is expected, and that is said.
function TestSlow:test_most_like_runs_were_slow()
   local list = {}
   for i = 1, 24 do
      list[i] = i % 3 == 0 and 100 + i % 2 or 110 + 3 * (i * 7 % 24)
   end
   local slow = why.slow(160, of_times(list, 48))
   lu.assertEquals({ slow.front, slow.modes, slow.verdict }, { 8, 1, "perhaps" })
   near(slow.ratio, 1.6, 0.02)
   lu.assertStrContains(words.slow("4711", slow),
      "job 4711 took 1.59x what the fastest 8 of 24 like runs took (all of them 1.00x to 1.78x; ")
   lu.assertStrContains(words.slow("4711", slow), ", 5 of the 24 took as long): perhaps slow")
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

-- Calls f(row) for each row of the job, its like runs and others'.
local function each_row(i, f)
   for _, runs in ipairs({ { i }, i.like, i.others }) do
      for _, one in ipairs(runs) do
         for _, r in ipairs(one.rows) do
            f(r)
         end
      end
   end
end

-- @param history by node: list of { ratio (of its time to what was expected), days, <name> = value }
local function input(nodes, elapsed, extra, likes, like_extra, history)
   serial = 1
   local like, others, times = {}, {}, {}
   for i = 1, likes or 12 do
      times[i] = 1000 + 10 * (i % 5)
      like[i] = run(nodes, times[i], like_extra, 100 * i)
      like[i].elapsed_s = times[i]
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
   local e = #times >= expected.MIN and of_times(times) or nil
   return { keep = 100, rows = run(nodes, elapsed, extra).rows, like = like, others = others, checks = checks,
      elapsed_s = elapsed, e = e, count = #times,
      history = function(node)
         local out = {}
         for i, one in ipairs(history and history[node] or {}) do
            out[i] = { row = row(node, 1000 * one.ratio, one), days = one.days or i / 4, e = of_times(TWELVE),
               y = math.log(100 * one.ratio), alone = one.alone }
         end
         return out
      end,
      meanwhile = function()
         return {}
      end }
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

local function named(answer)
   local h = answer.named
   return h and { h.node or h.nodes or h.where, h.group }
end

local function of(answer, node, group)
   for _, h in ipairs(answer.explanations) do
      if h.node == node and h.group == group then
         return h
      end
   end
end

function TestAnswer:test_a_throttling_node()
   local answer = why.analyse(input(8, 1610, { [3] = THROTTLED }))
   sound(answer)
   lu.assertEquals(named(answer), { 3, "clock" })
   lu.assertTrue(answer.named.probability > 0.8)
   lu.assertStrContains(say(answer, 8), "job 4711 took 1.58x what 12 like runs took")
   lu.assertStrContains(say(answer, 8), "n003: package throttled 600 s of 1610 s, its peers never")
   local sum = 0
   for _, h in ipairs(answer.explanations) do
      sum = sum + h.probability
   end
   lu.assertTrue(sum > 0.99 and sum < 1 + 1e-9)
end

-- 20 s of throttling do not make a job 10 minutes longer, however rare they are.
function TestAnswer:test_too_small_to_be_the_cause()
   local answer = why.analyse(input(8, 1610, { [3] = { throttle_events = 90, throttle_package_ms = 20000 } }))
   lu.assertNil(answer.named)
   lu.assertStrContains(say(answer, 8), "nothing that was recorded explains it")
   local h = of(answer, 3, "clock")
   lu.assertStrContains(words.dropped(h, tostring, 8, 0.38), "it can have cost 1 % of the time at most, 38 % were lost")
end

function TestAnswer:test_nothing_explains_it()
   local answer = why.analyse(input(8, 1610))
   sound(answer)
   lu.assertEquals(answer.slow.verdict, "slow")
   lu.assertNil(answer.named)
   lu.assertEquals(answer.explanations[1].group, "unknown")
   lu.assertStrContains(say(answer, 8), "nothing that was recorded explains it (")
end

function TestAnswer:test_the_job_did_more()
   local extra = {}
   for i = 1, 8 do
      extra[i] = { cg_read_bytes = 1.6e9 }
   end
   local answer = why.analyse(input(8, 1610, extra))
   lu.assertNil(answer.named)
   lu.assertEquals(answer.explanations[1].group, "input")
   lu.assertStrContains(say(answer, 8), "the job did more: read by the job 1.")
   -- Who waits spins: more CPU time is no more work.
   for i = 1, 8 do
      extra[i] = { cg_cpu_us = 3 * 1610 * 64e6 }
   end
   answer = why.analyse(input(8, 1610, extra))
   lu.assertEquals(answer.explanations[1].group, "unknown")
end

-- With more work all grows that a job does much of; what it does little of follows the clock.
function TestAnswer:test_what_follows_the_clock_is_no_more_work()
   local function of_run(read, written)
      local extra = {}
      for i = 1, 8 do
         extra[i] = { cg_read_bytes = read * vary(), cg_written_bytes = written * vary(), lustre_read_bytes = 1e9 }
      end
      return extra
   end
   local function ask(read, written)
      serial = 7
      return why.analyse(input(8, 1610, of_run(read, written), 12, of_run(1e9, 2e9)))
   end
   local more = ask(1.6e9, 3.2e9)
   lu.assertEquals(more.explanations[1].group, "input")
   lu.assertTrue(more.explanations[1].probability > 0.9)
   lu.assertStrContains(say(more, 8), "the likeliest reason: the job did more: read by the job 1.")
   lu.assertStrContains(say(more, 8), " of like runs; no node stands out")
   -- One of two: a checkpoint every hour is written more often by who takes longer.
   local one = ask(1e9, 3.2e9)
   lu.assertTrue(of(one, nil, "input").probability < 0.65)
   serial = 7
   local like, now = of_run(1e9, 1e6), of_run(1e9, 1.6e6)
   local log = why.analyse(input(8, 1610, now, 12, like))
   lu.assertEquals(log.explanations[1].group, "unknown")
   lu.assertNil(words.work(log.work))
end

-- Of many healthy nodes without other runs none is more likely than that it was not recorded.
function TestAnswer:test_many_healthy_nodes()
   local answer = why.analyse(input(200, 1610))
   lu.assertNil(answer.named)
   lu.assertEquals(answer.explanations[1].group, "unknown")
   lu.assertTrue(answer.explanations[1].probability > 0.7)
end

-- A node that no counter shows is looked at, too.
function TestAnswer:test_a_quiet_node_whose_jobs_were_slow()
   local slow = {}
   for i = 1, 10 do
      slow[i] = { ratio = 1.6 }
   end
   local quiet = {}
   for _, name in ipairs({ "cpu_some_us", "io_some_us", "io_full_us", "iowait_ms", "nfs_op_ms" }) do
      quiet[name] = 0
   end
   lu.assertEquals(named(why.analyse(input(1, 1610, { quiet }, 12, nil, { slow }))), { 1, "unrecorded" })
end

-- A few of many nodes, and no leaf switch that is known.
function TestAnswer:test_a_few_of_many_nodes()
   local hot = { [10] = THROTTLED, [20] = THROTTLED, [30] = THROTTLED }
   local answer = why.analyse(input(200, 1610, hot))
   lu.assertEquals(answer.named.where, "several")
   table.sort(answer.named.nodes)
   lu.assertEquals(answer.named.nodes, { 10, 20, 30 })
   hot = {}
   for i = 1, 40 do
      hot[5 * i] = THROTTLED
   end
   answer = why.analyse(input(200, 1610, hot))
   lu.assertEquals(#answer.named.nodes, 40)
end

-- Most of the nodes did nothing on it: that has no time per operation.
function TestAnswer:test_a_latency_of_nothing()
   local extra, like = {}, {}
   for i = 1, 5 do
      extra[i] = { nfs_ops = 25, nfs_op_ms = i <= 2 and 30 or 0, nfs_latency_ms = i <= 2 and 1.2 or 0 }
      like[i] = { nfs_ops = 25, nfs_op_ms = 1, nfs_latency_ms = 0.04 }
   end
   lu.assertNil(why.analyse(input(5, 1610, extra, 12, like)).named)
end

function TestAnswer:test_all_ports_down()
   local extra = { [2] = { link_ports = 0 } }
   for _, i in ipairs({ 1, 3, 4 }) do
      extra[i] = { link_ports = 2 }
   end
   local like = { { link_ports = 2 }, { link_ports = 2 }, { link_ports = 2 }, { link_ports = 2 } }
   lu.assertEquals(named(why.analyse(input(4, 1610, extra, 12, like))), { 2, "link" })
end

-- Three of four nodes are not all.
function TestAnswer:test_three_of_four()
   local low, full = { link_rate_gbps = 50 }, { link_rate_gbps = 200 }
   local like = { full, full, full, full }
   local answer = why.analyse(input(4, 1610, { low, low, low, full }, 12, like))
   table.sort(answer.named.nodes)
   lu.assertEquals({ answer.named.where, answer.named.group, answer.named.nodes }, { "several", "link", { 1, 2, 3 } })
   lu.assertEquals(why.analyse(input(4, 1610, { low, low, low, low }, 12, like)).named.where, "all")
end

-- A DIMM less on one node, on all; a node whose class is not known.
function TestAnswer:test_lost_dimms()
   local whole, less = { memory_gib = 768, class_memory_gib = 768 }, { memory_gib = 704, class_memory_gib = 768 }
   local like = { whole, whole, whole, whole }
   lu.assertEquals(named(why.analyse(input(4, 1610, { whole, less, whole, whole }, 12, like))), { 2, "memory" })
   lu.assertEquals(why.analyse(input(4, 1610, { less, less, less, less }, 12, like)).named.where, "all")
   local answer = why.analyse(input(4, 1610, { { memory_gib = 704 }, less, less, less }, 12, like))
   lu.assertEquals(answer.named.group, "memory")
end

-- What nodes are set to their class says, where most of the job's have less and always had.
function TestAnswer:test_most_nodes_are_set_lower_than_their_class()
   local low, full = { link_rate_gbps = 50 }, { link_rate_gbps = 200 }
   local extra = { low, low, low, low, full, full }
   local i = input(6, 1610, extra, 12, extra)
   for _, run_of in ipairs(i.like) do
      for k, r in ipairs(run_of.rows) do
         r.node = k -- these nodes, each time
      end
   end
   lu.assertNil(why.analyse(i).named)
   for _, other in ipairs(i.others) do
      for _, r in ipairs(other.rows) do
         r.link_rate_gbps, r.node = 200, r.node + 5000
      end
   end
   local answer = why.analyse(i)
   table.sort(answer.named.nodes)
   lu.assertEquals({ answer.named.where, answer.named.group, answer.named.nodes },
      { "several", "link", { 1, 2, 3, 4 } })
   -- A class that is set like that has nothing wrong.
   for _, other in ipairs(i.others) do
      for k, r in ipairs(other.rows) do
         r.link_rate_gbps = k % 2 == 0 and 50 or 200
      end
   end
   lu.assertNil(why.analyse(i).named)
end

-- Eight nodes that throttle are one explanation: however sure each is, they weigh no more than another that fits.
function TestAnswer:test_many_with_the_same_are_one_explanation()
   local extra = {}
   for k = 1, 8 do
      extra[k] = THROTTLED
   end
   local eight = why.analyse(input(16, 1610, extra)).explanations[1]
   lu.assertEquals({ eight.where, eight.group, #eight.nodes }, { "several", "clock", 8 })
   local most = 0
   for _, h in ipairs(why.analyse(input(16, 1610, { [1] = THROTTLED })).explanations) do
      most = math.max(most, h.weight)
   end
   lu.assertTrue(eight.weight <= most * 1.01, ("%g %g"):format(eight.weight, most))
end

-- Two checks before the job and one after it that find so much of the usual rates.
local function checked(triad, gflops, noise, extra)
   local out = extra or {}
   out.checks = {}
   for k, when in ipairs({ "before", "before", "after" }) do
      out.checks[k] = { when = when, days = 4 - k, triad_gbs = 400 * triad, gflops = 5000 * gflops, noise_pct = noise }
   end
   return out
end

-- Corrected errors need be rare on one node only, where its checks point to it: they explain these, too.
function TestAnswer:test_corrected_errors_explain_checks()
   local function ask(extra)
      return named(why.analyse(input(4, 1610, { [2] = checked(0.75, 0.7, 6, extra) })))
   end
   lu.assertNotEquals(ask({}), { 2, "memory" })
   lu.assertEquals(ask({ memory_corrected = 400 }), { 2, "memory" })
end

-- A process makes tasks wait for a CPU; firmware that handles a DIMM's errors stops all of them, and counts nothing.
function TestAnswer:test_noise_that_no_task_waited_for()
   local function ask(extra, check, all_wait)
      local i = input(4, 1610)
      each_row(i, function(r)
         r.cores, r.cg_cpu_us = 64, 62e6 * r.elapsed_s
         r.sched_wait_worst_ms, r.sched_wait_ms = 2000 * vary(), (all_wait or 20000) * vary()
      end)
      for k, v in pairs(extra) do
         i.rows[2][k] = v
      end
      for k, when in ipairs({ "before", "before", "after" }) do
         i.rows[2].checks[k] = { when = when, days = 4 - k, noise_pct = check[3] or 35, gflops = check[1],
            triad_gbs = check[2] }
      end
      return named(why.analyse(i))
   end
   local all = { 3600, 270 }
   lu.assertEquals(ask({ sched_wait_worst_ms = 2000 }, all), { 2, "memory" })
   -- Interrupts, or a process that slept: not memory, nor a low clock.
   lu.assertEquals(ask({ sched_wait_worst_ms = 2000 }, { 3600, 400 }), { 2, "daemon" })
   lu.assertEquals(ask({ sched_wait_worst_ms = 2000 }, { 5000, 400 }), { 2, "daemon" })
   -- What stops all cores for 3 % of the time takes no fifth from dgemm; a process on few of them may.
   lu.assertEquals(ask({ sched_wait_worst_ms = 2000 }, { 4000, 380, 3 }), { 2, "daemon" })
   -- Nobody counted its CPU time, as without the plugin: it most likely used what it had.
   lu.assertEquals(ask({ cg_cpu_us = -1 }, all), { 2, "memory" })
   -- Only PSI counts who waits: hardly anyone.
   lu.assertEquals(ask({ sched_wait_worst_ms = -1, cpu_some_us = 1000 }, all), { 2, "memory" })
   -- With idle CPUs other work takes those, and slows no job either.
   lu.assertEquals(ask({ cg_cpu_us = 8 * 1610e6 }, all), { 2, "memory" })
   -- Waited on one CPU, a little on each in turn, for the hypervisor; not known.
   for _, extra in ipairs({ { sched_wait_worst_ms = 600e3 }, { sched_wait_worst_ms = 2000, sched_wait_ms = 1280e3 },
      { steal_worst_ms = 400e3 }, { sched_wait_worst_ms = -1 }, { cores = 1 } }) do
      lu.assertEquals(ask(extra, all), { 2, "daemon" })
   end
   -- All of its nodes wait so much on 64 CPUs together: that is the job's.
   lu.assertEquals(ask({}, all, 640e3), { 2, "memory" })
end

-- Of 112 cores, of which a healthy node loses 0.04 %, 38 % are thousands of times that, and beyond any level of a rate.
function TestAnswer:test_noise_of_many_cores()
   local i = input(4, 1610)
   for k, one in ipairs(i.checks[1].noise_pct) do
      one.value = 0.03 + k % 5 / 100
   end
   each_row(i, function(r)
      r.cores = 112
   end)
   for k, when in ipairs({ "before", "before", "after" }) do
      i.rows[2].checks[k] = { when = when, days = 4 - k, noise_pct = 38 }
   end
   lu.assertEquals(named(why.analyse(i)), { 2, "daemon" })
end

-- A storm that is counted explains the noise of checks that find little else, whatever one of them thinks of triad.
function TestAnswer:test_a_counted_storm_beside_noise()
   local checks = {}
   for k, triad in ipairs({ 400, 340, 400 }) do
      checks[k] = { when = k < 3 and "before" or "after", days = k == 2 and 1 or 2.5, noise_pct = 35,
         triad_gbs = triad }
   end
   lu.assertEquals(named(why.analyse(input(4, 1610, { [2] = { memory_corrected = 40, checks = checks } }))),
      { 2, "memory" })
   lu.assertEquals(named(why.analyse(input(4, 1610, { [2] = { checks = checks } }))), { 2, "daemon" })
end

-- What interrupts cores is noise: without that a few corrected errors lower no dgemm.
function TestAnswer:test_corrected_errors_without_noise()
   lu.assertEquals(named(why.analyse(input(4, 1610, { [2] = checked(1, 0.7, 0.3, { memory_corrected = 400 }) }))),
      { 2, "clock" })
end

-- A disk that is slow to write lets dirty pages pile up, and tasks free memory themselves.
function TestAnswer:test_stalls_for_memory_beside_slow_storage()
   local function ask(extra)
      local i = input(4, 1610, { [2] = extra })
      each_row(i, function(r)
         r.disk_op_ms, r.disk_ops = r.disk_op_ms or 20 * r.elapsed_s, r.disk_ops or 5 * r.elapsed_s
         r.disk_latency_ms = r.disk_op_ms / r.disk_ops * vary()
         r.disk_read_bytes = r.disk_read_bytes or 2e6 * r.elapsed_s * vary()
         r.reclaim_stalls, r.swapped_in = r.reclaim_stalls or 0, r.swapped_in or 0
      end)
      return named(why.analyse(i))
   end
   local slow = { disk_op_ms = 900e3, disk_ops = 9000, iowait_ms = 600e3, reclaim_stalls = 200000 }
   lu.assertEquals(ask(slow), { 2, "storage" })
   slow.swapped_in = 300000
   lu.assertEquals(ask(slow), { 2, "shortage" })
   -- Files that were in the page cache are read again.
   slow.swapped_in, slow.disk_read_bytes = 0, 2e7 * 1610
   lu.assertEquals(ask(slow), { 2, "shortage" })
   lu.assertEquals(ask({ reclaim_stalls = 300000 }), { 2, "shortage" })
end

-- A job that was not slow is told of what slowed others, not of a node that slowed them by something else.
function TestAnswer:test_not_slow_beside_slow_runs()
   local function ask(ms)
      local slow = {}
      for i = 1, 12 do
         slow[i] = { ratio = 1.5, throttle_events = ms > 0 and 1204 or 0, throttle_package_ms = ms }
      end
      return why.analyse(input(4, 1020, { [3] = THROTTLED }, 12, nil, { [3] = slow }))
   end
   local answer = ask(500000)
   lu.assertStrContains(say(answer, 4), "; others were slowed by n003: ")
   -- It is not blamed for this one.
   lu.assertNil(answer.named)
   lu.assertEquals(answer.beside.node, 3)
   lu.assertNil(ask(0).named)
end

function TestAnswer:test_no_like_runs_and_others_were_slow()
   local slow = {}
   for i = 1, 8 do
      slow[i] = { ratio = 1.5, throttle_events = 1204, throttle_package_ms = 500000 }
   end
   local answer = why.analyse(input(4, 1610, { [3] = THROTTLED }, 0, nil, { [3] = slow }))
   lu.assertEquals(answer.slow.verdict, "unknown")
   lu.assertStrContains(say(answer, 4), "0 like runs, 3 are wanted; others were slowed by n003: ")
end

-- Memory's bandwidth that others on several shared nodes take.
function TestAnswer:test_another_job_on_several_nodes()
   local extra, like = {}, {}
   for i = 1, 6 do
      extra[i] = { traffic_bytes = 8e12 * vary(), others = { 39 } }
      like[i] = { traffic_bytes = 1e12, others = { 7 } }
   end
   local answer = why.analyse(input(6, 1610, extra, 30, like))
   lu.assertNotStrContains(say(answer, 6), "nil")
   if answer.named then
      lu.assertEquals(answer.named.group, "neighbour")
   end
end

-- Of a failing DIMM no other job is the reason.
function TestAnswer:test_corrected_errors_on_a_shared_node()
   local i = input(1, 1610, { { memory_corrected = 90000, others = { 39 } } })
   for _, run_of in ipairs(i.like) do
      run_of.rows[1].memory_corrected = 0
   end
   lu.assertEquals(named(why.analyse(i)), { 1, "memory" })
end

-- Whose job it is is for the admin.
function TestAnswer:test_another_job_on_the_node()
   local i = input(1, 1610, { { cpu_some_us = 900e6, sched_wait_worst_ms = 600e3, others = { 39, 40, 41 } } })
   for _, run_of in ipairs(i.like) do
      run_of.rows[1].sched_wait_worst_ms = 1e3 * vary()
   end
   local answer = why.analyse(i)
   lu.assertEquals(named(answer), { 1, "neighbour" })
   lu.assertStrContains(say(answer, 1), " another job on n001: ")
   lu.assertNotStrContains(say(answer, 1), "39")
   answer.named.jobs = { { id = 39, user = "al\27ice" }, { id = 40 } }
   lu.assertStrContains(say(answer, 1), " another job on n001 (39 of al")
   lu.assertStrContains(say(answer, 1), ", 40, 1 more): ")
   lu.assertNotStrContains(say(answer, 1), "\27")
end

-- What slowed runs that had the node for themselves, too, was no other job.
function TestAnswer:test_runs_without_another_job_on_the_node()
   local waits = { storage = { iowait_ms = 900e3, io_some_us = 900e6, io_full_us = 800e6 },
      daemon = { cpu_some_us = 900e6, sched_wait_worst_ms = 600e3 } }
   -- @param ratio, few of the other runs: their times; as much waiting as this one had, or a hundredth
   local function ask(group, alone, ratio, few)
      local extra, runs = { others = { 39 } }, {}
      for i = 1, 6 do
         runs[i] = { ratio = ratio, alone = alone }
         for k, v in pairs(waits[group]) do
            extra[k], runs[i][k] = v, few and v / 100 or v
         end
      end
      local input_of = input(1, 1610, { extra }, 12, { sched_wait_worst_ms = 1e3 }, { runs })
      for _, run_of in ipairs(input_of.like) do
         run_of.rows[1].sched_wait_worst_ms = 1e3 * vary()
      end
      return why.analyse(input_of)
   end
   for _, group in ipairs({ "storage", "daemon" }) do
      lu.assertEquals(named(ask(group, false, 1.6)), { 1, "neighbour" })
      lu.assertEquals(named(ask(group, true, 1.6)), { 1, group })
      -- Runs that were not slow say nothing of who it was.
      lu.assertEquals(ask(group, true, 1).explanations[1].group, ask(group, false, 1).explanations[1].group)
      -- Slow ones that do not show it say a little against another job, too.
      local with, without = ask(group, true, 1.6, true), ask(group, false, 1.6, true)
      lu.assertTrue(of(with, 1, "neighbour").probability < of(without, 1, "neighbour").probability)
   end
end

-- What the node's checks found, too, beside which no other job runs, is less likely another job's.
function TestAnswer:test_other_work_that_checks_found_on_a_shared_node()
   local i = input(1, 1610, { { cpu_some_us = 900e6, sched_wait_worst_ms = 600e3, others = { 39 } } })
   for k, when in ipairs({ "before", "before", "after" }) do
      i.rows[1].checks[k] = { when = when, days = 4 - k, noise_pct = 35 }
   end
   for _, run_of in ipairs(i.like) do
      run_of.rows[1].sched_wait_worst_ms = 1e3 * vary()
   end
   lu.assertEquals(named(why.analyse(i)), { 1, "daemon" })
end

-- The issue's second: a counter that is high for ever, and 12 jobs there that were not slow.
function TestAnswer:test_what_others_had_without_harm()
   local throttled = {}
   for i = 1, 12 do
      throttled[i] = { ratio = 1 + (i % 5 - 2) / 100, throttle_events = 1204, throttle_package_ms = 500000 }
   end
   local answer = why.analyse(input(8, 1610, { [3] = THROTTLED }, 12, nil, { [3] = throttled }))
   lu.assertNil(answer.named)
   local h = of(answer, 3, "clock")
   lu.assertTrue(h.harm < 0.1)
   lu.assertEquals(h.runs, 12)
   lu.assertStrContains(words.dropped(h, tostring, 8, 0.38), "12 other runs there with as much took 1.0")
   -- Where these were slow, too, it is surer than by itself.
   for _, one in ipairs(throttled) do
      one.ratio = 1.5
   end
   local surer = why.analyse(input(8, 1610, { [3] = THROTTLED }, 12, nil, { [3] = throttled }))
   lu.assertEquals(named(surer), { 3, "clock" })
   lu.assertTrue(surer.named.probability > why.analyse(input(8, 1610, { [3] = THROTTLED })).named.probability)
end

-- That few runs feel a condition is no reason why one that is slow beyond doubt should be slow by chance.
function TestAnswer:test_what_few_others_felt()
   local throttled = {}
   for i = 1, 20 do
      throttled[i] = { ratio = i % 10 == 0 and 1.6 or 1 + (i % 5 - 2) / 100, throttle_events = 1204,
         throttle_package_ms = 500000 }
   end
   local function nothing(elapsed)
      local sum, answer = 0, why.analyse(input(8, elapsed, { [3] = THROTTLED }, 12, nil, { [3] = throttled }))
      for _, h in ipairs(answer.explanations) do
         sum = sum + (h.group == "nothing" and h.probability or 0)
      end
      return sum
   end
   lu.assertTrue(nothing(1610) < 0.05)
   lu.assertTrue(nothing(1010) > 0.8)
end

-- A job that was no slower than others is told of what cost those time.
function TestAnswer:test_not_slow()
   local answer = why.analyse(input(8, 1010, { [3] = THROTTLED }))
   lu.assertEquals(answer.slow.verdict, "no")
   lu.assertNil(answer.named)
   lu.assertStrContains(say(answer, 8), ": not slow (from 1.")
end

-- A node whose jobs were slow then, and nothing shows why.
function TestAnswer:test_a_node_that_is_slow_unseen()
   local slow = {}
   for i = 1, 10 do
      slow[i] = { ratio = 1.5 }
   end
   local extra = { [3] = { cpu_some_us = 40e6 } } -- little, so that it is looked at
   local answer = why.analyse(input(2, 1610, extra, 12, nil, { [2] = slow, [1] = { { ratio = 1 }, { ratio = 1.01 } } }))
   lu.assertEquals(named(answer), { 2, "unrecorded" })
   lu.assertStrContains(say(answer, 2), "n002: its 10 runs nearest to this one were slow, too")
end

function TestAnswer:test_several_nodes()
   local i = input(8, 1610, { [3] = THROTTLED, [5] = THROTTLED, [6] = THROTTLED })
   i.leaf = function(node)
      return node >= 3 and node <= 6 and "s1" or "s2"
   end
   local answer = why.analyse(i)
   lu.assertEquals(answer.named.where, "several")
   lu.assertEquals(answer.named.group, "clock")
   table.sort(answer.named.nodes)
   lu.assertEquals(answer.named.nodes, { 3, 5, 6 })
   lu.assertStrContains(say(answer, 8), "(3 of 4 of the job on leaf switch s1)")
end

-- What may have cost a tenth of it is not the same trouble.
function TestAnswer:test_a_node_with_much_less_is_none_of_several()
   local answer = why.analyse(input(8, 1610, { [3] = THROTTLED, [5] = THROTTLED,
      [6] = { throttle_events = 9, throttle_package_ms = 60000 } }))
   local of_several
   for _, h in ipairs(answer.explanations) do
      of_several = h.where == "several" and h.group == "clock" and h or of_several
   end
   table.sort(of_several.nodes)
   lu.assertEquals(of_several.nodes, { 3, 5 })
end

-- One that other jobs had without harm, and much more of it, neither joins the others nor keeps them apart.
function TestAnswer:test_several_and_one_that_harms_nobody()
   local hot, much = { throttle_events = 900, throttle_package_ms = 560000 },
      { throttle_events = 900, throttle_package_ms = 1150000 }
   local harmless = {}
   for i = 1, 14 do
      harmless[i] = { ratio = 1, throttle_events = 900, throttle_package_ms = 720000 }
   end
   local answer = why.analyse(input(8, 1610, { [3] = hot, [5] = hot, [6] = much }, 12, nil, { [6] = harmless }))
   lu.assertEquals(answer.named.where, "several")
   table.sort(answer.named.nodes)
   lu.assertEquals(answer.named.nodes, { 3, 5 })
end

-- Two throttled alike, but of one the other runs show that it harms nobody: the other one alone is it.
function TestAnswer:test_a_second_one_that_harmed_nobody()
   local slow, harmless = {}, {}
   for i = 1, 8 do
      slow[i] = { ratio = 1.5, throttle_package_ms = 500000 }
      harmless[i] = { ratio = 1, throttle_package_ms = 500000 }
   end
   local two = { [3] = THROTTLED, [5] = THROTTLED }
   lu.assertEquals(named(why.analyse(input(8, 1610, two, 12, nil, { [3] = slow, [5] = harmless }))), { 3, "clock" })
   local both = why.analyse(input(8, 1610, two, 12, nil, { [3] = slow, [5] = slow })).named
   lu.assertEquals({ both.where, #both.nodes }, { "several", 2 })
   -- A third one that harmed nobody takes nothing from the two.
   local three = { [3] = THROTTLED, [5] = THROTTLED, [7] = THROTTLED }
   both = why.analyse(input(16, 1610, three, 12, nil, { [3] = slow, [5] = slow, [7] = harmless })).named
   table.sort(both.nodes)
   lu.assertEquals({ both.where, both.nodes }, { "several", { 3, 5 } })
end

-- A low clock limit on one node and some throttling on another are not one trouble, though both are of the clock.
function TestAnswer:test_another_number_is_another_trouble()
   local i = input(8, 1610, { [3] = { clock_limit_mhz = 2000 }, [5] = THROTTLED })
   each_row(i, function(r)
      r.clock_limit_mhz = r.clock_limit_mhz or 3400
   end)
   for _, h in ipairs(why.analyse(i).explanations) do
      lu.assertNotEquals(h.where, "several")
   end
end

-- Of half of a job none stands out from its peers.
function TestAnswer:test_half_of_the_nodes()
   local hot = {}
   for node = 1, 4 do
      hot[node] = { throttle_events = 900, throttle_package_worst_ms = 500000 + 20000 * node }
   end
   for node = 5, 8 do
      hot[node] = { throttle_package_worst_ms = 0 }
   end
   local cold = {}
   for node = 1, 8 do
      cold[node] = { throttle_package_worst_ms = 0 }
   end
   local answer = why.analyse(input(8, 1610, hot, 12, cold))
   lu.assertEquals(answer.named.where, "several")
   lu.assertEquals(answer.named.group, "clock")
   table.sort(answer.named.nodes)
   lu.assertEquals(answer.named.nodes, { 1, 2, 3, 4 })
   lu.assertStrContains(say(answer, 8), "4 of 8")
end

-- More tasks than CPUs: on all nodes they wait for much of the time, on some for longer than on others. That half of
-- them are above the middle is always so, and is not what one node's other work is.
function TestAnswer:test_other_work_beside_more_tasks_than_cpus()
   local job = input(24, 1350, nil, 20)
   local function share(r, x)
      r.sched_wait_worst_ms = 1000 * x * r.elapsed_s
   end
   each_row({ rows = job.rows, like = job.like, others = {} }, function(r)
      share(r, 0.75 + 0.6 * (vary() - 1))
   end)
   for node = 1, 12 do
      share(job.rows[node], 0.83)
   end
   share(job.rows[7], 1.25)
   lu.assertEquals(named(why.analyse(job)), { 7, "daemon" })
   share(job.rows[7], 0.87)
   lu.assertNil(why.analyse(job).named)
end

-- A trouble that is seen in this run slowed others, too, that do not show it: it, and nothing that is unseen.
function TestAnswer:test_a_trouble_that_does_not_always_show()
   local slow = {}
   for i = 1, 10 do
      slow[i] = { ratio = 1.5, throttle_package_ms = i == 1 and 500000 or 0 }
   end
   local answer = why.analyse(input(4, 1610, { [2] = THROTTLED }, 12, nil, { [2] = slow }))
   lu.assertEquals(named(answer), { 2, "clock" })
   lu.assertTrue(of(answer, 2, "unrecorded").probability < 0.1)
end

function TestAnswer:test_all_nodes_are_not_one_node()
   local extra = {}
   for i = 1, 8 do
      extra[i] = { nfs_op_ms = 900e3 * vary(), io_some_us = 600e6 * vary(), io_full_us = 500e6 * vary(),
         iowait_ms = 800e3 * vary() }
   end
   local answer = why.analyse(input(8, 1610, extra))
   lu.assertEquals(named(answer), { "all", "storage" })
   lu.assertStrContains(say(answer, 8), "all 8 nodes: ")
   lu.assertStrContains(say(answer, 8), "that is not one node")
end

-- One of two has a slow disk, and the other's is a little slower than usual: that is one node.
function TestAnswer:test_all_nodes_have_it_alike()
   local function disk(ms)
      return { disk_ops = 50000, disk_op_ms = 50000 * ms, disk_latency_ms = ms }
   end
   local like = { disk(10), disk(10.5) }
   lu.assertEquals(named(why.analyse(input(2, 2600, { disk(97), disk(12) }, 12, like))), { 1, "storage" })
   for _, h in ipairs(why.analyse(input(2, 2600, { disk(97), disk(12) }, 12, like)).explanations) do
      lu.assertFalse(h.where == "all" and h.best ~= nil and h.best.item.name == "disk_latency_ms")
   end
   lu.assertEquals(named(why.analyse(input(2, 2600, { disk(97), disk(80) }, 12, like))), { "all", "storage" })
   -- Of four no single one stands out, and three are not all.
   like = { disk(10), disk(10.5), disk(9.8), disk(10) }
   lu.assertEquals(named(why.analyse(input(4, 2600, { disk(97), disk(95), disk(96), disk(12) }, 12, like))),
      { { 1, 3, 2 }, "storage" })
   lu.assertEquals(named(why.analyse(input(4, 2600, { disk(97), disk(95), disk(96), disk(60) }, 12, like))),
      { "all", "storage" })
end

-- One of eight may have idled: the others' heat is the room's. Of four two are a part, however unlike.
function TestAnswer:test_who_is_without_it()
   local function ask(...)
      local extra, like, list = {}, {}, { ... }
      for i, ms in ipairs(list) do
         extra[i], like[i] = { throttle_package_worst_ms = ms }, { throttle_package_worst_ms = 0 }
      end
      return named(why.analyse(input(#list, 1610, extra, 12, like)))
   end
   lu.assertEquals(ask(701e3, 702e3, 703e3, 704e3, 705e3, 706e3, 707e3, 0), { "all", "clock" })
   lu.assertEquals(ask(701e3, 702e3, 703e3, 704e3, 705e3, 706e3, 0), { { 6, 5, 4, 3, 2, 1 }, "clock" })
   lu.assertEquals(ask(700e3, 400e3, 0, 0), { { 1, 2 }, "clock" })
   -- Of sixteen two are without: it is not all, whatever most of them had. One of them may have idled.
   local function ask_of(nodes, with)
      local list = {}
      for i = 1, nodes do
         list[i] = i <= with and 700e3 + 1000 * i or 0
      end
      return ask(table.unpack(list))
   end
   local who = ask_of(16, 14)
   lu.assertEquals({ #who[1], who[2] }, { 14, "clock" })
   lu.assertEquals(ask_of(16, 15), { "all", "clock" })
   lu.assertEquals(ask_of(64, 62), { "all", "clock" })
   -- What depends on how much of the job's work a node did: one of four had a tenth of what the others had.
   local extra = {}
   for i = 1, 4 do
      extra[i] = { cpu_some_us = i < 4 and 800e6 or 60e6, sched_wait_worst_ms = i < 4 and 700e3 + i or 30e3 }
   end
   local work = input(4, 1610, extra)
   each_row(work, function(r)
      r.cores, r.sched_wait_worst_ms = 64, r.sched_wait_worst_ms or 2000 * vary()
   end)
   local h = why.analyse(work).named
   table.sort(h.nodes)
   lu.assertEquals({ h.nodes, h.group }, { { 1, 2, 3 }, "daemon" })
   lu.assertTrue(h.together > 0.9)
   -- Storage that all share is slow for all.
   for i = 1, 4 do
      extra[i] = { nfs_op_ms = i < 4 and 900e3 or 100e3, io_some_us = i < 4 and 600e6 or 60e6 }
   end
   lu.assertEquals(named(why.analyse(input(4, 1610, extra))), { "all", "storage" })
end

-- What an event costs is a guess: a few link errors, which the other end may have had many of, where the node's other
-- runs with as few were as slow. Alone they convict nobody.
function TestAnswer:test_few_events_may_cost_much()
   local few, slow, well = { [2] = { link_errors = 10 } }, {}, {}
   for i = 1, 8 do
      slow[i] = { ratio = 1.6, link_errors = 12 }
      well[i] = { ratio = 1, link_errors = 12 }
   end
   lu.assertEquals(named(why.analyse(input(4, 1610, few, 12, nil, { [2] = slow }))), { 2, "link" })
   lu.assertNotEquals(named(why.analyse(input(4, 1610, few, 12, nil, { [2] = well }))), { 2, "link" })
   -- Alone they convict nobody, nor do the other runs of which one had a tenth as many.
   for _, nodes in ipairs({ 4, 16, 50 }) do
      for _, history in ipairs({ {}, { [2] = { { ratio = 1.6, link_errors = 1 } } } }) do
         lu.assertNotEquals(named(why.analyse(input(nodes, 1610, few, 12, nil, history))), { 2, "link" })
      end
   end
end

-- A job of one node sends itself nothing: link errors that say all of several nodes say little of one.
function TestAnswer:test_link_errors_of_a_lone_node()
   local errors = { [1] = { link_errors = 3000 } }
   local one, two = why.analyse(input(1, 1610, errors)), why.analyse(input(2, 1610, errors))
   lu.assertTrue(of(one, 1, "link").fit < 0.2 * of(two, 1, "link").fit)
   lu.assertEquals(named(two), { 1, "link" })
   -- Nor does the guess that few of them cost more than that, where its other runs were slow.
   local slow = {}
   for i = 1, 8 do
      slow[i] = { ratio = 1.6, link_errors = 12 }
   end
   local function few(nodes)
      local answer = why.analyse(input(nodes, 1610, { [1] = { link_errors = 10 } }, 12, nil, { [1] = slow }))
      return of(answer, 1, "link")
   end
   lu.assertTrue(few(2).more > 1 and few(1).fit < 0.2 * few(2).fit)
end

-- Storage is mostly across the link: one that goes down lets its node wait for that, too. It slows no disk of the node.
function TestAnswer:test_a_bad_link_explains_slow_storage()
   local function ask(extra)
      local i = input(8, 1610)
      each_row(i, function(r)
         r.link_downed, r.disk_latency_ms, r.disk_op_ms = 0, 0.2 * vary(), 100e3 * vary()
      end)
      for k, v in pairs(extra) do
         i.rows[3][k] = v
      end
      return named(why.analyse(i))
   end
   local function waits(link_downed)
      return { io_some_us = 900e6, io_full_us = 700e6, iowait_ms = 700e3, link_downed = link_downed }
   end
   lu.assertEquals(ask(waits()), { 3, "storage" })
   lu.assertEquals(ask(waits(2)), { 3, "link" })
   lu.assertEquals(ask({ disk_latency_ms = 5, disk_op_ms = 900e3, link_downed = 1 }), { 3, "storage" })
end

-- Node 1 writes for all of them in every run: that is the job, not the node.
function TestAnswer:test_a_rank_that_does_more_io_always_does()
   local first = { [1] = { io_some_us = 300e6, io_full_us = 200e6, iowait_ms = 500e3, nfs_op_ms = 900e3 } }
   lu.assertNil(why.analyse(input(8, 1610, first, 12, first)).named)
end

-- A condition that the job bore without getting slower is no cause.
function TestAnswer:test_like_runs_that_were_fast_with_it()
   local extra = { [5] = { cpu_some_us = 500e6 } }
   lu.assertNil(why.analyse(input(8, 1610, { [3] = { cpu_some_us = 600e6 } }, 12, extra)).named)
end

local function check(when, days, triad)
   return { when = when, days = days, triad_gbs = triad, gflops = 5000 }
end

function TestAnswer:test_a_slow_dimm()
   local bad = { checks = { check("before", 1, 240), check("after", 1, 238) } }
   local fine = { checks = { check("before", 1, 401), check("after", 1, 399) } }
   local answer = why.analyse(input(4, 1610, { fine, bad, fine, fine }))
   lu.assertEquals(named(answer), { 2, "memory" })
   lu.assertStrContains(say(answer, 4), "n002: triad 240.0 GB/s 24 h before it, 238.0 GB/s 24 h after it, its class ")
end

-- A clock that is low lowers memory's bandwidth, too: memory explains no low dgemm.
function TestAnswer:test_a_low_clock_in_checks()
   local fine = { checks = { check("before", 1, 401), check("after", 1, 399) } }
   local low = { checks = { check("before", 1, 330), check("after", 1, 328) } }
   for _, one in ipairs(low.checks) do
      one.gflops = 3000
   end
   lu.assertEquals(named(why.analyse(input(4, 1610, { fine, low, fine, fine }))), { 2, "clock" })
end

-- What takes as much from a triad as from dgemm stops all cores, as firmware does, which need not count why: a low
-- clock takes less, as a triad waits for memory.
function TestAnswer:test_what_stops_all_cores()
   local function ask(gflops, triad, errors, throttled_ms)
      local checks = {}
      for k, when in ipairs({ "before", "before", "after" }) do
         checks[k] = { when = when, days = 4 - k, gflops = gflops, triad_gbs = triad }
      end
      return named(why.analyse(input(4, 1610, { [2] = { checks = checks, memory_corrected = errors,
         throttle_package_ms = throttled_ms } })))
   end
   lu.assertEquals(ask(3500, 280, -1), { 2, "memory" })
   lu.assertEquals(ask(3500, 280, 0), { 2, "clock" })
   for _, few in ipairs({ { 3500, 360 }, { 4000, 348 }, { 3000, 300 } }) do
      lu.assertEquals(ask(few[1], few[2], -1), { 2, "clock" })
   end
   lu.assertEquals(ask(5000, 280, -1), { 2, "memory" })
   -- The job itself was throttled.
   lu.assertEquals(ask(3500, 280, -1, 500e3), { 2, "clock" })
end

-- Each node has its own share of noise, for ever: many checks of one say no more of it than one does.
function TestAnswer:test_many_noisy_checks_are_one_finding()
   local function ask(count)
      local checks = {}
      for i = 1, count do
         checks[i] = check("before", 1 + count - i, 400)
         checks[i].noise_pct = 3
      end
      return of(why.analyse(input(4, 1610, { {}, { checks = checks }, {}, {} })), 2, "daemon").rarity
   end
   lu.assertTrue(ask(1) > 1)
   lu.assertAlmostEquals(ask(6), ask(1), 1e-9)
end

-- What a node has not always had is seen again by each check.
function TestAnswer:test_a_spell_of_noisy_checks()
   local function ask(noise)
      local checks = {}
      for i, percent in ipairs(noise) do
         checks[i] = check("before", 1 + #noise - i, 400)
         checks[i].noise_pct = percent
      end
      return of(why.analyse(input(4, 1610, { {}, { checks = checks }, {}, {} })), 2, "daemon").rarity
   end
   lu.assertTrue(ask({ 0.3, 0.3, 6, 6, 6 }) > 3 * ask({ 0.3, 0.3, 6 }))
   lu.assertAlmostEquals(ask({ 6, 6, 6 }), ask({ 6 }), 1e-9)
   -- After the job it was as noisy: that is the same spell.
   local function around(before, after)
      local checks = {}
      for i, percent in ipairs(before) do
         checks[i] = check("before", 1 + #before - i, 400)
         checks[i].noise_pct = percent
      end
      for i = 1, after do
         checks[#checks + 1] = check("after", 1 + after - i, 400)
         checks[#checks].noise_pct = 6
      end
      return of(why.analyse(input(4, 1610, { {}, { checks = checks }, {}, {} })), 2, "daemon").rarity
   end
   lu.assertTrue(around({ 0.3, 0.3, 0.3, 6, 6 }, 5) > around({ 0.3, 0.3, 0.3, 6, 6 }, 1))
   -- A node mostly quiet, that was noisy once before.
   lu.assertTrue(ask({ 6, 0.3, 0.3, 0.3, 0.3, 6, 6, 6 }) > 3 * ask({ 0.3, 0.3, 0.3, 0.3, 6 }))
   lu.assertAlmostEquals(ask({ 6, 6, 6, 6, 6, 0.3, 0.3, 0.3, 0.3, 6, 6, 6 }), ask({ 6 }), 1e-9)
   -- One of them was quiet, or it was noisy before.
   for _, noise in ipairs({ { 0.3, 6, 6, 6, 6, 6 }, { 6, 0.3, 6, 6, 6, 6 }, { 6, 0.3, 0.3, 6, 6, 6 } }) do
      lu.assertAlmostEquals(ask(noise), ask({ 6 }), 1e-9)
   end
end

-- Nor is it what took dgemm's rate where the checks saw none.
function TestAnswer:test_other_work_that_checks_did_not_see()
   local i = input(4, 1610, { {}, { cpu_some_us = 300e6 } })
   for k, when in ipairs({ "before", "before", "after" }) do
      i.rows[2].checks[k] = { when = when, days = 4 - k, noise_pct = 0.3, gflops = 3500, triad_gbs = 400 }
   end
   local answer = why.analyse(i)
   lu.assertTrue(of(answer, 2, "daemon").rarity < of(answer, 2, "clock").rarity)
end

-- A hundredth of the time that other work takes is not what a third of dgemm's rate went to.
function TestAnswer:test_a_little_noise_explains_no_low_clock()
   local fine = { checks = { check("before", 1, 401), check("after", 1, 399) } }
   local low = { checks = { check("before", 1, 401), check("after", 1, 399) } }
   for _, one in ipairs(low.checks) do
      one.gflops, one.noise_pct = 3400, 3
   end
   lu.assertEquals(named(why.analyse(input(4, 1610, { fine, low, fine, fine }))), { 2, "clock" })
end

-- The issue's first: a bad check days after the job does not speak against a good one nearer to it.
function TestAnswer:test_a_check_has_a_time()
   local fine = { checks = { check("before", 1, 401), check("after", 1, 399) } }
   local later = { checks = { check("after", 4.5, 240), check("before", 2.3, 400) } }
   local answer = why.analyse(input(4, 1610, { fine, later, fine, fine }))
   lu.assertTrue(of(answer, 2, "memory").probability < 0.9)
   lu.assertStrContains(words.dropped(of(answer, 2, "memory"), tostring, 4, 0.4), "that does not say it was so when")
   -- Nor one that was disturbed among several that were not.
   local once = { checks = { check("before", 5, 400), check("after", 3, 401), check("after", 1, 400),
      check("before", 0.5, 240) } }
   local disturbed = of(why.analyse(input(4, 1610, { fine, once, fine, fine })), 2, "memory")
   local twice = { checks = { check("before", 5, 400), check("after", 3, 241), check("after", 1, 238),
      check("before", 0.5, 240) } }
   local real = of(why.analyse(input(4, 1610, { fine, twice, fine, fine })), 2, "memory")
   lu.assertTrue(real.rarity > 20 * disturbed.rarity)
end

-- What a check says is of one node, however many others the job has.
function TestAnswer:test_a_check_in_a_large_job()
   local function ask(nodes)
      local bad = { checks = { check("before", 1, 340), check("after", 1, 338) } }
      return of(why.analyse(input(nodes, 1610, { [2] = bad })), 2, "memory").weight
   end
   lu.assertAlmostEquals(ask(48) / ask(2), 1, 0.2)
end

-- Runs beside a good check were not under what a bad one found later.
function TestAnswer:test_which_runs_a_bad_check_is_of()
   local function ask(days, ratios)
      local history = {}
      for i, day in ipairs(days) do
         history[i] = { days = day, ratio = ratios[i] }
      end
      local bad = { checks = { check("before", 5, 398), check("before", 2, 400), check("after", 1, 240) } }
      return of(why.analyse(input(4, 1610, { [2] = bad }, 12, nil, { [2] = history })), 2, "memory")
   end
   local slow = ask({ 0.6, 1 }, { 1.6, 1.6 })
   local later = ask({ -2.9, -2.1, -2, -1, 0.6, 1 }, { 1, 1, 1, 1, 1.6, 1.6 })
   lu.assertEquals(later.runs, 2)
   -- What the node's other runs say of an unknown trouble is less.
   lu.assertAlmostEquals(slow.harm, 300, 1e-6) -- the most that other runs say
   lu.assertTrue(later.harm > 30 and later.harm < slow.harm)
   -- In the middle between a good one and a bad one nobody knows.
   lu.assertEquals(ask({ -0.5 }, { 1.6 }).runs, 0)
   lu.assertEquals(ask({ 1, 2.9, 3.1 }, { 1, 1, 1 }).runs, 2)
   lu.assertTrue(ask({ 0.2, 0.6, 1, 1.4 }, { 1, 1, 1, 1 }).harm < 0.5)
end

-- A check 1.4 days before is bad beyond doubt, one 5.6 days after is good: that says little by itself, and with the
-- node's slow runs it says which trouble they had. Where those were not slow it says nothing.
function TestAnswer:test_a_bad_check_and_a_good_one_later()
   local bad = { checks = { check("before", 10, 400), check("after", 5.6, 401), check("before", 3.6, 399),
      check("before", 1.4, 215) } }
   local slow, well = {}, {}
   for i = 1, 8 do
      slow[i], well[i] = { ratio = 1.6 }, { ratio = 1 }
   end
   lu.assertEquals(named(why.analyse(input(4, 1610, { [2] = bad }, 12, nil, { [2] = slow }))), { 2, "memory" })
   lu.assertNotEquals(named(why.analyse(input(4, 1610, { [2] = bad }, 12, nil, { [2] = well }))), { 2, "memory" })
   -- One noisy check of three: it is no noise that corrected errors explain, and takes nothing from bad memory.
   local function spike(triad, errors)
      local checks = { check("before", 3.4, triad), check("before", 1.4, triad), check("after", 2, triad) }
      for k, one in ipairs(checks) do
         one.noise_pct = k == 2 and 35 or 0.3
      end
      return { [2] = { checks = checks, memory_corrected = errors } }
   end
   for _, errors in ipairs({ 5, 50 }) do
      lu.assertNil(why.analyse(input(4, 1610, spike(400, errors))).named)
   end
   for _, history in ipairs({ { [2] = slow }, { [2] = well } }) do
      lu.assertNotEquals(named(why.analyse(input(4, 1610, spike(240, 0), 12, nil, history))), { 2, "daemon" })
   end
   lu.assertEquals(named(why.analyse(input(4, 1610, spike(240, 0), 12, nil, { [2] = slow }))), { 2, "memory" })
end

-- One event beside what was measured: a count that may have cost more takes no finding away.
function TestAnswer:test_one_event_beside_a_bad_check()
   local i = input(16, 1610, { [2] = { throttle_events = 1,
      checks = { check("before", 1, 240), check("after", 1, 241) } } })
   each_row(i, function(r)
      r.throttle_package_ms, r.throttle_core_ms = nil, nil
   end)
   lu.assertEquals(named(why.analyse(i)), { 2, "memory" })
end

-- Milliseconds are of what they are of: sums over operations and means over CPUs never count for more than wall time,
-- and a mean may be one CPU's.
function TestAnswer:test_units()
   for _, item in ipairs(causes.JOB) do
      local v = { elapsed_s = 1000, cores = 128, [item.name] = 1e12, nfs_op_ms = 1e12, lustre_op_us = 1e12,
         disk_op_ms = 1e12 }
      local share = causes.share(item, v, -4)
      lu.assertTrue(not share or share <= 1, item.name)
      if item.over == "mean" then
         -- One of 128 CPUs, half of the time.
         lu.assertAlmostEquals(causes.share(item, { elapsed_s = 1000, cores = 128, [item.name] = 1000 / 128 / 2 * 1e6 },
            math.log(0.02)), 0.5, 0.01, item.name)
      end
   end
   lu.assertEquals(causes.cores("epyc-9654-2s192c-768g"), 192)
   lu.assertEquals(causes.cores("somewhere"), 1)
   lu.assertEquals(causes.cores(nil), 1)
end

function TestAnswer:test_a_neighbour()
   local i = input(1, 1610, { { traffic_bytes = 9e13, others = { 4712 } } }, 20, { { traffic_bytes = 2e13 } })
   lu.assertEquals(named(why.analyse(i)), { 1, "neighbour" })
   -- Alone on the node it is the job's own.
   i.rows[1].others = nil
   local h = why.analyse(i).named
   lu.assertTrue(not h or h.group ~= "neighbour")
end

function TestAnswer:test_a_job_of_one_node()
   local answer = why.analyse(input(1, 1610, { THROTTLED }, 20))
   lu.assertEquals({ answer.named.where, answer.named.node, answer.named.group }, { "only", 1, "clock" })
   answer = why.analyse(input(1, 1610, { { nfs_op_ms = 900e3, io_some_us = 600e6, io_full_us = 500e6 } }, 20))
   lu.assertStrContains(say(answer, 1), "(slow storage, its own or what it shares: a job of one node cannot tell)")
   lu.assertNil(why.analyse(input(1, 1610, nil, 20)).named)
end

-- What all share is slow on a shared node for no other job's sake, where runs elsewhere had it, too.
function TestAnswer:test_slow_for_all_on_a_shared_node()
   local function ask(ms, nodes)
      local extra = {}
      for k = 1, nodes do
         extra[k] = { others = nodes == 1 and { 39 } or nil, nfs_op_ms = 900e3,
            nfs_latency_ms = nodes == 1 and 40 or 5 + k / 10 }
      end
      local i = input(nodes, 1610, extra, 20)
      for k, run_of in ipairs(i.like) do
         for _, r in ipairs(run_of.rows) do
            r.nfs_op_ms, r.nfs_latency_ms = 20e3, 4 + k % 7 / 10
         end
      end
      i.meanwhile = function()
         local out = {}
         for k = 1, 8 do
            out[k] = { key = k, both = 1, e = of_times(TWELVE), y = math.log(ms > 4 and 160 or 100), like = {},
               row = row(50 + k, 1600, { nfs_op_ms = ms > 4 and 700e3 or 30e3, nfs_latency_ms = ms + k % 5 / 10 }) }
            for j = 1, 9 do
               out[k].like[j] = row(70 + j, 1000, { nfs_op_ms = 20e3, nfs_latency_ms = 4 + j % 5 / 10 })
            end
         end
         return out
      end
      return named(why.analyse(i))
   end
   lu.assertEquals(ask(40, 1), { 1, "storage" })
   lu.assertEquals(ask(4, 1), { 1, "neighbour" })
   -- Those may be on another file system, and four nodes at once have no other trouble.
   lu.assertEquals(ask(4, 4), { "all", "storage" })
end

-- On a shared node the bytes that were not this job's are another one's.
function TestAnswer:test_whose_bytes_a_shared_node_moved()
   local function ask(read)
      local i = input(1, 1610, { { others = { 39 }, iowait_ms = 900e3, io_some_us = 900e6, io_full_us = 800e6,
         disk_read_bytes = 400e9, cg_read_bytes = read, cg_written_bytes = 1e9 } }, 20)
      return why.analyse(i)
   end
   local another, own = ask(20e9), ask(395e9)
   lu.assertEquals(named(another), { 1, "neighbour" })
   lu.assertEquals(named(own), { 1, "storage" })
   -- Nobody counted the job's: in between.
   local unknown = ask(-1)
   local function odds_of(answer)
      return of(answer, 1, "neighbour").weight / of(answer, 1, "storage").weight
   end
   lu.assertTrue(odds_of(another) > odds_of(unknown) and odds_of(unknown) > odds_of(own))
end

-- A node shares its own disk with nobody.
function TestAnswer:test_a_disk_of_its_own()
   local function ask(name)
      local i = input(1, 1610, nil, 20)
      local slow = name:gsub("_latency", "_op")
      each_row(i, function(r)
         r[slow], r[name] = 20 * r.elapsed_s, 4 + r.elapsed_s % 7 / 10
      end)
      i.rows[1][slow], i.rows[1][name] = 900e3, 40
      return why.analyse(i)
   end
   local disk, nfs = of(ask("disk_latency_ms"), 1, "storage"), of(ask("nfs_latency_ms"), 1, "storage")
   -- What all share is none of the node's.
   lu.assertEquals(why.of_node(disk), disk.probability)
   lu.assertTrue(why.of_node(nfs) > 0 and why.of_node(nfs) < 0.6 * nfs.probability)
   lu.assertEquals({ disk.best.name, nfs.best.name }, { "disk_latency_ms", "nfs_latency_ms" })
   lu.assertTrue(disk.weight < nfs.weight, ("%g %g"):format(disk.weight, nfs.weight))
   lu.assertNotStrContains(say(ask("disk_latency_ms"), 1), "cannot tell")
end

function TestAnswer:test_one_like_run_or_none()
   for likes = 0, 2 do
      local answer = why.analyse(input(8, 1610, nil, likes))
      sound(answer)
      lu.assertEquals(answer.slow.verdict, "unknown")
      lu.assertNil(answer.named)
      lu.assertStrContains(say(answer, 8), ("cannot tell whether job 4711 was slow: %d like run"):format(likes))
      lu.assertStrContains(say(answer, 8), "3 are wanted")
   end
   -- So many it says, so many it takes.
   local three = why.analyse(input(8, 1610, nil, 3))
   lu.assertEquals(three.slow.verdict, "slow")
   lu.assertNotStrContains(say(three, 8), "wanted")
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
   lu.assertNil(answer.named)
   lu.assertStrContains(say(answer, 4), "(0 values looked at)")
   for _, bad in ipairs({ 0 / 0, -1, math.huge, "x", false }) do
      answer = why.analyse(input(4, 1610, { { throttle_package_ms = bad, cpu_some_us = bad, memory_corrected = bad,
         traffic_bytes = bad, others = { 1 }, checks = { { when = "before", days = 1, triad_gbs = bad } } } }))
      sound(answer)
      lu.assertNil(answer.named)
   end
   -- No time at all; no row at all; a node without a class; an elapsed time of 0.
   sound(why.analyse({ rows = {} }))
   sound(why.analyse({ rows = { { node = 1 } }, like = { { rows = {} } } }))
   -- Like runs have times, the job has none: its prolog did not run.
   i = input(4, 1610)
   for _, r in ipairs(i.rows) do
      r.elapsed_s = nil
   end
   i.elapsed_s = nil
   answer = why.analyse(i)
   sound(answer)
   lu.assertStrContains(say(answer, 4), "cannot tell whether job 4711 was slow: 12 like runs")
   i = input(4, 1610)
   i.rows[2].class, i.rows[2].elapsed_s = nil, 0
   sound(why.analyse(i))
   lu.assertStrContains(say(why.analyse({ rows = {} }), 0), "cannot tell")
end

-- Ties: everything is the same everywhere.
function TestAnswer:test_ties()
   local function same(n, elapsed)
      local rows = {}
      for k = 1, n do
         rows[k] = { node = k, class = 1, elapsed_s = elapsed, cores = 4, cpu_some_us = 5e6, throttle_package_ms = 0,
            checks = { { when = "before", days = 1, triad_gbs = 400 } } }
      end
      return { rows = rows, elapsed_s = elapsed }
   end
   local like, checks, times = {}, {}, {}
   for k = 1, 10 do
      like[k], checks[k], times[k] = same(4, 1000), { node = 50 + k, value = 400 }, 1000
   end
   local answer = why.analyse({ rows = same(4, 1000).rows, like = like, others = like, elapsed_s = 1000,
      e = of_times(times), checks = { { triad_gbs = checks } } })
   sound(answer)
   lu.assertEquals(answer.slow.verdict, "no")
   lu.assertEquals(answer.explanations[1].group, "nothing")
   lu.assertTrue(answer.explanations[1].probability > 0.9)
end

-- Throttle counts without durations; with them, the durations speak.
function TestAnswer:test_counts_without_durations()
   lu.assertNil(why.analyse(input(8, 1610, { [3] = { throttle_events = 1204 } })).named)
   local i = input(8, 1610, { [3] = { throttle_events = 1204 } })
   each_row(i, function(r)
      r.throttle_package_ms, r.throttle_core_ms = nil, nil
   end)
   local answer = why.analyse(i)
   lu.assertEquals(named(answer), { 3, "clock" })
   lu.assertStrContains(say(answer, 8), "n003: throttled 1,204 times during it, its peers never")
end

-- AMD's kernels count no throttling: there a CPU much hotter than its peers is what there is to see of it.
function TestAnswer:test_a_hot_node_where_nothing_counts_throttling()
   local function ask(hot, counted, usual)
      local i = input(8, 1610, { [3] = { temperature_c = hot } })
      local rows = 0
      each_row(i, function(r)
         rows = rows + 1
         r.temperature_c = r.temperature_c or (usual or 70) + rows % 5
         if counted ~= true and r.node ~= counted then
            r.throttle_package_ms, r.throttle_core_ms, r.throttle_events = nil, nil, nil
         end
      end)
      return why.analyse(i)
   end
   local answer = ask(95)
   lu.assertEquals(named(answer), { 3, "clock" })
   lu.assertStrContains(say(answer, 8), "n003: hottest CPU sensor 95 C, its peers 72 C")
   lu.assertNil(ask(76).named)
   -- Two that are cool: none throttles.
   lu.assertNil(ask(45, false, 33).named)
   -- Where throttling is counted, and was none, heat alone is no reason.
   lu.assertNil(ask(95, true).named)
end

-- Nodes that count throttling say nothing of one that does not: neither by their heat.
function TestAnswer:test_heat_is_compared_where_nothing_counts_throttling()
   local i = input(8, 1610, { [3] = { temperature_c = 95 }, [6] = { temperature_c = 98 }, [7] = { temperature_c = 98 },
      [8] = { temperature_c = 98 } })
   each_row(i, function(r)
      r.temperature_c = r.temperature_c or 72
      if r.node < 6 then
         r.throttle_package_ms, r.throttle_core_ms, r.throttle_events = nil, nil, nil
      end
   end)
   local e = of(why.analyse(i), 3, "clock").best
   lu.assertEquals({ e.name, e.value, e.peers, e.peers_most }, { "temperature_c", 95, 72, 72 })
end

-- Whoever adds a cause to fields.lua decides here whether `why` looks at it; not at run-queue delay as a sum over CPUs.
local RECORDED = { sched_wait_ms = 1 }

function TestAnswer:test_every_cause_is_known()
   local known = {}
   for _, item in ipairs(causes.JOB) do
      known[item.name] = true
      lu.assertNotNil(causes.GROUPS[item.group], item.name)
      lu.assertTrue(item.each_s ~= nil or ({ rate = true, traffic = true, temperature = true, size = true })[item.kind],
         item.name)
   end
   for _, field in ipairs(fields.JOB) do
      if field.kind == "cause" then
         lu.assertEquals(known[field.name] or false, not RECORDED[field.name], field.name)
      end
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

-- What the worst core lost to the hypervisor others may have waited for, too.
function TestAnswer:test_more_than_the_worst_core_lost()
   local i = input(8, 1610, { [3] = { steal_worst_ms = 310e3 } })
   each_row(i, function(r)
      r.cores, r.steal_worst_ms = 64, r.steal_worst_ms or 0
   end)
   lu.assertEquals(named(why.analyse(i)), { 3, "daemon" })
end

-- Two that may both have lowered triad: the one that shows in the job is there, so the other needs evidence of its own.
function TestAnswer:test_one_of_two_that_explain_a_check()
   local job = { throttle_events = 4000, throttle_package_ms = 500e3 }
   local i = input(8, 1200, { [3] = checked(0.7, 0.73, 0.5, job) })
   each_row(i, function(r)
      r.cores = 64
   end)
   local answer = why.analyse(i)
   lu.assertEquals(named(answer), { 3, "clock" })
   lu.assertTrue(of(answer, 3, "clock").probability > 0.9)
end

-- A low clock takes no more from a triad, which waits for memory, than from dgemm.
function TestAnswer:test_a_triad_that_no_clock_explains()
   local function ask(triad, gflops)
      return named(why.analyse(input(1, 1610, { checked(triad, gflops, 0.3, { throttle_events = 90,
         throttle_package_ms = 400e3 }) })))
   end
   lu.assertEquals(ask(0.55, 0.94), { 1, "memory" })
   lu.assertEquals(ask(0.7, 0.6), { 1, "clock" })
end

-- A run of one node exchanges nothing: that it was as fast as ever acquits no link; one of several nodes does.
function TestAnswer:test_runs_that_feel_no_link()
   local function ask(seen)
      local runs = {}
      for k = 1, 8 do
         runs[k] = { ratio = k <= 2 and 1.6 or 1, link_errors = 300 }
      end
      local i = input(8, 1610, { [2] = { link_errors = 300 } }, nil, nil, { [2] = runs })
      local history = i.history
      i.history = function(node)
         local list = history(node)
         for k, one in ipairs(list) do
            one.seen = k <= 2 and 8 or seen
         end
         return list
      end
      return of(why.analyse(i), 2, "link")
   end
   local alone, several = ask(1), ask(8)
   lu.assertEquals({ alone.runs, several.runs }, { 2, 8 })
   lu.assertTrue(alone.harm > 5 * several.harm, alone.harm .. " " .. several.harm)
end

-- What no node of a class is set otherwise to is no look: nothing could have been found (Tarone).
function TestAnswer:test_a_setting_that_all_have()
   local function p_of(rate)
      local i = input(8, 1610, { [2] = { link_errors = 40 } })
      local n = 0
      each_row(i, function(r)
         n = n + 1
         r.link_errors = r.link_errors + (n % 9 == 0 and 20 or 0)
         r.link_rate_gbps = rate(n)
      end)
      return of(why.analyse(i), 2, "link").p
   end
   local none = p_of(function() end)
   lu.assertEquals(p_of(function() return 100 end), none)
   lu.assertTrue(p_of(function(n) return n == 300 and 50 or 100 end) > none)
end

-- PSI is a mean over CPUs: of three nodes of four that have much of it the job's median has, too, the fourth has not.
function TestAnswer:test_three_of_four_nodes()
   local extra = {}
   for n = 1, 3 do
      extra[n] = { cpu_some_us = 800e6, sched_wait_worst_ms = 700e3 }
   end
   local i = input(4, 1610, extra)
   each_row(i, function(r)
      r.cores, r.sched_wait_worst_ms = 64, r.sched_wait_worst_ms or 2000 * vary()
   end)
   i.rows[4].cpu_some_us = 20e6 -- the most of any node of a like run, and next to nothing
   local answer = why.analyse(i)
   lu.assertEquals({ answer.named.where, #answer.named.nodes }, { "several", 3 })
   for _, h in ipairs(answer.explanations) do
      lu.assertFalse(h.where == "all" and h.group == "daemon")
   end
end

-- Operations of one node took five times as long, of another one and a half times: that is not the same trouble.
function TestAnswer:test_two_latencies_are_not_alike()
   local function slow(times)
      return { disk_ops = 1e6, disk_op_ms = 1e6 * times }
   end
   local function ask(times)
      local i = input(8, 1610, { slow(5), slow(times) })
      each_row(i, function(r)
         r.disk_ops, r.disk_op_ms = r.disk_ops or 1e6, r.disk_op_ms or 1e6 * (0.9 + vary() / 10)
         causes.add_parts(r)
      end)
      return why.analyse(i)
   end
   lu.assertEquals(named(ask(1.6)), { 1, "storage" })
   lu.assertEquals(ask(4).named.where, "several")
end

-- Another job's I/O, and what it takes that nobody counts, is one explanation: another job.
function TestAnswer:test_another_job_is_one_explanation()
   local i = input(1, 1610, { { iowait_ms = 600e3, io_some_us = 700e6, io_full_us = 600e6, others = { 39 } } })
   local count, sum = 0, 0
   for _, h in ipairs(why.analyse(i).explanations) do
      count, sum = count + (h.group == "neighbour" and 1 or 0), sum + h.probability
   end
   lu.assertEquals(count, 1)
   near(sum, 1, 1e-9)
end

-- A node whose record never came is asked by its checks and other runs, and that is said.
function TestAnswer:test_a_node_of_which_no_record_came()
   local i = input(3, 1610)
   local gone = checked(0.6, 0.95, 0.3, { node = 4, class = 1, cores = 64, gone = true })
   i.rows[4] = gone
   local answer = why.analyse(i)
   sound(answer)
   lu.assertEquals(named(answer), { 4, "memory" })
   lu.assertStrContains(say(answer, 4), "n004, of which no record came: triad 240.0 GB/s")
   local runs = {}
   for k = 1, 12 do
      runs[k] = { ratio = 1.6, days = k / 10 }
   end
   i = input(3, 1610, nil, nil, nil, { [4] = runs })
   i.rows[4] = { node = 4, class = 1, checks = {}, gone = true }
   answer = why.analyse(i)
   lu.assertEquals(named(answer), { 4, "unrecorded" })
   lu.assertStrContains(say(answer, 4), "n004, of which no record came: its 12 runs nearest to this one were slow, too")
end

-- What a node is set to another job on it did not do.
function TestAnswer:test_a_limit_on_a_shared_node()
   local extra, like = { { clock_limit_mhz = 1700, others = { 4712 } } }, { { clock_limit_mhz = 3300 } }
   local i = input(1, 1610, extra, 12, like)
   for k = 1, 40 do
      for n, r in ipairs(i.others[k].rows) do
         r.clock_limit_mhz = 3300 + (n == 1 and k or 0)
      end
   end
   local answer = why.analyse(i)
   lu.assertEquals(named(answer), { 1, "clock" })
   lu.assertTrue(answer.named.probability > 0.9)
end

-- Slow runs in which events were counted, there or on another of their nodes, are none of what nothing records.
function TestAnswer:test_what_was_counted_in_other_runs()
   local function unrecorded(own, others, fast, more)
      local slow = {}
      for i = 1, 10 + (fast or 0) + (more or 0) do
         local more_of_it = i > 10 + (fast or 0)
         slow[i] = { ratio = (i <= 10 or more_of_it) and 1.6 or 1, link_errors = more_of_it and 500 or own }
      end
      local i = input(2, 1610, nil, 12, nil, { slow })
      local history = i.history
      i.history = function(node)
         local list = history(node)
         for _, one in ipairs(list) do
            one.peers = { row(9, 1600, { link_errors = others }) }
         end
         return list
      end
      return of(why.analyse(i), 1, "unrecorded").probability
   end
   lu.assertTrue(unrecorded(0, 0) > 0.8)
   lu.assertTrue(unrecorded(500, 0) < 0.1)
   lu.assertTrue(unrecorded(0, 500) < 0.1)
   -- So few cannot have cost that; nor what fast runs had as well.
   lu.assertTrue(unrecorded(0, 1) > 0.8)
   lu.assertTrue(unrecorded(500, 0, 60) > 0.8)
   lu.assertTrue(unrecorded(0, 500, 60) > 0.8)
   -- A few with events say nothing against those without.
   lu.assertTrue(unrecorded(0, 0, 0, 8) > 0.8)
end

-- Runs some days from a bad check are under what it found, unless events were counted in them: but for those of it.
function TestAnswer:test_what_was_counted_in_runs_near_a_check()
   local function ask(field)
      local near_it = {}
      for i = 1, 6 do
         near_it[i] = { ratio = 1.6, days = i / 4, [field or "memory_corrected"] = field and 500 or 0 }
      end
      local before = { when = "before", days = 2, gflops = 3400, triad_gbs = 400, noise_pct = 0.3 }
      local extra = { [2] = { checks = { before } } }
      return of(why.analyse(input(4, 1610, extra, 12, nil, { [2] = near_it })), 2, "clock").harm
   end
   lu.assertTrue(ask() > 20)
   lu.assertTrue(ask("link_errors") < 2)
   lu.assertTrue(ask("throttle_events") > 20)
end

-- One of two with the same number, whose own other runs were slow as those of both were not.
function TestAnswer:test_one_of_a_part()
   local extra, like, slow, well = {}, {}, {}, {}
   for i = 1, 6 do
      extra[i], like[i] = { throttle_package_worst_ms = i <= 2 and 700e3 + i or 0 }, { throttle_package_worst_ms = 0 }
   end
   for i = 1, 24 do
      slow[i] = i <= 3 and { ratio = 1.6, throttle_package_worst_ms = 700e3 } or nil
      well[i] = { ratio = 1, throttle_package_worst_ms = 700e3 }
   end
   lu.assertEquals(named(why.analyse(input(6, 1610, extra, 12, like, { slow, slow }))), { { 2, 1 }, "clock" })
   lu.assertEquals(named(why.analyse(input(6, 1610, extra, 12, like, { slow, well }))), { 1, "clock" })
   -- Neither has such runs, but each had slow ones.
   for i = 1, 6 do
      slow[i] = { ratio = 1.6 }
   end
   lu.assertEquals(named(why.analyse(input(6, 1610, extra, 12, like, { slow, slow }))), { { 2, 1 }, "clock" })
   -- Of three one is acquitted.
   for i = 1, 3 do
      slow[i].throttle_package_worst_ms = 700e3
   end
   for i = 1, 8 do
      extra[i], like[i] = { throttle_package_worst_ms = i <= 3 and 700e3 + i or 0 }, { throttle_package_worst_ms = 0 }
   end
   lu.assertEquals(named(why.analyse(input(8, 1610, extra, 12, like, { slow, slow, well }))), { { 2, 1 }, "clock" })
   -- Each had a run that was not slow: nothing tells them apart.
   local one = { well[1] }
   for _, h in ipairs(why.analyse(input(8, 1610, extra, 12, like, { one, one, one })).explanations) do
      if h.where == "several" then
         lu.assertEquals(h.nodes, { 3, 2, 1 })
         return
      end
   end
   lu.fail("nothing is said of all three")
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
