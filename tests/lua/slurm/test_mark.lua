-- What a node remembers of a check that could not be settled, and when it asks again.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local mark = require("syscheck.slurm.mark")

TestMark = {}

local FILE = "bad.json"
local RESULT = { confirmed = true, reason = "triad 1 < 2 GB/s (policy)", level = "quick", status = "fail",
   runs = { {} }, metrics = { { name = "triad_gbs", status = "fail", value = 1, limit = 2 },
      { name = "gflops", status = "pass" } } }
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
   local m = mark.begin(node, mark.finding(node, nil, RESULT, "id", now), mark.read(node, "b"), "b", now)
   if sent then
      mark.sending(node, m)
   end
   mark.decided(node, m, out, now)
   return mark.read(node, "b")
end

function TestMark:test_what_is_kept()
   local node = new_node()
   local m = try(node, UNDECIDED, 1000)
   lu.assertEquals(m.metrics, { { name = "triad_gbs", value = 1, limit = 2 } })
   lu.assertEquals({ m.reason, m.level, m.check, m.action, m.boot_id, m.sent },
      { RESULT.reason, "quick", "id", "undecided", "b" })
   lu.assertStrMatches(m.time, "%d+%-%d+%-%d+T.*Z")
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
   local storm = { action = "storm", done = false, full = { name = "p", total = 9, taken = 1, cap = 1 } }
   local nodes, lists = 200, 0
   for _ = 1, nodes do
      local node, now = new_node(), 0
      while now < 2 * 86400 do
         local m = try(node, storm, now)
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
      mark.checked(node, m, { metrics = case[1], status = case[2], runs = {} }, 0)
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
   local result = { metrics = { { name = "triad_gbs", status = "unknown" } }, status = "unknown", runs = { {} } }
   mark.checked(node, m, result, 0)
   lu.assertFalse(mark.is_open(node, mark.read(node, "b"), 0))
end

function TestMark:test_a_drain_that_may_stand_is_looked_for()
   local node = new_node()
   local m = try(node, { action = "undecided", done = false, open = true }, 0, true)
   lu.assertTrue(mark.is_sent(node, m, 0))
   -- Well, which Slurm does not know.
   mark.checked(node, m, { metrics = { { name = "triad_gbs", status = "pass" } }, status = "pass", runs = {} }, 0)
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
   local corrupt = { confirmed = true, corrupt = true, reason = "dgemm: WRONG RESULT", level = "quick", status = "fail",
      runs = { {} }, metrics = { { name = "gflops", status = "fail" } } }
   local good = { metrics = { { name = "gflops", status = "pass" } }, status = "pass", runs = { {} } }
   local node = new_node()
   mark.begin(node, mark.finding(node, nil, corrupt, "id", 0), nil, "b", 0)
   local m = mark.read(node, "b")
   mark.checked(node, m, good, 0)
   lu.assertEquals(mark.finding(node, mark.read(node, "b"), good, "id2", 0).reason, "dgemm: WRONG RESULT")
   node.policy.mode = "observe"
   lu.assertNil(mark.finding(node, mark.read(node, "b"), good, "id2", 0))
   node.policy.limits.gflops = { min = 1, mode = "enforce" } -- a rate, of which a wrong result is none
   lu.assertNil(mark.finding(node, mark.read(node, "b"), good, "id2", 0))
   node.policy.limits.gflops = nil
   node.policy.mode = "enforce"
   -- Another boot: measured again at once, and what it finds counts.
   m = mark.read(node, "other")
   lu.assertTrue(mark.is_open(node, m, 0))
   lu.assertNil(mark.finding(node, m, good, "id2", 0))
   mark.checked(node, m, good, 0)
   lu.assertNil(mark.read(node, "other"))
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
