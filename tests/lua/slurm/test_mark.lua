-- What a node remembers of a check that could not be settled, and when it asks again.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local mark = require("syscheck.slurm.mark")

TestMark = {}

local FILE = "bad.json"
local RESULT = { confirmed = true, enforced = true, reason = "triad 1 < 2 GB/s (policy)", level = "quick",
   status = "fail", runs = { {} }, metrics = { { name = "triad_gbs", status = "fail", value = 1, limit = 2 },
      { name = "gflops", status = "pass" } } }
local WRONG = { confirmed = true, enforced = true, corrupt = true, reason = "dgemm: WRONG RESULT", level = "quick",
   status = "fail", runs = { {} }, metrics = { { name = "gflops", status = "fail", corrupt = true } } }
local GOOD = { metrics = { { name = "gflops", status = "pass" }, { name = "triad_gbs", status = "pass" } },
   status = "pass", node_status = "pass", runs = { {} } }
local STORM = { action = "storm", done = false, full = { name = "p", total = 9, taken = 1, cap = 1 } }
local UNDECIDED = { action = "undecided", done = false }

-- A node whose state is in memory.
local function new_node()
   local node = { policy = { mode = "enforce", limits = {}, expect = {}, health = { recheck = 300 } }, files = {} }
   function node:read_state(name)
      return self.files[name]
   end
   function node:save_state(name, value)
      self.files[name] = value
      return true
   end
   function node:forget_state(name)
      self.files[name] = nil
   end
   return node
end

-- One try to drain at a time, and what came of it. @return the mark, or nil
local function try(node, out, now, sent)
   local m = mark.begin(node, mark.finding(node, nil, RESULT, now), mark.read(node, "b"), "b", now)
   if sent then
      mark.sending(node, m)
   end
   mark.decided(node, m, out, now)
   return mark.read(node, "b")
end

function TestMark:test_what_is_kept()
   local node = new_node()
   local m = try(node, UNDECIDED, 1000)
   lu.assertEquals(m.metrics, { { name = "triad_gbs" } })
   lu.assertEquals({ m.reason, m.level, m.action, m.boot_id, m.sent }, { RESULT.reason, "quick", "undecided", "b" })
   lu.assertStrMatches(m.asked, "%d+%-%d+%-%d+T.*Z")
end

function TestMark:test_undecided_at_once_then_later_and_later()
   local node = new_node()
   local now, before = 1000, 0
   for try_number = 1, 12 do
      local m = try(node, UNDECIDED, now)
      local wait = m.next_s - now
      local base = try_number == 1 and 0 or math.min(300 * 2 ^ (try_number - 2), 3600)
      lu.assertTrue(wait >= base * 0.5 and wait <= base * 1.5, ("try %d: %f"):format(try_number, wait))
      lu.assertEquals(mark.is_open(node, m, now), try_number == 1)
      lu.assertFalse(mark.is_open(node, m, now + wait - 1) and wait > 1)
      lu.assertTrue(mark.is_open(node, m, now + wait))
      now, before = now + wait, wait
   end
   lu.assertTrue(before >= 1800)
end

-- 10,000 idle nodes that stay at the cap: lists a second in the second day.
function TestMark:test_lists_at_the_cap()
   local nodes, lists = 200, 0
   for _ = 1, nodes do
      local node, now = new_node(), 0
      while now < 2 * 86400 do
         local m = try(node, STORM, now)
         lists = lists + (now >= 86400 and 1 or 0)
         lu.assertFalse(mark.is_open(node, m, 1e9))
         now = math.max(now + 1, m.next_s)
      end
   end
   lu.assertTrue(lists / nodes * 10000 / 86400 < 4, tostring(lists))
end

function TestMark:test_settled_is_forgotten()
   local node = new_node()
   try(node, UNDECIDED, 0)
   lu.assertNil(try(node, { action = "drain", done = true }, 0))
   local m = try(node, { action = "drain", done = false, kept = "fan broken" }, 0)
   lu.assertEquals(m.action, "kept")
   lu.assertFalse(mark.is_open(node, m, 1e9))
end

