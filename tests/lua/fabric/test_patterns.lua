-- All-to-all and allreduce: who takes part in which groups, and what follows from what they reach.
package.path = "lua/?.lua;tests/lua/fabric/?.lua;" .. package.path
local lu = require("luaunit")
local patterns = require("syscheck.fabric.patterns")
local session = require("syscheck.fabric.session")
local simulated = require("simulated")

local FOUND = { latency = { mu = { 2, 3 } } }

local function sizes_of(round)
   local out = {}
   for k, group in ipairs(round.groups) do
      out[k] = #group
   end
   return out
end

-- "packed striped ..", nobody twice in a round.
local function kinds_of(rounds)
   local out = {}
   for r, round in ipairs(rounds) do
      local seen = {}
      for _, group in ipairs(round.groups) do
         for _, node in ipairs(group) do
            lu.assertNil(seen[node])
            seen[node] = true
         end
      end
      out[r] = round.how or round.kind
   end
   return table.concat(out, " ")
end

-- What a node of leaf l receives, in GB/s: rate.packed[l] or rate.striped.
local function results_of(net, rounds, rate, us)
   local out, time = {}, 0
   for r, round in ipairs(rounds) do
      out[r] = { groups = true }
      time = time + (round.how == "packed" and 1 or 0)
      for _, group in ipairs(round.groups) do
         for _, node in ipairs(group) do
            local gbs = round.how == "packed" and rate.packed[net.leaf[node]] or rate.striped
            gbs = type(gbs) == "table" and gbs[time] or gbs
            out[r][net.names[node]] = round.kind == "allreduce" and { us = us } or { gbs = gbs }
         end
      end
   end
   return out
end

local function overloaded(sizes, rate, findings)
   local net = simulated.net(sizes)
   local rounds = patterns.build(net, findings or {})
   local out, list = patterns.of(net, rounds, results_of(net, rounds, rate, 20), FOUND)
   return list, out
end

TestPatterns = {}

