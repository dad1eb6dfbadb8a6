-- Slow or disturbed: what others explain at most, and what stays.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local busy = require("syscheck.verdict.busy")
local metrics = require("syscheck.catalogue.metrics")
local policy = require("syscheck.policy.policy")
local verdict = require("syscheck.verdict.rating")

local NOW = { boot_id = "b", s = 10000, time = "2026-11-22T08:00:00Z" }
local STRESS = { comm = "stress-ng", pid = 4711, uid = 1000, cpus = 4 }

-- A node of 8 CPUs that nobody else uses, all measured for 2 s.
local function evidence(more)
   local e = { seconds = 2, worked = 2, cpus = 8, measured = 0, beside = 0, stolen = {}, quota = 0, stalled = 0,
      neighbours = 8, smt = false }
   for i = 1, 8 do
      e.stolen[i] = 0
   end
   for key, value in pairs(more or {}) do
      e[key] = value
   end
   return e
end

local function loss(more, lost_pct, state)
   return busy.loss(evidence(more), lost_pct, state, NOW)
end

TestLoss = {}

function TestLoss:test_nobody_else()
   lu.assertEquals(loss({}, 0), 0)
   -- What daemons take of any node.
   lu.assertEquals(loss({ measured = 0.1 }, 1.2), 0)
end

function TestLoss:test_a_thief_on_every_cpu()
   local share = loss({ measured = 4 }, 50)
   lu.assertTrue(share >= 0.5 and share < 0.6)
end

-- All others' time was in the half of the seconds in which the kernel worked.
function TestLoss:test_a_thief_that_comes_with_the_measurement()
   local share = loss({ measured = 3.2, worked = 1 }, 80)
   lu.assertTrue(share >= 0.8 and share < 0.9)
   -- Of one that was there all the time, what the kernel lost is known.
   share = loss({ measured = 4, worked = 1 }, 50)
   lu.assertTrue(share >= 0.5 and share < 0.6)
end

-- Each core works at its own pace: an eighth of a half.
function TestLoss:test_a_thief_on_one_cpu()
   local share = loss({ measured = 0.5 }, 6.25)
   lu.assertTrue(share >= 0.0625 and share < 0.1)
   -- Others had less than the kernel lost.
   lu.assertTrue(loss({ measured = 0.5 }, 50) < 0.1)
end

-- A node slowed by a quota, or blocked: nobody else used its CPUs.
function TestLoss:test_what_nobody_took_is_the_nodes_own()
   lu.assertTrue(loss({}, 60) < 0.05)
   lu.assertTrue(loss({ measured = 0.1 }, 60) < 0.2)
end

-- Others ran while the quota held us: what the quota took they did not.
function TestLoss:test_a_quota_beside_others()
   lu.assertTrue(loss({ measured = 4, quota = 0.5 }, 55) < 0.07)
end

function TestLoss:test_beside_the_measured_cpus()
   -- Memory bandwidth: one core of nine.
   local one = loss({ beside = 1 }, 0)
   lu.assertTrue(one > 1 / 9 and one < 0.3)
   -- The other threads of all measured cores.
   lu.assertTrue(loss({ beside = 8, smt = true }, 0) > 0.6)
   lu.assertTrue(loss({ beside = 0.1, smt = true }, 0) < 0.1)
   -- 8 stray processes on 64 cores with two threads each do not excuse a node that is 20 % slow, whatever
   -- caches there are.
   for _, neighbours in ipairs({ 16, 64, 128 }) do
      local few = loss({ cpus = 64, beside = 8, smt = true, neighbours = neighbours }, 0)
      lu.assertTrue(few > 2 / 3 * 8 / 64 and few < 0.2, neighbours)
   end
end

function TestLoss:test_a_hypervisor()
   local stolen = {}
   for i = 1, 8 do
      stolen[i] = 0.2
   end
   local share = loss({ stolen = stolen }, 0)
   lu.assertTrue(share > 0.18 and share < 0.55)
   lu.assertEquals(loss({ stolen = { 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01 } }, 0), 0)
end

function TestLoss:test_never_all()
   lu.assertTrue(loss({ measured = 8, beside = 8, stolen = { 1, 1 } }, 100) <= 0.95)
end