-- Drained by somebody else, until a job starts.
function TestMark:test_a_job_starts()
   local node = new_node()
   mark.job_starts(node, nil)
   for _, out in ipairs({ STORM, { action = "drain", done = false, kept = "fan broken" } }) do
      local m = try(node, out, 100)
      mark.job_starts(node, m)
      lu.assertEquals(mark.is_open(node, m, 100), out ~= STORM)
      lu.assertEquals(node.files[FILE].action, out == STORM and "storm" or "undecided")
   end
end

function TestMark:test_well_again()
   for _, case in ipairs({
      { { { name = "triad_gbs", status = "pass" } }, "pass", true },
      { { { name = "triad_gbs", status = "warn" } }, "warn", true },
      { { { name = "triad_gbs", status = "unrated" } }, "unrated", true },
      { { { name = "triad_gbs", status = "pass" }, { name = "gflops", status = "fail" } }, "fail", false },
      { { { name = "triad_gbs", status = "unknown" } }, "unknown", false },
      { { { name = "memory_gib", status = "pass" } }, "pass", false },
   }) do
      local node = new_node()
      local m = try(node, UNDECIDED, 0)
      mark.checked(node, m, { metrics = case[1], node_status = case[2], runs = {} }, 0)
      lu.assertEquals(node.files[FILE] == nil, case[3], case[2])
   end
end

function TestMark:test_one_limit_of_its_own_mode()
   local node = new_node()
   node.policy.mode = "observe"
   local m = try(node, { action = "undecided", done = false, open = true }, 0, true)
   lu.assertFalse(mark.is_open(node, m, 0) or mark.is_sent(node, m, 0))
   for _, rules in ipairs({ "limits", "expect" }) do
      node.policy[rules] = { triad_gbs = { mode = "enforce" } }
      lu.assertTrue(mark.is_open(node, m, 0) and mark.is_sent(node, m, 0))
      node.policy[rules] = {}
   end
end

-- A kernel that cannot run: the node is not measured before every job because of it.
function TestMark:test_not_measured_is_not_tried_at_once()
   local node = new_node()
   local m = try(node, UNDECIDED, 0)
   lu.assertTrue(mark.is_open(node, m, 0))
   local result = { metrics = { { name = "triad_gbs", status = "unknown" } }, node_status = "unknown", runs = { {} } }
   mark.checked(node, m, result, 0)
   lu.assertFalse(mark.is_open(node, mark.read(node, "b"), 0))
end

-- Bad, and only observed by now: nor is that tried before every job.
function TestMark:test_observed_by_now_is_not_tried_at_once()
   for _, was in ipairs({ RESULT, WRONG }) do
      local node = new_node()
      mark.begin(node, mark.finding(node, nil, was, 0), nil, "b", 0)
      node.policy.mode, node.policy.limits.noise_pct = "observe", { mode = "enforce" }
      local m = mark.read(node, "b")
      lu.assertTrue(mark.is_open(node, m, 0))
      local now = { confirmed = true, enforced = false, metrics = was.metrics, corrupt = was.corrupt,
         node_status = "fail", runs = { {} } }
      mark.checked(node, m, now, 0)
      lu.assertNil(mark.finding(node, m, now, 0))
      lu.assertFalse(mark.is_open(node, mark.read(node, "b"), 0))
   end
end

function TestMark:test_a_drain_that_may_stand_is_looked_for()
   local node = new_node()
   local m = try(node, { action = "undecided", done = false, open = true }, 0, true)
   lu.assertTrue(mark.is_sent(node, m, 0))
   -- Well, which Slurm does not know.
   mark.checked(node, m, GOOD, 0)
   m = mark.read(node, "b")
   lu.assertTrue(mark.is_sent(node, m, 0))
   lu.assertFalse(mark.is_open(node, m, 0))
   -- No answer, then none of ours stands.
   mark.looked(node, m, { action = "undecided", open = true, error = "x" }, 0)
   m = mark.read(node, "b")
   lu.assertFalse(mark.is_sent(node, m, 0))
   lu.assertTrue(mark.is_sent(node, m, 1e6))
   mark.looked(node, m, { action = "none" }, 1e6)
   lu.assertNil(mark.read(node, "b"))
end