function TestPatterns:test_groups_of_a_leaf_and_of_few_nodes_of_each()
   local net = simulated.net({ 16, 20, 16, 2 })
   local rounds = patterns.build(net, {})
   lu.assertEquals(kinds_of(rounds), "packed striped packed striped allreduce")
   lu.assertEquals(sizes_of(rounds[1]), { 16, 10, 10, 16 })
   lu.assertEquals(sizes_of(rounds[5]), { 54 })
   -- One group of the three leaves, no more than six nodes of each, and others the second time.
   lu.assertEquals({ #rounds[2].groups, #rounds[4].groups }, { 1, 1 })
   local of = {}
   for _, node in ipairs(rounds[2].groups[1]) do
      of[net.leaf[node]] = (of[net.leaf[node]] or 0) + 1
      for _, other in ipairs(rounds[4].groups[1]) do
         lu.assertNotEquals(node, other)
      end
   end
   lu.assertEquals(#of, 3)
   for _, n in ipairs(of) do
      lu.assertTrue(n <= 6)
   end
end

function TestPatterns:test_many_leaves_have_one_node_at_work()
   local many = {}
   for l = 1, 40 do
      many[l] = 12
   end
   local net = simulated.net(many)
   local rounds = patterns.build(net, {})
   lu.assertEquals(sizes_of(rounds[2]), { 12, 12, 12 })
   kinds_of(rounds)
end

function TestPatterns:test_small_networks()
   lu.assertEquals(patterns.build(simulated.net(2), {}), {})
   lu.assertEquals(kinds_of(patterns.build(simulated.net(3), {})), "packed packed allreduce")
   lu.assertEquals(kinds_of(patterns.build(simulated.net({ 2, 2 }), {})), "allreduce")
   lu.assertEquals(kinds_of(patterns.build(simulated.net({ 5, 2 }), {})), "packed packed allreduce")
   lu.assertEquals(kinds_of(patterns.build(simulated.net({ 1, 1, 1 }), {})), "allreduce")
   lu.assertEquals(kinds_of(patterns.build(simulated.net({ 8, 8 }), {}, true)), "allreduce")
end

function TestPatterns:test_who_is_named_takes_no_part()
   local net = simulated.net({ 4, 4 })
   local function without(findings)
      return sizes_of(patterns.build(net, findings)[1])
   end
   local function loaded(node)
      return { kind = "host", how = "loaded", node = node }
   end
   lu.assertEquals(without({ { kind = "nic", node = 1 } }), { 3, 4 })
   lu.assertEquals(without({ { kind = "silent", node = 1 }, { kind = "latency", node = 2 } }), { 4 })
   lu.assertEquals(without({ loaded(1) }), { 3, 4 })
   -- The leaf itself, perhaps.
   lu.assertEquals(without({ loaded(1), loaded(2), loaded(3) }), { 4, 4 })
   lu.assertEquals(without({ loaded(1), { kind = "uplink_lost", leaf = 1 } }), { 4, 4 })
   lu.assertEquals(without({ loaded(1), { kind = "nic", node = 1 }, { kind = "uplink_lost", leaf = 1 } }), { 3, 4 })
   lu.assertEquals(without({ { kind = "route", from = 1, to = 5 } }), { 4, 4 })
end

function TestPatterns:test_an_overloaded_leaf()
   local list, out = overloaded({ 8, 8, 8 }, { striped = 10, packed = { 9.8, 6, 10.2 } })
   lu.assertEquals(list, { { kind = "leaf_overloaded", leaf = 2, share = 0.6 } })
   lu.assertAlmostEquals(out.leaves[1], 0.98, 1e-9)
   lu.assertAlmostEquals(out.leaves[3], 1.02, 1e-9)
   lu.assertEquals({ out.packed_gbs, out.striped_gbs }, { 9.8, 10 })
end

-- All switches of a type carry half of their ports: none is worse than the others.
function TestPatterns:test_what_all_leaves_have_is_no_fault_of_one()
   local list, out = overloaded({ 8, 8, 8 }, { striped = 10, packed = { 4.4, 4.7, 5 } })
   lu.assertEquals(list, {})
   lu.assertAlmostEquals(out.middle, 0.47, 1e-9)
   lu.assertTrue(out.steady)
   -- A busy machine, once.
   list, out = overloaded({ 8, 8, 8 }, { striped = 10, packed = { { 2, 5 }, { 3, 6 }, { 2, 5 } } })
   lu.assertEquals({ list, out.steady }, { {}, nil })
   lu.assertEquals(#overloaded({ 8, 8, 8 }, { striped = 10, packed = { 4.4, 3, 5 } }), 1)
   lu.assertEquals(overloaded({ 8, 8 }, { striped = 10, packed = { 4.4, 4.7 } }), {})
   lu.assertEquals(#overloaded({ 8, 8 }, { striped = 10, packed = { 4.4, 9.7 } }), 1)
end

function TestPatterns:test_once_is_chance()
   lu.assertEquals(overloaded({ 8, 8 }, { striped = 10, packed = { { 5, 9 } } }), {})
   lu.assertEquals(overloaded({ 8, 8 }, { striped = 10, packed = { { 9, 5 } } }), {})
   lu.assertEquals(#overloaded({ 8, 8, 8 }, { striped = 10, packed = { { 6.5, 5 } } }), 1)
end

-- With fewer messages in a call its start weighs more: a small leaf's groups are not compared with larger ones.
function TestPatterns:test_smaller_groups_are_not_compared()
   local list, out = overloaded({ 16, 16, 4 }, { striped = 10, packed = { 10, 10, 6 } })
   lu.assertEquals(list, {})
   lu.assertNil(out.leaves[3])
end

function TestPatterns:test_an_allreduce()
   for n, steps in pairs({ [3] = 2, [4] = 2, [5] = 3, [16] = 4, [17] = 5, [512] = 9 }) do
      local _, out = overloaded(n, { striped = 10, packed = {} })
      lu.assertEquals({ out.allreduce_us, out.allreduce_steps, out.allreduce_least_us }, { 20, steps, 3 * steps })
   end
end

function TestPatterns:test_what_was_not_measured()
   local net = simulated.net({ 4, 4 })
   local rounds, results = patterns.build(net, {}), {}
   for r in ipairs(rounds) do
      results[r] = { groups = true, l1n1 = { error = "no answer" } }
   end
   local out, list = patterns.of(net, rounds, results, FOUND)
   lu.assertEquals({ out, list }, { { leaves = {}, errors = { "no answer" } }, {} })
end

function TestPatterns:test_one_fault_one_finding()
   local net = simulated.net({ 4, 4 })
   local over = { kind = "leaf_overloaded", leaf = 1, share = 0.6 }
   local nic, other = { kind = "nic", node = 2 }, { kind = "uplink_lost", leaf = 2 }
   lu.assertEquals(patterns.merge(net, { nic, { kind = "host", how = "loaded", node = 1 }, other,
      { kind = "uplink_lost", leaf = 1 } }, { over }), { nic, other, over })
   local host = { kind = "host", how = "loaded", node = 5 }
   lu.assertEquals(patterns.merge(net, { host }, { over }), { host, over })
   lu.assertEquals(patterns.merge(net, { host, other }, {}), { host, other })
end

-- In a whole run; what cannot be measured takes nothing from the answer.
function TestPatterns:test_a_run()
   local net = simulated.net({ 8, 8, 8 })
   local pairs_ = simulated.measure(net, { out = { [3] = 5 }, noise = 0.01 })
   local fails = false
   local function measure(rounds)
      if not rounds[1].groups then
         return pairs_(rounds)
      elseif fails then
         return nil, "n7: task 6: Killed"
      end
      return results_of(net, rounds, { striped = 10, packed = { [2] = 4 } }, 20)
   end
   local out = assert(session.run(net, measure, { seed = 1, patterns = "all" }))
   lu.assertEquals({ #out.findings, out.findings[1].kind, out.findings[2].kind }, { 2, "nic", "leaf_overloaded" })
   lu.assertNil(out.patterns.leaves[4])
   out = assert(session.run(net, measure, { seed = 1, patterns = "allreduce" }))
   lu.assertEquals({ #out.findings, out.patterns.packed_gbs, out.patterns.allreduce_us }, { 1, nil, 20 })
   fails = true
   out = assert(session.run(net, measure, { seed = 1, patterns = "all" }))
   lu.assertEquals({ #out.findings, out.patterns.errors }, { 1, { "n7: task 6: Killed" } })
   lu.assertNil(session.run(net, pairs_, { seed = 1 }).patterns)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