-- The node's own service is its own when it has been there for two checks and ten minutes.
function TestLoss:test_a_runaway_service_stays()
   local most = { comm = "agentd", pid = 99, uid = 0, kind = "service", cpus = 4 }
   local state = { boot_id = "b", key = "service 99", first_s = 9000, checks = 2 }
   lu.assertTrue(loss({ measured = 4, most = most }, 50) > 0.5)
   lu.assertTrue(loss({ measured = 4, most = most }, 50, state) < 0.05)
   for _, other in ipairs({ { "boot_id", "a" }, { "key", "service 98" }, { "first_s", 9500 }, { "first_s", 11000 },
      { "checks", 1 }, { "checks", "x" } }) do
      local new = setmetatable({ [other[1]] = other[2] }, { __index = state })
      lu.assertTrue(loss({ measured = 4, most = most }, 50, new) > 0.5)
   end
   -- Other work beside it is still others'.
   lu.assertTrue(loss({ measured = 7, most = most }, 90, state) > 0.35)
   local kworker = { comm = "kworker/3:1+acpi", pid = 7, kind = "kernel", cpus = 4 }
   state.key = "kernel kworker"
   lu.assertTrue(loss({ measured = 4, most = kworker }, 50, state) < 0.05)
   -- A user's never is.
   state.key = busy.key(STRESS)
   lu.assertTrue(loss({ measured = 4, most = STRESS }, 50, state) > 0.5)
end

TestRate = {}

local LIMITS = verdict.limits(assert(policy.parse(
   "return { limits = { triad_gbs = { min = 80 }, noise_pct = { max = 1, action = 'fail' }, latency_ns = "
   .. "{ max = 100, action = 'fail' } } }", "p")), "c")

local function rate(results)
   for _, result in pairs(results) do
      result.others = { loss_pct = 50, cpus = 0.5, cpu = 3, cpu_pct = 43, most = STRESS }
   end
   return verdict.rate(results, LIMITS)
end

function TestRate:test_what_others_explain_is_not_rated()
   local rated = rate({ triad_gbs = { value = 50, loss = 0.5 } })
   lu.assertEquals({ rated.status, rated.metrics[1].status, rated.metrics[1].busy }, { "unknown", "unknown", true })
   lu.assertEquals(rated.text, "busy, not rated: others used 43 % of CPU 3, most by stress-ng (pid 4711, uid 1000); "
      .. "triad 50.0 < 80.0 GB/s (policy)")
   lu.assertNil(verdict.reason(rated))
end

function TestRate:test_slower_than_others_explain()
   local rated = rate({ triad_gbs = { value = 39, loss = 0.5 } })
   lu.assertEquals(rated.status, "fail")
   lu.assertEquals(verdict.reason(rated), "triad 39.0 < 80.0 GB/s (policy); others used 43 % of CPU 3, most by "
      .. "stress-ng (pid 4711, uid 1000)")
end

-- What was done in all of the time holds set-up, too: others' share of it cannot be given back.
function TestRate:test_a_bound_of_a_time_of_which_others_had_half()
   local rated = rate({ triad_gbs = { unknown = "x", bound = 1, loss = 0.5 } })
   lu.assertEquals({ rated.status, rated.metrics[1].busy }, { "unknown", true })
   lu.assertEquals(rate({ triad_gbs = { unknown = "x", bound = 1, loss = 0.49 } }).status, "fail")
   -- Stopped by a quota of its own.
   lu.assertEquals(rate({ triad_gbs = { unknown = "x", bound = 1, loss = 0 } }).status, "fail")
end

function TestRate:test_good_in_spite_of_others()
   local rated = rate({ triad_gbs = { value = 81, loss = 0.5 } })
   lu.assertEquals({ rated.status, rated.metrics[1].busy }, { "pass" })
end

function TestRate:test_what_is_better_lower()
   lu.assertEquals(rate({ noise_pct = { value = 50.5, loss = 0.5 } }).status, "unknown")
   lu.assertEquals(rate({ noise_pct = { value = 52, loss = 0.5 } }).status, "fail")
   lu.assertEquals(rate({ latency_ns = { value = 190, loss = 0.5 } }).status, "unknown")
   lu.assertEquals(rate({ latency_ns = { value = 210, loss = 0.5 } }).status, "fail")
end

function TestRate:test_a_wrong_result_is_wrong()
   lu.assertEquals(rate({ triad_gbs = { corrupt = "bit", loss = 0.5 } }).status, "fail")