function TestMark:test_a_wrong_result_stays_within_its_boot()
   local good, node = GOOD, new_node()
   mark.begin(node, mark.finding(node, nil, WRONG, 0), nil, "b", 0)
   local m = mark.read(node, "b")
   mark.checked(node, m, good, 0)
   lu.assertEquals(mark.finding(node, mark.read(node, "b"), good, 0).reason, "dgemm: WRONG RESULT")
   node.policy.mode = "observe"
   lu.assertNil(mark.finding(node, mark.read(node, "b"), good, 0))
   node.policy.limits.triad_gbs = { mode = "enforce" }
   lu.assertNil(mark.finding(node, mark.read(node, "b"), good, 0))
   -- Its own metric's mode, as when it was found: see verdict.set_modes.
   node.policy.limits = { gflops = { mode = "enforce" } }
   mark.checked(node, m, good, 0)
   lu.assertEquals(mark.finding(node, mark.read(node, "b"), good, 0).reason, "dgemm: WRONG RESULT")
   node.policy.limits, node.policy.mode = {}, "enforce"
   -- As older versions wrote it.
   node.files[FILE].metrics = { { name = "gflops", value = 1, limit = 2 } }
   node.files[FILE].check, node.files[FILE].time = "id", "2026-11-21T08:00:00Z"
   lu.assertNotNil(mark.finding(node, mark.read(node, "b"), good, 0))
   -- Another boot: measured again at once, and what it finds counts.
   m = mark.read(node, "other")
   lu.assertTrue(mark.is_open(node, m, 0))
   lu.assertNil(mark.finding(node, m, good, 0))
   mark.checked(node, m, good, 0)
   lu.assertNil(mark.read(node, "other"))
end

-- Slurm is not asked again yet; a later check measures right.
function TestMark:test_a_wrong_result_beside_another_finding_is_kept()
   local node = new_node()
   local m = try(node, STORM, 0)
   local next_s = m.next_s
   mark.checked(node, m, WRONG, 1)
   lu.assertEquals(mark.finding(node, m, WRONG, 1).reason, WRONG.reason)
   m = mark.read(node, "b")
   lu.assertEquals({ m.reason, m.corrupt, m.action, m.next_s, m.metrics },
      { WRONG.reason, true, "storm", next_s, { { name = "gflops", corrupt = true } } })
   mark.checked(node, m, GOOD, 2)
   lu.assertNotNil(mark.read(node, "b"))
   lu.assertNil(mark.finding(node, m, GOOD, 2))
   -- The cap had no room for it: when it is time to ask again it is what is drained for.
   lu.assertEquals(mark.finding(node, m, GOOD, next_s).reason, WRONG.reason)
   node.inconclusive = true
   lu.assertNil(mark.finding(node, m, GOOD, next_s))
end

-- Or its drain would be taken back after some passing checks.
function TestMark:test_a_low_rate_is_not_drained_for_where_a_wrong_result_is_open()
   local node = new_node()
   mark.begin(node, mark.finding(node, nil, WRONG, 0), nil, "b", 0)
   local m = mark.read(node, "b")
   local found = mark.finding(node, m, RESULT, 0)
   lu.assertEquals({ found.reason, found.corrupt }, { WRONG.reason, true })
   -- Nor is one forgotten beside a limit that is only observed.
   local observed = { confirmed = true, enforced = false, metrics = RESULT.metrics, status = "fail", runs = { {} } }
   lu.assertEquals(mark.finding(node, m, observed, 0).reason, WRONG.reason)
   lu.assertNil(mark.finding(node, nil, observed, 0))
end

-- Well, while a drain might still have stood, and bad again before Slurm could be asked.
function TestMark:test_bad_again()
   local node = new_node()
   local m = try(node, { action = "undecided", done = false, open = true }, 0, true)
   mark.checked(node, m, GOOD, 0)
   m = mark.read(node, "b")
   lu.assertEquals(m.action, "passed")
   mark.checked(node, m, RESULT, 1)
   lu.assertNotNil(mark.finding(node, m, RESULT, 1))
   m = mark.read(node, "b")
   lu.assertEquals({ m.action, m.sent }, { "undecided", true })
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
