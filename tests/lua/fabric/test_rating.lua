-- What a run says of each of its nodes: limits, two runs, only a NIC fails its node.
package.path = "lua/?.lua;tests/lua/fabric/?.lua;" .. package.path
local lu = require("luaunit")
local explain = require("syscheck.fabric.explain")
local policy = require("syscheck.policy.policy")
local rating = require("syscheck.fabric.rating")
local session = require("syscheck.fabric.session")
local simulated = require("simulated")

local FOUR = { 8, 8, 8, 8 }

-- The policy of the words given.
local function policy_of(words)
   local p = assert(policy.parse("return { " .. (words or "") .. " }", "p.lua"))
   return p
end

local FAIL = "mode = 'enforce', limits = { fabric_out_ratio = { action = 'fail' }, "
   .. "fabric_in_ratio = { action = 'fail' }, fabric_out_gbs = { action = 'fail' } }"

local function run(world, sizes, about)
   world.noise = world.noise or 0.01
   local net = simulated.net(sizes or FOUR)
   local out = assert(session.run(net, simulated.measure(net, world), { seed = world.seed or 1 }))
   out.net, out.about = net, about or {}
   explain.all(out)
   return out
end

-- Of a run by name.
local function rated(answer, words, learned)
   local by = {}
   for _, one in ipairs(rating.of(answer, policy_of(words), learned)) do
      by[one.node] = one
   end
   return by
end

local function metric(one, name)
   for _, m in ipairs(one.metrics) do
      if m.name == name then
         return m
      end
   end
end

TestRating = {}

-- Of three leaves one bad uplink is in most flows across: who has only such is no slow node.
function TestRating:test_a_bad_uplink_is_nobodys_ratio()
   for seed = 1, 20 do
      for name, one in pairs(rated(run({ up = { [3] = 5 }, down = { [3] = 5 }, seed = seed }, { 3, 3, 3 }))) do
         for _, way in ipairs({ "fabric_out_ratio", "fabric_in_ratio" }) do
            local m = metric(one, way)
            lu.assertTrue(m.value > 0.9 and m.value < 1.1, ("%s %s %g"):format(name, way, m.value))
         end
         lu.assertEquals(one.status, "pass", name)
      end
   end
end