end

-- Two measurements fail a node, both undisturbed or slower than others explain.
function TestRate:test_both_measurements_count()
   local calm = verdict.rate({ triad_gbs = { value = 50 } }, LIMITS)
   local function settled(first, value, share)
      local rated = rate({ triad_gbs = { value = value, loss = share } })
      local open = verdict.settle(rated, { triad_gbs = first.metrics[1] })
      return rated.status, open ~= nil
   end
   local disturbed = rate({ triad_gbs = { value = 50, loss = 0.5 } })
   lu.assertEquals(settled(calm, 50, 0), "fail")
   lu.assertEquals({ settled(disturbed, 50, 0) }, { "unknown", true }) -- due at once, either way round
   lu.assertEquals({ settled(calm, 50, 0.5) }, { "unknown", true })
   lu.assertEquals({ settled(disturbed, 50, 0.5) }, { "unknown", false })
   lu.assertEquals(settled(disturbed, 90, 0), "pass")
   lu.assertEquals(settled(calm, 90, 0), "warn")
end

TestFollow = {}

local function check(state, s, losses, most)
   local list = {}
   for i, share in ipairs(losses) do
      list[i] = { loss = share, others = share > 0 and { cpus = 0.4, most = most } or nil }
   end
   return busy.follow(state, list, { boot_id = "b", s = s, time = ("t%d"):format(s) })
end

function TestFollow:test_one_calm_measurement_ends_it()
   lu.assertNil(check(nil, 0, { 0.4, 0, 0.4 }, STRESS))
   lu.assertNil(check(nil, 0, { 0.4, 0.03 }, STRESS))
   lu.assertNil(check(nil, 0, {}, STRESS))
   lu.assertEquals(busy.is_much(0.6, 8), true)
   lu.assertEquals(busy.is_much(0.6, 384), false)
end

function TestFollow:test_it_stays_after_three_checks_in_ten_minutes()
   local state = check(nil, 0, { 0.4 }, STRESS)
   lu.assertNil(busy.finding(state, true))
   for _, s in ipairs({ 100, 200, 599 }) do
      state = check(state, s, { 0.4 }, STRESS)
      lu.assertNil(busy.finding(state, true))
   end
   state = check(state, 600, { 0.4 }, STRESS)
   lu.assertEquals(busy.finding(state, true),
      "busy for 5 checks, since t0: others use 0.4 CPUs, most stress-ng (pid 4711, uid 1000)")
   -- Somebody else begins anew.
   lu.assertEquals(check(state, 700, { 0.4 }, { comm = "x", pid = 1, uid = 7, cpus = 1 }).checks, 1)
   lu.assertNil(busy.finding(nil, true))
end

-- A hypervisor's others use no CPU time of this machine.
function TestFollow:test_what_a_hypervisor_keeps_busy_is_found_too()
   local state
   for s = 0, 1200, 400 do
      state = busy.follow(state, { { loss = 0.3, others = { loss_pct = 30, cpus = 0, steal_pct = 20 } } },
         { boot_id = "b", s = s, time = "t" .. s })
   end
   local text = busy.finding(state, true)
   lu.assertEquals(text, "busy for 4 checks, since t0: held up by what uses no CPU time here (a hypervisor, "
      .. "a lack of memory)")
   lu.assertEquals(verdict.rate({ others_cpus = { value = state.cpus, text = text } },
      verdict.limits(policy.default(), "c")).status, "warn")
end

function TestFollow:test_what_an_ended_job_left()
   local state = check(nil, 0, { 0.4 }, { comm = "a.out", pid = 12, uid = 1000, job = 17, cpus = 0.5 })
   lu.assertEquals(busy.finding(state, true),
      "leftover processes of job 17: others use 0.4 CPUs, most a.out (pid 12, uid 1000, job 17)")
   -- On a machine of several nodes, or beside jobs, it may be none.
   lu.assertNil(busy.finding(state, false))
end

function TestFollow:test_the_finding_warns()
   local rated = verdict.rate({ others_cpus = { value = 0.5, text = "leftover" } },
      verdict.limits(policy.default(), "c"))
   lu.assertEquals({ rated.status, rated.text, metrics.BY_NAME.others_cpus.kernel }, { "warn", "leftover" })
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