-- The uplink is in all that is measured of a node without two partners at its leaf; of leaves that nobody knows, too.
function TestRating:test_who_may_be_the_uplink_fails_never()
   for _, sizes in ipairs({ { 4, 4, 4, 1 }, { 8, 1 }, { 1, 1, 1, 1, 1 }, { 4, 4, 2 } }) do
      for name, one in pairs(rated(run({ up = { [#sizes] = 5 } }, sizes), FAIL)) do
         lu.assertNotEquals(one.status, "fail", name)
      end
      local last = 0
      for _, size in ipairs(sizes) do
         last = last + size
      end
      for name, one in pairs(rated(run({ out = { [last] = 5 } }, sizes), FAIL)) do
         lu.assertNotEquals(one.status, "fail", name)
      end
   end
   for name, one in pairs(rated(run({ out = { [3] = 5 } }, 9), FAIL)) do
      lu.assertNotEquals(one.status, "fail", name)
   end
end

-- Half the rate, as its link says itself: it may be bought so, and the site sees it.
function TestRating:test_a_slower_link_fails_nobody()
   local about = {}
   for _, name in ipairs(simulated.net(FOUR).names) do
      about[name] = { rate_gbps = name == "l1n3" and 100 or 200, links = {} }
   end
   local by = rated(run({ out = { [3] = 5 }, ["in"] = { [3] = 5 } }, nil, about), FAIL)
   lu.assertEquals({ by.l1n3.status, by.l1n3.enforced }, { "warn", false })
   about.l1n3.rate_gbps = 200
   by = rated(run({ out = { [3] = 5 }, ["in"] = { [3] = 5 } }, nil, about), FAIL)
   lu.assertEquals(by.l1n3.status, "fail")
end

-- One whose clock is slow sees more than came; what all others have less is not theirs.
function TestRating:test_who_says_too_much_makes_nobody_fail()
   for _, sizes in ipairs({ { 4, 4 }, { 9 }, { 5, 5 } }) do
      for _, times in ipairs({ 1.15, 1.3, 1e300 }) do
         local net = simulated.net(sizes)
         local measure = simulated.measure(net, { noise = 0.01 })
         local out = assert(session.run(net, function(rounds)
            local results = measure(rounds)
            for r, round in ipairs(rounds) do
               for k, p in ipairs(round.pairs) do
                  local got = results[r][k]
                  if p[1] == 2 then
                     got.ba_gbs, got.both_ba_gbs = got.ba_gbs * times, got.both_ba_gbs * times
                  elseif p[2] == 2 then
                     got.ab_gbs, got.both_ab_gbs = got.ab_gbs * times, got.both_ab_gbs * times
                  end
               end
            end
            return results
         end, { seed = 1 }))
         out.net, out.about = net, {}
         explain.all(out)
         for name, one in pairs(rated(out, FAIL)) do
            lu.assertNotEquals(one.status, "fail", ("%s x%g"):format(name, times))
         end
      end
   end
end

-- Each direction has its own share.
function TestRating:test_both_directions()
   local one = rated(run({ out = { [3] = 6 }, ["in"] = { [3] = 8 } }), FAIL).l1n3
   lu.assertEquals(one.findings[1].direction, "both")
   lu.assertAlmostEquals(metric(one, "fabric_out_ratio").value, 0.6, 0.03)
   lu.assertAlmostEquals(metric(one, "fabric_in_ratio").value, 0.8, 0.03)
end

function TestRating:test_what_a_run_could_have_found()
   local one = rated(run({})).l1n3
   lu.assertTrue(one.uplinks and one.switch)
   lu.assertTrue(#one.partners >= 5)
   one = rated(run({}, { 8, 8 })).l1n3
   lu.assertEquals({ one.uplinks or false, one.switch }, { false, true })
   one = rated(run({}, { 2, 8 })).l1n1
   lu.assertNil(one.switch)
   one = rated(run({}, { 2 })).l1n1
   lu.assertEquals({ one.status, one.partners }, { "unknown", { "l1n2" } })
   lu.assertStrContains(one.text, "of two nodes")
end

-- As run.lua adds who was lost on the way: of no leaf, and without a value.
function TestRating:test_who_was_lost()
   local answer = run({})
   local lost = #answer.net.names + 1
   answer.net.names[lost] = "gone"
   table.insert(answer.findings, 1, { kind = "silent", node = lost, why = "task 1: Killed" })
   local one = rated(answer).gone
   lu.assertEquals({ one.status, one.leaf, one.switch }, { "unknown" })
   lu.assertStrContains(one.text, "gone does not answer: task 1: Killed")
end

function TestRating:test_changed_data_is_no_pass()
   local answer = run({})
   table.insert(answer.findings, { kind = "corrupt", from = 1, to = 2, why = "byte 7" })
   local by = rated(answer, FAIL)
   lu.assertEquals({ by.l1n1.status, by.l1n2.status, by.l1n3.status }, { "warn", "warn", "pass" })
end

function TestRating:test_healthy()
   local by = rated(run({}, nil, { l1n1 = { boot_id = "b", rate_gbps = 200 } }), FAIL)
   for _, one in pairs(by) do
      lu.assertEquals({ one.status, #one.findings, one.reason, #one.runs }, { "pass", 0, nil, 1 })
   end
   lu.assertEquals({ by.l1n1.class, by.l1n1.boot_id, by.l1n1.leaf }, { "fabric-200g-1hop", "b", "l1" })
   lu.assertEquals(by.l1n2.class, "fabric-?g-1hop")
   lu.assertAlmostEquals(metric(by.l1n1, "fabric_out_gbs").value, simulated.RATE, 0.3)
   lu.assertAlmostEquals(metric(by.l1n1, "fabric_lat_us").value, simulated.US[1], 0.3)
end

function TestRating:test_a_nic_warns_as_shipped()
   local one = rated(run({ out = { [3] = 6 } })).l1n3
   lu.assertEquals({ one.status, one.enforced }, { "warn", false })
   lu.assertStrContains(one.text, "l1n3 sends at 0.6")
   lu.assertEquals({ one.findings[1].kind, one.findings[1].own, one.findings[1].direction }, { "nic", true, "out" })
   -- Slower than its peers by less than the limit.
   one = rated(run({ out = { [3] = 9.15 }, noise = 0.002 })).l1n3
   lu.assertEquals(one.status, "warn")
   lu.assertEquals(metric(one, "fabric_out_ratio").status, "pass")
end

function TestRating:test_a_nic_fails_where_the_site_says_so()
   local by = rated(run({ out = { [3] = 6 } }), FAIL)
   lu.assertEquals({ by.l1n3.status, by.l1n3.enforced }, { "fail", true })
   lu.assertStrContains(by.l1n3.reason, "l1n3 sends at 0.6")
   lu.assertStrContains(by.l1n3.reason, "NIC, port or cable")
   lu.assertAlmostEquals(by.l1n3.least, 0.6, 0.03)
   lu.assertEquals(#by.l1n3.runs, 2)
   for name, one in pairs(by) do
      lu.assertEquals(one.status, name == "l1n3" and "fail" or "pass", name)
   end
   -- The limit's own mode wins.
   by = rated(run({ out = { [3] = 6 } }),
      "mode = 'enforce', limits = { fabric_out_ratio = { action = 'fail', mode = 'observe' } }")
   lu.assertEquals({ by.l1n3.status, by.l1n3.enforced }, { "fail", false })
   by = rated(run({ out = { [3] = 6 } }), "mode = 'enforce', limits = { fabric_out_ratio = { action = 'off' } }")
   lu.assertEquals({ by.l1n3.status, by.l1n3.enforced }, { "warn", false })
end

-- A leaf of three: both others met the bad one half of the time.
function TestRating:test_a_bad_partner_leaves_no_trace()
   local by = rated(run({ ["in"] = { [2] = 5 } }, { 3, 3, 3 }))
   for name, one in pairs(by) do
      lu.assertAlmostEquals(metric(one, "fabric_out_gbs").value, simulated.RATE, 0.4, name)
      lu.assertAlmostEquals(metric(one, "fabric_in_gbs").value, name == "l1n2" and 5 or simulated.RATE, 0.4, name)
   end
end

-- What is bad, and who would be blamed for it by a limit alone.
function TestRating:test_nothing_else_fails_a_node()
   for _, world in ipairs({ { up = { [2] = 20 } }, { switch = { [2] = 5 } }, { loaded_out = { [3] = 6 } },
      { both = { [3] = 6 } }, { latency = { [3] = 3 } } }) do
      for name, one in pairs(rated(run(world), FAIL)) do
         lu.assertNotEquals(one.status, "fail", name .. ": " .. (one.text or ""))
         lu.assertFalse(one.enforced, name)
      end
   end
end

-- One run alone is none: who was slow while all were at work and is not alone, and the other way round.
function TestRating:test_two_runs()
   local answer = run({ out = { [3] = 6 } })
   for _, one in ipairs(answer.findings) do
      one.shares.out = 0.95
   end
   lu.assertEquals(rated(answer, FAIL).l1n3.status, "warn")
   answer = run({ out = { [3] = 6 } })
   answer.found.nodes.told.out[3] = 0.95
   lu.assertEquals(rated(answer, FAIL).l1n3.status, "warn")
end

-- Low once, as others were at work, and as good as others when it was measured again.
function TestRating:test_who_was_cleared_is_not_warned_of()
   local net, calls = simulated.net(FOUR), 0
   local slow = simulated.measure(net, { out = { [9] = 8 }, noise = 0.01 })
   local well = simulated.measure(net, { noise = 0.01 })
   local out = assert(session.run(net, function(rounds)
      calls = calls + 1
      return (calls == 1 and slow or well)(rounds)
   end, { seed = 1 }))
   out.net, out.about = net, {}
   explain.all(out)
   lu.assertEquals({ #out.findings, out.unconfirmed }, { 0, 1 })
   local one = rated(out, "limits = { fabric_out_ratio = { min = 0.9 } }")["l2n1"]
   lu.assertNotEquals(one.status, "warn")
   lu.assertAlmostEquals(metric(one, "fabric_out_ratio").value, 0.8, 0.03)
   -- Who was not suspected is.
   one = rated(run({ out = { [9] = 9.4 } }), "limits = { fabric_out_ratio = { min = 0.96 } }")["l2n1"]
   lu.assertEquals(one.status, "warn")
end

function TestRating:test_who_is_silent_is_unknown()
   local one = rated(run({ silent = { [3] = true } }), FAIL).l1n3
   lu.assertEquals({ one.status, #one.metrics, #one.runs, one.enforced }, { "unknown", 0, 0, nil })
   lu.assertStrContains(one.text, "l1n3 does not answer")
end

-- An uplink concerns all nodes of its leaf, and is none's own.
function TestRating:test_a_leafs_fault_is_at_each_of_its_nodes()
   local by = rated(run({ up = { [2] = 20 } }))
   local seen = 0
   for name, one in pairs(by) do
      local f = one.findings[1]
      lu.assertEquals(f ~= nil, one.leaf == "l2", name)
      lu.assertEquals(one.status, "pass")
      seen = seen + (f and f.leaf == "l2" and not f.own and 1 or 0)
   end
   lu.assertEquals(seen, 8)
end

local function learned(class, median)
   return { v = 2, classes = { [class] = { metrics = { fabric_out_gbs = { median = median, mad_pct = 1,
      tolerance_pct = 5, nodes = 9, n = 40 } }, expect = {}, config = {}, nodes = 9 } } }
end

-- All are as slow as each other: of their peers nobody is, of the class all are. That is somebody's to look at.
function TestRating:test_a_baseline_of_rate_and_hops()
   local by = rated(run({}), FAIL, learned("fabric-?g-1hop", 2 * simulated.RATE))
   lu.assertEquals({ by.l1n1.status, by.l1n1.enforced }, { "warn", false })
   lu.assertStrContains(by.l1n1.text, "class fabric-?g-1hop")
   by = rated(run({}), FAIL, learned("fabric-200g-1hop", 2 * simulated.RATE))
   lu.assertEquals(by.l1n1.status, "pass")
   lu.assertEquals(metric(by.l1n1, "fabric_out_gbs").status, "unrated")
   -- The nearest that were measured: leaves of one.
   by = rated(run({}, { 1, 1, 1, 1, 1 }), FAIL)
   lu.assertEquals(by.l1n1.class, "fabric-?g-2hop")
end

-- Paced senders have no rate to compare.
function TestRating:test_a_share()
   local answer = run({ out = { [3] = 6 } })
   answer.share = 0.2
   local one = rated(answer, FAIL).l1n3
   lu.assertNil(metric(one, "fabric_out_gbs"))
   lu.assertEquals(one.status, "fail")
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
